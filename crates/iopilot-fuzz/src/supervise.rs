//! Runs workers, and reports their faults.

use crate::Options;
use crate::worker::{current, hash};
use anyhow::{Context, Result};
use iopilot_fuzz::FuzzTarget;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The polling period of a worker.
const LOOK: Duration = Duration::from_millis(20);

/// Fuzzes `targets`, one per CPU at a time. Returns how many of them have a fault.
pub(crate) fn run(options: &Options, targets: &[&'static FuzzTarget]) -> Result<usize> {
    let out = match &options.out {
        Some(out) => out.clone(),
        None => default_out()?,
    };
    fs::create_dir_all(&out).with_context(|| out.display().to_string())?;
    let (next, faults) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let cpus = thread::available_parallelism().map_or(1, Into::into);
    thread::scope(|scope| {
        let supervise = || -> Result<()> {
            while let Some(target) = targets.get(next.fetch_add(1, Ordering::Relaxed)) {
                if !fuzz(options, target, &out)? {
                    faults.fetch_add(1, Ordering::Relaxed);
                }
            }
            Ok(())
        };
        let all: Vec<_> = (0..cpus.min(targets.len())).map(|_| scope.spawn(supervise)).collect();
        all.into_iter().try_for_each(|thread| thread.join().unwrap_or_else(|_| anyhow::bail!("a thread panicked")))
    })?;
    Ok(faults.into_inner())
}

/// `target/fuzz`, beside the folder of the profile that this was built in.
fn default_out() -> Result<PathBuf> {
    let program = std::env::current_exe()?;
    let target = program.ancestors().nth(2).context("this program has no folder")?;
    Ok(target.join("fuzz"))
}

/// Fuzzes one target; false where it has a fault.
fn fuzz(options: &Options, target: &FuzzTarget, out: &Path) -> Result<bool> {
    let name = target.name;
    let input = out.join(format!("{name}.current"));
    let log = out.join(format!("{name}.log"));
    let mut worker = Command::new(std::env::current_exe()?)
        .arg(name)
        .args(["--iterations", &options.iterations.to_string(), "--seconds", &options.seconds.to_string()])
        .args(["--seed", &options.seed.to_string(), "--worker"])
        .arg(&input)
        .env("RUST_BACKTRACE", "1")
        .stdin(Stdio::null())
        .stdout(File::create(&log)?)
        .stderr(File::options().append(true).open(&log)?)
        .spawn()
        .context("starting a worker")?;
    let (mut seen, mut since) = (None, Spent::by(worker.id()));
    let status = loop {
        if let Some(status) = worker.try_wait()? {
            break Some(status);
        }
        let number = current(&input).map(|(number, _)| number);
        if number != seen {
            (seen, since) = (number, Spent::by(worker.id()));
        } else if since.is_over(worker.id(), Duration::from_secs(options.hang)) {
            worker.kill()?;
            worker.wait()?;
            break None;
        }
        thread::sleep(LOOK);
    };
    let said = fs::read_to_string(&log).unwrap_or_default();
    if status.is_some_and(|s| s.success()) {
        // Caught panics of other crates may come before it.
        let end = said.lines().rfind(|line| line.ends_with("kinds of answer"));
        println!("{name:<20} {}", end.unwrap_or_default());
        fs::remove_file(&input)?;
        fs::remove_file(&log)?;
        return Ok(true);
    }
    println!("{}", report(options, name, status, &said, &input, out)?);
    Ok(false)
}

/// The time that a process has used.
struct Spent {
    /// Time on a CPU, where the system tells.
    cpu: Option<Duration>,
    at: Instant,
}

impl Spent {
    fn by(process: u32) -> Self {
        Self { cpu: cpu_time(process), at: Instant::now() }
    }

    /// Whether the process has used more than `limit` since. CPU time counts, as a busy machine is no endless loop. So
    /// does thirty times `limit` by the clock, as a process may also wait for ever.
    fn is_over(&self, process: u32, limit: Duration) -> bool {
        let clock = self.at.elapsed();
        match (self.cpu, cpu_time(process)) {
            (Some(before), Some(now)) => now.saturating_sub(before) > limit || clock > limit * 30,
            _ => clock > limit,
        }
    }
}

/// The time that a process has spent on a CPU: `/proc/PID/stat` of Linux.
fn cpu_time(process: u32) -> Option<Duration> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // Behind the name in brackets, which may hold anything, the 12th and 13th word: in hundredths of a second.
    let ticks = stat.rsplit_once(')')?.1.split_whitespace().skip(11).take(2);
    let sum: u64 = ticks.map(|word| word.parse::<u64>().ok()).sum::<Option<u64>>()?;
    Some(Duration::from_millis(sum * 10))
}

/// Describes a fault, and how to reproduce it.
fn report(
    options: &Options,
    name: &str,
    status: Option<ExitStatus>,
    said: &str,
    path: &Path,
    out: &Path,
) -> Result<String> {
    let what = match status {
        Some(status) => format!("{status}"),
        None => format!("no answer in {} s on a CPU", options.hang),
    };
    let Some((number, input)) = current(path) else {
        return Ok(format!("{name:<20} FAILED before its first input: {what}\n{said}"));
    };
    let kept = out.join(format!("{name}-{:016x}", hash(&input)));
    fs::write(&kept, input).with_context(|| kept.display().to_string())?;
    let lines: Vec<&str> = said.lines().take(40).collect();
    let again = kept.display();
    Ok(format!(
        "{name:<20} FAILED at input {number}: {what}\n{}\n  seen again with: cargo run -p iopilot-fuzz -- {name} --rerun {again}",
        lines.join("\n")
    ))
}
