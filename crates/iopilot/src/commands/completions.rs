//! `iopilot completions`.

use crate::args::Cli;
use clap::CommandFactory;

/// The completion script of `shell`.
///
/// # Errors
/// Never in practice: scripts are text.
pub(crate) fn run(shell: clap_complete::Shell) -> anyhow::Result<String> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "iopilot", &mut script);
    Ok(String::from_utf8(script)?)
}
