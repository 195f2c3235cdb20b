//! [`CacheTally`]: counts the traffic of a cache.

use crate::block_server::OpCounts;
use iopilot_block::{Distribution, Histogram, Nanos, Op, Sectors};
use iopilot_redcap::{RequestPart, Role};
use serde::{Deserialize, Serialize};

/// The requests of the cached disk's users.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ApplicationTraffic {
    /// Requests answered, of each kind.
    pub requests: OpCounts,
    /// Their bytes.
    pub bytes: OpCounts,
    /// Those of them that were answered with an I/O error.
    pub errors: OpCounts,
    /// How long reads took, ms.
    pub read_ms: Distribution,
    /// How long writes took, ms.
    pub write_ms: Distribution,
    /// Requests in flight.
    pub in_flight: u64,
}

/// The requests to the disk below.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskTraffic {
    /// Requests completed, of each kind.
    pub requests: OpCounts,
    /// Their bytes.
    pub bytes: OpCounts,
    /// Those of them that failed.
    pub errors: OpCounts,
    /// Prefetches among them: requests that no process waits for.
    pub prefetches: u64,
    /// Prefetches that had to wait for room in the disk's queue, and were given up.
    pub given_up: u64,
    /// Requests in flight.
    pub in_flight: u64,
}

/// The counters behind both.
#[derive(Clone, Debug, Default)]
pub(super) struct CacheTally {
    application: ApplicationTraffic,
    disk: DiskTraffic,
    reads: Histogram,
    writes: Histogram,
}

impl CacheTally {
    /// Counts a request from above.
    pub(super) fn above(&mut self, op: Op, sectors: Sectors, took: Nanos, failed: bool) {
        *self.application.requests.of(op) += 1;
        *self.application.bytes.of(op) += sectors.bytes();
        *self.application.errors.of(op) += u64::from(failed);
        match op {
            Op::Read => self.reads.record(took),
            Op::Write => self.writes.record(took),
            Op::Flush | Op::Discard => {}
        }
    }

    /// Counts a request to the disk.
    pub(super) fn below(&mut self, part: &RequestPart, good: bool) {
        *self.disk.requests.of(part.op) += 1;
        *self.disk.bytes.of(part.op) += part.sectors.bytes();
        *self.disk.errors.of(part.op) += u64::from(!good);
        self.disk.prefetches += u64::from(part.role == Role::Prefetch);
    }

    /// What was counted, with so many requests in flight above and below.
    pub(super) fn traffic(&self, above: usize, below: usize) -> (ApplicationTraffic, DiskTraffic) {
        let (read_ms, write_ms) = (self.reads.distribution(), self.writes.distribution());
        (
            ApplicationTraffic { read_ms, write_ms, in_flight: above as u64, ..self.application },
            DiskTraffic { in_flight: below as u64, ..self.disk },
        )
    }
}
