//! A fuzzer for stable Rust: it damages valid inputs, and watches for faults.
//!
//! Every target runs in a process of its own, so that panics, endless loops, stack overflows and exhausted memory are
//! all detected. Each input is saved before it is tried, so it survives the fault. Inputs with a new kind of answer are
//! damaged further. A target's inputs follow from `--seed` alone.

use anyhow::{Context, Result, bail};
use clap::Parser;
use iopilot_fuzz::{FuzzTarget, TARGETS, seeds, target};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

mod supervise;
mod worker;

/// Damages valid inputs, and watches for faults.
#[derive(Debug, Parser)]
struct Options {
    /// The targets to fuzz; all if none is named.
    targets: Vec<String>,
    /// Inputs for each target.
    #[arg(long, value_name = "N", default_value_t = u64::MAX, hide_default_value = true)]
    iterations: u64,
    /// Seconds for each target.
    #[arg(long, value_name = "N", default_value_t = 20)]
    seconds: u64,
    /// The seed of the sequence of inputs.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Seconds on a CPU after which an input counts as an endless loop.
    #[arg(long, value_name = "N", default_value_t = 20)]
    hang: u64,
    /// Where inputs that fail are put [default: fuzz in Cargo's target directory].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Try this input again, in the only target named.
    #[arg(long, value_name = "FILE")]
    rerun: Option<PathBuf>,
    /// Write the seeds of each target under DIR, into the folders that cargo-fuzz expects.
    #[arg(long, value_name = "DIR")]
    write_corpus: Option<PathBuf>,
    /// Fuzz one target in this process; FILE receives each input.
    #[arg(long, value_name = "FILE", hide = true)]
    worker: Option<PathBuf>,
}

impl Options {
    fn chosen(&self) -> Result<Vec<&'static FuzzTarget>> {
        if self.targets.is_empty() {
            return Ok(TARGETS.iter().collect());
        }
        let names = || TARGETS.iter().map(|t| t.name).collect::<Vec<_>>().join(", ");
        let find = |name: &String| target(name).with_context(|| format!("{name}: expected one of {}", names()));
        self.targets.iter().map(find).collect()
    }

    fn only(&self) -> Result<&'static FuzzTarget> {
        match self.chosen()?[..] {
            [one] => Ok(one),
            _ => bail!("expected one target"),
        }
    }
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(code) => code,
        Err(e) => {
            eprintln!("{e:#}");
            ExitCode::from(2)
        }
    }
}

fn run(options: &Options) -> Result<ExitCode> {
    if let Some(path) = &options.rerun {
        let input = fs::read(path).with_context(|| path.display().to_string())?;
        println!("{}", options.only()?.check(&input));
    } else if let Some(folder) = &options.write_corpus {
        write_corpus(folder, &options.chosen()?)?;
    } else if let Some(current) = &options.worker {
        worker::run(options, options.only()?, current)?;
    } else if supervise::run(options, &options.chosen()?)? > 0 {
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}

fn write_corpus(folder: &Path, targets: &[&FuzzTarget]) -> Result<()> {
    for target in targets {
        let folder = folder.join(target.cargo_fuzz_name());
        fs::create_dir_all(&folder)?;
        for (i, seed) in seeds(target.name).iter().enumerate() {
            fs::write(folder.join(format!("{}-{i}", target.name)), target.cargo_fuzz_input(seed))?;
        }
    }
    Ok(())
}
