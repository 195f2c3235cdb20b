//! [`RecordedCommand`]: the command that a recording is of.

use crate::LiveError;
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::SIGINT;
use std::ffi::OsString;
use std::io;
use std::process::{Child, Command, ExitStatus};

/// The command; ended when dropped.
pub(super) struct RecordedCommand {
    name: String,
    child: Child,
    reaped: bool,
}

impl RecordedCommand {
    pub(super) fn start(command: &[OsString]) -> Result<Self, LiveError> {
        let failed = |name: &str, source| LiveError::Command { command: name.to_owned(), source };
        let Some((program, arguments)) = command.split_first() else {
            return Err(failed("command", io::Error::new(io::ErrorKind::InvalidInput, "is empty, expected a program")));
        };
        let name = program.to_string_lossy().into_owned();
        let child = Command::new(program).args(arguments).spawn().map_err(|e| failed(&name, e))?;
        Ok(Self { name, child, reaped: false })
    }

    /// How it ended, if it has.
    pub(super) fn exited(&mut self) -> Result<Option<ExitStatus>, LiveError> {
        let status = self.child.try_wait();
        let status = status.map_err(|source| LiveError::Command { command: self.name.clone(), source })?;
        self.reaped |= status.is_some();
        Ok(status)
    }

    /// Passes `signal` on, or sends SIGTERM, and waits for the command.
    pub(super) fn end(mut self, signal: Option<i32>) -> Result<ExitStatus, LiveError> {
        self.signal(if signal == Some(SIGINT) { Signal::INT } else { Signal::TERM });
        let status = self.child.wait();
        self.reaped = true;
        status.map_err(|source| LiveError::Command { command: self.name.clone(), source })
    }

    fn signal(&self, signal: Signal) {
        if let Some(pid) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            // It may just have exited.
            let _ = kill_process(pid, signal);
        }
    }
}

impl Drop for RecordedCommand {
    fn drop(&mut self) {
        if !self.reaped {
            self.signal(Signal::TERM);
            let _ = self.child.wait();
        }
    }
}
