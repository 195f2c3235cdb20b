//! How soon after its installation a scheduler shows what it will do.

use iopilot_sched::SchedulerSpec;

/// The ages of an installation, in seconds, at which it is judged. Those of a trial on a load that is not sequential
/// end before the last.
pub(crate) const AGES: [f64; 4] = [0.5, 1.0, 2.0, 4.0];

/// How far the rate over the second half of an installation's first [`AGES`] is from where it settles on sequential
/// loads: the root mean square difference of ln rates, measured on virtual hard disks (Linux 6.18).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Settling([f64; 4]);

const NONE: Settling = Settling([0.34, 0.31, 0.25, 0.19]);
const SORTING: Settling = Settling([0.15, 0.16, 0.13, 0.12]);
const KYBER: Settling = Settling([0.21, 0.21, 0.18, 0.08]);
const LEARNING: Settling = Settling([1.0, 1.05, 1.05, 0.6]);
const WITHOUT_LOW_LATENCY: Settling = Settling([0.7, 0.7, 0.7, 0.3]);
const STRICT: Settling = Settling([0.72, 0.41, 0.10, 0.07]);

/// On other loads: what is measured at once is what stays.
const SCATTERED_AT_FIRST: f64 = 0.08;
const SCATTERED: f64 = 0.03;

impl Settling {
    /// The deviation at `age` seconds.
    pub(crate) fn deviation(self, age: f64, is_sequential: bool) -> f64 {
        match is_sequential {
            true => self.0[AGES.iter().position(|&a| a >= age - 0.01).unwrap_or(AGES.len() - 1)],
            false if age < 0.75 => SCATTERED_AT_FIRST,
            false => SCATTERED,
        }
    }
}

/// How a candidate behaves when it is put in place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct CandidateTraits {
    /// How it settles.
    pub(crate) settling: Settling,
    /// It works better if it is put in place before a sequential load begins: `bfq` with `low_latency` off learns its
    /// queues' think times from their first requests.
    pub(crate) needs_early_start: bool,
    /// It may be kept while nothing is known of the load to come: not `bfq` with `strict_guarantees`, which serves most
    /// loads several times slower.
    pub(crate) may_be_home: bool,
}

impl CandidateTraits {
    /// Those of a scheduler with its tunables.
    pub(crate) fn of(candidate: &SchedulerSpec) -> Self {
        let set = |name: &str| candidate.settings.iter().rev().find(|(key, _)| key == name).map(|(_, value)| *value);
        let is_bfq = candidate.name == "bfq";
        let without_low_latency = is_bfq && set("low_latency") == Some(0.0);
        let strict = is_bfq && set("strict_guarantees").is_some_and(|value| value != 0.0);
        let settling = match candidate.name {
            _ if strict => STRICT,
            _ if without_low_latency => WITHOUT_LOW_LATENCY,
            "none" | "noop" => NONE,
            "kyber" => KYBER,
            _ if candidate.info().features.learns => LEARNING,
            _ => SORTING,
        };
        Self { settling, needs_early_start: without_low_latency && !strict, may_be_home: !strict }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_candidate_settles_as_its_scheduler_does() {
        let of = |text: &str| CandidateTraits::of(&SchedulerSpec::parse(text).unwrap());
        assert_eq!(of("bfq").settling, LEARNING);
        assert_eq!(of("bfq:slice_idle=0").settling, LEARNING);
        assert!(of("bfq:low_latency=0").needs_early_start && !of("bfq").needs_early_start);
        assert!(!of("bfq:strict_guarantees=1").may_be_home && of("kyber").may_be_home);
        assert_eq!(of("mq-deadline:fifo_batch=1").settling, SORTING);
    }

    #[test]
    fn deviations_are_those_of_the_next_age() {
        assert!((KYBER.deviation(0.5, true) - 0.21).abs() < 1e-12);
        assert!((KYBER.deviation(3.0, true) - 0.08).abs() < 1e-12);
        assert!((KYBER.deviation(9.0, true) - 0.08).abs() < 1e-12);
        assert!(NONE.deviation(0.5, false) > NONE.deviation(1.0, false));
    }
}
