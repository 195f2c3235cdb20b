//! [`CpuTiming`]: what the CPUs add to a request.

use crate::cpu_overheads::CpuOverheads;
use iopilot_block::{Nanos, ProcessId};
use iopilot_workload::SourceHandle;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Why the hardware queue is run (`blk_mq_run_hw_queue`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueRun {
    /// A task has submitted a batch, of which this request was inserted last, if any was.
    Inserted(Option<SourceHandle>),
    /// A request is complete.
    Completed {
        /// The request.
        handle: SourceHandle,
        /// Whether another one has left the scheduler and waited for this room in the device: a worker of the kernel
        /// sends it (Linux 6 with a scheduler).
        waiting: bool,
    },
    /// A request has just been sent to the device.
    Issued(SourceHandle),
    /// A timer has expired, or a task has exited.
    Other,
}

/// What the CPUs add to a request: how long after each cause its effect comes, and which of two tasks is faster.
///
/// The block layer decides *what* happens, an implementation of this decides *when*. [`FixedCosts`] is the one of
/// simulations; a model of CPUs, or times that were recorded, can take its place. It must be deterministic: randomness
/// comes from a seed of its own.
pub trait CpuTiming {
    /// From the run of the queue at `now` until the request that the scheduler chose first reaches the device.
    fn issue(&mut self, run: QueueRun, now: Nanos) -> Nanos;

    /// From the completion of the request `handle` until its task's next instruction. Not called where a source's think
    /// times count from the block layer's completion.
    fn resume(&mut self, handle: SourceHandle, process: ProcessId, now: Nanos) -> Nanos;

    /// From the moment a tag is freed until the task that was woken for it looks for one.
    fn wake(&mut self, process: ProcessId, now: Nanos) -> Nanos;

    /// Whether the task of `completed`, whose tag is freed, takes that tag for its next request before a sleeper does.
    fn completer_keeps_tag(&mut self, completed: SourceHandle) -> bool;

    /// How long at most a sleeper that loses against the completing task waits for that task to submit, before it looks for
    /// a tag.
    fn lost_wake(&mut self, process: ProcessId, now: Nanos) -> Nanos;

    /// How long a change of the scheduler takes, once everything in the queue is served.
    fn switch(&mut self) -> Nanos;
}

/// The same costs each time, as [`CpuOverheads`] gives them; tags are kept with the same probability each time.
#[derive(Clone, Debug)]
pub struct FixedCosts {
    issue: Nanos,
    /// The delay of a request that waited for room in the device.
    restart: Nanos,
    resume: Nanos,
    wake: Nanos,
    lost_wake: Nanos,
    switch: Nanos,
    keeps_tag: f64,
    random: Pcg64Mcg,
}

impl FixedCosts {
    /// The costs of `overheads`; `seed` is for the contention for freed tags.
    pub fn new(overheads: &CpuOverheads, seed: u64) -> Self {
        let of = |us: f64| Nanos::from_millis_f64(us / 1e3);
        Self {
            issue: of(overheads.issue_us),
            restart: of(overheads.restart_us),
            resume: of(overheads.resume_us),
            wake: of(overheads.wake_us),
            lost_wake: of(overheads.wake_us + 5.0 * overheads.resume_us.max(10.0)),
            switch: overheads.switch(),
            keeps_tag: overheads.tag_steal_probability,
            random: Pcg64Mcg::seed_from_u64(seed),
        }
    }
}

impl CpuTiming for FixedCosts {
    #[inline]
    fn issue(&mut self, run: QueueRun, _: Nanos) -> Nanos {
        match run {
            QueueRun::Completed { waiting: true, .. } => self.restart,
            _ => self.issue,
        }
    }

    #[inline]
    fn resume(&mut self, _: SourceHandle, _: ProcessId, _: Nanos) -> Nanos {
        self.resume
    }

    fn wake(&mut self, _: ProcessId, _: Nanos) -> Nanos {
        self.wake
    }

    fn completer_keeps_tag(&mut self, _: SourceHandle) -> bool {
        self.random.random_bool(self.keeps_tag)
    }

    fn lost_wake(&mut self, _: ProcessId, _: Nanos) -> Nanos {
        self.lost_wake
    }

    fn switch(&mut self) -> Nanos {
        self.switch
    }
}
