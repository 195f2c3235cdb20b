//! The block layer between tasks and device: splitting, merging, plugging, tags, the scheduler, and dispatch.
//!
//! It follows Linux 2.6.24 or 6.x, depending on the scheduler's lineage: see [`crate::BlockConfig`].

mod completion;
mod dispatch;
mod flush;
mod flush_queue;
mod hardware_queue;
mod submission;
mod tagging;
mod throttling;

use crate::block_config::ResolvedQueue;
use crate::cpu_timing::{CpuTiming, QueueRun};
use crate::ios::Ios;
use crate::metrics::Recorder;
use crate::plug::{PLUG_GAP, Plug};
use crate::writeback_throttle::WritebackThrottle;
use flush_queue::FlushSequence;
use hardware_queue::HardwareQueue;
use iopilot_block::{EventQueue, Nanos, ProcessId, ProcessMap, RequestId, Requests, Sectors};
use iopilot_device::Device;
use iopilot_sched::{AnyScheduler, MergeLimits, Scheduler};
use iopilot_workload::SourceHandle;
use std::collections::VecDeque;

/// What the engine has to do after a call of the block layer.
#[derive(Clone, Copy, Debug)]
pub(crate) enum BlockEffect {
    /// This task went to sleep within a submission.
    Blocked(ProcessId),
    /// This task has woken from that sleep.
    Unblocked(ProcessId),
    /// A request of the source is complete; its task is to go on.
    Completed {
        handle: SourceHandle,
        process: ProcessId,
        /// When the last part of it was handed to the scheduler, and when to the device.
        inserted: Nanos,
        issued: Nanos,
        /// How long the request is that this one was merged into; its own length where it was not.
        merged: Sectors,
        /// Whether the device's cache served it.
        cache_hit: bool,
    },
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
    queue: ResolvedQueue,
    scheduler: AnyScheduler,
    latency: Nanos,
    began: Nanos,
    at: Option<Nanos>,
}

/// What is between the driver and a device that takes nothing beside a flush, where the driver gives nothing back.
#[derive(Clone, Debug, Default)]
struct Below {
    held: VecDeque<RequestId>,
    in_device: u32,
    flushing: bool,
}

/// The block layer of one device.
#[derive(Clone, Debug)]
pub(crate) struct BlockLayer {
    queue: ResolvedQueue,
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
    /// When the next of the requests on their way reaches the driver, and its hardware queue. There is at most one of each.
    next_issue: Option<(Nanos, usize)>,
    /// Requests between the driver and the device.
    transported: EventQueue<RequestId>,
    /// Used where the device drains for flushes below the driver.
    below: Below,
    in_flight: u32,
    /// Whether a hardware queue was left without a request because others hold the device's room, or the scheduler's tokens.
    starved: bool,
    /// Whether the device has a flush beside which it takes nothing else.
    drains: bool,
    /// Whether the device's cache served the request that completed last.
    cache_hit: bool,
    /// By a request's index: how far it has come in the flush machinery.
    sequences: Vec<Option<FlushSequence>>,
    /// Requests that have just come to the end of it; empty between calls.
    over: Vec<RequestId>,
    throttle: WritebackThrottle,
    /// Sleepers that were given a place by write-back throttling and have not woken yet.
    unthrottled: Vec<RequestId>,
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
    pub(crate) effects: Vec<BlockEffect>,
    /// The sleepers that a freed tag wakes; empty between calls.
    woken: Vec<RequestId>,
    /// The parts of a request that somebody begins to wait for; empty between calls.
    raised: Vec<RequestId>,
}

impl BlockLayer {
    pub(crate) fn new(queue: ResolvedQueue, scheduler: AnyScheduler, serial: bool, recorder: Recorder) -> Self {
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
            next_issue: None,
            transported: EventQueue::new(),
            below: Below::default(),
            in_flight: 0,
            starved: false,
            drains: false,
            cache_hit: false,
            sequences: Vec::new(),
            over: Vec::new(),
            throttle: queue.throttle(),
            unthrottled: Vec::new(),
            timer: None,
            retry: None,
            change: None,
            changed: None,
            recorder,
            effects: Vec::new(),
            woken: Vec::new(),
            raised: Vec::new(),
            queue,
        }
    }

    /// Requests submitted and not yet complete.
    pub(crate) fn outstanding(&self) -> usize {
        self.ios.len()
    }

    /// When the next request on its way reaches the driver, or the device.
    pub(crate) fn next_issue(&self) -> Option<Nanos> {
        match (self.next_issue, self.transported.next_time()) {
            (Some((at, _)), Some(other)) => Some(at.min(other)),
            (at, other) => at.map(|(at, _)| at).or(other),
        }
    }

    /// When to call [`BlockLayer::timer`].
    pub(crate) fn next_timer(&self) -> Option<Nanos> {
        let change = self.change.as_ref().and_then(|change| change.at);
        let of = |at: Option<Nanos>| at.unwrap_or(Nanos::MAX);
        let first = of(self.timer)
            .min(of(self.retry))
            .min(of(self.plug.unplug_at()))
            .min(of(change))
            .min(of(self.plug.open_until()));
        // An empty queue has nothing to throttle: its windows are closed when something comes.
        let window = self.throttle.next_timer().filter(|_| self.outstanding() > 0);
        let first = first.min(of(window));
        (first != Nanos::MAX).then_some(first)
    }

    /// Begins to change the scheduler, as the kernel does. Requests in the queue are served; tasks that submit more sleep.
    /// `latency` after the last completion the new scheduler starts, with its own queue settings. (2.6.24 serves requests
    /// that arrive meanwhile in order of arrival.) A change already under way ends with the new scheduler instead.
    pub(crate) fn switch(&mut self, queue: ResolvedQueue, scheduler: AnyScheduler, latency: Nanos, now: Nanos) {
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
        let throttle = std::mem::replace(&mut self.throttle, queue.throttle());
        self.throttle = throttle.replaced(queue.throttle(), &mut self.woken);
        self.wake_unthrottled();
        self.limits = MergeLimits { max_sectors: queue.max_sectors, nomerges: queue.nomerges };
        self.plug = Plug::new(queue.plugging);
        self.scheduler = scheduler;
        (self.timer, self.retry) = (None, None);
        self.queue = queue;
    }

    /// Until when a task whose batch is over has to go on, so that what it has submitted stays in the plug; `None` where it is
    /// flushed in any case.
    pub(crate) fn plug_stays_until(&self, now: Nanos) -> Option<Nanos> {
        self.plug.ends_with_write(&self.rqs).then(|| now + PLUG_GAP)
    }

    /// The task's batch is over: the task goes on, or sleeps until its read completes. It goes on at
    /// `next`, if it does so soon and waits for nothing: what it has written stays in the plug until then.
    pub(crate) fn end_batch<D: Device>(
        &mut self,
        next: Option<Nanos>,
        now: Nanos,
        device: &mut D,
        cpus: &mut impl CpuTiming,
    ) {
        if !self.plug.stays_open(next) {
            self.flush_plug(now);
        }
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
        if self.plug.open_until().is_some_and(|at| at <= now) {
            self.flush_plug(now);
        }
        if self.change.as_ref().and_then(|change| change.at).is_some_and(|at| at <= now) {
            self.finish_change(now);
        }
        self.end_throttle_windows(now);
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
}
