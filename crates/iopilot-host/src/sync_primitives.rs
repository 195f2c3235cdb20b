//! [`SyncPrimitives`]: wait keys, locks and channels, on which processes wait for each other.

use crate::program::Key;
use iopilot_block::NumberMap;
use std::collections::VecDeque;

/// The default capacity of a channel in bytes: a pipe's.
const CHANNEL: u64 = 65_536;

#[derive(Clone, Debug, Default)]
struct Lock {
    holder: Option<usize>,
    waiting: VecDeque<usize>,
}

#[derive(Clone, Debug)]
struct Channel {
    capacity: u64,
    bytes: u64,
    /// Bytes taken out so far; and the tasks of interrupts, each with the position of its last byte in that count.
    out: u64,
    marks: VecDeque<(u64, usize)>,
    /// Processes that wait for bytes, and those that wait for room, with their byte counts. Both are FIFO, so that no waiter
    /// starves.
    getters: VecDeque<(usize, u64)>,
    putters: VecDeque<(usize, u64)>,
}

/// The wait keys, locks and channels of a host. All queues are FIFO.
#[derive(Clone, Debug, Default)]
pub(crate) struct SyncPrimitives {
    sleepers: NumberMap<Key, VecDeque<usize>>,
    locks: NumberMap<Key, Lock>,
    channels: NumberMap<Key, Channel>,
    /// Processes that got the last byte of a task, as (process, task). Empty between calls.
    taken: Vec<(usize, usize)>,
}

impl SyncPrimitives {
    pub(crate) fn set_capacity(&mut self, channel: Key, capacity: u64) {
        self.channel(channel).capacity = capacity;
    }

    pub(crate) fn sleep(&mut self, key: Key, process: usize) {
        self.sleepers.entry(key).or_default().push_back(process);
    }

    /// Puts into `woken` the sleepers of `key`: all, or the first.
    pub(crate) fn wake(&mut self, key: Key, all: bool, woken: &mut Vec<usize>) {
        if let Some(sleepers) = self.sleepers.get_mut(&key) {
            let count = if all { sleepers.len() } else { sleepers.len().min(1) };
            woken.extend(sleepers.drain(..count));
        }
    }

    /// Returns whether `process` has the lock now; otherwise it waits for it.
    pub(crate) fn lock(&mut self, key: Key, process: usize) -> bool {
        let lock = self.locks.entry(key).or_default();
        if lock.holder.is_some() {
            lock.waiting.push_back(process);
            return false;
        }
        lock.holder = Some(process);
        true
    }

    /// Passes the lock of `process` to the next waiter, if any, and wakes that. Returns false if `process` does not hold it.
    pub(crate) fn unlock(&mut self, key: Key, process: usize, woken: &mut Vec<usize>) -> bool {
        match self.locks.get_mut(&key) {
            Some(lock) if lock.holder == Some(process) => {
                lock.holder = lock.waiting.pop_front();
                woken.extend(lock.holder);
                true
            }
            _ => false,
        }
    }

    /// The process that holds the lock.
    pub(crate) fn holder(&self, key: Key) -> Option<usize> {
        self.locks.get(&key)?.holder
    }

    /// Returns whether the bytes are in the channel now; otherwise `process` waits for room. Wakes the served waiters.
    pub(crate) fn put(&mut self, channel: Key, bytes: u64, process: usize, woken: &mut Vec<usize>) -> bool {
        self.channel(channel).putters.push_back((process, bytes));
        let others = woken.len();
        self.settle(channel, woken);
        Self::take_self(process, others, woken)
    }

    /// Puts an interrupt's bytes into the channel, with the task that it began. It does not wait: returns whether there was
    /// room.
    pub(crate) fn offer(&mut self, channel: Key, bytes: u64, task: Option<usize>, woken: &mut Vec<usize>) -> bool {
        let at = self.channel(channel);
        if !at.putters.is_empty() || !at.has_room(bytes) {
            return false;
        }
        at.bytes += bytes;
        let end = at.out.wrapping_add(at.bytes);
        at.marks.extend(task.map(|task| (end, task)));
        self.settle(channel, woken);
        true
    }

    /// Returns whether `process` has the bytes now; otherwise it waits for them. Wakes the served waiters.
    pub(crate) fn get(&mut self, channel: Key, bytes: u64, process: usize, woken: &mut Vec<usize>) -> bool {
        self.channel(channel).getters.push_back((process, bytes));
        let others = woken.len();
        self.settle(channel, woken);
        Self::take_self(process, others, woken)
    }

    /// Drains the (process, task) pairs of last bytes taken since the last call.
    pub(crate) fn drain_taken(&mut self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.taken.drain(..)
    }

    /// Whether `process` waits for room in a channel.
    pub(crate) fn wants_room(&self, channel: Key, process: usize) -> bool {
        self.channels.get(&channel).is_some_and(|at| at.putters.iter().any(|&(putter, _)| putter == process))
    }

    fn settle(&mut self, channel: Key, woken: &mut Vec<usize>) {
        let mut taken = std::mem::take(&mut self.taken);
        self.channel(channel).settle(woken, &mut taken);
        self.taken = taken;
    }

    /// Whether `process` is among those served since `from`. It is taken out of `woken`, because it does not sleep.
    fn take_self(process: usize, from: usize, woken: &mut Vec<usize>) -> bool {
        match woken[from..].iter().position(|&woken| woken == process) {
            Some(at) => {
                woken.remove(from + at);
                true
            }
            None => false,
        }
    }

    fn channel(&mut self, key: Key) -> &mut Channel {
        self.channels.entry(key).or_insert_with(|| Channel {
            capacity: CHANNEL,
            bytes: 0,
            out: 0,
            marks: VecDeque::new(),
            getters: VecDeque::new(),
            putters: VecDeque::new(),
        })
    }
}

impl Channel {
    /// Whether `bytes` fit. An empty channel takes any number, even more than its capacity.
    fn has_room(&self, bytes: u64) -> bool {
        self.bytes.saturating_add(bytes) <= self.capacity || self.bytes == 0
    }

    /// Serves all waiters that can be served, in order. Puts into `taken` which process got the last byte of which task.
    fn settle(&mut self, served: &mut Vec<usize>, taken: &mut Vec<(usize, usize)>) {
        loop {
            if let Some(&(process, bytes)) = self.putters.front() {
                if self.has_room(bytes) {
                    self.bytes += bytes;
                    self.putters.pop_front();
                    served.push(process);
                    continue;
                }
            }
            match self.getters.front() {
                Some(&(process, bytes)) if bytes <= self.bytes => {
                    self.bytes -= bytes;
                    self.out = self.out.wrapping_add(bytes);
                    self.getters.pop_front();
                    served.push(process);
                    // Everything before this position is out.
                    let out = self.out;
                    let is_out = |&&(end, _): &&(u64, usize)| end.wrapping_sub(out) as i64 <= 0;
                    while let Some(&(_, task)) = self.marks.front().filter(is_out) {
                        self.marks.pop_front();
                        taken.push((process, task));
                    }
                }
                _ => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_goes_to_the_longest_waiter() {
        let mut sync = SyncPrimitives::default();
        assert_eq!([1, 2, 3].map(|p| sync.lock(7, p)), [true, false, false]);
        let mut woken = Vec::new();
        assert!(!sync.unlock(7, 2, &mut woken), "2 does not have it");
        (1..4).for_each(|p| assert!(sync.unlock(7, p, &mut woken)));
        assert_eq!((woken, sync.holder(7)), (vec![2, 3], None));
        assert!(sync.lock(7, 4));
    }

    #[test]
    fn a_channel_keeps_its_bytes_and_its_order() {
        let (mut sync, mut woken) = (SyncPrimitives::default(), Vec::new());
        sync.set_capacity(1, 10);
        assert!(sync.put(1, 8, 1, &mut woken));
        assert!(!sync.put(1, 8, 2, &mut woken), "no room");
        assert!(!sync.get(1, 9, 3, &mut woken), "not yet so many");
        assert!(!sync.get(1, 1, 4, &mut woken), "behind the first waiter");
        assert!(woken.is_empty());
        sync.set_capacity(1, 16);
        assert!(!sync.put(1, 16, 5, &mut woken), "behind it");
        assert_eq!(woken, [2, 3, 4], "16 in, 9 and 1 out");
    }

    #[test]
    fn a_wake_up_wakes_one_or_all_and_needs_no_sleeper() {
        let (mut sync, mut woken) = (SyncPrimitives::default(), Vec::new());
        sync.wake(1, true, &mut woken);
        (5..8).for_each(|p| sync.sleep(1, p));
        sync.wake(1, false, &mut woken);
        assert_eq!(woken, [5]);
        sync.wake(1, true, &mut woken);
        assert_eq!(woken, [5, 6, 7]);
    }
}
