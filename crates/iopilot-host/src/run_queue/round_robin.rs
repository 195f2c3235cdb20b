//! [`RoundRobin`]: all processes take turns of one length, in order of arrival.

use iopilot_block::Nanos;
use std::collections::VecDeque;

/// One queue for all CPUs.
#[derive(Clone, Debug)]
pub(super) struct RoundRobin {
    waiting: VecDeque<usize>,
    quantum: Nanos,
}

impl RoundRobin {
    pub(super) fn new(quantum: Nanos) -> Self {
        Self { waiting: VecDeque::new(), quantum }
    }

    pub(super) fn waiting(&self) -> impl Iterator<Item = &usize> {
        self.waiting.iter()
    }

    pub(super) fn push(&mut self, p: usize) {
        self.waiting.push_back(p);
    }

    /// The first process that is `allowed`.
    pub(super) fn take(&mut self, allowed: impl Fn(usize) -> bool) -> Option<usize> {
        let at = self.waiting.iter().position(|&p| allowed(p))?;
        self.waiting.remove(at)
    }

    /// When a turn that begins now ends.
    pub(super) fn turn_ends(&self, now: Nanos) -> Nanos {
        now.saturating_add(self.quantum)
    }

    pub(super) fn remove(&mut self, p: usize) {
        self.waiting.retain(|&other| other != p);
    }
}
