//! [`Intervals`]: bytes and queue length over time.

/// The largest number of intervals. At most twice as many seek points are kept.
pub(crate) const POINTS: usize = 2048;

/// Bytes and queue length over time, in equal intervals whose width doubles when there are too many.
#[derive(Clone, Debug)]
pub(crate) struct Intervals {
    pub(crate) width: u64,
    pub(crate) bytes: Vec<u64>,
    /// The queue length integrated over each interval, in requests times nanoseconds.
    pub(crate) area: Vec<u128>,
    pub(crate) queue: u64,
    since: u64,
    /// The interval of the last lookup, and its start; most lookups are of the same interval. At first the start is never.
    last: (usize, u64),
}

impl Intervals {
    pub(crate) fn new() -> Self {
        Self { width: 1_000_000, bytes: Vec::new(), area: Vec::new(), queue: 0, since: 0, last: (0, u64::MAX) }
    }

    pub(crate) fn slot(&mut self, at: u64) -> usize {
        let (slot, start) = self.last;
        if at >= start && at - start < self.width { slot } else { self.find(at) }
    }

    fn find(&mut self, at: u64) -> usize {
        while at / self.width >= POINTS as u64 {
            self.width *= 2;
            let halve = |n: usize| n.div_ceil(2);
            for i in 0..halve(self.bytes.len()) {
                self.bytes[i] = self.bytes[2 * i] + self.bytes.get(2 * i + 1).copied().unwrap_or(0);
                self.area[i] = self.area[2 * i] + self.area.get(2 * i + 1).copied().unwrap_or(0);
            }
            self.bytes.truncate(halve(self.bytes.len()));
            self.area.truncate(halve(self.area.len()));
        }
        let slot = (at / self.width) as usize;
        if slot >= self.bytes.len() {
            self.bytes.resize(slot + 1, 0);
            self.area.resize(slot + 1, 0);
        }
        self.last = (slot, slot as u64 * self.width);
        slot
    }

    /// Accounts for the present queue length until `at`.
    pub(crate) fn until(&mut self, at: u64) {
        if self.queue == 0 {
            self.since = at;
            return;
        }
        while self.since < at {
            let slot = self.slot(self.since);
            let end = at.min((slot as u64 + 1) * self.width);
            self.area[slot] += u128::from(end - self.since) * u128::from(self.queue);
            self.since = end;
        }
    }
}
