//! [`Member`]: one member and what waits for it.

use crate::{AnyDevice, Device, DeviceRequest, ServiceBreakdown};
use iopilot_block::{Flags, Nanos, Op, RequestId};
use std::collections::VecDeque;

use super::copies::MemberView;
use super::plan::MemberIo;

/// A member request that is out: waiting at the controller, or in the member.
#[derive(Clone, Copy, Debug)]
pub(super) struct Issued {
    /// Whose it is, and which of its plan.
    pub(super) operation: u32,
    pub(super) index: u32,
    pub(super) io: MemberIo,
    pub(super) flags: Flags,
    /// Where the time of those went that it waited for.
    pub(super) path: ServiceBreakdown,
    /// Whether it is out.
    pub(super) live: bool,
}

/// All member requests that are out, by number; the number is their name at the member.
#[derive(Clone, Debug, Default)]
pub(super) struct IssuedRequests {
    slots: Vec<Issued>,
    free: Vec<u32>,
}

impl IssuedRequests {
    pub(super) fn add(&mut self, issued: Issued) -> u32 {
        match self.free.pop() {
            Some(at) => {
                self.slots[at as usize] = issued;
                at
            }
            None => {
                self.slots.push(issued);
                (self.slots.len() - 1) as u32
            }
        }
    }

    /// Takes one out.
    pub(super) fn take(&mut self, at: u32) -> Issued {
        let slot = &mut self.slots[at as usize];
        slot.live = false;
        self.free.push(at);
        *slot
    }

    pub(super) fn get(&self, at: u32) -> &Issued {
        &self.slots[at as usize]
    }

    /// The numbers of those that are out at `member`.
    pub(super) fn at_member(&self, member: u32) -> impl Iterator<Item = u32> + '_ {
        (0u32..).zip(&self.slots).filter(move |(_, s)| s.live && s.io.member == member).map(|(at, _)| at)
    }
}

/// A member, or the spare in its place.
#[derive(Clone, Debug)]
pub(super) struct Member {
    pub(super) device: AnyDevice,
    /// Whether there is a device to talk to.
    pub(super) present: bool,
    /// What waits at the controller, in order of arrival.
    queue: VecDeque<u32>,
    in_flight: u32,
    depth: u32,
    /// Where the last request to it ended.
    last: u64,
}

impl Member {
    pub(super) fn new(device: AnyDevice, depth: u32) -> Self {
        let depth = depth.min(device.queue_depth());
        Self { device, present: true, queue: VecDeque::new(), in_flight: 0, depth, last: 0 }
    }

    /// Queues a request and gives the member what it can take.
    pub(super) fn submit(&mut self, at: u32, requests: &IssuedRequests, now: Nanos) {
        self.queue.push_back(at);
        self.pump(requests, now);
    }

    /// One of its requests is done.
    pub(super) fn completed(&mut self, requests: &IssuedRequests, now: Nanos) {
        self.in_flight -= 1;
        self.pump(requests, now);
    }

    fn pump(&mut self, requests: &IssuedRequests, now: Nanos) {
        while self.in_flight < self.depth {
            let Some(at) = self.queue.pop_front() else { return };
            let issued = requests.get(at);
            let io = &issued.io;
            self.in_flight += 1;
            if io.op != Op::Flush {
                self.last = io.end();
            }
            let request = DeviceRequest {
                id: RequestId::from_index(at as usize),
                op: io.op,
                lba: io.lba,
                sectors: io.sectors,
                flags: issued.flags,
            };
            self.device.submit(request, now);
        }
    }

    /// The member is gone; a spare may take its place.
    pub(super) fn replace(&mut self, spare: Option<AnyDevice>) {
        self.queue.clear();
        self.in_flight = 0;
        self.last = 0;
        self.present = spare.is_some();
        if let Some(spare) = spare {
            self.device = spare;
        }
    }
}

/// What a choice of copies may see of the members.
pub(super) struct Members<'a>(pub(super) &'a [Member]);

impl MemberView for Members<'_> {
    fn queued(&self, member: u32) -> u32 {
        let member = &self.0[member as usize];
        member.in_flight + member.queue.len() as u32
    }

    fn last(&self, member: u32) -> u64 {
        self.0[member as usize].last
    }
}
