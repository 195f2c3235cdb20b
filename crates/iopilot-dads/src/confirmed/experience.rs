//! [`Experience`]: what outlives a flight.

use super::memory::LoadMemory;
use super::trust::{InstallOdds, PredictionError};
use serde::{Deserialize, Serialize};

/// What confirmed decisions have learned of a disk: the error of predictions, how often installations under load work,
/// and what each candidate did with each kind of load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Experience {
    pub(super) error: PredictionError,
    pub(super) odds: InstallOdds,
    pub(super) loads: LoadMemory,
}

impl Experience {
    /// Without what is remembered of loads: it does not apply to other candidates, another kernel or another depth.
    #[must_use]
    pub fn without_loads(self) -> Self {
        Self { loads: LoadMemory::default(), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::super::belief::RateBelief;
    use super::super::progress::ClassProgress;
    use super::super::rule::ConfirmedRule;
    use super::super::settling::CandidateTraits;
    use super::super::signature::LoadSignature;
    use iopilot_sched::SchedulerSpec;

    fn rule() -> ConfirmedRule {
        let traits = ["none", "mq-deadline"].map(|name| CandidateTraits::of(&SchedulerSpec::parse(name).unwrap()));
        ConfirmedRule::new(traits.to_vec(), 0, 0.3, true)
    }

    #[test]
    fn a_flight_begins_with_what_the_one_before_has_learned() {
        let mut first = rule();
        let load = LoadSignature::default();
        first.begin_load(load, &[5.0, 5.0], false);
        // Both candidates are measured, as trials ask for them; mq-deadline serves twice as much.
        let (mut current, mut trials) = (0, 0);
        for _ in 0..200 {
            let rate = if current == 0 { 150.0 } else { 300.0 };
            let window = ClassProgress::of_rates([(0, rate)].into_iter(), 0.5);
            if let Some(which) = first.window(&window).install {
                first.installed(which, 0.03, true);
                (current, trials) = (which, trials + 1);
            }
        }
        assert!(current == 1 && trials > 0);
        first.idle();
        let text = serde_json::to_string(&first.experience()).unwrap();
        let mut next = rule();
        next.recall(serde_json::from_str(&text).unwrap());
        next.begin_load(load, &[5.0, 5.0], false);
        let known = next.believed().unwrap();
        assert!(known[1] - known[0] > 0.4, "it is known at once: {known:?}");
        assert_eq!(next.idle().install, Some(1), "and before the first load");
        let mut other = rule();
        other.recall(first.experience().without_loads());
        other.begin_load(load, &[5.0, 5.0], false);
        assert_eq!(other.believed().unwrap(), RateBelief::new(&[5.0, 5.0], &[0.3; 2]).mean());
    }
}
