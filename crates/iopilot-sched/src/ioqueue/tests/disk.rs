//! A disk that is small enough for calculations by hand.

use iopilot_block::{Cached, Lba, Nanos, Op, Positions, Sectors};

pub(super) const CYLINDERS: u32 = 1000;
/// Ten heads of ten sectors.
pub(super) const PER_CYLINDER: u64 = 100;
pub(super) const CAPACITY: u64 = CYLINDERS as u64 * PER_CYLINDER;
/// One revolution, ns. A sector takes 1 ms.
const PERIOD: f64 = 10e6;

/// A seek takes 1 ms and 10 us a cylinder, and half a millisecond more for writes. There is no skew. The test sets the
/// blocks in its cache.
#[derive(Clone, Debug, Default)]
pub(super) struct Platters {
    pub(super) cylinder: u32,
    pub(super) cached: Vec<(Lba, Cached)>,
    /// The overhead of a read and of a write, ns.
    pub(super) overhead: [f64; 2],
}

impl Platters {
    pub(super) fn location(lba: Lba) -> u32 {
        (lba.0 / PER_CYLINDER) as u32
    }

    fn seek(from: u32, to: u32, op: Op) -> f64 {
        match from.abs_diff(to) {
            0 => 0.0,
            d => 1e6 + 1e4 * f64::from(d) + if op == Op::Read { 0.0 } else { 0.5e6 },
        }
    }

    fn approach(from: u32, lba: Lba, op: Op, at: Nanos) -> f64 {
        let seek = Self::seek(from, Self::location(lba), op);
        let there = at.0 as f64 + seek;
        let angle = (lba.0 % 10) as f64 / 10.0;
        let wait = (angle - there / PERIOD).rem_euclid(1.0);
        seek + if wait > 1.0 - 1e-9 { 0.0 } else { wait * PERIOD }
    }

    pub(super) fn serve(&mut self, lba: Lba, sectors: Sectors, op: Op, now: Nanos) -> Nanos {
        let done = now.0 as f64 + self.access(lba, sectors, op, now);
        self.cylinder = Self::location(Lba(lba.0 + u64::from(sectors.0) - 1));
        Nanos(done.ceil() as u64)
    }
}

impl Positions for Platters {
    fn cylinders(&self) -> u32 {
        CYLINDERS
    }

    fn cylinder(&self, lba: Lba) -> u32 {
        Self::location(lba)
    }

    fn arm(&self, _: Nanos) -> u32 {
        self.cylinder
    }

    fn seek_at_least(&self, distance: u32) -> f64 {
        Self::seek(0, distance, Op::Read)
    }

    fn initiation(&self, op: Op) -> f64 {
        self.overhead[usize::from(op != Op::Read)]
    }

    fn positioning(&self, lba: Lba, _: Sectors, op: Op, at: Nanos) -> f64 {
        Self::approach(self.cylinder, lba, op, at)
    }

    fn access(&self, lba: Lba, sectors: Sectors, op: Op, at: Nanos) -> f64 {
        Self::approach(self.cylinder, lba, op, at) + f64::from(sectors.0) * PERIOD / 10.0
    }

    fn access_after(&self, after: Lba, lba: Lba, sectors: Sectors, op: Op, at: Nanos) -> f64 {
        let from = Self::location(Lba(after.0.saturating_sub(1)));
        Self::approach(from, lba, op, at) + f64::from(sectors.0) * PERIOD / 10.0
    }

    fn cached(&self, lba: Lba, _: Sectors, _: Op) -> Cached {
        self.cached.iter().find(|(at, _)| *at == lba).map_or(Cached::None, |&(_, cached)| cached)
    }
}
