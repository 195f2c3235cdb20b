//! The event loop.
//!
//! A machine with one block device has few things that can happen next: the device does something, a request reaches
//! it, a delay runs out, the workload issues something, a timer fires. Each says when; the earliest goes first, and
//! those of one moment in this order, which is the kernel's order at a completion: the waiting request is issued, the
//! next is pulled, and only then the completer's own next request arrives.

use crate::block_config::Queue;
use crate::block_layer::{BlockLayer, Race};
use crate::host::{HostConfig, Latencies};
use crate::metrics::Recorder;
use crate::run::RunConfig;
use iopilot_block::{Nanos, ProcessId, RequestId};
use iopilot_device::{Completion, Device, Rests};
use iopilot_sched::AnyScheduler;
use iopilot_workload::{Source, Step};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Requests between two calls of `tick`.
const TICK: u64 = 4096;

/// Something that happens a while after its cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Delayed {
    /// The task learns that its request is complete.
    Told(u64),
    /// The scheduler hears that it is complete.
    Hear(RequestId),
    /// The submitter of a request was woken and looks for a tag.
    Wake(RequestId),
    /// So does the one that was woken as the so many-th delay, if it still waits for the CPU.
    WakeLate(u64),
}

/// A sleeper that was woken and waits for the CPU, which the task has whose request is complete.
#[derive(Clone, Copy, Debug)]
struct Late {
    sleeper: RequestId,
    behind: ProcessId,
    delay: u64,
}

/// A workload, a block layer and a device, run to the end of the workload.
#[derive(Clone)]
pub(crate) struct Engine<S, D> {
    pub(crate) source: S,
    pub(crate) block: BlockLayer,
    pub(crate) device: D,
    latencies: Latencies,
    /// By how much later a task goes on after a rest, and after the last one.
    rests: Rests,
    rested: Nanos,
    pub(crate) now: Nanos,
    /// Ordered by time, then by order of insertion.
    delays: BinaryHeap<Reverse<(Nanos, u64, Delayed)>>,
    next_delay: u64,
    /// Woken, and waiting for the CPU.
    late: Vec<Late>,
    /// For the race between sleepers and running tasks for a freed tag.
    random: Pcg64Mcg,
    steps: Vec<Step>,
    completions: Vec<Completion>,
}

/// The workload waits for requests that nobody serves: a fault in a scheduler or a model.
#[derive(Debug)]
pub(crate) struct Stuck {
    pub(crate) at: Nanos,
    pub(crate) outstanding: usize,
}

impl<S: Source, D: Device> Engine<S, D> {
    pub(crate) fn new(
        source: S,
        queue: Queue,
        scheduler: AnyScheduler,
        device: D,
        host: &HostConfig,
        seed: u64,
        record: &RunConfig,
    ) -> Self {
        Self {
            block: BlockLayer::new(
                queue,
                scheduler,
                source.is_serial(),
                Recorder::new(record.log, record.outcomes),
                host.tag_chances(),
                record.hand_overs.clone(),
                seed,
            ),
            source,
            device,
            latencies: host.latencies(),
            rests: record.rests.clone(),
            rested: Nanos::ZERO,
            now: Nanos::ZERO,
            delays: BinaryHeap::new(),
            next_delay: 0,
            late: Vec::new(),
            random: Pcg64Mcg::seed_from_u64(seed),
            steps: Vec::new(),
            completions: Vec::new(),
        }
    }

    /// Runs to the end; `tick` is called with the number of requests completed since the last time, every few
    /// thousand. An error of `tick` ends the run.
    pub(crate) fn run<E: From<Stuck>>(
        mut self,
        mut tick: impl FnMut(u64, &mut Recorder) -> Result<(), E>,
    ) -> Result<Recorder, E> {
        let mut ticked = 0;
        while self.step() {
            let count = self.block.recorder.count();
            if count >= ticked + TICK {
                tick(count - ticked, &mut self.block.recorder)?;
                ticked = count;
            }
        }
        let count = self.block.recorder.count();
        tick(count - ticked, &mut self.block.recorder)?;
        self.block.recorder.device = self.device.report();
        match self.block.outstanding() {
            0 => Ok(self.block.recorder),
            outstanding => Err(Stuck { at: self.now, outstanding }.into()),
        }
    }

    /// Does everything that is due by `until`; false once the workload is over.
    ///
    /// # Errors
    /// Where requests wait that nobody serves.
    pub(crate) fn run_until(&mut self, until: Nanos) -> Result<bool, Stuck> {
        loop {
            match self.due() {
                Some((_, at)) if at > until => return Ok(true),
                Some((what, at)) => self.act(what, at),
                None => {
                    return match self.block.outstanding() {
                        0 => Ok(false),
                        outstanding => Err(Stuck { at: self.now, outstanding }),
                    };
                }
            }
        }
    }

    /// Begins to change the scheduler, so many times in a row: see [`BlockLayer::switch`].
    pub(crate) fn switch(&mut self, queue: Queue, scheduler: AnyScheduler, times: u64, now: Nanos) {
        // What the device did of itself after the workload's end, which was nobody's concern until now.
        while let Some(at) = self.device.next_event().filter(|&at| at <= now) {
            self.act(0, at);
        }
        self.now = self.now.max(now);
        self.block.switch(queue, scheduler, Nanos(times * self.latencies.switch.0), self.now);
    }

    /// Does what is due next; false where nothing is.
    fn step(&mut self) -> bool {
        match self.due() {
            Some((what, at)) => {
                self.act(what, at);
                true
            }
            None => false,
        }
    }

    /// What is due next, and when; `None` once nothing is.
    fn due(&self) -> Option<(usize, Nanos)> {
        let due = [
            self.device.next_event(),
            self.block.next_issue(),
            self.delays.peek().map(|Reverse((at, ..))| *at),
            self.source.next_event(),
            self.block.next_timer(),
        ]
        .map(|at| at.unwrap_or(Nanos::MAX));
        let mut first = 0;
        for i in 1..due.len() {
            if due[i] < due[first] {
                first = i;
            }
        }
        // What the device still does of itself (write back, rebuild) is nobody's concern once all requests are served.
        let others = due[1..].iter().all(|&at| at == Nanos::MAX);
        let over = due[first] == Nanos::MAX || (others && self.block.outstanding() == 0);
        (!over).then_some((first, due[first]))
    }

    fn act(&mut self, what: usize, at: Nanos) {
        debug_assert!(at >= self.now, "time goes back in slot {what}: {} < {}", at.0, self.now.0);
        self.now = at.max(self.now);
        let now = self.now;
        match what {
            0 => self.advance_device(),
            1 => self.block.issue(now, &mut self.device),
            2 => match self.delays.pop() {
                Some(Reverse((_, _, Delayed::Told(tag)))) => self.source.completed(tag, now),
                Some(Reverse((_, _, Delayed::Hear(id)))) => self.block.hear(id, now, &mut self.device),
                Some(Reverse((_, _, Delayed::Wake(id)))) => self.block.wake(id, now, &mut self.device),
                Some(Reverse((_, _, Delayed::WakeLate(delay)))) => {
                    if let Some(at) = self.late.iter().position(|late| late.delay == delay) {
                        let sleeper = self.late.remove(at).sleeper;
                        self.block.wake(sleeper, now, &mut self.device);
                    }
                }
                None => {}
            },
            3 => self.advance_source(),
            _ => self.block.timer(now, &mut self.device),
        }
        self.apply_effects();
    }

    fn advance_device(&mut self) {
        let mut done = std::mem::take(&mut self.completions);
        self.device.advance(self.now, &mut done);
        if !done.is_empty() {
            self.rested = self.rests.end(self.now);
        }
        for completion in &done {
            self.block.complete(completion, self.now, &mut self.device);
        }
        done.clear();
        self.completions = done;
    }

    /// Lets the workload act. What one task issues without another in between is a batch.
    fn advance_source(&mut self) {
        let mut steps = std::mem::take(&mut self.steps);
        self.source.advance(self.now, &mut steps);
        let mut batch: Option<ProcessId> = None;
        for step in &steps {
            let process = match step {
                Step::Request(arrival) => Some(arrival.process),
                Step::Start { .. } | Step::Exit(_) => None,
            };
            if let Some(before) = batch.filter(|_| batch != process) {
                self.end_batch(before);
            }
            batch = process;
            match step {
                Step::Request(arrival) => self.block.submit(arrival, self.now),
                Step::Start { process, parent } => self.block.recorder.started(*process, *parent, self.now),
                Step::Exit(process) => self.block.process_exited(*process, self.now, &mut self.device),
            }
        }
        if let Some(process) = batch {
            self.end_batch(process);
        }
        steps.clear();
        self.steps = steps;
    }

    /// `process` has submitted what it had, and leaves the CPU to those who wait for it.
    fn end_batch(&mut self, process: ProcessId) {
        self.block.end_batch(self.now, &mut self.device);
        while let Some(at) = self.late.iter().position(|late| late.behind == process) {
            let late = self.late.remove(at);
            self.delay(self.latencies.wake, Delayed::Wake(late.sleeper));
        }
    }

    fn apply_effects(&mut self) {
        let now = self.now;
        for process in self.block.effects.blocked.drain(..) {
            self.source.blocked(process, now);
        }
        for process in self.block.effects.unblocked.drain(..) {
            self.source.unblocked(process, now);
        }
        let awake = if self.source.thinks_from_block_layer() { Nanos::ZERO } else { self.latencies.resume };
        let resume = awake + self.rested;
        let mut completed = std::mem::take(&mut self.block.effects.completed);
        for tag in completed.drain(..) {
            if resume == Nanos::ZERO {
                self.source.completed(tag, now);
            } else {
                self.delay(resume, Delayed::Told(tag));
            }
        }
        self.block.effects.completed = completed;
        let mut told = std::mem::take(&mut self.block.effects.tell_after);
        for (tag, takes) in told.drain(..) {
            self.delay(resume + takes, Delayed::Told(tag));
        }
        self.block.effects.tell_after = told;
        let mut woken = std::mem::take(&mut self.block.effects.wake);
        for id in woken.drain(..) {
            self.delay(self.latencies.wake, Delayed::Wake(id));
        }
        self.block.effects.wake = woken;
        let mut heirs = std::mem::take(&mut self.block.effects.wake_after);
        for (id, takes) in heirs.drain(..) {
            self.delay(takes, Delayed::Wake(id));
        }
        self.block.effects.wake_after = heirs;
        let mut unheard = std::mem::take(&mut self.block.effects.hear_after);
        for (id, takes) in unheard.drain(..) {
            self.delay(takes, Delayed::Hear(id));
        }
        self.block.effects.hear_after = unheard;
        let mut races = std::mem::take(&mut self.block.effects.race);
        for Race { sleeper, behind, loses } in races.drain(..) {
            if self.random.random_bool(loses) {
                self.block.lost_race(sleeper);
                let delay = self.next_delay;
                self.late.push(Late { sleeper, behind, delay });
                self.delay(self.latencies.wake_late, Delayed::WakeLate(delay));
            } else {
                self.block.won_race(sleeper);
                self.delay(self.latencies.wake, Delayed::Wake(sleeper));
            }
        }
        self.block.effects.race = races;
    }

    fn delay(&mut self, latency: Nanos, what: Delayed) {
        self.delays.push(Reverse((self.now + latency, self.next_delay, what)));
        self.next_delay += 1;
    }
}

#[cfg(test)]
mod tests;
