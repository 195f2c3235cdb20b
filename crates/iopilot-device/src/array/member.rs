//! [`Member`]: a member and its queue.

use crate::{Device, DeviceRequest, MemberReport, ServiceBreakdown};
use iopilot_block::{Flags, Nanos, Op, RequestId, Slab};
use iopilot_sched::{IoQueue, IoQueueConfig, IoRequest};
use std::collections::VecDeque;

use super::copies::MemberView;
use super::plan::MemberIo;

/// A member request in progress: waiting at the controller, or in the member.
#[derive(Clone, Copy, Debug)]
pub(super) struct IssuedMemberIo {
    /// The operation it belongs to, and its index in the operation's plan.
    pub(super) operation: u32,
    pub(super) index: u32,
    pub(super) io: MemberIo,
    pub(super) flags: Flags,
    /// Where the time went in the requests that it waited for.
    pub(super) path: ServiceBreakdown,
    /// Whether it is in progress.
    pub(super) live: bool,
}

/// All member requests in progress. Their numbers are their ids at the member.
#[derive(Clone, Debug, Default)]
pub(super) struct IssuedRequests(Slab<IssuedMemberIo>);

impl IssuedRequests {
    pub(super) fn add(&mut self, issued: IssuedMemberIo) -> u32 {
        self.0.insert(issued)
    }

    /// Removes a request.
    pub(super) fn take(&mut self, at: u32) -> IssuedMemberIo {
        let issued = self.0.remove(at);
        issued.live = false;
        *issued
    }

    pub(super) fn get(&self, at: u32) -> &IssuedMemberIo {
        &self.0[at]
    }

    /// The numbers of the requests in progress at `member`.
    pub(super) fn at_member(&self, member: u32) -> impl Iterator<Item = u32> + '_ {
        (0u32..).zip(self.0.as_slice()).filter(move |(_, s)| s.live && s.io.member == member).map(|(at, _)| at)
    }
}

/// The requests that wait for a member at the controller.
#[derive(Clone, Debug)]
enum Waiting {
    /// In order of arrival.
    Fifo(VecDeque<u32>),
    /// In the order of a policy; flushes go first.
    Ordered { queue: Box<IoQueue>, flushes: VecDeque<u32> },
}

impl Waiting {
    fn new(policy: Option<&IoQueueConfig>) -> Self {
        match policy {
            None => Self::Fifo(VecDeque::new()),
            Some(config) => Self::Ordered { queue: Box::new(IoQueue::new(config.clone())), flushes: VecDeque::new() },
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Fifo(queue) => queue.len(),
            Self::Ordered { queue, flushes } => queue.len() + flushes.len(),
        }
    }

    fn push(&mut self, at: u32, io: &MemberIo, now: Nanos) {
        match self {
            Self::Fifo(queue) => queue.push_back(at),
            Self::Ordered { flushes, .. } if io.op == Op::Flush => flushes.push_back(at),
            Self::Ordered { queue, .. } => {
                queue.insert(IoRequest::new(RequestId::from_index(at as usize), io.op, io.lba, io.sectors), now);
            }
        }
    }

    fn pop(&mut self, device: &impl Device, now: Nanos) -> Option<u32> {
        match self {
            Self::Fifo(queue) => queue.pop_front(),
            Self::Ordered { queue, flushes } => match flushes.pop_front() {
                Some(at) => Some(at),
                None => queue.pick(now, device.positions()).map(|pick| pick.id.index() as u32),
            },
        }
    }

    fn completed(&mut self, at: u32, io: &MemberIo, now: Nanos) {
        if let (Self::Ordered { queue, .. }, true) = (self, io.op != Op::Flush) {
            // No other request completes with it: streams and overlaps are off.
            queue.completed(RequestId::from_index(at as usize), now, &mut Vec::new());
        }
    }
}

/// A member, or the spare that replaces it.
#[derive(Clone, Debug)]
pub(super) struct Member<D> {
    pub(super) device: D,
    /// False while the member has failed and has no spare.
    pub(super) present: bool,
    waiting: Waiting,
    in_flight: u32,
    depth: u32,
    /// Where the last request to it ended.
    last: u64,
    /// Reads and writes issued to it.
    given: [u64; 2],
    busy: Nanos,
    busy_since: Nanos,
}

impl<D: Device> Member<D> {
    /// At most `depth` requests are in the device at once; the others wait in the order of `policy`.
    pub(super) fn new(device: D, depth: u32, policy: Option<&IoQueueConfig>) -> Self {
        let depth = depth.min(device.queue_depth());
        Self {
            device,
            present: true,
            waiting: Waiting::new(policy),
            in_flight: 0,
            depth,
            last: 0,
            given: [0; 2],
            busy: Nanos::ZERO,
            busy_since: Nanos::ZERO,
        }
    }

    /// What it did so far; a spare continues the counts of the member it replaces.
    pub(super) fn report(&self) -> MemberReport {
        MemberReport { reads: self.given[0], writes: self.given[1], busy_s: self.busy.as_secs_f64() }
    }

    /// Queues a request and issues what the member can take.
    pub(super) fn submit(&mut self, at: u32, requests: &IssuedRequests, now: Nanos) {
        self.waiting.push(at, &requests.get(at).io, now);
        self.pump(requests, now);
    }

    /// One of its requests is done.
    pub(super) fn completed(&mut self, at: u32, io: &MemberIo, requests: &IssuedRequests, now: Nanos) {
        self.in_flight -= 1;
        self.end_busy_period(now);
        self.waiting.completed(at, io, now);
        self.pump(requests, now);
    }

    /// Ends a busy period if nothing is in flight.
    fn end_busy_period(&mut self, now: Nanos) {
        if self.in_flight == 0 {
            self.busy += now.since(self.busy_since);
        }
    }

    fn pump(&mut self, requests: &IssuedRequests, now: Nanos) {
        while self.in_flight < self.depth {
            let Some(at) = self.waiting.pop(&self.device, now) else { return };
            let issued = requests.get(at);
            let io = &issued.io;
            if self.in_flight == 0 {
                self.busy_since = now;
            }
            self.in_flight += 1;
            if let Some(count) = [Op::Read, Op::Write].iter().position(|op| *op == io.op) {
                self.given[count] += 1;
            }
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

    /// Removes the device with all its requests.
    pub(super) fn remove(&mut self, policy: Option<&IoQueueConfig>, now: Nanos) {
        self.waiting = Waiting::new(policy);
        if std::mem::take(&mut self.in_flight) > 0 {
            self.end_busy_period(now);
        }
        self.last = 0;
        self.present = false;
    }

    /// Puts a spare in its place.
    pub(super) fn replace(&mut self, spare: D) {
        self.device = spare;
        self.present = true;
    }
}

/// The members' state for a choice of copies.
pub(super) struct Members<'a, D>(pub(super) &'a [Member<D>]);

impl<D> MemberView for Members<'_, D> {
    fn queued(&self, member: u32) -> u32 {
        let member = &self.0[member as usize];
        member.in_flight + member.waiting.len() as u32
    }

    fn last(&self, member: u32) -> u64 {
        self.0[member as usize].last
    }
}
