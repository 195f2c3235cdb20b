//! Block devices served by a background process.

use super::CommandContext;
use crate::failure::CommandFailed;
use anyhow::Context as _;
use iopilot_live::LiveError;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{Read, Write};
use std::process::{Command, Stdio};

/// Starts this program again with `command`, as a server of the device that `args` describe. Returns the server's
/// report once the device is ready.
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
        // A server that does not read its input has already printed the reason.
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

/// The server's arguments, which [`start`] sends.
pub(super) fn wanted<T: DeserializeOwned>() -> anyhow::Result<T> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).context("reading what to serve")?;
    serde_json::from_str(&text).context("reading what to serve")
}

/// Reports to [`start`] that the device is ready, and detaches from the terminal.
pub(super) fn ready(
    attachment: &impl Serialize,
    leave_terminal: impl FnOnce() -> Result<(), LiveError>,
) -> anyhow::Result<()> {
    let mut line = serde_json::to_string(attachment)?;
    line.push('\n');
    print(&line)?;
    Ok(leave_terminal()?)
}

/// Prints at once, not when the command ends.
pub(super) fn print(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).context("writing to standard output")
}
