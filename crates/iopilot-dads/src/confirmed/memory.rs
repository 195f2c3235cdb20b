//! [`LoadMemory`]: what was learned of each kind of load, and the candidate that suits them all.

use super::belief::RateBelief;
use super::settling::CandidateTraits;
use super::signature::LoadSignature;
use serde::{Deserialize, Serialize};

/// The most kinds of loads that are remembered; the oldest goes first.
const MOST: usize = 64;
/// What a remembered contrast is off, as a variance, when its load comes again.
const COMES_AGAIN: f64 = 0.02;
/// A load that lasted less says too little, in seconds.
const SHORTEST: f64 = 3.0;
/// In the sum over loads, a candidate that is slower than by this (ln rate) counts as slower by this.
const WORST: f64 = 3.0;

/// A kind of load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct KnownLoad {
    signature: LoadSignature,
    /// The expected ln rate of each candidate.
    rates: Vec<f64>,
    /// The variance of each one's contrast with the candidate that was in use.
    variances: Vec<f64>,
    /// How long it lasted, in seconds; halved when it returns.
    seconds: f64,
    /// Counts up with each load that ends.
    last: u64,
}

/// What was learned of each kind of load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct LoadMemory {
    loads: Vec<KnownLoad>,
    ended: u64,
}

impl LoadMemory {
    /// Remembers what is believed of a load that lasted `seconds` and ends with candidate `current` in use.
    pub(crate) fn keep(&mut self, signature: &LoadSignature, belief: &RateBelief, current: usize, seconds: f64) {
        if seconds <= SHORTEST {
            return;
        }
        self.ended += 1;
        let rates = belief.mean().to_vec();
        let of = |i: usize| if i == current { 4e-4 } else { belief.variance(i, current) };
        let variances = (0..rates.len()).map(of).collect();
        let before = self.loads.iter().position(|load| load.signature.is_like(signature));
        let lasted = before.map_or(0.0, |n| self.loads.remove(n).seconds / 2.0);
        self.loads.push(KnownLoad {
            signature: *signature,
            rates,
            variances,
            seconds: lasted + seconds,
            last: self.ended,
        });
        if self.loads.len() > MOST {
            self.loads.remove(0);
        }
    }

    /// The prediction for a load and the standard deviation of each candidate's error, with what is remembered of its
    /// kind. `deviation` is that of the prediction alone.
    pub(crate) fn combined(
        &self,
        signature: &LoadSignature,
        prediction: &[f64],
        deviation: f64,
    ) -> (Vec<f64>, Vec<f64>) {
        let n = prediction.len();
        let known = self.loads.iter().rev().find(|load| load.signature.is_like(signature) && load.rates.len() == n);
        let Some(known) = known else { return (prediction.to_vec(), vec![deviation; n]) };
        // Both are known up to a constant.
        let level = mean(prediction);
        let known_level = mean(&known.rates);
        let of_prediction = 1.0 / (deviation * deviation).max(1e-9);
        let each = (0..n).map(|i| {
            let of_memory = 1.0 / (known.variances[i] + COMES_AGAIN);
            let all = of_prediction + of_memory;
            let contrast = (of_prediction * (prediction[i] - level) + of_memory * (known.rates[i] - known_level)) / all;
            (level + contrast, (1.0 / all).sqrt())
        });
        each.unzip()
    }

    /// The candidate that would have lost least over the loads seen, had it been in place all the time.
    pub(crate) fn home(&self, traits: &[CandidateTraits]) -> Option<usize> {
        let lost = |i: usize| -> f64 {
            let of = |load: &KnownLoad| {
                let best = load.rates.iter().copied().fold(f64::MIN, f64::max);
                load.seconds * ((best - load.rates[i]).min(WORST).exp() - 1.0)
            };
            self.loads.iter().filter(|load| load.rates.len() == traits.len()).map(of).sum()
        };
        let may_be = (0..traits.len()).filter(|&i| traits[i].may_be_home);
        may_be.min_by(|&a, &b| lost(a).total_cmp(&lost(b))).filter(|_| !self.loads.is_empty())
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_sched::SchedulerSpec;

    fn load(sequential: f64) -> LoadSignature {
        LoadSignature { sequential, ..LoadSignature::default() }
    }

    #[test]
    fn a_load_that_returns_is_known() {
        let mut memory = LoadMemory::default();
        let mut belief = RateBelief::new(&[5.0, 5.0], &[0.3; 2]);
        belief.observe(1, 5.5, 0.001);
        belief.observe(0, 5.0, 0.001);
        memory.keep(&load(0.0), &belief, 1, 60.0);
        let (rates, deviations) = memory.combined(&load(0.1), &[3.0, 3.0], 0.3);
        assert!(rates[1] - rates[0] > 0.3 && (rates[0] + rates[1] - 6.0).abs() < 0.01, "{rates:?}");
        assert!(deviations[0] < 0.2, "{deviations:?}");
        let (other, deviations) = memory.combined(&load(0.9), &[3.0, 3.0], 0.3);
        assert_eq!((other, deviations), (vec![3.0; 2], vec![0.3; 2]));
        memory.keep(&load(0.5), &belief, 1, 2.0);
        assert_eq!(memory.loads.len(), 1, "too short");
    }

    #[test]
    fn home_suits_all_loads_by_their_time() {
        let traits: Vec<CandidateTraits> = ["none", "mq-deadline", "bfq:strict_guarantees=1"]
            .map(|name| CandidateTraits::of(&SchedulerSpec::parse(name).unwrap()))
            .to_vec();
        let mut memory = LoadMemory::default();
        assert_eq!(memory.home(&traits), None);
        memory.keep(&load(0.0), &RateBelief::new(&[5.0, 4.0, 5.1], &[0.1; 3]), 0, 10.0);
        assert_eq!(memory.home(&traits), Some(0), "never the last");
        memory.keep(&load(0.9), &RateBelief::new(&[4.0, 5.0, 5.1], &[0.1; 3]), 0, 100.0);
        assert_eq!(memory.home(&traits), Some(1));
        let text = serde_json::to_string(&memory).unwrap();
        let read: LoadMemory = serde_json::from_str(&text).unwrap();
        assert_eq!((read.loads.len(), read.home(&traits)), (2, Some(1)));
        for n in 0..100 {
            // All are of other kinds.
            memory.keep(&load(f64::from(n)), &RateBelief::new(&[4.0; 3], &[0.1; 3]), 0, 10.0);
        }
        assert_eq!(memory.loads.len(), MOST);
    }
}
