//! [`CacheParts`]: the parts of a running cache, and how they are taken down.

use super::monitor::Monitor;
use super::{Command, RedcapAttachment};
use crate::LiveError;
use crate::block_server::{DeviceClaim, Exposed, ServedDevice, answer};
use std::io;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread::JoinHandle;

/// The parts of a running cache. Dropping it takes down those that exist, in order.
pub(super) struct CacheParts {
    pub(super) claim: DeviceClaim<RedcapAttachment>,
    pub(super) monitor: Arc<Monitor>,
    pub(super) exposed: Exposed,
    /// The thread that takes the disk's completions.
    pub(super) completions: Option<JoinHandle<()>>,
    /// The thread that decides, which ends when the sender is dropped.
    pub(super) pilot: Option<(JoinHandle<()>, Sender<()>)>,
    /// The thread that shrinks the cache under memory pressure, which ends when the stream is closed.
    pub(super) pressure: Option<(JoinHandle<()>, UnixStream)>,
    /// The thread that serves metrics, which ends when the sender is dropped.
    pub(super) metrics: Option<(JoinHandle<()>, Sender<()>)>,
    /// The thread of a warm restart, which ends when the sender is dropped.
    pub(super) warmer: Option<(JoinHandle<()>, Sender<()>)>,
    pub(super) gone: bool,
}

impl ServedDevice for CacheParts {
    type Command = Command;

    fn command(&mut self, command: Command, client: &UnixStream) -> io::Result<()> {
        match command {
            Command::Status => answer(client, Ok(self.monitor.status())),
            Command::Detach { force } => {
                let result = self.take_down(force);
                answer(client, result)
            }
        }
    }

    fn is_gone(&self) -> bool {
        self.gone
    }

    fn take_down(&mut self, force: bool) -> Result<(), LiveError> {
        if self.gone {
            return Ok(());
        }
        if !force {
            self.exposed.check_unused()?;
        }
        self.gone = true;
        self.exposed.sync_file_systems();
        // Each step is tried, even if one before it failed.
        let mut results = self.exposed.take_down();
        for (thread, stop) in [self.warmer.take(), self.pilot.take(), self.metrics.take()].into_iter().flatten() {
            drop(stop);
            // A panic has been printed already.
            let _ = thread.join();
        }
        if let Some((thread, stop)) = self.pressure.take() {
            drop(stop);
            let _ = thread.join();
        }
        if let Some(thread) = self.completions.take() {
            self.monitor.disk.stop();
            let _ = thread.join();
        }
        let disk = &self.monitor.disk;
        results.push(disk.close().map_err(|e| LiveError::io(&disk.disk().path, e)));
        results.push(self.claim.release());
        results.into_iter().collect()
    }
}

impl Drop for CacheParts {
    fn drop(&mut self) {
        // Nobody is left to report to.
        let _ = self.take_down(true);
    }
}
