//! Processes that still wait at the end of a run.

use super::Host;
use crate::process::{ProcessState, WaitReason};
use crate::program::Key;
use iopilot_block::InputError;

impl Host {
    /// Process `p` releases a lock that it does not hold: the workload ends.
    pub(super) fn fail_unlock(&mut self, p: usize, key: Key) {
        let holder = self.sync.holder(key).map_or("nobody has".to_owned(), |p| format!("{} has", self.name_of(p)));
        let got = format!("unlock of {}, which {holder}", self.names.key(key));
        let error = InputError::new(format!("process {}", self.name_of(p)), got, "a lock that it holds");
        self.failure.get_or_insert(error);
        self.left = 0;
    }

    fn name_of(&self, p: usize) -> String {
        format!("{} ({})", self.processes[p].name, self.processes[p].id)
    }

    /// An error that names the processes that sleep though nothing can wake them; `None` without any, or while events are
    /// pending.
    pub(super) fn stuck(&self) -> Option<InputError> {
        if self.agenda.next().is_some() || self.externals.next().is_some() {
            return None;
        }
        let sleepers: Vec<usize> = (0..self.processes.len()).filter(|&p| self.is_stuck(p)).collect();
        let waits = |p: &usize| Some(format!("{} waits {}", self.name_of(*p), self.why(*p)?));
        if let Some(cycle) = sleepers.iter().find_map(|&p| self.cycle_from(p)) {
            let all: Vec<String> = cycle.iter().filter_map(waits).collect();
            let expected = format!("an order in which all can go on, as {}", all.join(", "));
            return Some(InputError::new("processes", "a cycle of waits", expected));
        }
        let all: Vec<String> = sleepers.iter().filter_map(waits).collect();
        let expected = format!("a wake-up, as {}", all.join(", "));
        (!all.is_empty()).then(|| InputError::new("processes", "no event that is left", expected))
    }

    /// Whether the wait of process `p` is an error. A daemon may wait for more work.
    fn is_stuck(&self, p: usize) -> bool {
        let process = &self.processes[p];
        match process.state {
            ProcessState::Blocked(WaitReason::Key(_) | WaitReason::Child(_)) => !process.is_daemon,
            ProcessState::Blocked(WaitReason::Channel(key)) => !process.is_daemon || self.sync.wants_room(key, p),
            ProcessState::Blocked(WaitReason::Lock(_)) => !process.is_daemon || self.is_lost(p),
            _ => false,
        }
    }

    /// Whether `p` can never get the lock that it waits for: its holder has exited, or waits for `p`. A holder that waits for
    /// work releases the lock once work comes.
    fn is_lost(&self, p: usize) -> bool {
        let mut holder = p;
        for _ in 0..self.processes.len() {
            match self.waits_for(holder) {
                Some(next) => holder = next,
                None => return self.processes[holder].state == ProcessState::Exited,
            }
        }
        true
    }

    fn why(&self, p: usize) -> Option<String> {
        let ProcessState::Blocked(wait) = self.processes[p].state else { return None };
        let name = |key| self.names.key(key);
        match wait {
            WaitReason::Key(key) => Some(format!("for a wake-up on {}", name(key))),
            WaitReason::Lock(key) => {
                let holder = self.sync.holder(key).map(|p| format!(" of {}{}", self.name_of(p), self.gone(p)));
                Some(format!("for lock {}{}", name(key), holder.unwrap_or_default()))
            }
            WaitReason::Channel(key) if self.sync.wants_room(key, p) => {
                Some(format!("for room in channel {}", name(key)))
            }
            WaitReason::Channel(key) => Some(format!("for channel {}", name(key))),
            WaitReason::Child(which) => {
                let child = self.child_of(p, which).map(|child| format!("child {}", self.name_of(child)));
                Some(format!("for {}", child.unwrap_or_else(|| "a child".to_owned())))
            }
            _ => None,
        }
    }

    fn gone(&self, p: usize) -> &'static str {
        if self.processes[p].state == ProcessState::Exited { ", which has exited" } else { "" }
    }

    fn child_of(&self, p: usize, which: Option<u64>) -> Option<usize> {
        (0..self.processes.len()).find(|&child| {
            let process = &self.processes[child];
            let is_child = process.parent == Some(p) && process.state != ProcessState::Exited;
            is_child && which.is_none_or(|wanted| wanted == process.number)
        })
    }

    /// The process that `p` waits for, if only one can end its wait.
    fn waits_for(&self, p: usize) -> Option<usize> {
        match self.processes[p].state {
            ProcessState::Blocked(WaitReason::Lock(key)) => self.sync.holder(key),
            ProcessState::Blocked(WaitReason::Child(which)) => self.child_of(p, which),
            _ => None,
        }
    }

    /// A cycle of processes that starts at `p`: each waits for the next, and the last waits for `p`.
    fn cycle_from(&self, p: usize) -> Option<Vec<usize>> {
        let mut cycle = vec![p];
        while let Some(next) = self.waits_for(*cycle.last()?) {
            if next == p {
                return Some(cycle);
            }
            if cycle.contains(&next) {
                return None;
            }
            cycle.push(next);
        }
        None
    }
}
