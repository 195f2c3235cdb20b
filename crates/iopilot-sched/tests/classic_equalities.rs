//! Algorithms that must be the same where one of their parameters is at its end (Carroll 2.2.5 and 3.2).

mod common;

use common::{Scenario, scenario};
use proptest::prelude::*;

/// The order in which `spec` serves `scenario`, with merging off.
fn order(scenario: &Scenario, spec: &str) -> Vec<(u32, u64, u32, bool)> {
    let mut bench = Scenario { nomerges: 2, ..scenario.clone() }.bench(spec);
    bench.drain();
    bench.order
}

const NO_DEADLINES: &str = "vr:sync_expire=0:async_expire=0";

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn vr_runs_from_scan_to_sstf(s in scenario()) {
        prop_assert_eq!(order(&s, &format!("{NO_DEADLINES}:rev_penalty=1")), order(&s, "sstf"));
        prop_assert_eq!(order(&s, &format!("{NO_DEADLINES}:rev_penalty=0")), order(&s, "look"));
        prop_assert_eq!(order(&s, &format!("{NO_DEADLINES}:rev_penalty=2147483647")), order(&s, "look"));
    }

    #[test]
    fn vscan_runs_from_sstf_to_scan(s in scenario()) {
        prop_assert_eq!(order(&s, "vscan:r=0"), order(&s, "sstf"));
        prop_assert_eq!(order(&s, "vscan:r=1"), order(&s, "look"));
    }

    /// Where the arm turns cannot be seen in the order of requests.
    #[test]
    fn edges_do_not_change_the_order(s in scenario()) {
        prop_assert_eq!(order(&s, "scan"), order(&s, "look"));
        prop_assert_eq!(order(&s, "cscan"), order(&s, "clook"));
    }

    #[test]
    fn fifo_is_fcfs_is_noop_without_merging(s in scenario()) {
        prop_assert_eq!(order(&s, "fifo"), order(&s, "fcfs"));
        prop_assert_eq!(order(&s, "noop"), order(&s, "fcfs"));
    }
}
