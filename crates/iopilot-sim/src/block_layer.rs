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

/// An instruction to the engine after a call of the block layer.
#[derive(Clone, Copy, Debug)]
pub(crate) enum BlockEffect {
    /// This task went to sleep during a submission.
    Blocked(ProcessId),
    /// This task has woken from that sleep.
    Unblocked(ProcessId),
    /// A request of the source is complete, and its task may continue.
    Completed {
        handle: SourceHandle,
        process: ProcessId,
        /// When its last part was inserted into the scheduler.
        inserted: Nanos,
        /// When its last part was issued to the device.
        issued: Nanos,
        /// The length of the request that it was merged into, or its own length.
        merged: Sectors,
        /// Whether the device's cache served it.
        cache_hit: bool,
    },
    /// Wake this sleeper soon, so that it looks for a tag.
    Wake(RequestId),
    /// Wake this sleeper for the tag of `completed`, whose task competes for the tag.
    Contend {
        /// The request that waits for a tag.
        sleeper: RequestId,
        /// The request whose tag was freed.
        completed: SourceHandle,
        /// The task of that request.
        completer: ProcessId,
    },
}

/// A pending change of scheduler. `at` is the time of the change, once the queue is drained.
#[derive(Clone, Debug)]
struct Change {
    queue: ResolvedQueue,
    scheduler: AnyScheduler,
    latency: Nanos,
    began: Nanos,
    at: Option<Nanos>,
}

/// The requests between a driver that returns none and a device that accepts none during a flush.
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
    /// If there are several hardware queues: those for which the present batch has inserted requests.
    touched: Vec<usize>,
    plug: Plug,
    /// Sleepers that have a tag and have not woken yet.
    tag_reserved: Vec<RequestId>,
    /// Tasks that sleep for a tag, with the requests that they will submit when they wake.
    asleep: ProcessMap<VecDeque<RequestId>>,
    /// Whether tasks submit one request at a time.
    serial: bool,
    /// The next time at which a dispatched request reaches the driver, and its hardware queue. Each hardware queue has at most
    /// one such request.
    next_issue: Option<(Nanos, usize)>,
    /// Requests between the driver and the device.
    transported: EventQueue<RequestId>,
    /// Used if the device drains for flushes below the driver.
    below: Below,
    in_flight: u32,
    /// Whether a hardware queue could not dispatch because other queues hold the device's slots or the scheduler's tokens.
    starved: bool,
    /// Whether the device has a flush during which it accepts no other request.
    drains: bool,
    /// Whether the device's cache served the request that completed last.
    cache_hit: bool,
    /// The state of requests in the flush machinery, by the index of the request.
    sequences: Vec<Option<FlushSequence>>,
    /// Requests that have just left the flush machinery; empty between calls.
    over: Vec<RequestId>,
    throttle: WritebackThrottle,
    /// Sleepers that have a place of write-back throttling and have not woken yet.
    unthrottled: Vec<RequestId>,
    /// When the scheduler wants the queue to be run again.
    timer: Option<Nanos>,
    /// When the kernel runs the queue again without the scheduler's request.
    retry: Option<Nanos>,
    /// The last request that the present batch has inserted.
    inserted: Option<SourceHandle>,
    /// A pending change of scheduler; no request enters the queue meanwhile.
    change: Option<Box<Change>>,
    /// The duration of the last change, until it is read.
    pub(crate) changed: Option<Nanos>,
    pub(crate) recorder: Recorder,
    /// In order of their causes.
    pub(crate) effects: Vec<BlockEffect>,
    /// The sleepers that a freed tag wakes; empty between calls.
    woken: Vec<RequestId>,
    /// The parts of a request that becomes time-critical; empty between calls.
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

    /// The number of requests that are submitted and not complete.
    pub(crate) fn outstanding(&self) -> usize {
        self.ios.len()
    }

    /// The next time at which a dispatched request reaches the driver or the device.
    pub(crate) fn next_issue(&self) -> Option<Nanos> {
        match (self.next_issue, self.transported.next_time()) {
            (Some((at, _)), Some(other)) => Some(at.min(other)),
            (at, other) => at.map(|(at, _)| at).or(other),
        }
    }

    /// The time of the next call of [`BlockLayer::timer`].
    pub(crate) fn next_timer(&self) -> Option<Nanos> {
        let change = self.change.as_ref().and_then(|change| change.at);
        let of = |at: Option<Nanos>| at.unwrap_or(Nanos::MAX);
        let first = of(self.timer)
            .min(of(self.retry))
            .min(of(self.plug.unplug_at()))
            .min(of(change))
            .min(of(self.plug.open_until()));
        // An empty queue has nothing to throttle: its windows are closed when the next request arrives.
        let window = self.throttle.next_timer().filter(|_| self.outstanding() > 0);
        let first = first.min(of(window));
        (first != Nanos::MAX).then_some(first)
    }

    /// Begins to change the scheduler, as the kernel does. Requests in the queue are served; tasks that submit more sleep. The
    /// new scheduler starts `latency` after the last completion, with its own queue settings. (2.6.24 serves requests that
    /// arrive meanwhile in order of arrival.) A pending change ends with the new scheduler instead.
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

    /// Whether a change of scheduler is pending.
    pub(crate) fn is_switching(&self) -> bool {
        self.change.is_some()
    }

    /// Sets the time of a pending change, if the queue is drained.
    fn drained(&mut self, now: Nanos) {
        if let Some(change) = self.change.as_mut().filter(|change| change.at.is_none()) {
            if self.in_flight == 0 && self.hardware.iter().all(|queue| queue.tags.all_free()) {
                change.at = Some(now + change.latency);
            }
        }
    }

    /// Installs the new scheduler.
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

    /// The latest time at which a task whose batch has ended must continue, so that its requests stay in the plug. `None` if
    /// the plug is flushed in any case.
    pub(crate) fn plug_stays_until(&self, now: Nanos) -> Option<Nanos> {
        self.plug.ends_with_write(&self.rqs).then(|| now + PLUG_GAP)
    }

    /// Ends a task's batch: the task continues, or sleeps until its read completes. `next` is the time at which it continues,
    /// if that is soon and it waits for nothing: its writes stay in the plug until then.
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

    /// The scheduler's timer, or the plug's, has expired.
    pub(crate) fn timer<D: Device>(&mut self, now: Nanos, device: &mut D, cpus: &mut impl CpuTiming) {
        // The run that the scheduler requested replaces the kernel's retry.
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
