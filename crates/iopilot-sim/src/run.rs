//! [`run`]: any source on any device, under one scheduler.

use crate::block_config::BlockConfig;
use crate::engine::{Engine, Stuck};
use crate::error::SimError;
use crate::host::HostConfig;
use crate::report::RunReport;
use crate::source::Source;
use iopilot_block::InputError;
use iopilot_device::Device;
use iopilot_sched::{Environment, Scheduler, SchedulerSpec};
use std::sync::atomic::{AtomicU64, Ordering};

/// The parts of a machine that are not its device, and the seed of a run.
#[derive(Clone, Debug, Default)]
pub struct RunConfig {
    /// The block layer.
    pub block: BlockConfig,
    /// The CPUs.
    pub host: HostConfig,
    /// `queue/rotational`: whether the scheduler is told that seeks cost time.
    pub rotational: bool,
    /// Seed of the host's random choices (the race for tags). The workload has its own.
    pub seed: u64,
    /// Whether the report is to hold every request.
    pub log: bool,
}

/// How far runs have come, for another thread to read.
#[derive(Debug, Default)]
pub struct Progress {
    done: AtomicU64,
}

impl Progress {
    /// Requests completed so far, over all runs.
    pub fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    fn add(&self, n: u64) {
        self.done.fetch_add(n, Ordering::Relaxed);
    }
}

/// Runs `source` on `device` under one scheduler, to the source's end. A pure function of its arguments: the same bytes
/// come out on any machine. Memory is bounded by the requests in flight and the number of processes.
///
/// # Errors
/// Where a setting is not accepted, or the run gets stuck.
pub fn run<S: Source, D: Device>(
    source: S,
    device: D,
    scheduler: &SchedulerSpec,
    config: &RunConfig,
    progress: &Progress,
) -> Result<RunReport, SimError> {
    let queue = config.block.resolve(scheduler.name, scheduler.lineage(), device.queue_depth(), &config.host);
    let environment = Environment {
        cpus: queue.cpus,
        rotational: config.rotational,
        capacity: device.capacity(),
        queue_depth: queue.queue_depth,
        nr_requests: queue.nr_requests,
    };
    let built = scheduler
        .build(&environment)
        .map_err(|source| SimError::Tunable { scheduler: scheduler.name.to_owned(), source })?;
    if built.needs_positions() && device.positions().is_none() {
        return Err(InputError::new(
            "scheduler",
            scheduler.to_string(),
            "one that does not ask where the arm is: this disk has none",
        )
        .into());
    }
    let engine = Engine::new(source, queue, built, device, &config.host, config.seed, config.log);
    match engine.run(|n| progress.add(n)) {
        Ok(recorder) => Ok(recorder.finish(scheduler.to_string())),
        Err(Stuck { at, outstanding }) => Err(SimError::Stuck { scheduler: scheduler.to_string(), at, outstanding }),
    }
}
