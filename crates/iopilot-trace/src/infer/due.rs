//! [`DueHeap`]: which process issues next.

use iopilot_block::Nanos;

const ABSENT: u32 = u32::MAX;

/// A binary heap of processes by (time, request), with each process in it at most once and removable. Never allocates
/// after its making. All operations are O(log processes), `peek` O(1).
#[derive(Clone, Debug)]
pub(super) struct DueHeap {
    heap: Vec<(Nanos, u32, u32)>,
    /// Where in the heap each process is.
    place: Vec<u32>,
}

impl DueHeap {
    pub(super) fn new(processes: usize) -> Self {
        Self { heap: Vec::with_capacity(processes), place: vec![ABSENT; processes] }
    }

    pub(super) fn contains(&self, process: u32) -> bool {
        self.place[process as usize] != ABSENT
    }

    /// The earliest (time, request, process); among equal times the request recorded first.
    pub(super) fn peek(&self) -> Option<(Nanos, u32, u32)> {
        self.heap.first().copied()
    }

    /// When `process` is due and with which request, if it is.
    pub(super) fn of(&self, process: u32) -> Option<(Nanos, u32)> {
        self.heap.get(self.place[process as usize] as usize).map(|&(due, request, _)| (due, request))
    }

    pub(super) fn push(&mut self, due: Nanos, request: u32, process: u32) {
        debug_assert!(!self.contains(process));
        self.heap.push((due, request, process));
        self.place[process as usize] = self.heap.len() as u32 - 1;
        self.up(self.heap.len() - 1);
    }

    /// Takes `process` out, wherever it is.
    pub(super) fn remove(&mut self, process: u32) {
        let at = std::mem::replace(&mut self.place[process as usize], ABSENT);
        if at == ABSENT {
            return;
        }
        let at = at as usize;
        self.heap.swap_remove(at);
        if at < self.heap.len() {
            self.place[self.heap[at].2 as usize] = at as u32;
            self.up(at);
            self.down(at);
        }
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.heap.swap(a, b);
        self.place[self.heap[a].2 as usize] = a as u32;
        self.place[self.heap[b].2 as usize] = b as u32;
    }

    fn up(&mut self, mut at: usize) {
        while at > 0 && self.heap[at] < self.heap[(at - 1) / 2] {
            self.swap(at, (at - 1) / 2);
            at = (at - 1) / 2;
        }
    }

    fn down(&mut self, mut at: usize) {
        loop {
            let children = (2 * at + 1..(2 * at + 3).min(self.heap.len())).min_by_key(|&c| self.heap[c]);
            match children {
                Some(child) if self.heap[child] < self.heap[at] => {
                    self.swap(at, child);
                    at = child;
                }
                _ => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn agrees_with_a_sorted_map(steps in prop::collection::vec((0u32..12, 0u64..20, any::<bool>()), 1..200)) {
            let mut heap = DueHeap::new(12);
            let mut model = BTreeMap::new();
            for (n, (process, due, remove)) in (0u32..).zip(steps) {
                if remove || model.contains_key(&process) {
                    heap.remove(process);
                    model.remove(&process);
                } else {
                    heap.push(Nanos(due), n, process);
                    model.insert(process, (Nanos(due), n, process));
                }
                prop_assert_eq!(heap.peek(), model.values().min().copied());
                prop_assert_eq!(heap.contains(process), model.contains_key(&process));
                prop_assert_eq!(heap.of(process), model.get(&process).map(|&(due, request, _)| (due, request)));
            }
        }
    }
}
