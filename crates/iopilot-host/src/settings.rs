//! [`HostSettings`]: the CPUs of a host, and how its kernel runs processes on them.

use crate::costs::{Costs, Preset, time};
use crate::cpu_scheduler::{CpuScheduler, FairSettings};
use crate::file_system::UfsSettings;
use crate::files::CacheSettings;
use iopilot_block::{InputError, Nanos};
use serde::Deserialize;

/// A page cache of 32 MiB: what is left of the 40 MB of Ganger's machine (5.3), less the kernel and its processes.
const CACHE: u64 = 32 << 20;

/// Which CPU handles the interrupt of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InterruptCpu {
    /// The first, as in 1995.
    First,
    /// The one that issued it (`rq_affinity` 1).
    Issuer,
    /// Each in turn.
    RoundRobin,
}

/// What a CPU does that has nothing to do (Ganger A.1.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IdleLoop {
    /// It runs a process of the kernel: who comes back finds that another has run.
    Process,
    /// It stays in the context of the last process: if the same comes back, that costs nothing.
    Last,
}

/// The CPUs and the kernel.
#[derive(Clone, Debug)]
pub struct HostSettings {
    /// How many CPUs.
    pub cpus: u16,
    /// How fast they are: computation and costs take their time over this.
    pub speed: f64,
    /// What the kernel's work costs.
    pub costs: Costs,
    /// How processes share the CPUs.
    pub scheduler: CpuScheduler,
    /// How long a process computes while others want to, under [`CpuScheduler::RoundRobin`].
    pub quantum: Nanos,
    /// The tunables of [`CpuScheduler::Fair`].
    pub fair: FairSettings,
    /// Whether a process makes room also while it runs code of the kernel, and not only once it is back in its own.
    pub kernel_preemption: bool,
    /// What an idle CPU does.
    pub idle_loop: IdleLoop,
    /// Who handles interrupts.
    pub interrupt_cpu: InterruptCpu,
    /// Whether a process whose request is complete runs at once, instead of one that computes.
    pub io_preempts: bool,
    /// The page cache, for workloads with files.
    pub cache: CacheSettings,
    /// How the disk is laid out for files.
    pub layout: UfsSettings,
}

impl HostSettings {
    /// So many CPUs that cost nothing but what processes compute, which take turns.
    pub fn free(cpus: u16) -> Self {
        Self {
            cpus,
            speed: 1.0,
            costs: Costs::FREE,
            scheduler: CpuScheduler::RoundRobin,
            quantum: Nanos::from_millis(100),
            fair: FairSettings::of(cpus),
            kernel_preemption: true,
            idle_loop: IdleLoop::Last,
            interrupt_cpu: InterruptCpu::First,
            io_preempts: false,
            cache: CacheSettings::of_1995(CACHE),
            layout: UfsSettings::default(),
        }
    }

    /// So many CPUs of such a machine.
    pub fn of(preset: Preset, cpus: u16) -> Self {
        let (scheduler, interrupt_cpu) = match preset {
            // Not `svr4`, whose table of 1995 is not known: with its priorities false computation of uncompress under
            // criticality-based scheduling is 0.12 s. It is 0.03 s in Ganger's Table 7.4, and with turns of one length.
            Preset::Y1995 => (CpuScheduler::RoundRobin, InterruptCpu::First),
            Preset::Y2005 | Preset::Today => (CpuScheduler::Fair, InterruptCpu::Issuer),
        };
        // Kernels of servers are built without pre-emption (`PREEMPT_NONE`), as System V was.
        let kernel_preemption = false;
        Self { costs: Costs::of(preset), scheduler, interrupt_cpu, kernel_preemption, ..Self::free(cpus) }
    }

    /// How long an interrupt is handled. At its end the driver sends the next request.
    pub fn interrupt(&self) -> Nanos {
        time(self.costs.irq_us, self.speed)
    }

    /// Whether they make sense.
    ///
    /// # Errors
    /// Names the one that does not.
    pub fn check(&self) -> Result<(), InputError> {
        if self.cpus == 0 {
            return Err(InputError::new("host.cpus", "0", "at least 1"));
        }
        if !(0.001..=1e6).contains(&self.speed) {
            return Err(InputError::new("host.speed", self.speed.to_string(), "0.001 to 1000000"));
        }
        if self.quantum == Nanos::ZERO {
            return Err(InputError::new("host.quantum_ms", "0", "more than 0"));
        }
        self.fair.check()?;
        self.cache.check()
    }
}
