//! [`FifoDisk`]: a virtual disk without a seek.

use crate::{Virtual, VirtualDisk, VirtualDone};
use iopilot_block::{Lba, Nanos, Op, Sectors};
use std::collections::VecDeque;

/// Serves one request after the other, each in a constant time and one for each block.
#[derive(Clone, Debug)]
pub(crate) struct FifoDisk {
    base: Nanos,
    block: Nanos,
    /// Name, arrival, end.
    queue: VecDeque<(u64, Nanos, Nanos)>,
    pub(crate) now: Nanos,
    pub(crate) congested: bool,
    pub(crate) submitted: u64,
    /// Congested with so many requests.
    pub(crate) most: usize,
}

impl FifoDisk {
    pub(crate) fn new(base: Nanos, block: Nanos) -> Self {
        let (queue, now) = (VecDeque::new(), Nanos::ZERO);
        Self { base, block, queue, now, congested: false, submitted: 0, most: usize::MAX }
    }
}

impl VirtualDisk for FifoDisk {
    fn submit(&mut self, request: Virtual, now: Nanos) {
        self.submitted += 1;
        self.now = now;
        let start = self.queue.back().map_or(now, |last| last.2.max(now));
        let service = request.copy.unwrap_or_else(|| self.service(request.op, request.lba, request.sectors));
        self.queue.push_back((request.id, now, start + service));
    }

    fn next_event(&self) -> Option<Nanos> {
        self.queue.front().map(|next| next.2)
    }

    fn advance(&mut self, now: Nanos, out: &mut Vec<VirtualDone>) {
        self.now = now;
        while let Some(&(id, arrived, at)) = self.queue.front().filter(|next| next.2 <= now) {
            self.queue.pop_front();
            out.push(VirtualDone { id, at, wait_and_service: at - arrived });
        }
    }

    fn service(&mut self, _: Op, _: Lba, sectors: Sectors) -> Nanos {
        self.base + self.block * u64::from(sectors.0 / 8)
    }

    fn clear(&mut self) {
        self.queue.clear();
    }

    fn is_congested(&self) -> bool {
        self.congested || self.queue.len() > self.most
    }
}
