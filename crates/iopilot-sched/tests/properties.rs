//! Properties of every scheduler, with any tunables and any requests.

mod common;

use common::{random_spec, scenario};
use iopilot_sched::{Environment, SCHEDULERS, SchedulerSpec};
use proptest::prelude::*;

/// Text for a list of schedulers: names, tunables, values and separators, or any other text.
fn words() -> impl Strategy<Value = String> {
    let mut known = vec![
        "prio(",
        "prio",
        "(",
        ")",
        "aging_ms",
        "limited",
        "low_starved",
        "all",
        "0",
        "1",
        "-1",
        "4",
        "1e99",
        "nan",
        "inf",
        "true",
        "off",
        ":",
        ":",
        "=",
        "=",
        ",",
        " ",
        "",
    ];
    for info in SCHEDULERS {
        known.push(info.name);
        known.extend(info.tunables.iter().map(|t| t.name));
    }
    let word = prop_oneof![6 => prop::sample::select(known).prop_map(str::to_owned), 1 => "\\PC{0,3}"];
    prop::collection::vec(word, 0..12).prop_map(|words| words.concat())
}

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

    /// The same holds for `prio` around each scheduler, whenever a process begins to wait for a request. Critical
    /// requests go first if none ages.
    #[test]
    fn prio_serves_all_once_and_critical_requests_first(
        scenario in scenario(),
        aging_ms in prop_oneof![Just(0u32), 1u32..100],
        limited in 0u32..2,
        low_starved in prop_oneof![3 => Just(0u32), 1 => 1u32..5],
    ) {
        for info in SCHEDULERS {
            let inside = random_spec(info, scenario.seed);
            let spec = format!("prio({inside}):aging_ms={aging_ms}:limited={limited}:low_starved={low_starved}");
            let mut bench = scenario.bench(&spec);
            bench.critical_first = aging_ms == 0 && low_starved == 0;
            prop_assert_eq!(bench.drain().len(), scenario.requests, "{}", spec);
        }
    }

    /// The same input gives the same order.
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

    /// Any text is refused in one line, or gives schedulers that are displayed in a form that parses to the same.
    #[test]
    fn no_list_of_schedulers_makes_anything_panic(text in words()) {
        match SchedulerSpec::parse_list(&text) {
            Err(e) => prop_assert!(!e.to_string().contains('\n'), "{e}"),
            Ok(specs) => {
                for spec in specs {
                    prop_assert!(spec.build(&Environment::default()).is_ok(), "{spec}");
                    prop_assert_eq!(SchedulerSpec::parse(&spec.to_string()).ok(), Some(spec));
                }
            }
        }
    }

    /// Every setting within its range is accepted, and no other.
    #[test]
    fn tunables_keep_their_ranges(value in prop_oneof![any::<f64>(), (-2i32..2000).prop_map(f64::from), -1.0..2.0f64]) {
        for info in SCHEDULERS {
            for t in info.tunables {
                let allowed = (t.min..=t.max).contains(&value) && (!t.integer || value.fract() == 0.0);
                let text = format!("{}:{}={value}", info.name, t.name);
                prop_assert_eq!(SchedulerSpec::parse(&text).is_ok(), allowed, "{}", text);
            }
        }
    }
}
