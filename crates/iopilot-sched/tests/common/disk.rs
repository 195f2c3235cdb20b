//! The virtual disk: its service times and its positions.

use super::CAPACITY;
use iopilot_block::{Cached, Lba, Nanos, Op, Positions, Request, Sectors};

/// A request takes a seek that grows with the square root of its distance, half a revolution, and a transfer. A request
/// that starts where the last one ended takes only the transfer.
#[derive(Clone, Debug)]
pub struct Disk {
    pub settle: Nanos,
    pub full_stroke: Nanos,
    pub half_turn: Nanos,
    pub per_sector: Nanos,
    pub head: Lba,
}

impl Default for Disk {
    /// A disk of 10,000 rpm and 60 MB/s.
    fn default() -> Self {
        Self {
            settle: Nanos::from_micros(600),
            full_stroke: Nanos::from_millis(10),
            half_turn: Nanos::from_millis(3),
            per_sector: Nanos(8_500),
            head: Lba(0),
        }
    }
}

impl Disk {
    /// Serves `rq` and returns the time it took.
    pub fn serve(&mut self, rq: &Request) -> Nanos {
        let time = self.approach(self.head, rq.lba) + self.per_sector * u64::from(rq.sectors.0);
        self.head = rq.end();
        time
    }

    fn approach(&self, from: Lba, to: Lba) -> Nanos {
        match from.distance(to) {
            0 => Nanos::from_micros(20),
            distance => self.seek(distance) + self.half_turn,
        }
    }

    fn seek(&self, distance: u64) -> Nanos {
        let share = (distance as f64 / CAPACITY as f64).min(1.0).sqrt();
        self.settle + Nanos::from_millis_f64(self.full_stroke.as_millis_f64() * share)
    }
}

/// Sectors on a cylinder.
const CYLINDER: u64 = 1 << 14;

impl Positions for Disk {
    fn cylinders(&self) -> u32 {
        (CAPACITY / CYLINDER) as u32
    }

    fn cylinder(&self, lba: Lba) -> u32 {
        (lba.0 / CYLINDER) as u32
    }

    fn arm(&self, _: Nanos) -> u32 {
        self.cylinder(self.head)
    }

    fn seek_at_least(&self, distance: u32) -> f64 {
        match distance {
            0 => 0.0,
            // From the end of one cylinder to the beginning of another.
            d => self.seek(u64::from(d - 1) * CYLINDER).0 as f64,
        }
    }

    fn initiation(&self, _: Op) -> f64 {
        0.0
    }

    fn positioning(&self, lba: Lba, _: Sectors, _: Op, _: Nanos) -> f64 {
        self.approach(self.head, lba).0 as f64
    }

    fn access(&self, lba: Lba, sectors: Sectors, _: Op, _: Nanos) -> f64 {
        (self.approach(self.head, lba) + self.per_sector * u64::from(sectors.0)).0 as f64
    }

    fn access_after(&self, after: Lba, lba: Lba, sectors: Sectors, _: Op, _: Nanos) -> f64 {
        (self.approach(after, lba) + self.per_sector * u64::from(sectors.0)).0 as f64
    }

    fn cached(&self, _: Lba, _: Sectors, _: Op) -> Cached {
        Cached::None
    }
}
