//! One module a command. A command returns the text it prints, so that only `main` deals with standard output.

mod background;
mod calibrate;
mod compare;
mod completions;
mod dads;
mod demo;
mod disk;
mod disk_validate;
mod disksim;
mod experiment;
mod machine;
mod man;
mod redcap;
mod scheduler;
mod session;
mod simulate;
mod trace;
mod vdisk;

use crate::args::Command;
use iopilot_render::Terminal;
use std::fmt::Display;
use std::io::Write;

/// The settings of every command.
pub(crate) struct Context {
    /// How to print.
    pub(crate) terminal: Terminal,
    /// Whether only the result is wanted.
    pub(crate) quiet: bool,
    /// The command as it was typed, for reports.
    pub(crate) command_line: String,
}

impl Context {
    /// Prints a note on standard error, unless only the result is wanted.
    pub(crate) fn note(&self, text: impl Display) {
        if !self.quiet {
            // Nothing is lost where standard error is closed.
            let _ = writeln!(std::io::stderr(), "{text}");
        }
    }
}

/// Runs `command`; the text to print.
pub(crate) fn run(command: &Command, context: &Context) -> anyhow::Result<String> {
    match command {
        Command::Demo(args) => demo::run(args, context),
        Command::Compare(args) => compare::run(args, context),
        Command::Simulate(args) => simulate::run(args, context),
        Command::Dads(args) => dads::run(args, context),
        Command::Disk(args) => disk::run(args, context),
        Command::Disksim(args) => disksim::run(args, context),
        Command::Experiment(args) => experiment::run(args, context),
        Command::Machine(args) => machine::run(args, context),
        Command::Redcap(args) => redcap::run(args, context),
        Command::Scheduler(args) => scheduler::run(args, context),
        Command::Trace(args) => trace::run(args, context),
        Command::Vdisk(args) => vdisk::run(args, context),
        Command::Completions { shell } => completions::run(*shell),
        Command::Man { out } => man::run(out.as_deref()),
    }
}
