//! [`HostConfig`]: what the machine's CPUs add to each request.

use iopilot_block::{InputError, Nanos};
use serde::Deserialize;

/// What the machine's CPUs add to each request. The defaults were measured on a virtual disk under Linux 6.18.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct HostConfig {
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
    /// The chance that the completing task's own next request takes the freed tag before a sleeper does: the tag race
    /// of `none` on a shallow device (measured: 0.34 to 0.77 of the completions for whose tag somebody slept).
    pub tag_steal_probability: f64,
    /// The same where the sleeper has lost such a race already since it was served last; as `tag_steal_probability` where absent.
    pub tag_steal_again_probability: Option<f64>,
    /// From a freed tag to the sleeper that looks for it where that submitted on another CPU than the one on which completions are heard, in
    /// microseconds, give or take up to a half by chance: then whoever is first has it. As `wake_us` and `tag_steal_probability` tell it
    /// where absent.
    pub wake_away_us: Option<f64>,
    /// The chance that a task whose request is complete goes on on another CPU than the one on which that is heard: as that has to wake, a
    /// sleeper on this one mostly has the tag by then. Where absent each request is submitted on the CPU that its source says.
    pub away_probability: Option<f64>,
    /// How long the queue stands still while its scheduler is changed, once everything in it is served, in
    /// microseconds (measured: 22 ms).
    pub switch_us: f64,
}

impl Default for HostConfig {
    fn default() -> Self {
        Self {
            cpus: 2,
            issue_us: 10.0,
            restart_us: 20.0,
            resume_us: 50.0,
            wake_us: 5.0,
            tag_steal_probability: 0.5,
            tag_steal_again_probability: None,
            wake_away_us: None,
            away_probability: None,
            switch_us: 22_000.0,
        }
    }
}

impl HostConfig {
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
            ("wake_away_us", self.wake_away_us.unwrap_or_default()),
            ("switch_us", self.switch_us),
        ];
        for (key, us) in times {
            if !(0.0..=1e6).contains(&us) {
                return Err(InputError::new(format!("host.{key}"), us.to_string(), "0 to 1000000 microseconds"));
            }
        }
        let chances = [
            ("tag_steal_probability", Some(self.tag_steal_probability)),
            ("tag_steal_again_probability", self.tag_steal_again_probability),
            ("away_probability", self.away_probability),
        ];
        for (key, chance) in chances {
            if let Some(chance) = chance.filter(|chance| !(0.0..=1.0).contains(chance)) {
                return Err(InputError::new(format!("host.{key}"), chance.to_string(), "a probability from 0 to 1"));
            }
        }
        Ok(())
    }

    pub(crate) fn issue(&self) -> Nanos {
        Nanos::from_millis_f64(self.issue_us / 1e3)
    }

    pub(crate) fn restart(&self) -> Nanos {
        Nanos::from_millis_f64(self.restart_us / 1e3)
    }

    /// What a change of scheduler takes beside the draining of the queue.
    pub fn switch(&self) -> Nanos {
        Nanos::from_millis_f64(self.switch_us / 1e3)
    }

    pub(crate) fn tag_chances(&self) -> TagChances {
        TagChances {
            first: self.tag_steal_probability,
            again: self.tag_steal_again_probability,
            away: self.wake_away_us.is_some(),
            goes_away: self.away_probability,
        }
    }

    pub(crate) fn latencies(&self) -> Latencies {
        let of = |us: f64| Nanos::from_millis_f64(us / 1e3);
        Latencies {
            resume: of(self.resume_us),
            wake: of(self.wake_us),
            wake_away: of(self.wake_away_us.unwrap_or(self.wake_us)),
            wake_late: of(self.wake_us + 5.0 * self.resume_us.max(10.0)),
            switch: self.switch(),
        }
    }
}

/// With which chance a task whose request is complete takes the freed tag before a sleeper does: see [`HostConfig`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct TagChances {
    pub(crate) first: f64,
    pub(crate) again: Option<f64>,
    /// Whether a sleeper on another CPU is in no such race, but as fast as that is woken.
    pub(crate) away: bool,
    /// The chance that a task goes on elsewhere, where that is not the source's to say.
    pub(crate) goes_away: Option<f64>,
}

/// What a run needs of [`HostConfig`] at each request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Latencies {
    pub(crate) resume: Nanos,
    pub(crate) wake: Nanos,
    /// The same on another CPU, give or take a half.
    pub(crate) wake_away: Nanos,
    /// A sleeper that loses the race looks only after the completing task has had its turn: it waits for the CPU that
    /// this one has until it sleeps for its next request, and at most so long.
    pub(crate) wake_late: Nanos,
    pub(crate) switch: Nanos,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chance_is_from_0_to_1() {
        HostConfig { tag_steal_again_probability: Some(1.0), ..HostConfig::default() }.check().unwrap();
        let wrong = HostConfig { tag_steal_again_probability: Some(1.1), ..HostConfig::default() }.check().unwrap_err();
        assert!(wrong.to_string().contains("host.tag_steal_again_probability"), "{wrong}");
        assert!(HostConfig { tag_steal_probability: -0.1, ..HostConfig::default() }.check().is_err());
    }

    #[test]
    fn a_cpu_does_not_wake_before_it_is_called() {
        HostConfig { wake_away_us: Some(40.0), ..HostConfig::default() }.check().unwrap();
        let wrong = HostConfig { wake_away_us: Some(-1.0), ..HostConfig::default() }.check().unwrap_err();
        assert!(wrong.to_string().contains("host.wake_away_us"), "{wrong}");
    }
}
