//! [`HostSettings`]: the CPUs of a host, and how its kernel runs processes on them.

use crate::costs::{Costs, Preset, time};
use crate::cpu_scheduler::{CpuScheduler, FairSettings};
use crate::file_system::UfsSettings;
use crate::files::CacheSettings;
use iopilot_block::{InputError, Nanos};
use serde::Deserialize;

/// A page cache of 32 MiB: the 40 MB of Ganger's machine (5.3), less the kernel and its processes.
const CACHE: u64 = 32 << 20;

/// Which CPU handles the interrupt of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InterruptCpu {
    /// The first CPU, as in 1995.
    First,
    /// The CPU that issued the request (`rq_affinity` 1).
    Issuer,
    /// Each CPU in turn.
    RoundRobin,
}

/// What an idle CPU runs (Ganger A.1.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IdleLoop {
    /// It switches to a kernel process: resuming the last process costs a context switch.
    Process,
    /// It stays in the context of the last process: resuming that process costs nothing.
    Last,
}

/// The CPUs and the kernel.
#[derive(Clone, Debug)]
pub struct HostSettings {
    /// How many CPUs.
    pub cpus: u16,
    /// The speed of the CPUs: computation and costs are divided by it.
    pub speed: f64,
    /// The costs of kernel work.
    pub costs: Costs,
    /// How processes share the CPUs.
    pub scheduler: CpuScheduler,
    /// The length of a turn under [`CpuScheduler::RoundRobin`].
    pub quantum: Nanos,
    /// The tunables of [`CpuScheduler::Fair`].
    pub fair: FairSettings,
    /// Whether a process can be pre-empted in kernel code, and not only in user code.
    pub kernel_preemption: bool,
    /// What an idle CPU does.
    pub idle_loop: IdleLoop,
    /// The CPU that handles interrupts.
    pub interrupt_cpu: InterruptCpu,
    /// Whether a process whose request completes pre-empts one that computes.
    pub io_preempts: bool,
    /// The page cache, for workloads with files.
    pub cache: CacheSettings,
    /// The file system's layout of the disk.
    pub layout: UfsSettings,
}

impl HostSettings {
    /// `cpus` CPUs without costs, under round robin.
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

    /// `cpus` CPUs of the machine `preset`.
    pub fn of(preset: Preset, cpus: u16) -> Self {
        let (scheduler, interrupt_cpu) = match preset {
            // Not `svr4`, whose table of 1995 is not known. With its priorities, uncompress has 0.12 s of false computation
            // under criticality-based scheduling. Ganger's Table 7.4 has 0.03 s, and so has round robin.
            Preset::Y1995 => (CpuScheduler::RoundRobin, InterruptCpu::First),
            Preset::Y2005 | Preset::Today => (CpuScheduler::Fair, InterruptCpu::Issuer),
        };
        // Server kernels are built without pre-emption (`PREEMPT_NONE`), like System V.
        let kernel_preemption = false;
        Self { costs: Costs::of(preset), scheduler, interrupt_cpu, kernel_preemption, ..Self::free(cpus) }
    }

    /// The time of an interrupt handler. At its end the driver sends the next request.
    pub fn interrupt(&self) -> Nanos {
        time(self.costs.irq_us, self.speed)
    }

    /// Checks the settings.
    ///
    /// # Errors
    /// Names the invalid setting.
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
