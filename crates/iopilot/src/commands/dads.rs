//! `iopilot dads`: the autopilot.

mod live;
mod replay;
mod settings;
mod status;
mod tui;

use super::{Context, session};
use crate::args::Dads;

/// Runs the command; the text to print.
pub(crate) fn run(command: &Dads, context: &Context) -> anyhow::Result<String> {
    match command {
        Dads::Replay(args) => replay::run(args, context),
        Dads::Run(args) => live::run(args, context),
        Dads::Status(args) => status::run(args, context),
        Dads::Explain(args) => status::explain(args, context),
        Dads::Restore(args) => status::restore(args, context),
    }
}
