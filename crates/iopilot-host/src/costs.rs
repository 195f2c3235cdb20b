//! [`Costs`]: the CPU time of the kernel's own work.

use iopilot_block::{InputError, Nanos};
use serde::Deserialize;

/// Machines with known costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum Preset {
    /// A 33 MHz 486 under System V Release 4 (Ganger 5.2). The cost of an interrupt follows from Tables 7.3 to 7.5: the CPU
    /// time that is not the task's, over the number of interrupts.
    #[serde(rename = "1995")]
    Y1995,
    /// 0.8 to 2.7 GHz, Linux 2.6.
    #[serde(rename = "2005")]
    Y2005,
    /// Several GHz, Linux 6.
    #[serde(rename = "today")]
    Today,
}

/// CPU time of kernel operations, in microseconds. All are divided by the speed of the CPUs.
#[derive(Clone, Debug, PartialEq)]
pub struct Costs {
    /// One clock interrupt.
    pub tick_us: f64,
    /// Clock interrupts a second; 0 for none.
    pub hz: u32,
    /// An interrupt of the controller, with the driver's handler.
    pub irq_us: f64,
    /// Interrupts of a read that the device's cache serves, of another read, and of a write. A controller of 1995 also
    /// interrupts when the device disconnects, reconnects and saves its pointers (Ganger 5.4: the counts of Tables 5.4 to 5.7).
    pub irqs_per_hit: u32,
    /// See [`Costs::irqs_per_hit`].
    pub irqs_per_read: u32,
    /// See [`Costs::irqs_per_hit`].
    pub irqs_per_write: u32,
    /// Submitting a request to the driver.
    pub submit_us: f64,
    /// Switching from one process to another.
    pub switch_us: f64,
    /// Putting a process to sleep.
    pub block_us: f64,
    /// Making a process runnable.
    pub wake_us: f64,
    /// Refilling the CPU's cache after another process ran.
    pub refill_us: f64,
    /// Entering the kernel and leaving it.
    pub syscall_us: f64,
    /// Starting a process.
    pub fork_us: f64,
    /// Ending a process.
    pub exit_us: f64,
    /// Copying a KiB between the page cache and a process.
    pub copy_us_per_kib: f64,
    /// Looking up a component of a path.
    pub lookup_us: f64,
}

/// The costs in a machine's description. The preset supplies missing values.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CostSettings {
    tick_us: Option<f64>,
    hz: Option<u32>,
    irq_us: Option<f64>,
    irqs_per_hit: Option<u32>,
    irqs_per_read: Option<u32>,
    irqs_per_write: Option<u32>,
    submit_us: Option<f64>,
    switch_us: Option<f64>,
    block_us: Option<f64>,
    wake_us: Option<f64>,
    refill_us: Option<f64>,
    syscall_us: Option<f64>,
    fork_us: Option<f64>,
    exit_us: Option<f64>,
    copy_us_per_kib: Option<f64>,
    lookup_us: Option<f64>,
}

impl Costs {
    /// All costs are zero: only processes take time.
    pub const FREE: Self = Self {
        tick_us: 0.0,
        hz: 0,
        irq_us: 0.0,
        irqs_per_hit: 1,
        irqs_per_read: 1,
        irqs_per_write: 1,
        submit_us: 0.0,
        switch_us: 0.0,
        block_us: 0.0,
        wake_us: 0.0,
        refill_us: 0.0,
        syscall_us: 0.0,
        fork_us: 0.0,
        exit_us: 0.0,
        copy_us_per_kib: 0.0,
        lookup_us: 0.0,
    };

    /// The costs of a machine of that time.
    pub const fn of(preset: Preset) -> Self {
        match preset {
            Preset::Y1995 => Self {
                tick_us: 275.0,
                hz: 100,
                irq_us: 275.0,
                irqs_per_hit: 1,
                irqs_per_read: 3,
                irqs_per_write: 6,
                submit_us: 150.0,
                switch_us: 20.0,
                block_us: 15.0,
                wake_us: 15.0,
                refill_us: 15.0,
                syscall_us: 30.0,
                fork_us: 3000.0,
                exit_us: 1000.0,
                copy_us_per_kib: 25.0,
                lookup_us: 100.0,
            },
            Preset::Y2005 => Self {
                tick_us: 5.0,
                hz: 250,
                irq_us: 8.0,
                irqs_per_hit: 1,
                irqs_per_read: 1,
                irqs_per_write: 1,
                submit_us: 8.0,
                switch_us: 3.0,
                block_us: 2.0,
                wake_us: 2.0,
                refill_us: 10.0,
                syscall_us: 0.5,
                fork_us: 100.0,
                exit_us: 80.0,
                copy_us_per_kib: 0.5,
                lookup_us: 2.0,
            },
            Preset::Today => Self {
                tick_us: 2.0,
                hz: 250,
                irq_us: 3.0,
                irqs_per_hit: 1,
                irqs_per_read: 1,
                irqs_per_write: 1,
                submit_us: 3.0,
                switch_us: 1.5,
                block_us: 1.0,
                wake_us: 1.0,
                refill_us: 5.0,
                syscall_us: 0.15,
                fork_us: 60.0,
                exit_us: 60.0,
                copy_us_per_kib: 0.1,
                lookup_us: 0.4,
            },
        }
    }

    /// Applies `settings`.
    ///
    /// # Errors
    /// Names the invalid value.
    pub fn with(self, settings: &CostSettings) -> Result<Self, InputError> {
        let us = |key: &str, own: f64, set: Option<f64>| match set {
            None => Ok(own),
            Some(us) if (0.0..=1e6).contains(&us) => Ok(us),
            Some(us) => Err(InputError::new(format!("host.costs.{key}"), us.to_string(), "0 to 1000000 microseconds")),
        };
        let irqs = |key: &str, own: u32, set: Option<u32>| match set.unwrap_or(own) {
            irqs @ 1..=100 => Ok(irqs),
            wrong => Err(InputError::new(format!("host.costs.{key}"), wrong.to_string(), "1 to 100 interrupts")),
        };
        let hz = settings.hz.unwrap_or(self.hz);
        if hz > 10_000 {
            return Err(InputError::new("host.costs.hz", hz.to_string(), "0 to 10000 interrupts a second"));
        }
        let costs = Self {
            hz,
            tick_us: us("tick_us", self.tick_us, settings.tick_us)?,
            irq_us: us("irq_us", self.irq_us, settings.irq_us)?,
            irqs_per_hit: irqs("irqs_per_hit", self.irqs_per_hit, settings.irqs_per_hit)?,
            irqs_per_read: irqs("irqs_per_read", self.irqs_per_read, settings.irqs_per_read)?,
            irqs_per_write: irqs("irqs_per_write", self.irqs_per_write, settings.irqs_per_write)?,
            submit_us: us("submit_us", self.submit_us, settings.submit_us)?,
            switch_us: us("switch_us", self.switch_us, settings.switch_us)?,
            block_us: us("block_us", self.block_us, settings.block_us)?,
            wake_us: us("wake_us", self.wake_us, settings.wake_us)?,
            refill_us: us("refill_us", self.refill_us, settings.refill_us)?,
            syscall_us: us("syscall_us", self.syscall_us, settings.syscall_us)?,
            fork_us: us("fork_us", self.fork_us, settings.fork_us)?,
            exit_us: us("exit_us", self.exit_us, settings.exit_us)?,
            copy_us_per_kib: us("copy_us_per_kib", self.copy_us_per_kib, settings.copy_us_per_kib)?,
            lookup_us: us("lookup_us", self.lookup_us, settings.lookup_us)?,
        };
        if f64::from(hz) * costs.tick_us >= 5e5 {
            let expected = format!("less than {} at {hz} interrupts a second: half of a CPU", 5e5 / f64::from(hz));
            return Err(InputError::new("host.costs.tick_us", costs.tick_us.to_string(), expected));
        }
        Ok(costs)
    }

    /// Multiplies the driver's costs by `scale`: its interrupts, and requests into it (Ganger A.1.2.1, the driver's third
    /// parameter).
    ///
    /// # Errors
    /// If the scale is out of range.
    pub fn with_driver_scale(self, scale: f64) -> Result<Self, InputError> {
        if !(0.0..=1000.0).contains(&scale) {
            return Err(InputError::new("host.driver_scale", scale.to_string(), "0, for nothing, to 1000"));
        }
        Ok(Self { irq_us: scale * self.irq_us, submit_us: scale * self.submit_us, ..self })
    }

    /// The share of a busy CPU's time that clock interrupts take.
    pub(crate) fn ticking(&self, speed: f64) -> f64 {
        f64::from(self.hz) * self.tick_us / (1e6 * speed)
    }
}

/// A cost as time on a CPU of such a speed.
#[inline]
pub(crate) fn time(us: f64, speed: f64) -> Nanos {
    if us == 0.0 {
        return Nanos::ZERO;
    }
    Nanos((us * 1e3 / speed).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_costs_are_the_presets() {
        let settings = CostSettings { irq_us: Some(300.0), ..CostSettings::default() };
        let costs = Costs::of(Preset::Y1995).with(&settings).unwrap();
        assert_eq!(costs, Costs { irq_us: 300.0, ..Costs::of(Preset::Y1995) });
        let wrong = CostSettings { switch_us: Some(-1.0), ..CostSettings::default() };
        let error = Costs::FREE.with(&wrong).unwrap_err().to_string();
        assert_eq!(error, "host.costs.switch_us: got -1, expected 0 to 1000000 microseconds");
        let busy = CostSettings { tick_us: Some(5000.0), ..CostSettings::default() };
        assert!(Costs::of(Preset::Y1995).with(&busy).unwrap_err().to_string().contains("half of a CPU"));
    }

    #[test]
    fn a_driver_can_be_faster_or_cost_nothing() {
        let half = Costs::of(Preset::Y1995).with_driver_scale(0.5).unwrap();
        assert_eq!(half, Costs { irq_us: 137.5, submit_us: 75.0, ..Costs::of(Preset::Y1995) });
        assert_eq!(Costs::of(Preset::Y1995).with_driver_scale(0.0).unwrap().irq_us, 0.0);
        let wrong = Costs::FREE.with_driver_scale(-1.0).unwrap_err().to_string();
        assert_eq!(wrong, "host.driver_scale: got -1, expected 0, for nothing, to 1000");
    }

    #[test]
    fn the_clock_of_1995_takes_a_share_of_the_cpu() {
        assert!((Costs::of(Preset::Y1995).ticking(1.0) - 0.0275).abs() < 1e-12);
    }
}
