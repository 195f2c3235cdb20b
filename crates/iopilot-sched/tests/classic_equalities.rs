//! Algorithms that must be equal at the end of a parameter's range (Carroll 2.2.5 and 3.2).

mod common;

use common::{Bench, CAPACITY, Io, Scenario, scenario};
use iopilot_block::Nanos;
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
    fn vr_ranges_from_scan_to_sstf(s in scenario()) {
        prop_assert_eq!(order(&s, &format!("{NO_DEADLINES}:rev_penalty=1")), order(&s, "sstf"));
        prop_assert_eq!(order(&s, &format!("{NO_DEADLINES}:rev_penalty=0")), order(&s, "look"));
        prop_assert_eq!(order(&s, &format!("{NO_DEADLINES}:rev_penalty=2147483647")), order(&s, "look"));
    }

    #[test]
    fn vscan_ranges_from_sstf_to_scan(s in scenario()) {
        prop_assert_eq!(order(&s, "vscan:r=0"), order(&s, "sstf"));
        prop_assert_eq!(order(&s, "vscan:r=1"), order(&s, "look"));
    }

    /// The turning point of the arm does not show in the order of requests.
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

    /// DiskSim's policies 1 to 3 are the text-book algorithms of the same name.
    #[test]
    fn the_queues_policies_are_the_classic_schedulers(s in scenario()) {
        for (policy, classic) in [(1, "fcfs"), (2, "look"), (3, "clook")] {
            prop_assert_eq!(order(&s, &format!("ioqueue:policy={policy}")), order(&s, classic));
        }
    }

    /// Two lists in order of arrival are equal to DiskSim's queue with priorities.
    #[test]
    fn prio_around_fcfs_is_the_queue_with_priorities(s in scenario()) {
        let s = Scenario { waits: false, ..s };
        let queue = order(&s, "ioqueue:policy=1:priorities=1:priority_policy=1");
        prop_assert_eq!(order(&s, "prio(fcfs)"), queue);
    }

    /// Policy 4 measures from the end of the last request, `sstf` from its start. That is the same for requests far
    /// smaller than the gaps between them, except for ties, where policy 4 alternates between up and down.
    #[test]
    fn the_queues_sstf_is_sstf_between_small_requests(
        gaps in prop::collection::vec((0u64..20_000, 0..CAPACITY / 8), 1..150),
    ) {
        let order = |spec| {
            let mut bench = Bench::new(spec, 1);
            let mut now = Nanos::ZERO;
            for &(gap, place) in &gaps {
                now += Nanos::from_micros(gap);
                bench.submit(now, Io::read(1, place * 8, 1));
            }
            bench.drain();
            bench.order
        };
        prop_assert_eq!(order("ioqueue:policy=4"), order("sstf"));
    }

    /// A form of SPTF without aging or without cache hits is SPTF, and so is SPTF under another name.
    #[test]
    fn the_forms_of_sptf_are_equal_at_the_ends_of_their_ranges(s in scenario()) {
        let sptf = order(&s, "sptf");
        prop_assert_eq!(&order(&s, "aged-sptf:age_weight=0"), &sptf);
        prop_assert_eq!(&order(&s, "spctf"), &sptf);
        prop_assert_eq!(&order(&s, "ioqueue:policy=SPTF_ROT_OPT"), &sptf);
        prop_assert_eq!(order(&s, "aged-sptf:access_time=1:age_weight=0"), order(&s, "satf"));
    }
}
