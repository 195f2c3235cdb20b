//! [`CpuOverheads`]: the `[host]` table of a machine.

use iopilot_block::{InputError, Nanos};
use serde::Deserialize;

/// What the machine's CPUs add to each request. The defaults were measured on a virtual disk under Linux 6.18.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CpuOverheads {
    /// CPUs that submit requests.
    pub cpus: u16,
    /// From the scheduler's choice to the device, in microseconds.
    pub issue_us: f64,
    /// From a completion to the device for a request that waited for room in it, in microseconds: a worker of the kernel sends
    /// it. Linux 6 with a scheduler only; elsewhere it takes `issue_us`.
    pub restart_us: f64,
    /// From a completion to its task's next instruction, in microseconds; for synthetic workloads only, as the think
    /// times of a trace contain it.
    pub resume_us: f64,
    /// From a freed tag to the sleeper that looks for it, in microseconds.
    pub wake_us: f64,
    /// The probability that the completing task's own next request takes the freed tag before a sleeper does, under
    /// `none` on a shallow device (measured: 0.34 to 0.77 of the completions for whose tag somebody slept).
    pub tag_steal_probability: f64,
    /// How long the queue is frozen while its scheduler is changed, once everything in it is served, in microseconds
    /// (measured: 22 ms).
    pub switch_us: f64,
}

impl Default for CpuOverheads {
    fn default() -> Self {
        Self {
            cpus: 2,
            issue_us: 10.0,
            restart_us: 20.0,
            resume_us: 50.0,
            wake_us: 5.0,
            tag_steal_probability: 0.5,
            switch_us: 22_000.0,
        }
    }
}

impl CpuOverheads {
    /// Whether the values make sense.
    ///
    /// # Errors
    /// Names the one that does not.
    pub fn check(&self) -> Result<(), InputError> {
        if self.cpus == 0 {
            return Err(InputError::new("host.cpus", "0", "at least 1"));
        }
        let times = [
            ("issue_us", self.issue_us),
            ("restart_us", self.restart_us),
            ("resume_us", self.resume_us),
            ("wake_us", self.wake_us),
            ("switch_us", self.switch_us),
        ];
        for (key, us) in times {
            if !(0.0..=1e6).contains(&us) {
                return Err(InputError::new(format!("host.{key}"), us.to_string(), "0 to 1000000 microseconds"));
            }
        }
        let steal = self.tag_steal_probability;
        if !(0.0..=1.0).contains(&steal) {
            let expected = "a probability from 0 to 1";
            return Err(InputError::new("host.tag_steal_probability", steal.to_string(), expected));
        }
        Ok(())
    }

    /// What a change of scheduler takes beside the draining of the queue.
    pub fn switch(&self) -> Nanos {
        Nanos::from_millis_f64(self.switch_us / 1e3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probability_is_from_0_to_1_and_a_time_not_negative() {
        let steal = |p| CpuOverheads { tag_steal_probability: p, ..CpuOverheads::default() }.check();
        assert!(steal(0.0).is_ok() && steal(1.0).is_ok());
        for wrong in [-0.1, 1.1, f64::NAN] {
            let wrong = steal(wrong).unwrap_err().to_string();
            assert!(wrong.contains("host.tag_steal_probability"), "{wrong}");
        }
        let wrong = CpuOverheads { wake_us: -1.0, ..CpuOverheads::default() }.check().unwrap_err();
        assert!(wrong.to_string().contains("host.wake_us"), "{wrong}");
    }
}
