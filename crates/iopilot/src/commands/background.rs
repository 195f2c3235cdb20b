//! Block devices that a process in the background serves.

use super::CommandContext;
use crate::failure::CommandFailed;
use anyhow::Context as _;
use iopilot_live::LiveError;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{Read, Write};
use std::process::{Command, Stdio};

/// Starts another process of this program, with `command`, that serves what `args` describe. Returns what it tells of when
/// the device is ready.
pub(super) fn start<T: DeserializeOwned>(
    command: &[&str],
    args: &impl Serialize,
    context: &CommandContext,
) -> anyhow::Result<T> {
    let program = std::env::current_exe().context("finding this program")?;
    let mut server = Command::new(program);
    server.args(command).args(context.quiet.then_some("--quiet"));
    let mut server = server.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().context("starting the server")?;
    if let Some(mut stdin) = server.stdin.take() {
        // A server that does not read has printed why.
        let _ = stdin.write_all(&serde_json::to_vec(args)?);
    }
    let mut line = String::new();
    if let Some(mut stdout) = server.stdout.take() {
        stdout.read_to_string(&mut line).context("listening to the server")?;
    }
    if line.is_empty() {
        return Err(CommandFailed::with(server.wait().context("waiting for the server")?).into());
    }
    Ok(serde_json::from_str(&line)?)
}

/// What is to be served, as [`start`] tells it.
pub(super) fn wanted<T: DeserializeOwned>() -> anyhow::Result<T> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).context("reading what to serve")?;
    serde_json::from_str(&text).context("reading what to serve")
}

/// Tells [`start`] that the device is ready, and leaves the terminal.
pub(super) fn ready(
    attachment: &impl Serialize,
    leave_terminal: impl FnOnce() -> Result<(), LiveError>,
) -> anyhow::Result<()> {
    let mut line = serde_json::to_string(attachment)?;
    line.push('\n');
    print(&line)?;
    Ok(leave_terminal()?)
}

/// Prints before the command ends.
pub(super) fn print(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).context("writing to standard output")
}
