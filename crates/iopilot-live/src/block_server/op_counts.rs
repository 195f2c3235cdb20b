//! [`OpCounts`]: a number for each kind of request.

use iopilot_block::Op;
use serde::{Deserialize, Serialize};

/// A number for each kind of request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpCounts {
    /// Of reads.
    pub read: u64,
    /// Of writes.
    pub write: u64,
    /// Of flushes.
    pub flush: u64,
    /// Of discards, and of ranges made zero.
    pub discard: u64,
}

impl OpCounts {
    pub(crate) fn of(&mut self, op: Op) -> &mut u64 {
        match op {
            Op::Read => &mut self.read,
            Op::Write => &mut self.write,
            Op::Flush => &mut self.flush,
            Op::Discard => &mut self.discard,
        }
    }

    /// The sum.
    pub fn total(&self) -> u64 {
        self.read + self.write + self.flush + self.discard
    }
}
