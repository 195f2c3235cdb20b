//! Property tests: a description runs, or is refused.

use super::*;
use proptest::prelude::*;

/// Any event, valid or not, with names that mostly exist.
fn event() -> impl Strategy<Value = String> {
    let plain = prop::sample::select(vec![
        "compute_ms = 0.5",
        "nap_ms = 1",
        "read = \"data\", bytes = \"8k\"",
        "read = \"data\", offset = \"random\", bytes = 4096",
        "write = \"data\", offset = 100, bytes = 5000",
        "write = \"tmp\", bytes = \"12k\"",
        "create = \"tmp\"",
        "remove = \"tmp\"",
        "read = \"tmp\"",
        "fsync = \"data\"",
        "sync = true",
        "truncate = \"data\"",
        "open = \"home\"",
        "readdir = \"home\"",
        "io = \"read\", lba = \"random\"",
        "io = \"write\", class = \"noncritical\"",
        "io = \"read\", class = \"limited\", number = 1",
        "await_all = true",
        "lock = \"l\"",
        "unlock = \"l\"",
        "lock = \"m\"",
        "unlock = \"m\"",
        "put = \"queue\", bytes = 9",
        "get = \"queue\", bytes = 9",
        "answer = \"queue\"",
        "sleep = \"k\"",
        "wakeup = \"k\", all = true",
        "fork = \"cc\"",
        "wait = true",
        "exit = true",
    ]);
    let plain = plain.prop_map(|event| format!("{{ {event} }}"));
    plain.prop_recursive(2, 8, 4, |inner| {
        (1u32..4, prop::collection::vec(inner, 1..4))
            .prop_map(|(count, events)| format!("{{ repeat = {count}, events = [{}] }}", events.join(", ")))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn no_text_makes_the_parser_panic(text in "(\\PC{0,20}\n){0,6}") {
        let _ = UserProgramsSpec::is_in(&text);
        let _ = UserProgramsSpec::from_toml(&text, "noise.toml");
    }

    /// An accepted description runs: it keeps the protocol, every request is served, and it ends or names the processes that
    /// cannot finish. A second run gives the same results.
    #[test]
    fn accepted_descriptions_run_to_their_end(
        lists in prop::collection::vec((prop::collection::vec(event(), 1..8), 1u32..3, any::<bool>()), 1..4),
        (cpus, seed) in (1u16..3, 0u64..20),
        (interrupts, blocking) in (any::<bool>(), prop::sample::select(vec![0.0, 0.2])),
    ) {
        let mut text = format!("{CHANNEL}[[directory]]\nname = \"home\"\n[[file]]\nname = \"data\"\nsize = \"100k\"\n");
        text += "[[program]]\nname = \"cc\"\nevents = [{ compute_ms = 1 }, { put = \"queue\", bytes = 1 }]\n";
        if interrupts {
            text += "[[external]]\nname = \"net\"\nat_ms = [1, 2, 2, 30]\nhandler_us = 500\nput = \"queue\"\nbytes = 9\ntask = true\n";
        }
        for (n, (events, count, is_daemon)) in lists.iter().enumerate() {
            text += &process(&format!("p{n}"), &events.join(", "));
            text += &format!("count = {count}\n");
            text += if *is_daemon { "daemon = true\n" } else { "repeat = 2\n" };
        }
        let settings = HostSettings::of(Preset::Today, cpus);
        let source = |spec: &UserProgramsSpec| spec.source(Some(&settings), CAPACITY, seed).unwrap();
        if let Ok(spec) = UserProgramsSpec::from_toml(&text, "w.toml") {
            let device = TestDevice { seed, blocking, most: 3000, ..TestDevice::default() };
            let mut host = source(&spec);
            let log = device.run(&mut host);
            if log.requests.len() < 3000 {
                let report = host.host_report().unwrap();
                let served: u64 = report.classes.iter().map(|class| class.requests).sum();
                prop_assert_eq!(served as usize, log.requests.len());
                let daemons: u32 = lists.iter().filter(|list| list.2).map(|list| list.1).sum();
                let all: u32 = lists.iter().map(|list| list.1).sum();
                let tasks = report.tasks.iter().filter(|task| task.name.starts_with('p')).count();
                prop_assert!(host.failure().is_some() || tasks as u32 == all - daemons, "{} of {}: {}", tasks, all, text);
                let mut again = source(&spec);
                prop_assert_eq!(&device.run(&mut again), &log);
                prop_assert_eq!(again.host_report().unwrap(), report);
            }
        }
    }
}
