//! [`Meetings`]: where processes wait for each other: keys, locks, channels.

use crate::program::Key;
use iopilot_block::NumberMap;
use std::collections::VecDeque;

/// Bytes that a channel holds where nothing else is said: a pipe's.
const CHANNEL: u64 = 65_536;

#[derive(Clone, Debug, Default)]
struct Lock {
    is_taken: bool,
    waiting: VecDeque<usize>,
}

#[derive(Clone, Debug)]
struct Channel {
    capacity: u64,
    bytes: u64,
    /// Who waits for bytes, and for how many; who waits for room. The first is served first, so that none is passed over.
    getters: VecDeque<(usize, u64)>,
    putters: VecDeque<(usize, u64)>,
}

/// What processes wait on for each other. All queues are in order of arrival.
#[derive(Clone, Debug, Default)]
pub(crate) struct Meetings {
    sleepers: NumberMap<Key, VecDeque<usize>>,
    locks: NumberMap<Key, Lock>,
    channels: NumberMap<Key, Channel>,
}

impl Meetings {
    pub(crate) fn set_capacity(&mut self, channel: Key, capacity: u64) {
        self.channel(channel).capacity = capacity;
    }

    pub(crate) fn sleep(&mut self, key: Key, process: usize) {
        self.sleepers.entry(key).or_default().push_back(process);
    }

    /// Puts into `woken` who sleeps on `key`: all, or the first.
    pub(crate) fn wake(&mut self, key: Key, all: bool, woken: &mut Vec<usize>) {
        if let Some(sleepers) = self.sleepers.get_mut(&key) {
            let count = if all { sleepers.len() } else { sleepers.len().min(1) };
            woken.extend(sleepers.drain(..count));
        }
    }

    /// Whether `process` has the lock now; else it waits for it.
    pub(crate) fn lock(&mut self, key: Key, process: usize) -> bool {
        let lock = self.locks.entry(key).or_default();
        if lock.is_taken {
            lock.waiting.push_back(process);
            return false;
        }
        lock.is_taken = true;
        true
    }

    /// Gives the lock to the next, who is woken, if there is one.
    pub(crate) fn unlock(&mut self, key: Key, woken: &mut Vec<usize>) {
        if let Some(lock) = self.locks.get_mut(&key) {
            match lock.waiting.pop_front() {
                Some(next) => woken.push(next),
                None => lock.is_taken = false,
            }
        }
    }

    /// Whether the bytes are in the channel now; else `process` waits for room. Who waited for bytes is woken.
    pub(crate) fn put(&mut self, channel: Key, bytes: u64, process: usize, woken: &mut Vec<usize>) -> bool {
        let at = self.channel(channel);
        at.putters.push_back((process, bytes));
        let others = woken.len();
        at.settle(woken);
        Self::take_self(process, others, woken)
    }

    /// Whether `process` has the bytes now; else it waits for them. Who waited for room is woken.
    pub(crate) fn get(&mut self, channel: Key, bytes: u64, process: usize, woken: &mut Vec<usize>) -> bool {
        let at = self.channel(channel);
        at.getters.push_back((process, bytes));
        let others = woken.len();
        at.settle(woken);
        Self::take_self(process, others, woken)
    }

    /// Whether `process` is among those served since `from`; it is not woken, as it does not sleep.
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
            getters: VecDeque::new(),
            putters: VecDeque::new(),
        })
    }
}

impl Channel {
    /// Serves who can be served, in order. More than the channel holds goes in where it is empty.
    fn settle(&mut self, served: &mut Vec<usize>) {
        loop {
            if let Some(&(process, bytes)) = self.putters.front() {
                if self.bytes + bytes <= self.capacity || self.bytes == 0 {
                    self.bytes += bytes;
                    self.putters.pop_front();
                    served.push(process);
                    continue;
                }
            }
            match self.getters.front() {
                Some(&(process, bytes)) if bytes <= self.bytes => {
                    self.bytes -= bytes;
                    self.getters.pop_front();
                    served.push(process);
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
    fn a_lock_goes_to_who_waited_longest() {
        let mut meetings = Meetings::default();
        assert_eq!([1, 2, 3].map(|p| meetings.lock(7, p)), [true, false, false]);
        let mut woken = Vec::new();
        (0..3).for_each(|_| meetings.unlock(7, &mut woken));
        assert_eq!(woken, [2, 3]);
        assert!(meetings.lock(7, 4));
    }

    #[test]
    fn a_channel_keeps_its_bytes_and_its_order() {
        let (mut meetings, mut woken) = (Meetings::default(), Vec::new());
        meetings.set_capacity(1, 10);
        assert!(meetings.put(1, 8, 1, &mut woken));
        assert!(!meetings.put(1, 8, 2, &mut woken), "no room");
        assert!(!meetings.get(1, 9, 3, &mut woken), "not yet so many");
        assert!(!meetings.get(1, 1, 4, &mut woken), "behind who came first");
        assert!(woken.is_empty());
        meetings.set_capacity(1, 16);
        assert!(!meetings.put(1, 16, 5, &mut woken), "behind it");
        assert_eq!(woken, [2, 3, 4], "16 in, 9 and 1 out");
    }

    #[test]
    fn wakes_one_or_all_and_nobody_is_no_fault() {
        let (mut meetings, mut woken) = (Meetings::default(), Vec::new());
        meetings.wake(1, true, &mut woken);
        (5..8).for_each(|p| meetings.sleep(1, p));
        meetings.wake(1, false, &mut woken);
        assert_eq!(woken, [5]);
        meetings.wake(1, true, &mut woken);
        assert_eq!(woken, [5, 6, 7]);
    }
}
