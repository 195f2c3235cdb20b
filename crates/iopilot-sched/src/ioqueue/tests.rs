//! Tests of the queue against the rules of its policies.

mod disk;
mod policies;
mod properties;
mod schemes;

use super::*;
use disk::Platters;
use iopilot_block::{Lba, Op, Sectors};

/// A queue with its disk, and the names of its requests.
struct Rig {
    queue: IoQueue,
    disk: Platters,
    now: Nanos,
    names: usize,
}

impl Rig {
    fn new(config: IoQueueConfig) -> Self {
        Self { queue: IoQueue::new(config), disk: Platters::default(), now: Nanos::ZERO, names: 0 }
    }

    fn policy(policy: IoQueuePolicy) -> Self {
        Self::new(IoQueueConfig { capacity: disk::CAPACITY, ..IoQueueConfig::with_policy(policy) })
    }

    /// A request to insert.
    fn request(&mut self, op: Op, lba: u64, sectors: u32) -> IoRequest {
        self.names += 1;
        IoRequest::new(RequestId::from_index(self.names - 1), op, Lba(lba), Sectors(sectors))
    }

    fn put(&mut self, op: Op, lba: u64, sectors: u32) -> RequestId {
        let request = self.request(op, lba, sectors);
        self.queue.insert(request, self.now);
        request.id
    }

    fn read(&mut self, lba: u64) -> RequestId {
        self.put(Op::Read, lba, 1)
    }

    fn reads(&mut self, lbas: &[u64]) {
        for &lba in lbas {
            self.read(lba);
        }
    }

    fn wait_ms(&mut self, ms: u64) {
        self.now += Nanos::from_millis(ms);
    }

    fn pick(&mut self) -> Option<IoPick> {
        self.queue.pick(self.now, Some(&self.disk))
    }

    /// Picks a request, lets the disk serve it, and completes it. Returns its first block.
    fn serve(&mut self) -> Option<u64> {
        let pick = self.pick()?;
        self.now = self.disk.serve(pick.lba, pick.sectors, pick.op, self.now);
        self.queue.completed(pick.id, self.now, &mut Vec::new());
        Some(pick.lba.0)
    }

    /// The first blocks in the order of service, at a constant time.
    fn order(&mut self) -> Vec<u64> {
        let now = self.now;
        std::iter::from_fn(|| {
            self.now = now;
            self.serve()
        })
        .collect()
    }
}
