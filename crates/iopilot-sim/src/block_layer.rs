//! The block layer between tasks and device: splitting, merging, plugging, tags, the scheduler, and dispatch.
//!
//! It is the kernel's, of 2.6.24 or 6.x as the scheduler's lineage asks: see [`crate::BlockConfig`].

mod dispatch;
mod tagging;

use crate::Left;
use crate::asks::Asks;
use crate::block_config::Queue;
use crate::hand_over::HandOvers;
use crate::host::TagChances;
use crate::ios::Ios;
use crate::metrics::Recorder;
use crate::plug::Plug;
use crate::tag_race::TagRace;
use crate::tags::Tags;
use iopilot_block::{Nanos, Op, ProcessId, ProcessMap, Request, RequestId, Requests, Sectors};
use iopilot_device::{Completion, Device};
use iopilot_sched::{AnyScheduler, MergeLimits, Merged, Scheduler};
use iopilot_workload::Arrival;
use std::collections::VecDeque;

/// What the block layer wants its engine to do, beyond what the call itself did.
#[derive(Clone, Debug, Default)]
pub(crate) struct Effects {
    /// Tasks that went to sleep within a submission.
    pub(crate) blocked: Vec<ProcessId>,
    /// Tasks that have woken from it.
    pub(crate) unblocked: Vec<ProcessId>,
    /// Sources' handles of requests that are complete.
    pub(crate) completed: Vec<u64>,
    /// Those of which the source is told so long from now.
    pub(crate) tell_after: Vec<(u64, Nanos)>,
    /// Sleepers that are to look for a tag soon.
    pub(crate) wake: Vec<RequestId>,
    /// Sleepers that are to look for a tag that is kept for them, so long from now.
    pub(crate) wake_after: Vec<(RequestId, Nanos)>,
    /// Requests of which the scheduler hears so long from now.
    pub(crate) hear_after: Vec<(RequestId, Nanos)>,
    /// For the tags of requests that are complete.
    pub(crate) race: Vec<Race>,
}

/// Two tasks that may get a freed tag.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Race {
    /// The request that slept for it, and is to look for it.
    pub(crate) sleeper: RequestId,
    /// The task that goes on now that its request is complete, and may be faster.
    pub(crate) behind: ProcessId,
    /// The chance that it is.
    pub(crate) loses: f64,
}

/// A change of scheduler: what comes after it, and when, if that is known.
#[derive(Clone, Debug)]
struct Change {
    queue: Queue,
    scheduler: AnyScheduler,
    latency: Nanos,
    began: Nanos,
    at: Option<Nanos>,
}

/// The block layer of one device.
#[derive(Clone, Debug)]
pub(crate) struct BlockLayer {
    queue: Queue,
    limits: MergeLimits,
    scheduler: AnyScheduler,
    rqs: Requests,
    ios: Ios,
    tags: Tags,
    race: TagRace,
    plug: Plug,
    /// Flushes, which no scheduler sees.
    bypass: VecDeque<RequestId>,
    /// Handles of requests for each of which a tag is kept.
    kept: Vec<u64>,
    /// Sleepers that have won the race for a tag, which they have when they wake.
    winners: Vec<RequestId>,
    /// Requests that are complete, with their handles, of which the scheduler has not heard yet.
    unheard: Vec<(RequestId, u64)>,
    /// Tasks asleep for a tag, with what they will submit when awake.
    asleep: ProcessMap<VecDeque<RequestId>>,
    /// Whether tasks submit one request after the other.
    serial: bool,
    /// The request that has left the scheduler and waits for the device (one request of lookahead).
    pulled: Option<RequestId>,
    /// What other CPUs have pulled at the same time, where a recording tells that.
    also_pulled: VecDeque<RequestId>,
    /// The request on its way to the device, and when it gets there.
    issuing: Option<(Nanos, RequestId)>,
    in_flight: u32,
    /// When the scheduler asked to be asked again.
    timer: Option<Nanos>,
    /// When the kernel asks it again of itself.
    retry: Option<Nanos>,
    /// When the scheduler is asked, where a recording tells it; else at once.
    asks: Option<Box<Asks>>,
    /// What the batch under way has handed to the scheduler last: the source's handle, and the task.
    inserted: Option<(u64, ProcessId)>,
    /// A change of scheduler under way: nothing enters.
    change: Option<Box<Change>>,
    /// How long the last change took, until somebody asks.
    pub(crate) changed: Option<Nanos>,
    pub(crate) recorder: Recorder,
    pub(crate) effects: Effects,
}

impl BlockLayer {
    pub(crate) fn new(
        queue: Queue,
        scheduler: AnyScheduler,
        serial: bool,
        recorder: Recorder,
        chances: TagChances,
        hand_overs: Option<HandOvers>,
        seed: u64,
    ) -> Self {
        Self {
            asks: hand_overs.map(|hand_overs| Box::new(Asks::new(hand_overs, seed))),
            inserted: None,
            limits: MergeLimits { max_sectors: queue.max_sectors, nomerges: queue.nomerges },
            scheduler,
            rqs: Requests::new(),
            ios: Ios::default(),
            tags: Tags::new(queue.tag_rule, queue.nr_requests),
            race: TagRace::new(chances, queue.cpus, seed),
            plug: Plug::new(queue.plugging),
            bypass: VecDeque::new(),
            kept: Vec::new(),
            winners: Vec::new(),
            unheard: Vec::new(),
            asleep: ProcessMap::default(),
            serial,
            pulled: None,
            also_pulled: VecDeque::new(),
            issuing: None,
            in_flight: 0,
            timer: None,
            retry: None,
            change: None,
            changed: None,
            recorder,
            effects: Effects::default(),
            queue,
        }
    }

    /// Requests submitted and not yet complete.
    pub(crate) fn outstanding(&self) -> usize {
        self.ios.len()
    }

    /// When the request on its way reaches the device.
    pub(crate) fn next_issue(&self) -> Option<Nanos> {
        let handed_over = self.asks.as_ref().and_then(|asks| asks.next_issue());
        self.issuing.map(|(at, _)| at).into_iter().chain(handed_over).min()
    }

    /// When to call [`BlockLayer::timer`].
    pub(crate) fn next_timer(&self) -> Option<Nanos> {
        let change = self.change.as_ref().and_then(|change| change.at);
        let of = |at: Option<Nanos>| at.unwrap_or(Nanos::MAX);
        let asked = self.asks.as_ref().and_then(|asks| asks.next());
        let first = of(self.timer).min(of(self.retry)).min(of(self.plug.unplug_at())).min(of(change)).min(of(asked));
        (first != Nanos::MAX).then_some(first)
    }

    /// Begins to change the scheduler, as the kernel does: what is inside is served, what comes meanwhile sleeps, and
    /// `latency` after the last completion the new one starts, with a queue of its own settings. (2.6.24 lets what comes
    /// meanwhile pass in order of arrival instead.) A change that is under way already goes to the new aim.
    pub(crate) fn switch(&mut self, queue: Queue, scheduler: AnyScheduler, latency: Nanos, now: Nanos) {
        debug_assert_eq!(queue.tag_rule, self.queue.tag_rule, "schedulers of one kernel");
        let under_way = self.change.take();
        let began = under_way.as_ref().map_or(now, |change| change.began);
        let at = under_way.and_then(|change| change.at);
        self.change = Some(Box::new(Change { queue, scheduler, latency, began, at }));
        self.plug.unplug();
        self.flush_plug(now);
        self.drained(now);
    }

    /// Whether a change of scheduler is under way.
    pub(crate) fn is_switching(&self) -> bool {
        self.change.is_some()
    }

    /// Sets the time of the change where nothing is inside any more.
    fn drained(&mut self, now: Nanos) {
        if let Some(change) = self.change.as_mut().filter(|change| change.at.is_none()) {
            if self.tags.all_free() && self.in_flight == 0 {
                change.at = Some(now + change.latency);
            }
        }
    }

    /// Puts the new scheduler in place.
    fn finish_change(&mut self, now: Nanos) {
        let Some(change) = self.change.take() else { return };
        let Change { queue, scheduler, began, .. } = *change;
        self.changed = Some(now.since(began));
        let tags = std::mem::replace(&mut self.tags, Tags::new(queue.tag_rule, 0));
        self.tags = tags.resized(queue.nr_requests, &mut self.effects.wake);
        self.limits = MergeLimits { max_sectors: queue.max_sectors, nomerges: queue.nomerges };
        self.plug = Plug::new(queue.plugging);
        self.scheduler = scheduler;
        (self.timer, self.retry) = (None, None);
        self.queue = queue;
    }

    /// A task submits a request, as part of a batch that [`BlockLayer::end_batch`] ends.
    pub(crate) fn submit(&mut self, arrival: &Arrival, now: Nanos) {
        self.recorder.arrived(now);
        let cpu = self.race.arrived(arrival.process, arrival.cpu % self.queue.cpus);
        let most = self.queue.max_sectors;
        let parts = arrival.sectors.0.div_ceil(most).max(1);
        let io = self.ios.insert(arrival, parts);
        let mut lba = arrival.lba;
        let mut left = arrival.sectors.0;
        for _ in 0..parts {
            let sectors = Sectors(left.min(most));
            let mut rq = Request::new(arrival.op, lba, sectors, arrival.process);
            rq.flags = arrival.flags;
            rq.priority = arrival.priority;
            rq.criticality = arrival.criticality;
            rq.cpu = cpu;
            rq.tag = io;
            rq.arrived = now;
            let id = self.rqs.insert(rq);
            self.submit_part(id, now);
            lba = lba + sectors;
            left -= sectors.0;
        }
    }

    /// The task's batch is over: it goes on, or to sleep on what it reads.
    pub(crate) fn end_batch<D: Device>(&mut self, now: Nanos, device: &mut D) {
        self.flush_plug(now);
        self.plug.end_batch();
        let (inserted, usual) = (self.inserted.take(), self.queue.issue_latency);
        match (self.asks(), inserted) {
            (Some(asks), Some((tag, process))) => asks.inserted(tag, process, now, usual),
            _ => self.pump(now, device),
        }
    }

    /// The device finished a request.
    pub(crate) fn complete<D: Device>(&mut self, done: &Completion, now: Nanos, device: &mut D) {
        let id = done.id;
        let tag = self.ios.tag(self.rqs[id].tag);
        self.recorder.served(&self.rqs[id], tag, &done.service, now);
        let process = self.rqs[id].process;
        let left = match (self.pulled, self.in_flight) {
            (Some(_), _) => Left::Waiting,
            (None, ..=1) => Left::Nothing,
            _ => Left::Others,
        };
        let given = left != Left::Waiting || !self.scheduler.idles();
        let left = (left, given && self.scheduler.queued() > 0);
        let asks = self.asks();
        let [heard, resumed] = asks.map_or([Nanos::ZERO; 2], |asks| asks.complete(tag, process, left, now));
        let issued = self.rqs[id].issued;
        let mut next = Some(id);
        while let Some(part) = next {
            next = self.rqs.next_part(part);
            let rq = &self.rqs[part];
            if let Some(io) = self.ios.part_done(rq.tag) {
                self.recorder.completed(rq, &io, issued, now);
                match resumed {
                    Nanos::ZERO => self.effects.completed.push(io.tag),
                    later => self.effects.tell_after.push((io.tag, later)),
                }
            }
        }
        match heard {
            Nanos::ZERO => self.end(id, tag, now, device),
            later => {
                self.unheard.push((id, tag));
                self.effects.hear_after.push((id, later));
            }
        }
    }

    /// The scheduler hears that `id` is complete.
    pub(crate) fn hear<D: Device>(&mut self, id: RequestId, now: Nanos, device: &mut D) {
        if let Some(at) = self.unheard.iter().position(|(unheard, _)| *unheard == id) {
            let (_, tag) = self.unheard.swap_remove(at);
            self.end(id, tag, now, device);
        }
    }

    /// The request `id`, of handle `tag`, is gone: its tag is free, and what waits may go.
    fn end<D: Device>(&mut self, id: RequestId, tag: u64, now: Nanos, device: &mut D) {
        self.in_flight -= 1;
        if self.rqs[id].op != Op::Flush {
            self.scheduler.completed(&mut self.rqs, id, now);
        }
        self.free_tag(id, tag, now);
        self.plug.unplug();
        let process = self.rqs[id].process;
        let mut next = Some(id);
        while let Some(part) = next {
            next = self.rqs.next_part(part);
            self.rqs.remove(part);
        }
        self.run_after_completion((tag, process), now, device);
        self.drained(now);
    }

    /// The scheduler's timer, or the plug's, has run out.
    pub(crate) fn timer<D: Device>(&mut self, now: Nanos, device: &mut D) {
        // Where the scheduler runs the queue, that is the retry, too.
        if self.timer.take_if(|at| *at <= now).is_some() {
            self.retry = None;
        }
        self.retry.take_if(|at| *at <= now);
        if let Some(asks) = &mut self.asks {
            asks.asked(now);
        }
        if self.plug.unplug_at().is_some_and(|at| at <= now) {
            self.plug.unplug();
        }
        if self.change.as_ref().and_then(|change| change.at).is_some_and(|at| at <= now) {
            self.finish_change(now);
        }
        self.pump(now, device);
    }

    /// A task has exited.
    pub(crate) fn process_exited<D: Device>(&mut self, process: ProcessId, now: Nanos, device: &mut D) {
        self.scheduler.process_exited(process, now);
        self.race.exited(process);
        self.recorder.exited(process);
        self.pump(now, device);
    }

    fn submit_part(&mut self, id: RequestId, now: Nanos) {
        if !self.asleep.is_empty() && self.serial {
            if let Some(rest) = self.asleep.get_mut(&self.rqs[id].process) {
                rest.push_back(id);
                return;
            }
        }
        self.try_submit(id, now);
    }

    /// Joins `id` to what the task or the scheduler holds, where it fits.
    fn try_merge(&mut self, id: RequestId, now: Nanos) -> bool {
        if self.plug.try_merge(&mut self.rqs, id, &self.limits) {
            self.rqs[id].inserted = now;
            self.recorder.merged();
            return true;
        }
        if !self.rqs[id].op.transfers() {
            return false;
        }
        let Some(Merged { absorbed, .. }) = self.scheduler.try_merge(&mut self.rqs, id, &self.limits, now) else {
            return false;
        };
        self.rqs[id].inserted = now;
        self.recorder.merged();
        if let Some(gone) = absorbed {
            self.recorder.merged();
            self.tags.give(&self.rqs[gone], &mut self.effects.wake);
        }
        true
    }

    /// Merges, or takes a tag and goes on, or sleeps; false where it sleeps.
    fn try_submit(&mut self, id: RequestId, now: Nanos) -> bool {
        if !self.is_switching() {
            if self.try_merge(id, now) {
                return true;
            }
            if self.take_tag(id) {
                self.admit(id, now);
                return true;
            }
        }
        self.flush_plug(now);
        let rq = &self.rqs[id];
        self.tags.sleep(id, rq);
        self.race.sleeps(rq.process);
        if self.serial {
            self.asleep.insert(rq.process, VecDeque::new());
            self.effects.blocked.push(rq.process);
        }
        false
    }

    /// `process` has its tag: it submits the rest of what it was submitting.
    fn go_on(&mut self, process: ProcessId, now: Nanos) {
        let Some(mut rest) = self.asleep.remove(&process) else { return };
        while let Some(id) = rest.pop_front() {
            if !self.try_submit(id, now) {
                self.asleep.insert(process, rest);
                // It is asleep as before: its source need not know.
                self.effects.blocked.pop();
                return;
            }
        }
        self.effects.unblocked.push(process);
    }

    /// A request with a tag goes to the task's plug, or to the scheduler.
    fn admit(&mut self, id: RequestId, now: Nanos) {
        if self.plug.hold(&self.rqs, id) {
            if self.plug.is_full(&self.rqs) {
                self.flush_plug(now);
            }
        } else {
            self.insert(id, now);
        }
    }

    fn flush_plug(&mut self, now: Nanos) {
        while let Some(id) = self.plug.take() {
            self.insert(id, now);
        }
    }

    fn insert(&mut self, id: RequestId, now: Nanos) {
        self.rqs[id].inserted = now;
        let mut stood = Nanos::ZERO;
        if let Some(asks) = &mut self.asks {
            let (tag, process) = (self.ios.tag(self.rqs[id].tag), self.rqs[id].process);
            self.inserted = Some((tag, process));
            stood = asks.stood(tag, process);
            self.scheduler.clock_stood(stood);
        }
        let idle = self.scheduler.queued() == 0 && self.pulled.is_none() && self.bypass.is_empty();
        if self.rqs[id].op == Op::Flush {
            self.bypass.push_back(id);
        } else {
            self.scheduler.insert(&mut self.rqs, id, now);
        }
        if stood > Nanos::ZERO {
            self.scheduler.clock_stood(Nanos::ZERO);
        }
        self.plug.inserted(&self.rqs[id], idle, self.scheduler.queued(), now);
    }
}
