//! [`RunConfig`]: the settings of a run.

use crate::block_config::{BlockConfig, DeviceTraits, ResolvedQueue};
use crate::cpu_overheads::CpuOverheads;
use crate::error::SimError;
use crate::warm_up::WarmUp;
use iopilot_block::InputError;
use iopilot_catalogue::TimeTables;
use iopilot_device::Device;
use iopilot_redcap::RedcapSpec;
use iopilot_sched::{AnyScheduler, Environment, Scheduler, SchedulerSpec};
use std::sync::Arc;

/// The settings of a run: the parts of a machine that are not its device, the seed, and the contents of the report.
#[derive(Clone, Debug, Default)]
pub struct RunConfig {
    /// The block layer.
    pub block: BlockConfig,
    /// The CPUs.
    pub host: CpuOverheads,
    /// A cache above the block layer, if there is one.
    pub redcap: Option<RedcapSpec>,
    /// Two tables of the disk's times, trained off line (GF 3.2.5), for a cache whose algorithm has a reference disk. Without
    /// them, the reference disk starts with empty tables and learns.
    pub tables: Option<Arc<TimeTables>>,
    /// `queue/rotational`: whether the scheduler assumes that seeks cost time.
    pub rotational: bool,
    /// The seed for the contention for freed tags. The workload has its own.
    pub seed: u64,
    /// Whether the report contains every request; [`crate::run_logged`] needs no memory for them.
    pub log: bool,
    /// Whether the requests of the device are kept for [`crate::Session::take_disk_completed`]. Without a cache above the block
    /// layer they are those of the log.
    pub disk_log: bool,
    /// Whether the report contains the outcome of each of the source's requests ([`crate::RunReport::outcomes`]).
    pub outcomes: bool,
    /// The warm-up that the report leaves out, if there is one. Logs and outcomes contain the whole run.
    pub warm_up: Option<WarmUp>,
}

impl RunConfig {
    /// The name of a run under `scheduler`: the scheduler, and the cache if there is one.
    pub(crate) fn run_name(&self, scheduler: &SchedulerSpec) -> String {
        match &self.redcap {
            Some(redcap) => format!("{scheduler} + {redcap}"),
            None => scheduler.to_string(),
        }
    }

    /// Builds `scheduler` for `device`, with its queue settings.
    ///
    /// # Errors
    /// If a tunable is not accepted, or the scheduler needs the position of an arm and the device has none.
    pub(crate) fn scheduler_for<D: Device>(
        &self,
        scheduler: &SchedulerSpec,
        device: &D,
    ) -> Result<(ResolvedQueue, AnyScheduler), SimError> {
        let queue = self.block.resolve(scheduler.info(), &DeviceTraits::of(device, self.rotational), &self.host);
        let environment = Environment {
            cpus: queue.cpus,
            hardware_queues: queue.map.queues() as u16,
            rotational: self.rotational,
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
                "one that does not need the position of an arm: this disk has none",
            )
            .into());
        }
        Ok((queue, built))
    }
}
