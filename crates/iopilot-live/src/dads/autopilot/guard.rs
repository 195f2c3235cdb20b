//! [`Guard`]: restores a queue, whatever happens.

use crate::dads::journal::Journal;
use crate::{BlockQueue, LiveError, QueueState};

/// Restores the queue when it is dropped.
pub(super) struct Guard {
    pub(super) queue: BlockQueue,
    pub(super) state: QueueState,
    /// `None` once the queue is restored.
    pub(super) journal: Option<Journal>,
}

impl Guard {
    /// Restores the queue, once.
    pub(super) fn restore(&mut self) -> Result<(), LiveError> {
        let Some(journal) = self.journal.take() else { return Ok(()) };
        match self.queue.restore(&self.state) {
            // An unplugged disk has nothing to restore.
            Err(LiveError::Unplugged(_)) | Ok(()) => journal.end(),
            // The journal stays, for the next start to try again.
            Err(e) => Err(e),
        }
    }
}

impl Guard {
    /// Leaves the queue as it is, and removes the journal.
    pub(super) fn leave(mut self) -> Result<(), LiveError> {
        self.journal.take().map_or(Ok(()), Journal::end)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Err(e) = self.restore() {
            eprintln!("iopilot: {}: the scheduler could not be put back: {e}", self.queue.name());
        }
    }
}
