//! [`HostSettings`]: the CPUs of a host, and how its kernel runs processes on them.

use crate::costs::{Costs, Preset, time};
use crate::file_system::UfsSettings;
use crate::files::CacheSettings;
use iopilot_block::{InputError, Nanos};

/// A page cache of 32 MiB: what is left of the 40 MB of Ganger's machine (5.3), less the kernel and its processes.
const CACHE: u64 = 32 << 20;

/// Which CPU handles the interrupt of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InterruptCpu {
    /// The first, as in 1995.
    First,
    /// The one that issued it (`rq_affinity` 1).
    Issuer,
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
    /// How long a process computes while others want to.
    pub quantum: Nanos,
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
    /// So many CPUs that cost nothing but what processes compute.
    pub fn free(cpus: u16) -> Self {
        Self {
            cpus,
            speed: 1.0,
            costs: Costs::FREE,
            quantum: Nanos::from_millis(100),
            interrupt_cpu: InterruptCpu::First,
            io_preempts: false,
            cache: CacheSettings::of_1995(CACHE),
            layout: UfsSettings::default(),
        }
    }

    /// So many CPUs of such a machine.
    pub fn of(preset: Preset, cpus: u16) -> Self {
        let interrupt_cpu = if preset == Preset::Y1995 { InterruptCpu::First } else { InterruptCpu::Issuer };
        Self { costs: Costs::of(preset), interrupt_cpu, ..Self::free(cpus) }
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
        self.cache.check()
    }
}
