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
mod tune;
mod vdisk;

use crate::args::CliCommand;
use iopilot_render::Terminal;
use std::fmt::Display;
use std::io::Write;

/// The settings of every command.
pub(crate) struct CommandContext {
    /// How to print.
    pub(crate) terminal: Terminal,
    /// Whether only the result is wanted.
    pub(crate) quiet: bool,
    /// The command as it was typed, for reports.
    pub(crate) command_line: String,
}

impl CommandContext {
    /// Prints a note on standard error, unless only the result is wanted.
    pub(crate) fn note(&self, text: impl Display) {
        if !self.quiet {
            // Nothing is lost where standard error is closed.
            let _ = writeln!(std::io::stderr(), "{text}");
        }
    }
}

/// Runs `command` and returns the text to print.
pub(crate) fn run(command: &CliCommand, context: &CommandContext) -> anyhow::Result<String> {
    match command {
        CliCommand::Demo(args) => demo::run(args, context),
        CliCommand::Compare(args) => compare::run(args, context),
        CliCommand::Simulate(args) => simulate::run(args, context),
        CliCommand::Dads(args) => dads::run(args, context),
        CliCommand::Disk(args) => disk::run(args, context),
        CliCommand::Disksim(args) => disksim::run(args, context),
        CliCommand::Experiment(args) => experiment::run(args, context),
        CliCommand::Machine(args) => machine::run(args, context),
        CliCommand::Redcap(args) => redcap::run(args, context),
        CliCommand::Scheduler(args) => scheduler::run(args, context),
        CliCommand::Trace(args) => trace::run(args, context),
        CliCommand::Tune(args) => tune::run(args, context),
        CliCommand::Vdisk(args) => vdisk::run(args, context),
        CliCommand::Completions { shell } => completions::run(*shell),
        CliCommand::Man { out } => man::run(out.as_deref()),
    }
}
