//! The `iopilot` command. Comments cite GF (González-Férez' thesis of 2012), Ganger (1995) and Carroll (2008) by
//! section.

mod args;
mod commands;
#[cfg(test)]
#[path = "../tests/docs/commands.rs"]
mod documented_commands;
mod failure;
mod progress;
mod render;
mod report;
#[cfg(test)]
mod sample_comparison;

use anyhow::Context as _;
use clap::Parser;
use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = match args::Cli::try_parse() {
        Ok(cli) => cli,
        Err(e) => return usage(&e),
    };
    match run(&cli) {
        Err(e) if failure::is_broken_pipe(&e) => ExitCode::SUCCESS,
        Err(e) => {
            if !failure::was_reported(&e) {
                print_error(&failure::one_line(&e));
            }
            ExitCode::from(failure::exit_code(&e))
        }
        Ok(()) => ExitCode::SUCCESS,
    }
}

fn run(cli: &args::Cli) -> anyhow::Result<()> {
    if let Some(threads) = cli.global.threads {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.into());
        pool.build_global().context("starting threads")?;
    }
    let context = commands::CommandContext {
        terminal: iopilot_render::Terminal::detect(cli.global.no_color),
        quiet: cli.global.quiet,
        command_line: command_line(),
    };
    let text = commands::run(&cli.command, &context)?;
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).context("writing to standard output")
}

/// Help and version go to standard output; a mistake is one line on standard error.
fn usage(error: &clap::Error) -> ExitCode {
    use clap::error::ErrorKind;
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            // It is no error if the reader has gone.
            let _ = error.print();
            ExitCode::SUCCESS
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = error.print();
            ExitCode::from(failure::BAD_INPUT)
        }
        _ => {
            print_error(&failure::usage_line(error));
            ExitCode::from(failure::BAD_INPUT)
        }
    }
}

/// One line on standard error.
fn print_error(line: &str) {
    let _ = writeln!(std::io::stderr(), "iopilot: {line}");
}

/// The command line, quoted for a shell. `--threads` is left out, as no result depends on it.
fn command_line() -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    let quote = |word: String| match word.chars().all(plain) && !word.is_empty() {
        true => word,
        false => format!("'{}'", word.replace('\'', "'\\''")),
    };
    let mut line = "iopilot".to_owned();
    let mut words = std::env::args_os().skip(1).map(|w| w.to_string_lossy().into_owned());
    while let Some(word) = words.next() {
        if word == "--threads" {
            words.next();
        } else if !word.starts_with("--threads=") {
            line = format!("{line} {}", quote(word));
        }
    }
    line
}
