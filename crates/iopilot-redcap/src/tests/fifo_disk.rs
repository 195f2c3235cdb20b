//! [`FifoDisk`]: a reference disk without seeks, which serves requests in order of arrival.

use crate::{ReferenceCompletion, ReferenceDisk, ReferenceRequest};
use iopilot_block::{Lba, Nanos, Op, Sectors, SourceHandle};
use std::collections::VecDeque;

/// Serves one request after the other, each in a constant time and one for each block.
#[derive(Clone, Debug)]
pub(crate) struct FifoDisk {
    base: Nanos,
    block: Nanos,
    /// Handle, arrival, end.
    queue: VecDeque<(SourceHandle, Nanos, Nanos)>,
    pub(crate) now: Nanos,
    pub(crate) congested: bool,
    /// All submitted requests: the operation, the address, the length, and whether it is a copy.
    pub(crate) requests: Vec<(Op, u64, u32, bool)>,
    /// The disk is congested with more requests than this.
    pub(crate) most: usize,
}

impl FifoDisk {
    pub(crate) fn new(base: Nanos, block: Nanos) -> Self {
        let (queue, now) = (VecDeque::new(), Nanos::ZERO);
        Self { base, block, queue, now, congested: false, requests: Vec::new(), most: usize::MAX }
    }
}

impl ReferenceDisk for FifoDisk {
    fn submit(&mut self, ReferenceRequest { request, copy }: ReferenceRequest, now: Nanos) {
        self.requests.push((request.op, request.lba.0, request.sectors.0, copy.is_some()));
        self.now = now;
        let start = self.queue.back().map_or(now, |last| last.2.max(now));
        let service = copy.unwrap_or_else(|| self.service(request.op, request.lba, request.sectors));
        self.queue.push_back((request.handle, now, start + service));
    }

    fn next_event(&self) -> Option<Nanos> {
        self.queue.front().map(|next| next.2)
    }

    fn advance(&mut self, now: Nanos, out: &mut Vec<ReferenceCompletion>) {
        self.now = now;
        while let Some(&(handle, arrived, at)) = self.queue.front().filter(|next| next.2 <= now) {
            self.queue.pop_front();
            out.push(ReferenceCompletion { handle, at, wait_and_service: at - arrived });
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
