//! [`CpuScheduler`]: how processes share CPUs.

use iopilot_block::{InputError, Nanos};
use serde::Deserialize;

/// How processes share CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum CpuScheduler {
    /// Round robin from one queue.
    #[serde(rename = "rr")]
    RoundRobin,
    /// Time sharing of System V Release 4, from one queue: priorities fall while a process computes and rise when it waits for
    /// requests.
    #[serde(rename = "svr4")]
    Svr4,
    /// By virtual run time, with a queue for each CPU: Linux 2.6.23 to 6.5.
    #[serde(rename = "fair")]
    Fair,
}

impl CpuScheduler {
    /// All schedulers.
    pub const ALL: [Self; 3] = [Self::RoundRobin, Self::Svr4, Self::Fair];

    /// The name in a machine's description.
    pub const fn name(self) -> &'static str {
        match self {
            Self::RoundRobin => "rr",
            Self::Svr4 => "svr4",
            Self::Fair => "fair",
        }
    }
}

/// Tunables of [`CpuScheduler::Fair`], named as in `/proc/sys/kernel/sched_*_ns`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FairSettings {
    /// The period in which all processes of a CPU run once.
    pub latency: Nanos,
    /// The shortest turn.
    pub min_granularity: Nanos,
    /// A woken process pre-empts one whose virtual run time is ahead by more than this.
    pub wakeup_granularity: Nanos,
}

impl FairSettings {
    /// The kernel's defaults: 6, 0.75 and 1 ms, times 1 + log2 of the CPUs, counted up to 8 (`get_update_sysctl_factor`).
    pub const fn of(cpus: u16) -> Self {
        let counted = if cpus < 8 { cpus } else { 8 };
        let factor = match counted.checked_ilog2() {
            Some(log2) => 1 + log2 as u64,
            None => 1,
        };
        Self {
            latency: Nanos(6_000_000 * factor),
            min_granularity: Nanos(750_000 * factor),
            wakeup_granularity: Nanos(1_000_000 * factor),
        }
    }

    pub(crate) fn check(&self) -> Result<(), InputError> {
        // The kernel's limits.
        let settings = [
            ("sched_latency_ns", self.latency, 100_000),
            ("sched_min_granularity_ns", self.min_granularity, 100_000),
            ("sched_wakeup_granularity_ns", self.wakeup_granularity, 0),
        ];
        for (key, Nanos(ns), least) in settings {
            if !(least..=1_000_000_000).contains(&ns) {
                let expected = format!("{least} to 1000000000 ns");
                return Err(InputError::new(format!("host.{key}"), ns.to_string(), expected));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_more_cpus_all_times_are_longer_as_in_the_kernel() {
        let latency = |cpus| FairSettings::of(cpus).latency;
        assert_eq!([1, 2, 4, 7, 8, 64].map(latency), [6, 12, 18, 18, 24, 24].map(Nanos::from_millis));
        let one = FairSettings::of(1);
        assert_eq!((one.min_granularity, one.wakeup_granularity), (Nanos::from_micros(750), Nanos::from_millis(1)));
    }
}
