//! The service time of the virtual disk.

use super::CAPACITY;
use iopilot_block::{Lba, Nanos, Request};

/// A seek that grows with the square root of its distance, half a turn of the platter, and a transfer. No cost but the
/// transfer where a request starts where the last one ended.
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
    /// Serves `rq` and says how long it took.
    pub fn serve(&mut self, rq: &Request) -> Nanos {
        let distance = self.head.distance(rq.lba);
        self.head = rq.end();
        let transfer = self.per_sector * u64::from(rq.sectors.0);
        if distance == 0 {
            return transfer + Nanos::from_micros(20);
        }
        let share = (distance as f64 / CAPACITY as f64).min(1.0).sqrt();
        let seek = self.settle + Nanos::from_millis_f64(self.full_stroke.as_millis_f64() * share);
        seek + self.half_turn + transfer
    }
}
