//! [`HostConfig`]: what the machine's CPUs add to each request.

use crate::tag_race::{TagMoves, TagOdds};
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
    /// The same by what it hangs on, shorter rests first; as `tag_steal_probability` tells it where none is for the rest.
    pub tag_odds: Vec<TagOdds>,
    /// The chances that a task whose request is complete goes on on another CPU than the one on which that is heard: as that has to wake, a
    /// sleeper on this one mostly has the tag by then. Where absent each request is submitted on the CPU that its source says.
    pub tag_moves: Option<TagMoves>,
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
            tag_odds: Vec::new(),
            tag_moves: None,
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
            ("switch_us", self.switch_us),
        ];
        for (key, us) in times {
            if !(0.0..=1e6).contains(&us) {
                return Err(InputError::new(format!("host.{key}"), us.to_string(), "0 to 1000000 microseconds"));
            }
        }
        let chance = |key: &str, chance: f64| match chance {
            0.0..=1.0 => Ok(()),
            _ => Err(InputError::new(format!("host.{key}"), chance.to_string(), "a probability from 0 to 1")),
        };
        chance("tag_steal_probability", self.tag_steal_probability)?;
        let rests = self.tag_odds.iter().map(|odds| odds.rest_us);
        let when = self.tag_odds.iter().map(|odds| (odds.after, odds.rest_us));
        if !rests.clone().all(|rest| (0.0..=1e6).contains(&rest)) || !when.is_sorted_by(|a, b| a < b) {
            let rests: Vec<String> = rests.map(|rest| rest.to_string()).collect();
            return Err(InputError::new(
                "host.tag_odds.rest_us",
                rests.join(", "),
                "0 to 1000000 microseconds, ascending among those with one `after`, which ascends, too",
            ));
        }
        let numbered = self.tag_odds.iter().enumerate();
        let numbered_factors = numbered.clone().flat_map(|(n, odds)| odds.factors().map(move |factor| (n, factor)));
        let mut odds = numbered.flat_map(|(n, odds)| odds.all().map(move |(key, odds)| (format!("{n}.{key}"), odds)));
        odds.try_for_each(|(key, odds)| chance(&format!("tag_odds.{key}"), odds))?;
        for (n, (key, factor)) in numbered_factors {
            if !(0.01..=100.0).contains(&factor) {
                return Err(InputError::new(
                    format!("host.tag_odds.{n}.{key}"),
                    factor.to_string(),
                    "a factor from 0.01 to 100",
                ));
            }
        }
        let mut moves = self.tag_moves.iter().flat_map(TagMoves::all);
        moves.try_for_each(|(key, moves)| chance(&format!("tag_moves.{key}"), moves))?;
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
        TagChances { steal: self.tag_steal_probability, odds: self.tag_odds.clone(), moves: self.tag_moves }
    }

    pub(crate) fn latencies(&self) -> Latencies {
        let of = |us: f64| Nanos::from_millis_f64(us / 1e3);
        Latencies {
            resume: of(self.resume_us),
            wake: of(self.wake_us),
            wake_late: of(self.wake_us + 5.0 * self.resume_us.max(10.0)),
            switch: self.switch(),
        }
    }
}

/// With which chance a task whose request is complete takes the freed tag before a sleeper does: see [`HostConfig`].
#[derive(Clone, Debug)]
pub(crate) struct TagChances {
    pub(crate) steal: f64,
    /// By what it hangs on.
    pub(crate) odds: Vec<TagOdds>,
    /// With which a task goes on elsewhere, where that is not the source's to say.
    pub(crate) moves: Option<TagMoves>,
}

/// What a run needs of [`HostConfig`] at each request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Latencies {
    pub(crate) resume: Nanos,
    pub(crate) wake: Nanos,
    /// A sleeper that loses the race looks only after the completing task has had its turn: it waits for the CPU that
    /// this one has until it sleeps for its next request, and at most so long.
    pub(crate) wake_late: Nanos,
    pub(crate) switch: Nanos,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(tag_odds: Vec<TagOdds>) -> HostConfig {
        HostConfig { tag_odds, ..HostConfig::default() }
    }

    fn odds(rest_us: f64, gone: f64) -> TagOdds {
        TagOdds { rest_us, here: [1.0, 0.0, 0.5, 0.5], away: [0.7; 4], gone: [0.1, gone], ..TagOdds::EVEN }
    }

    #[test]
    fn a_chance_is_from_0_to_1() {
        with(vec![odds(0.0, 1.0)]).check().unwrap();
        let wrong = with(vec![odds(0.0, 1.1)]).check().unwrap_err();
        assert!(wrong.to_string().contains("host.tag_odds.0.gone"), "{wrong}");
        let wrong = with(vec![TagOdds { slept: [1.0, 0.0, 1.0], ..odds(0.0, 1.0) }]).check().unwrap_err();
        assert!(wrong.to_string().contains("host.tag_odds.0.slept"), "{wrong}");
        assert!(HostConfig { tag_steal_probability: -0.1, ..HostConfig::default() }.check().is_err());
        let moves = TagMoves { here: [0.1; 2], away: [f64::NAN, 0.1] };
        let wrong = HostConfig { tag_moves: Some(moves), ..HostConfig::default() }.check().unwrap_err();
        assert!(wrong.to_string().contains("host.tag_moves.away"), "{wrong}");
    }

    #[test]
    fn longer_rests_come_after_shorter_ones() {
        with(vec![odds(0.0, 0.5), odds(250.0, 0.5)]).check().unwrap();
        for rests in [[250.0, 250.0], [250.0, 0.0], [-1.0, 0.0], [0.0, f64::INFINITY]] {
            let wrong = with(rests.map(|rest_us| odds(rest_us, 0.5)).into()).check().unwrap_err();
            assert!(wrong.to_string().contains("host.tag_odds.rest_us"), "{wrong}");
        }
        let after = |after: u64| TagOdds { after, ..odds(0.0, 0.5) };
        with(vec![odds(0.0, 0.5), odds(250.0, 0.5), after(9)]).check().unwrap();
        with(vec![after(9), odds(250.0, 0.5)]).check().unwrap_err();
    }
}
