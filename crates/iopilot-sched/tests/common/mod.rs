//! A bench for any scheduler: processes submit, and a virtual disk of some depth serves. The bench checks the rules for
//! all schedulers.
//!
//! It always checks that no request is lost or served twice, that a merged request covers exactly its parts, and that
//! `queued()` is right. If the device is idle and requests are queued, the scheduler must dispatch one or name the time
//! to ask again.

#![allow(dead_code, unreachable_pub)] // each test binary uses its own part

mod disk;
mod io;
mod random;

pub use disk::Disk;
pub use io::{Done, Io};
#[allow(unused_imports)]
pub use random::{Scenario, random_spec, scenario};

use iopilot_block::{Criticality, Lba, Nanos, ProcessId, RequestId, Requests};
use iopilot_sched::{AnyScheduler, Dispatch, Environment, MergeLimits, Scheduler, SchedulerSpec};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// The capacity of the virtual disk in sectors: 128 GiB.
pub const CAPACITY: u64 = 1 << 28;

/// The longest time that a scheduler may keep the device idle while requests are queued.
const PATIENCE: Nanos = Nanos::from_secs(60);

/// A scheduled event.
#[derive(Clone, Debug)]
pub enum Event {
    /// A process submits.
    Submit(Io),
    /// A process exits.
    Exit(ProcessId),
    /// A process begins to wait for the submission with this number, counted from 0, wherever it is.
    Wait(usize),
}

/// The next events of a process, with their delays from now.
pub type Outbox = Vec<(Nanos, Event)>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Free,
    Queued,
    /// In the device, alone or as a part of another request.
    Gone,
}

/// A scheduler in front of a virtual disk.
pub struct Bench {
    pub scheduler: AnyScheduler,
    pub rqs: Requests,
    pub now: Nanos,
    pub limits: MergeLimits,
    pub disk: Disk,
    /// Requests the disk takes at once; it serves them one after the other, in the order given.
    pub depth: usize,
    /// The requests in the order of their dispatch, as (process of the host, first sector, sectors, write).
    pub order: Vec<(u32, u64, u32, bool)>,
    /// How many submissions merged.
    pub merged: usize,
    /// The longest time that the device idled with requests queued.
    pub longest_idle: Nanos,
    /// Whether to check that no noncritical request is dispatched while a critical one is queued.
    pub critical_first: bool,
    in_device: VecDeque<RequestId>,
    busy_until: Option<Nanos>,
    timer: Option<Nanos>,
    waiting_since: Option<Nanos>,
    events: BinaryHeap<Reverse<(Nanos, u64)>>,
    todo: Vec<Option<Event>>,
    ios: Vec<Option<Io>>,
    /// The request of each submission, in their order, until it completes.
    submitted: Vec<Option<RequestId>>,
    /// The number of the submission of each request.
    number: Vec<usize>,
    place: Vec<Place>,
    queued: usize,
}

impl Bench {
    /// `spec` as on the command line, such as `deadline:fifo_batch=4`.
    pub fn new(spec: &str, depth: usize) -> Self {
        let env = Environment { capacity: CAPACITY, queue_depth: depth as u32, cpus: 2, ..Environment::default() };
        let scheduler =
            SchedulerSpec::parse(spec).expect("a known scheduler").build(&env).expect("checked by the parser");
        Self {
            scheduler,
            rqs: Requests::new(),
            now: Nanos::ZERO,
            limits: MergeLimits::default(),
            disk: Disk::default(),
            depth,
            order: Vec::new(),
            merged: 0,
            longest_idle: Nanos::ZERO,
            critical_first: false,
            in_device: VecDeque::new(),
            busy_until: None,
            timer: None,
            waiting_since: None,
            events: BinaryHeap::new(),
            todo: Vec::new(),
            ios: Vec::new(),
            submitted: Vec::new(),
            number: Vec::new(),
            place: Vec::new(),
            queued: 0,
        }
    }

    /// Schedules `event` at `at`.
    pub fn at(&mut self, at: Nanos, event: Event) {
        assert!(at >= self.now, "events lie ahead");
        self.events.push(Reverse((at, self.todo.len() as u64)));
        self.todo.push(Some(event));
    }

    /// Submits `io` at `at`.
    pub fn submit(&mut self, at: Nanos, io: Io) {
        self.at(at, Event::Submit(io));
    }

    /// Runs until `until` or until no event is left. `on_done` gets each part of each completed request, and may
    /// schedule more events.
    pub fn run(&mut self, until: Nanos, mut on_done: impl FnMut(&Done, &mut Outbox)) {
        let mut outbox = Outbox::new();
        loop {
            let next_event = self.events.peek().map(|e| e.0.0);
            let Some(at) = [next_event, self.busy_until, self.timer].into_iter().flatten().min() else { break };
            if at > until {
                break;
            }
            self.now = at;
            if self.busy_until == Some(at) {
                self.complete(&mut on_done, &mut outbox);
            }
            while self.events.peek().is_some_and(|e| e.0.0 == at) {
                let Reverse((_, number)) = self.events.pop().expect("peeked");
                match self.todo[number as usize].take().expect("each event happens once") {
                    Event::Submit(io) => self.arrive(io),
                    Event::Exit(process) => self.scheduler.process_exited(process, at),
                    Event::Wait(number) => self.wait_for(number),
                }
            }
            for (delay, event) in outbox.drain(..) {
                self.events.push(Reverse((at + delay, self.todo.len() as u64)));
                self.todo.push(Some(event));
            }
            // The immediate next events of the completed process come before the next dispatch.
            if self.events.peek().is_some_and(|e| e.0.0 == at) {
                continue;
            }
            self.pump();
        }
        if self.events.is_empty() && self.busy_until.is_none() && self.timer.is_none() {
            assert_eq!(self.queued, 0, "the run is over with requests still queued");
        }
    }

    /// Runs to the end without new events. All submissions must have completed.
    pub fn drain(&mut self) -> Vec<Done> {
        let mut all = Vec::new();
        self.run(Nanos::MAX, |done, _| all.push(done.clone()));
        assert!(self.ios.iter().all(Option::is_none), "a submission never came back");
        all
    }

    fn arrive(&mut self, io: Io) {
        let mut rq = io.request();
        (rq.arrived, rq.inserted) = (self.now, self.now);
        let id = self.rqs.insert(rq);
        if id.index() >= self.ios.len() {
            self.ios.resize(id.index() + 1, None);
            self.number.resize(id.index() + 1, 0);
            self.place.resize(id.index() + 1, Place::Free);
        }
        assert_eq!(self.place[id.index()], Place::Free);
        self.ios[id.index()] = Some(io);
        self.number[id.index()] = self.submitted.len();
        self.submitted.push(Some(id));
        match self.scheduler.try_merge(&mut self.rqs, id, &self.limits, self.now) {
            Some(merged) => {
                self.merged += 1;
                assert_eq!(self.place[merged.host.index()], Place::Queued, "merged into a request that is not queued");
                self.place[id.index()] = Place::Gone;
                if let Some(gone) = merged.absorbed {
                    assert_eq!(self.place[gone.index()], Place::Queued, "absorbed a request that is not queued");
                    assert_ne!(gone, merged.host);
                    self.place[gone.index()] = Place::Gone;
                    self.queued -= 1;
                }
            }
            None => {
                self.scheduler.insert(&mut self.rqs, id, self.now);
                self.place[id.index()] = Place::Queued;
                self.queued += 1;
            }
        }
        assert_eq!(self.scheduler.queued(), self.queued, "queued() after an arrival");
    }

    /// A process begins to wait for a submission, which may not have been made yet, or may be complete.
    fn wait_for(&mut self, number: usize) {
        let Some(id) = self.submitted.get(number).copied().flatten() else { return };
        self.rqs[id].criticality = Criticality::TimeCritical;
        let whole = self.rqs.whole(id);
        self.scheduler.raise(&mut self.rqs, whole, self.now);
        assert_eq!(self.scheduler.queued(), self.queued, "queued() after a process began to wait");
    }

    fn check_criticality(&self, id: RequestId) {
        let waits = |id| self.rqs.urgency(id) != Criticality::TimeNonCritical;
        if self.critical_first && !waits(id) {
            let queued = (0..self.place.len()).filter(|&slot| self.place[slot] == Place::Queued);
            let passed = queued.map(RequestId::from_index).find(|&id| waits(id));
            assert_eq!(passed, None, "it is critical, and the dispatched request is not");
        }
    }

    fn pump(&mut self) {
        self.timer = None;
        while self.in_device.len() < self.depth {
            match self.scheduler.dispatch_at(&mut self.rqs, self.now, Some(&self.disk)) {
                Dispatch::Request(id) => {
                    assert_eq!(self.place[id.index()], Place::Queued, "dispatched what is not queued");
                    self.place[id.index()] = Place::Gone;
                    self.queued -= 1;
                    if self.scheduler.joins_at_dispatch() {
                        self.joined(id);
                    }
                    self.check_extent(id);
                    self.check_criticality(id);
                    let rq = &mut self.rqs[id];
                    rq.issued = self.now;
                    self.order.push((rq.process.0, rq.lba.0, rq.sectors.0, rq.is_write()));
                    self.in_device.push_back(id);
                    self.start();
                }
                Dispatch::WaitUntil(at) => {
                    assert!(at > self.now, "{at:?} is not after {:?}", self.now);
                    self.timer = Some(at);
                    break;
                }
                Dispatch::Empty => break,
            }
        }
        assert_eq!(self.scheduler.queued(), self.queued, "queued() after a dispatch");
        let idle = self.in_device.is_empty() && self.queued > 0;
        if idle {
            assert!(
                self.timer.is_some(),
                "the device is idle and requests are queued, but none comes and no time is set"
            );
            let since = *self.waiting_since.get_or_insert(self.now);
            assert!(self.now.since(since) <= PATIENCE, "idle for {} with requests queued", self.now.since(since));
        } else if let Some(since) = self.waiting_since.take() {
            self.longest_idle = self.longest_idle.max(self.now.since(since));
        }
    }

    /// Notes that the parts of `id` are dispatched with it.
    fn joined(&mut self, id: RequestId) {
        let mut next = self.rqs.next_part(id);
        while let Some(part) = next {
            assert_eq!(self.place[part.index()], Place::Queued, "joined what is not queued");
            self.place[part.index()] = Place::Gone;
            self.queued -= 1;
            self.merged += 1;
            next = self.rqs.next_part(part);
        }
    }

    /// Checks that the parts of `id` fill its extent without gap or overlap.
    fn check_extent(&self, id: RequestId) {
        let rq = &self.rqs[id];
        assert!(rq.sectors.0 <= self.limits.max_sectors.max(rq.own_sectors.0), "grown beyond max_sectors");
        let mut parts: Vec<(Lba, u32)> = Vec::new();
        let mut next = Some(id);
        while let Some(part) = next {
            let p = &self.rqs[part];
            assert_eq!(p.op, rq.op, "merged across operations");
            parts.push((p.own_lba, p.own_sectors.0));
            next = self.rqs.next_part(part);
        }
        parts.sort_unstable();
        let mut at = rq.lba.0;
        for (lba, sectors) in parts {
            assert_eq!(lba.0, at, "a gap or an overlap in a merged request");
            at += u64::from(sectors);
        }
        assert_eq!(at, rq.end().0);
    }

    fn start(&mut self) {
        if self.busy_until.is_none() {
            if let Some(&id) = self.in_device.front() {
                self.busy_until = Some(self.now + self.disk.serve(&self.rqs[id]));
            }
        }
    }

    fn complete(&mut self, on_done: &mut impl FnMut(&Done, &mut Outbox), outbox: &mut Outbox) {
        let id = self.in_device.pop_front().expect("the device is busy with something");
        self.busy_until = None;
        self.scheduler.completed(&mut self.rqs, id, self.now);
        self.come_back(id, on_done, outbox);
        while let Some(id) = self.scheduler.collapsed() {
            assert_eq!(self.place[id.index()], Place::Queued, "complete with another, but not queued");
            self.place[id.index()] = Place::Gone;
            self.queued -= 1;
            self.rqs[id].issued = self.now;
            self.come_back(id, on_done, outbox);
        }
        assert_eq!(self.scheduler.queued(), self.queued, "queued() after a completion");
        self.start();
    }

    /// Returns the parts of `id` to their submitters.
    fn come_back(&mut self, id: RequestId, on_done: &mut impl FnMut(&Done, &mut Outbox), outbox: &mut Outbox) {
        let mut next = Some(id);
        while let Some(part) = next {
            next = self.rqs.next_part(part);
            let io = self.ios[part.index()].take().expect("a part comes back once");
            let rq = &self.rqs[part];
            assert_eq!((rq.own_lba, rq.own_sectors), (io.lba, io.sectors), "a part comes back with its own extent");
            assert_eq!(self.place[part.index()], Place::Gone);
            let done = Done { arrived: rq.arrived, issued: self.rqs[id].issued, completed: self.now, io };
            self.place[part.index()] = Place::Free;
            self.rqs.remove(part);
            self.submitted[self.number[part.index()]] = None;
            on_done(&done, outbox);
        }
    }
}
