//! `iopilot dads`: the autopilot.

mod live;
mod replay;
mod settings;
mod status;
mod tui;

use super::{CommandContext, session};
use crate::args::DadsCommand;

/// Runs the command and returns the text to print.
pub(crate) fn run(command: &DadsCommand, context: &CommandContext) -> anyhow::Result<String> {
    match command {
        DadsCommand::Replay(args) => replay::run(args, context),
        DadsCommand::Run(args) => live::run(args, context),
        DadsCommand::Status(args) => status::run(args, context),
        DadsCommand::Explain(args) => status::explain(args, context),
        DadsCommand::Restore(args) => status::restore(args, context),
    }
}
