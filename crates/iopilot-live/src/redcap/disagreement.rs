//! Warnings where the cache does not do on the disk what the trials of `adaptive` assume.

use super::status::StatusCheck;
use iopilot_redcap::CacheCounters;
use std::collections::VecDeque;

/// Fewer prefetches than this say nothing.
const LEAST_PREFETCHES: u64 = 100;
/// A warning comes if more than one in so many is given up.
const GIVEN_UP: u64 = 10;
/// The decisions whose predictions are compared with the disk. All were made in the same state.
const CHECKS: usize = 4;
/// A warning comes if prediction and disk differ by more than this factor.
const FACTOR: f64 = 2.0;

/// The warnings for a cache that sent `prefetches` to the disk.
pub(super) fn warnings(prefetches: u64, counters: &CacheCounters, checks: &VecDeque<StatusCheck>) -> Vec<String> {
    given_up(prefetches, counters.given_up).into_iter().chain(mispredicted(checks)).collect()
}

fn given_up(sent: u64, given_up: u64) -> Option<String> {
    let all = sent + given_up;
    (all >= LEAST_PREFETCHES && given_up > all / GIVEN_UP).then(|| {
        format!(
            "{given_up} of {all} prefetches were given up, as the disk's queue was full: set a larger nr_requests, or \
             miss=combined"
        )
    })
}

fn mispredicted(checks: &VecDeque<StatusCheck>) -> Option<String> {
    let last = checks.back()?;
    let is_same = |check: &&StatusCheck| {
        (check.before, check.after, check.geometry, check.miss) == (last.after, last.after, last.geometry, last.miss)
    };
    let costs = checks.iter().rev().take_while(is_same).filter_map(|c| Some((c.predicted_ms?, c.measured_ms?)));
    let costs: Vec<(f64, f64)> = costs.take(CHECKS).collect();
    let (predicted, measured) = costs.iter().fold((0.0, 0.0), |(p, m), cost| (p + cost.0, m + cost.1));
    let agree = predicted <= FACTOR * measured && measured <= FACTOR * predicted;
    (costs.len() == CHECKS && !agree).then(|| {
        format!(
            "the trials predict {predicted:.1} ms for the last {CHECKS} windows, and the disk took {measured:.1} ms: the \
             model does not fit it"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_block::Nanos;
    use iopilot_redcap::{CacheGeometry, Miss};

    fn checks(costs: &[(f64, f64, bool)]) -> VecDeque<StatusCheck> {
        let check = |&(predicted, measured, active): &(f64, f64, bool)| StatusCheck {
            at: Nanos::ZERO,
            with_cache_ms: 0.0,
            without_cache_ms: 0.0,
            predicted_ms: Some(predicted),
            measured_ms: Some(measured),
            before: active,
            after: active,
            off_percent: 0.0,
            geometry: CacheGeometry::default(),
            miss: Miss::Split,
        };
        costs.iter().map(check).collect()
    }

    #[test]
    fn many_prefetches_that_are_given_up_are_told() {
        assert_eq!([(80, 10), (950, 50), (90, 10)].map(|(sent, given)| given_up(sent, given)), [None, None, None]);
        let text = given_up(74, 14_753).unwrap();
        assert!(text.starts_with("14753 of 14827 prefetches were given up"), "{text}");
    }

    #[test]
    fn a_model_that_is_far_off_is_told() {
        assert_eq!(mispredicted(&checks(&[(1.0, 1.9, true); 4])), None);
        assert!(mispredicted(&checks(&[(1.0, 2.1, true); 4])).is_some());
        assert!(mispredicted(&checks(&[(0.08, 1987.0, true); 9])).is_some_and(|text| text.contains("7948.0 ms")));
        assert!(mispredicted(&checks(&[(2.1, 1.0, false); 4])).is_some());
        assert_eq!(mispredicted(&checks(&[(9.0, 1.0, true); 3])), None, "too few");
        let mixed = [(9.0, 1.0, false), (9.0, 1.0, true), (9.0, 1.0, true), (9.0, 1.0, true)];
        assert_eq!(mispredicted(&checks(&mixed)), None, "the state was another one");
    }
}
