//! What holds for every scheduler, whatever its tunables, whatever is submitted.

mod common;

use common::{random_spec, scenario};
use iopilot_sched::SCHEDULERS;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// The bench checks that nothing is lost or served twice, that merges keep every byte, and that the device is
    /// never left idle without a reason.
    #[test]
    fn everything_submitted_comes_back_once(scenario in scenario(), defaults in any::<bool>()) {
        for info in SCHEDULERS {
            let spec = if defaults { info.name.to_owned() } else { random_spec(info, scenario.seed) };
            let done = scenario.bench(&spec).drain();
            prop_assert_eq!(done.len(), scenario.requests, "{}", spec);
        }
    }

    /// Same input, same order.
    #[test]
    fn runs_repeat(scenario in scenario()) {
        for info in SCHEDULERS {
            let order = || {
                let mut bench = scenario.bench(info.name);
                bench.drain();
                bench.order
            };
            prop_assert_eq!(order(), order(), "{}", info.name);
        }
    }
}
