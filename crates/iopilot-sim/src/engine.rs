//! The event loop.
//!
//! With one block device, only five kinds of events can come next: the device has an event, a request reaches the device, a
//! delay ends, the workload issues requests, or a timer expires. Each kind knows its next time, and the earliest event is
//! handled first. Events at the same time are handled in this order, which is the kernel's order at a completion: the waiting
//! request is issued, the next one is dispatched, and only then the completing task's own next request arrives.

mod cache;
mod deciding;
mod pinning;
mod warming;

use crate::block_config::ResolvedQueue;
use crate::block_layer::{BlockEffect, BlockLayer};
use crate::cache_decider::CacheDecider;
use crate::cpu_timing::CpuTiming;
use crate::error::SimError;
use crate::learning_disk::LearningDisk;
use crate::metrics::Recorder;
use crate::redcap_layer::RedcapLayer;
use crate::report::RunReport;
use crate::storage_report::StorageRecorder;
use crate::warm_up::WarmUp;
use iopilot_block::{EventQueue, HostReport, InputError, Nanos, ProcessId, RequestId};
use iopilot_device::{Completion, Device};
use iopilot_redcap::CopyId;
use iopilot_sched::{AnyScheduler, SchedulerSpec};
use iopilot_workload::{Arrival, Source, SourceHandle, Step};
use pinning::PinnedBatches;

/// The number of completed requests between two calls of `tick`.
const TICK: u64 = 4096;

/// The kinds of events. Events at the same time are handled in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Due {
    /// The device has an event of its own.
    Device,
    /// A request reaches the driver or the device.
    Issue,
    /// A delay ends.
    Delay,
    /// The workload issues requests.
    Source,
    /// A timer of the block layer expires.
    Timer,
}

/// An effect that follows its cause after a delay.
#[derive(Clone, Copy, Debug)]
enum Delayed {
    /// The task of this completed request continues.
    Resume(SourceHandle),
    /// This task has pinned the buffers of its batch.
    Pinned(ProcessId),
    /// The submitter of this request has woken, and looks for a tag.
    Wake(RequestId),
    /// REDCAP has copied blocks to a reader.
    Copied(CopyId),
    /// The latest time at which a sleeper that lost its tag looks for one; it may have looked before.
    LostWake(RequestId),
}

/// A woken sleeper that waits for the CPU, on which the task of the completed request still runs.
#[derive(Clone, Copy, Debug)]
struct Loser {
    sleeper: RequestId,
    completer: ProcessId,
    /// The number of its [`Delayed::LostWake`].
    event: u64,
}

/// A workload, a block layer and a device, run to the end of the workload.
#[derive(Clone)]
pub(crate) struct SimulationEngine<S, D, C, V> {
    pub(crate) source: S,
    pub(crate) block: BlockLayer,
    redcap: Option<Box<RedcapLayer<V>>>,
    /// What decides for the cache, where its algorithm does not.
    decider: Option<Box<dyn CacheDecider>>,
    pub(crate) device: D,
    cpus: C,
    pub(crate) now: Nanos,
    delays: EventQueue<Delayed>,
    /// Woken sleepers that wait for the CPU.
    losers: Vec<Loser>,
    steps: Vec<Step>,
    pinning: PinnedBatches,
    completions: Vec<Completion>,
    /// Empty between calls; kept for its memory.
    effects: Vec<BlockEffect>,
    /// The warm-up that the report leaves out; `None` once it has ended.
    warm_up: Option<WarmUp>,
}

/// The reason why a run has no more events before the end of the workload.
#[derive(Debug)]
pub(crate) enum Stuck {
    /// Requests are never served, because of a fault in a scheduler or a model.
    Unserved { at: Nanos, outstanding: usize },
    /// The workload's processes failed.
    Failed(InputError),
    /// The decider of the cache failed.
    Undecided(SimError),
}

impl Stuck {
    /// The error of a run under `scheduler`.
    pub(crate) fn under(self, scheduler: &SchedulerSpec) -> SimError {
        match self {
            Self::Unserved { at, outstanding } => SimError::Stuck { scheduler: scheduler.to_string(), at, outstanding },
            Self::Failed(why) => SimError::Input(why),
            Self::Undecided(why) => why,
        }
    }
}

impl<S: Source, D: Device, C: CpuTiming, V: LearningDisk> SimulationEngine<S, D, C, V> {
    pub(crate) fn new(
        source: S,
        queue: ResolvedQueue,
        scheduler: AnyScheduler,
        device: D,
        cpus: C,
        mut recorder: Recorder,
    ) -> Self {
        recorder.storage = source.has_host().then(|| Box::new(StorageRecorder::new(Nanos::ZERO, true)));
        Self {
            block: BlockLayer::new(queue, scheduler, source.is_serial(), recorder),
            source,
            redcap: None,
            decider: None,
            device,
            cpus,
            now: Nanos::ZERO,
            delays: EventQueue::new(),
            losers: Vec::new(),
            steps: Vec::new(),
            pinning: PinnedBatches::default(),
            completions: Vec::new(),
            effects: Vec::new(),
            warm_up: None,
        }
    }

    /// The recorder of the workload's requests.
    pub(crate) fn recorder(&self) -> &Recorder {
        self.redcap.as_ref().map_or(&self.block.recorder, |layer| &layer.recorder)
    }

    /// The recorder of the workload's requests, mutable.
    pub(crate) fn recorder_mut(&mut self) -> &mut Recorder {
        self.redcap.as_mut().map_or(&mut self.block.recorder, |layer| &mut layer.recorder)
    }

    /// The number of requests of the workload, and of a cache, that are not complete.
    pub(crate) fn outstanding(&self) -> usize {
        self.block.outstanding() + self.redcap.as_ref().map_or(0, |layer| layer.outstanding())
    }

    /// The report of the run, and the device in its last state.
    pub(crate) fn finish(mut self, scheduler: String) -> (RunReport, D) {
        if self.warm_up.is_some() {
            // The run ended before the warm-up: nothing counts.
            self.end_warm_up(self.now);
        }
        self.block.recorder.device = self.device.report();
        self.recorder_mut().waiting = self.source.waiting();
        let host = self.source.host_report();
        let storage = self.block.recorder.storage.take().map(|storage| storage.finish(self.now));
        let report = match self.redcap {
            None => self.block.recorder.finish(scheduler),
            Some(layer) => layer.finish(self.block.recorder, scheduler),
        };
        let task_s_mean = host.as_ref().and_then(HostReport::task_s_mean);
        (RunReport { host, storage, task_s_mean, ..report }, self.device)
    }

    /// Runs to the end. Every few thousand requests, `tick` is called with the number of requests completed since its last
    /// call. An error of `tick` ends the run.
    pub(crate) fn run<E: From<Stuck>>(
        mut self,
        mut tick: impl FnMut(u64, &mut Recorder) -> Result<(), E>,
    ) -> Result<Self, E> {
        let mut ticked = 0;
        while self.step()? {
            let count = self.recorder().count();
            if count >= ticked + TICK {
                tick(count - ticked, self.recorder_mut())?;
                ticked = count;
            }
        }
        let count = self.recorder().count();
        tick(count - ticked, self.recorder_mut())?;
        match self.stuck() {
            None => Ok(self),
            Some(stuck) => Err(stuck.into()),
        }
    }

    /// Handles every event that is due by `until`. False once the workload has ended.
    ///
    /// # Errors
    /// If the run is stuck.
    pub(crate) fn run_until(&mut self, until: Nanos) -> Result<bool, Stuck> {
        loop {
            match self.due() {
                Some((_, at)) if self.is_looked_at(at, until) => self.look().map_err(Stuck::Undecided)?,
                Some((_, at)) if at > until => return Ok(true),
                Some((what, at)) => self.act(what, at),
                None => return self.stuck().map_or(Ok(false), Err),
            }
        }
    }

    /// Why the run is stuck, when no event is due; `None` if it has ended.
    fn stuck(&self) -> Option<Stuck> {
        match self.outstanding() {
            0 => self.source.failure().map(Stuck::Failed),
            outstanding => Some(Stuck::Unserved { at: self.now, outstanding }),
        }
    }

    /// Begins to change the scheduler, `times` times in a row: see [`BlockLayer::switch`].
    pub(crate) fn switch(&mut self, queue: ResolvedQueue, scheduler: AnyScheduler, times: u64, now: Nanos) {
        // The device's own events since the end of the workload (write-back, rebuild) were left out until now.
        while let Some(at) = self.device.next_event().filter(|&at| at <= now) {
            self.act(Due::Device, at);
        }
        self.now = self.now.max(now);
        let latency = Nanos(times * self.cpus.switch().0);
        self.block.switch(queue, scheduler, latency, self.now);
    }

    /// The time of the next event, if there is one.
    pub(crate) fn next_time(&self) -> Option<Nanos> {
        self.due().map(|(_, at)| at)
    }

    /// Handles the next event. False if there is none.
    fn step(&mut self) -> Result<bool, Stuck> {
        match self.due() {
            Some((_, at)) if self.is_looked_at(at, Nanos::MAX) => {
                self.look().map_err(Stuck::Undecided)?;
                Ok(true)
            }
            Some((what, at)) => {
                self.act(what, at);
                Ok(true)
            }
            None => Ok(false),
        }
    }

    /// The next event and its time, if there is one.
    #[inline]
    fn due(&self) -> Option<(Due, Nanos)> {
        let device = self.device.next_event().unwrap_or(Nanos::MAX);
        let mut others = (Due::Issue, self.block.next_issue().unwrap_or(Nanos::MAX));
        let later = [
            (Due::Delay, self.delays.next_time()),
            (Due::Source, self.source.next_event()),
            (Due::Timer, self.block.next_timer()),
        ];
        for (what, at) in later {
            let at = at.unwrap_or(Nanos::MAX);
            if at < others.1 {
                others = (what, at);
            }
        }
        if others.1 == Nanos::MAX && (device == Nanos::MAX || self.block.outstanding() == 0) {
            // Once all requests are served, the device's own events (write-back, rebuild) no longer matter.
            return None;
        }
        Some(if others.1 < device { others } else { (Due::Device, device) })
    }

    fn act(&mut self, what: Due, at: Nanos) {
        if let Some(warm_up) = self.warm_up {
            self.warm(warm_up, at);
        }
        debug_assert!(at >= self.now, "time goes back at {what:?}: {} < {}", at.0, self.now.0);
        self.now = at.max(self.now);
        let now = self.now;
        match what {
            Due::Device => self.advance_device(),
            Due::Issue => self.block.issue(now, &mut self.device, &mut self.cpus),
            Due::Delay => {
                if let Some(over) = self.delays.pop() {
                    self.delay_over(over.event, over.number);
                }
            }
            Due::Source => self.advance_source(),
            Due::Timer => self.block.timer(now, &mut self.device, &mut self.cpus),
        }
        self.apply_effects();
    }

    fn delay_over(&mut self, what: Delayed, number: u64) {
        match what {
            Delayed::Resume(handle) => self.source.completed(handle, self.now),
            Delayed::Pinned(process) => self.pinned(process),
            Delayed::Wake(id) => self.wake(id),
            Delayed::Copied(copy) => {
                if let Some(layer) = &mut self.redcap {
                    layer.copied(copy, self.now);
                    self.serve_cache();
                }
            }
            Delayed::LostWake(id) => {
                if let Some(at) = self.losers.iter().position(|loser| loser.event == number) {
                    self.losers.remove(at);
                    self.wake(id);
                }
            }
        }
    }

    fn wake(&mut self, sleeper: RequestId) {
        self.block.wake(sleeper, self.now, &mut self.device, &mut self.cpus);
    }

    fn advance_device(&mut self) {
        let mut done = std::mem::take(&mut self.completions);
        self.device.advance(self.now, &mut done);
        for completion in &done {
            self.block.complete(completion, self.now, &mut self.device, &mut self.cpus);
        }
        done.clear();
        self.completions = done;
    }

    /// Lets the workload issue requests. Consecutive requests of one task are one batch.
    fn advance_source(&mut self) {
        let mut steps = std::mem::take(&mut self.steps);
        self.source.advance(self.now, &mut steps);
        if self.source.pins_buffers() {
            self.pin(&mut steps);
        }
        let mut batch: Option<(ProcessId, SourceHandle)> = None;
        for step in &steps {
            let next = match step {
                Step::Request(arrival) => Some((arrival.process, arrival.handle)),
                Step::Start { .. } | Step::Exit(_) | Step::Waits(_) => None,
            };
            if let Some(before) = batch.filter(|(process, _)| next.is_none_or(|(next, _)| next != *process)) {
                self.end_batch(before);
            }
            batch = next;
            match step {
                Step::Request(arrival) => self.submit(arrival),
                Step::Start { process, parent } => {
                    let now = self.now;
                    self.recorder_mut().started(*process, *parent, now);
                    if let Some(layer) = &mut self.redcap {
                        layer.started(*process, *parent, now);
                        self.serve_cache();
                    }
                }
                Step::Waits(handle) => self.waits(*handle),
                Step::Exit(process) => {
                    self.recorder_mut().exited(*process);
                    if let Some(layer) = &mut self.redcap {
                        layer.exited(*process, self.now);
                        self.serve_cache();
                    }
                    self.block.process_exited(*process, self.now, &mut self.device, &mut self.cpus);
                }
            }
        }
        if let Some(batch) = batch {
            self.end_batch(batch);
        }
        steps.clear();
        self.steps = steps;
    }

    /// A request of the workload reaches the cache, or the block layer.
    fn submit(&mut self, arrival: &Arrival) {
        match &mut self.redcap {
            None => self.block.submit(arrival, self.now),
            Some(layer) => {
                layer.submit(arrival, self.now);
                self.carry_out();
            }
        }
    }

    /// `process` has submitted its batch, whose last request is `last`. It leaves the CPU to the sleepers that wait for it.
    fn end_batch(&mut self, (process, last): (ProcessId, SourceHandle)) {
        let next = self.block.plug_stays_until(self.now).and_then(|by| self.source.goes_on(last, by));
        self.block.end_batch(next, self.now, &mut self.device, &mut self.cpus);
        while let Some(at) = self.losers.iter().position(|loser| loser.completer == process) {
            let sleeper = self.losers.remove(at).sleeper;
            self.wake_soon(sleeper);
        }
    }

    /// A request of the workload is complete: its task continues.
    fn completed(&mut self, handle: SourceHandle, process: ProcessId) {
        let now = self.now;
        let counted = self.source.thinks_from_block_layer();
        let resume = if counted { Nanos::ZERO } else { self.cpus.resume(handle, process, now) };
        if resume == Nanos::ZERO {
            self.source.completed(handle, now);
        } else {
            self.delays.push(now + resume, Delayed::Resume(handle));
        }
    }

    fn apply_effects(&mut self) {
        // A cache may send more requests at a completion.
        while !self.block.effects.is_empty() {
            self.apply_all();
        }
    }

    fn apply_all(&mut self) {
        let mut effects = std::mem::replace(&mut self.block.effects, std::mem::take(&mut self.effects));
        for effect in effects.drain(..) {
            self.apply(effect);
        }
        self.effects = effects;
    }

    fn apply(&mut self, effect: BlockEffect) {
        let now = self.now;
        match effect {
            BlockEffect::Blocked(process) => self.source.blocked(process, now),
            BlockEffect::Unblocked(process) => self.source.unblocked(process, now),
            BlockEffect::Completed { handle, process, inserted, issued, merged, cache_hit } => match &mut self.redcap {
                None => {
                    self.source.served(handle, cache_hit);
                    self.completed(handle, process);
                }
                Some(layer) => {
                    layer.served(handle, (inserted, issued, now), merged, cache_hit);
                    self.serve_cache();
                }
            },
            BlockEffect::Wake(sleeper) => self.wake_soon(sleeper),
            BlockEffect::Contend { sleeper, completed, completer } => {
                if self.cpus.completer_keeps_tag(completed) {
                    let latest = now + self.cpus.lost_wake(self.block.submitter(sleeper), now);
                    let event = self.delays.push(latest, Delayed::LostWake(sleeper));
                    self.losers.push(Loser { sleeper, completer, event });
                } else {
                    self.block.reserve_tag(sleeper);
                    self.wake_soon(sleeper);
                }
            }
        }
    }

    fn wake_soon(&mut self, sleeper: RequestId) {
        let wake = self.cpus.wake(self.block.submitter(sleeper), self.now);
        self.delays.push(self.now + wake, Delayed::Wake(sleeper));
    }
}
