//! The block layer between tasks and device: splitting, merging, plugging, tags, the scheduler, and dispatch.
//!
//! It follows Linux 2.6.24 or 6.x, depending on the scheduler's lineage: see [`crate::BlockConfig`].

mod dispatch;
mod hardware_queue;
mod tagging;

use crate::block_config::Queue;
use crate::cpu_timing::{CpuTiming, QueueRun};
use crate::ios::Ios;
use crate::metrics::Recorder;
use crate::plug::Plug;
use hardware_queue::HardwareQueue;
use iopilot_block::{EventQueue, Nanos, Op, ProcessId, ProcessMap, Request, RequestId, Requests, Sectors};
use iopilot_device::{Completion, Device};
use iopilot_sched::{AnyScheduler, MergeLimits, Merged, Scheduler};
use iopilot_workload::{Arrival, SourceHandle};
use std::collections::VecDeque;

/// What the engine has to do after a call of the block layer.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Effect {
    /// This task went to sleep within a submission.
    Blocked(ProcessId),
    /// This task has woken from that sleep.
    Unblocked(ProcessId),
    /// A request of the source is complete; its task is to go on.
    Completed(SourceHandle, ProcessId),
    /// This sleeper is to look for a tag soon.
    Wake(RequestId),
    /// This sleeper is woken for the tag of `completed`, whose task may be faster.
    Contend {
        /// The request that slept for a tag.
        sleeper: RequestId,
        /// The request whose tag is free.
        completed: SourceHandle,
        /// Its task.
        completer: ProcessId,
    },
}

/// A change of scheduler: the new one, and when it starts, if that is known.
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
    hardware: Vec<HardwareQueue>,
    /// Where there are several: those that the present batch has inserted requests for.
    touched: Vec<usize>,
    plug: Plug,
    /// Sleepers that were given a tag and have not woken yet.
    tag_reserved: Vec<RequestId>,
    /// Tasks asleep for a tag, with what they will submit when awake.
    asleep: ProcessMap<VecDeque<RequestId>>,
    /// Whether tasks submit one request after the other.
    serial: bool,
    /// The requests on their way to the device, at most one from each hardware queue, and when they get there.
    issues: EventQueue<(usize, RequestId)>,
    in_flight: u32,
    /// Whether a hardware queue was left without a request because others hold the device's room, or the scheduler's tokens.
    starved: bool,
    /// When the scheduler wants the queue to be run again.
    timer: Option<Nanos>,
    /// When the kernel runs the queue again by itself.
    retry: Option<Nanos>,
    /// The last request that the present batch has inserted.
    inserted: Option<SourceHandle>,
    /// A change of scheduler under way: nothing enters.
    change: Option<Box<Change>>,
    /// How long the last change took, until it is read.
    pub(crate) changed: Option<Nanos>,
    pub(crate) recorder: Recorder,
    /// In order of their causes.
    pub(crate) effects: Vec<Effect>,
    /// The sleepers that a freed tag wakes; empty between calls.
    woken: Vec<RequestId>,
}

impl BlockLayer {
    pub(crate) fn new(queue: Queue, scheduler: AnyScheduler, serial: bool, recorder: Recorder) -> Self {
        Self {
            inserted: None,
            limits: MergeLimits { max_sectors: queue.max_sectors, nomerges: queue.nomerges },
            scheduler,
            rqs: Requests::new(),
            ios: Ios::default(),
            hardware: HardwareQueue::all(&queue),
            touched: Vec::new(),
            plug: Plug::new(queue.plugging),
            tag_reserved: Vec::new(),
            asleep: ProcessMap::default(),
            serial,
            issues: EventQueue::new(),
            in_flight: 0,
            starved: false,
            timer: None,
            retry: None,
            change: None,
            changed: None,
            recorder,
            effects: Vec::new(),
            woken: Vec::new(),
            queue,
        }
    }

    /// Requests submitted and not yet complete.
    pub(crate) fn outstanding(&self) -> usize {
        self.ios.len()
    }

    /// When the next request on its way reaches the device.
    pub(crate) fn next_issue(&self) -> Option<Nanos> {
        self.issues.next_time()
    }

    /// When to call [`BlockLayer::timer`].
    pub(crate) fn next_timer(&self) -> Option<Nanos> {
        let change = self.change.as_ref().and_then(|change| change.at);
        let of = |at: Option<Nanos>| at.unwrap_or(Nanos::MAX);
        let first = of(self.timer).min(of(self.retry)).min(of(self.plug.unplug_at())).min(of(change));
        (first != Nanos::MAX).then_some(first)
    }

    /// Begins to change the scheduler, as the kernel does. Requests in the queue are served; tasks that submit more sleep.
    /// `latency` after the last completion the new scheduler starts, with its own queue settings. (2.6.24 serves requests
    /// that arrive meanwhile in order of arrival.) A change already under way ends with the new scheduler instead.
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

    /// Sets the time of the change once the queue is drained.
    fn drained(&mut self, now: Nanos) {
        if let Some(change) = self.change.as_mut().filter(|change| change.at.is_none()) {
            if self.in_flight == 0 && self.hardware.iter().all(|queue| queue.tags.all_free()) {
                change.at = Some(now + change.latency);
            }
        }
    }

    /// Puts the new scheduler in place.
    fn finish_change(&mut self, now: Nanos) {
        let Some(change) = self.change.take() else { return };
        let Change { queue, scheduler, began, .. } = *change;
        self.changed = Some(now.since(began));
        debug_assert_eq!(queue.map, self.queue.map, "schedulers of one device");
        for hardware in &mut self.hardware {
            hardware.tags.resize(queue.nr_requests, &mut self.woken);
        }
        self.wake_all();
        self.limits = MergeLimits { max_sectors: queue.max_sectors, nomerges: queue.nomerges };
        self.plug = Plug::new(queue.plugging);
        self.scheduler = scheduler;
        (self.timer, self.retry) = (None, None);
        self.queue = queue;
    }

    /// A task submits a request, as part of a batch that [`BlockLayer::end_batch`] ends.
    pub(crate) fn submit(&mut self, arrival: &Arrival, now: Nanos) {
        self.recorder.arrived(now);
        let cpu = arrival.cpu % self.queue.cpus;
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
            rq.io = io;
            rq.arrived = now;
            let id = self.rqs.insert(rq);
            self.submit_part(id, now);
            lba = lba + sectors;
            left -= sectors.0;
        }
    }

    /// The task's batch is over: the task goes on, or sleeps until its read completes.
    pub(crate) fn end_batch<D: Device>(&mut self, now: Nanos, device: &mut D, cpus: &mut impl CpuTiming) {
        self.flush_plug(now);
        self.plug.end_batch();
        let run = QueueRun::Inserted(self.inserted.take());
        if self.hardware.len() == 1 {
            return self.run_queue(0, run, now, device, cpus);
        }
        let mut touched = std::mem::take(&mut self.touched);
        for queue in touched.drain(..) {
            self.hardware[queue].inserted = false;
            self.run_queue(queue, run, now, device, cpus);
        }
        self.touched = touched;
    }

    /// The device finished a request: its parts complete, its tag is freed, and the next request may be dispatched.
    pub(crate) fn complete<D: Device>(
        &mut self,
        done: &Completion,
        now: Nanos,
        device: &mut D,
        cpus: &mut impl CpuTiming,
    ) {
        let id = done.id;
        let queue = self.queue_of(id);
        cpus.completed(self.rqs[id].cpu, now);
        let handle = self.ios.handle(self.rqs[id].io);
        self.recorder.served(&self.rqs[id], handle, &done.service, now);
        let issued = self.rqs[id].issued;
        let mut next = Some(id);
        while let Some(part) = next {
            next = self.rqs.next_part(part);
            let rq = &self.rqs[part];
            if let Some(io) = self.ios.part_done(rq.io) {
                self.recorder.completed(rq, &io, issued, now);
                self.effects.push(Effect::Completed(io.handle, rq.process));
            }
        }
        self.in_flight -= 1;
        self.hardware[queue].in_flight -= 1;
        if self.rqs[id].op != Op::Flush {
            self.scheduler.completed(&mut self.rqs, id, now);
        }
        self.free_tag(id, handle);
        self.plug.unplug();
        let mut next = Some(id);
        while let Some(part) = next {
            next = self.rqs.next_part(part);
            self.rqs.remove(part);
        }
        self.run_after_completion(queue, handle, now, device, cpus);
        self.drained(now);
    }

    /// The scheduler's timer, or the plug's, has run out.
    pub(crate) fn timer<D: Device>(&mut self, now: Nanos, device: &mut D, cpus: &mut impl CpuTiming) {
        // The run that the scheduler wanted replaces the kernel's retry.
        if self.timer.take_if(|at| *at <= now).is_some() {
            self.retry = None;
        }
        self.retry.take_if(|at| *at <= now);
        if self.plug.unplug_at().is_some_and(|at| at <= now) {
            self.plug.unplug();
        }
        if self.change.as_ref().and_then(|change| change.at).is_some_and(|at| at <= now) {
            self.finish_change(now);
        }
        self.run_queues(QueueRun::Other, now, device, cpus);
    }

    /// A task has exited.
    pub(crate) fn process_exited<D: Device>(
        &mut self,
        process: ProcessId,
        now: Nanos,
        device: &mut D,
        cpus: &mut impl CpuTiming,
    ) {
        self.scheduler.process_exited(process, now);
        self.recorder.exited(process);
        self.run_queues(QueueRun::Other, now, device, cpus);
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

    /// Merges `id` into a request that the task's plug or the scheduler holds, where it fits.
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
            self.give_tag(gone);
        }
        true
    }

    /// Submits one request: it is merged, or takes a tag, or its task sleeps. False where the task sleeps.
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
        let queue = self.queue_of(id);
        let rq = &self.rqs[id];
        self.hardware[queue].tags.sleep(id, rq);
        if self.serial {
            self.asleep.insert(rq.process, VecDeque::new());
            self.effects.push(Effect::Blocked(rq.process));
        }
        false
    }

    /// `process` has its tag and submits the rest of its batch.
    fn go_on(&mut self, process: ProcessId, now: Nanos) {
        let Some(mut rest) = self.asleep.remove(&process) else { return };
        while let Some(id) = rest.pop_front() {
            if !self.try_submit(id, now) {
                self.asleep.insert(process, rest);
                // It sleeps again at once. The last signal was that it sleeps, so the source needs no other.
                debug_assert!(matches!(self.effects.last(), Some(Effect::Blocked(p)) if *p == process));
                self.effects.pop();
                return;
            }
        }
        self.effects.push(Effect::Unblocked(process));
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
        self.inserted = Some(self.ios.handle(self.rqs[id].io));
        let queue = self.queue_of(id);
        self.touch(queue);
        let hardware = &mut self.hardware[queue];
        let idle = self.scheduler.queued() == 0 && hardware.waiting.is_empty() && hardware.bypass.is_empty();
        if self.rqs[id].op == Op::Flush {
            hardware.bypass.push_back(id);
        } else {
            self.scheduler.insert(&mut self.rqs, id, now);
        }
        self.plug.inserted(&self.rqs[id], idle, self.scheduler.queued(), now);
    }
}
