//! Tests of refused descriptions and their messages.

use super::*;

/// The error message of a description, on one CPU.
fn told(text: &str) -> String {
    let checked = UserProgramsSpec::from_toml(text, "w.toml").and_then(|spec| {
        spec.check_disk(CAPACITY)?;
        let mut host = spec.source(Some(&HostSettings::free(1)), CAPACITY, 1)?;
        TestDevice::fixed(1).run(&mut host);
        host.failure().map_or(Ok(()), |failure| Err(failure.into()))
    });
    match checked {
        Ok(()) => panic!("nothing is wrong with {text}"),
        Err(e) => e.to_string(),
    }
}

#[test]
fn errors_in_events_are_named_with_their_line() {
    let with = |events: &str| format!("{CHANNEL}{FILES}{PROGRAM}{}", process("a", events));
    for (events, expected) in [
        ("{ comput_ms = 1 }", "w.toml:16: comput_ms: got an unknown key, expected `compute_ms`"),
        (
            "{ compute_ms = 1, nap_ms = 2 }",
            "w.toml:16: nap_ms: got it beside `compute_ms`, expected one verb in an event",
        ),
        ("{ compute_ms = -1 }", "compute_ms: got -1, expected values of at least 0"),
        (
            "{ compute_ms = { distribution = \"exponential\", mean = 1e12 } }",
            "expected at most 1000000000 ms on average",
        ),
        ("{ bytes = 4 }", "bytes: got an unknown key"),
        ("{ }", "event: got no verb, expected one of compute_ms, nap_ms, read"),
        ("", "events: got nothing, expected a list of at least one event"),
        ("5", "events: got 5, expected a table"),
        (
            "{ read = \"dat\", bytes = \"4k\" }",
            "w.toml:16: read: got dat, expected a [[file]] or [[directory]], or one that it creates; did you mean `data`?",
        ),
        ("{ read = \"data\", byte = \"4k\" }", "byte: got an unknown key, expected `bytes`"),
        ("{ read = \"data\", bytes = \"4x\" }", "bytes: got \"4x\", expected bytes, or a text such as \"64k\""),
        ("{ read = \"data\", bytes = 0 }", "bytes: got 0, expected bytes"),
        ("{ read = \"data\", offset = \"last\" }", "offset: got \"last\", expected `next`, `random`, or a number"),
        ("{ read = \"data\", offset = \"random\" }", "offset: got random, expected bytes beside it"),
        (
            "{ read = \"data\", offset = \"random\", bytes = \"2m\" }",
            "bytes: got 2097152, expected at most the 1048576 bytes of the file",
        ),
        ("{ read = \"log\", bytes = 8 }", "expected a number, as the size of log is not known"),
        ("{ read = \"home\" }", "read: got home, a directory, expected a file"),
        ("{ readdir = \"data\" }", "readdir: got data, a file, expected a directory"),
        ("{ write = \"data\" }", "bytes: got nothing, expected this key"),
        (
            "{ write = \"data\", offset = \"4g\", bytes = 4 }",
            "write: got 4 bytes at 4294967296, expected a file that fits the disk",
        ),
        ("{ create = \"data\" }", "create: got data, which is there"),
        ("{ create = \"x\", directory = \"hom\" }", "did you mean `home`?"),
        ("{ create = \"x\", directory = \"data\" }", "directory: got data, a file, expected a directory"),
        ("{ create = \"x\" }, { create = \"x\" }", "create: got x a second time, expected a remove before"),
        ("{ repeat = 2, events = [{ mkdir = \"x\" }] }", "mkdir: got x a second time, expected a remove before"),
        (
            "{ create = \"x\" }, { remove = \"x\" }, { open = \"x\" }",
            "file: got x, expected a file that is there: a create before",
        ),
        ("{ io = \"reed\" }", "io: got reed, expected a direction; did you mean `read`?"),
        (
            "{ io = \"read\", class = \"crit\" }",
            "class: got crit, expected a class: one of critical, limited, noncritical",
        ),
        (
            "{ io = \"read\", lba = 9999999 }",
            "lba: got 8 sectors at 9999999, expected sectors of the disk, which has 2054864",
        ),
        ("{ io = \"read\", sectors = 0 }", "sectors: got 0, expected a whole number from 1 to 1048576"),
        (
            "{ io = \"read\", number = 1 }, { await = 2 }",
            "await: got 2, expected the number of an `io` of the same process",
        ),
        ("{ await_all = false }", "await_all: got false, expected true"),
        ("{ unlock = \"door\" }", "unlock: got door, which it does not have, expected a lock before"),
        ("{ lock = \"door\" }, { lock = \"door\" }", "lock: got door, which it has, expected an unlock before"),
        ("{ repeat = 2, events = [{ lock = \"door\" }] }", "lock: got door, which it has"),
        ("{ put = \"queu\", bytes = 1 }", "put: got queu, expected a [[channel]]; did you mean `queue`?"),
        ("{ put = \"queue\" }", "bytes: got nothing, expected this key"),
        ("{ get = \"queue\", bytes = 1 }", "get: got queue, a channel nobody fills, expected a put into it"),
        (
            "{ put = \"queue\", bytes = 5 }, { get = \"queue\", bytes = 3 }, { get = \"queue\", bytes = 3 }",
            "get: got 6 bytes from queue in all, expected at most the 5 that are put into it",
        ),
        (
            "{ repeat = 9, events = [{ put = \"queue\", bytes = 50 }] }, { get = \"queue\", bytes = 101 }",
            "bytes: got 101, expected at most the 100 that the channel holds",
        ),
        (
            "{ answer = \"queue\" }",
            "answer: got queue, expected a channel that an [[external]] with task = true puts into",
        ),
        ("{ sleep = \"door\" }", "sleep: got door, expected a key that some process wakes"),
        ("{ wakeup = \"door\" }", "wakeup: got door, expected a key that some process sleeps on"),
        (
            "{ sleep = \"door\" }, { wakeup = \"dor\" }",
            "sleep: got door, expected a key that some process wakes; did you mean `dor`?",
        ),
        ("{ fork = \"cx\" }", "fork: got cx, expected a [[program]]; did you mean `cc`?"),
        (
            "{ fork = \"cc\" }, { wait = \"cc\" }, { wait = \"cc\" }",
            "wait: got cc 2 times, of which a starts 1, expected a fork for each",
        ),
        (
            "{ repeat = 1000001, events = [{ fork = \"cc\" }] }",
            "fork: got 1000002 processes in all, expected at most 1000000",
        ),
        (
            "{ repeat = 0, events = [{ compute_ms = 1 }] }",
            "repeat: got 0, expected a whole number from 1 to 1000000000",
        ),
    ] {
        let told = told(&with(events));
        assert!(
            told.starts_with("w.toml:") && told.contains(expected),
            "{events}\n  told     {told}\n  expected {expected}"
        );
    }
}

#[test]
fn errors_in_tables_are_named_with_their_line() {
    let a = process("a", "{ compute_ms = 1 }");
    for (text, expected) in [
        (format!("type = \"program\"\n{a}"), "w.toml:1: type: got program, expected `programs`"),
        (format!("[[proces]]\n{a}"), "proces: got an unknown key, expected `process`"),
        ("type = \"programs\"\n".to_owned(), "process: got nothing, expected at least one [[process]] table"),
        ("process = 5\n".to_owned(), "w.toml:1: process: got 5, expected a list of tables"),
        ("[[process]\n".to_owned(), "w.toml:1: TOML: got"),
        (format!("{a}{a}"), "w.toml:4: name: got a a second time, expected a name of its own"),
        (format!("{a}cpus = 1\n"), "w.toml:4: cpus: got an unknown key, expected `cpu`"),
        (
            format!("{a}cpu = 3\n"),
            "w.toml:1: cpu: got 3, a task on a CPU that is not there, expected a CPU of the machine's: 0 to 0",
        ),
        (format!("{a}count = 16385\n"), "count: got 16385, expected a whole number from 1 to 16384"),
        (
            format!("{a}state = \"asleep\"\n"),
            "state: got asleep, expected a state: one of new, runnable, running, sleeping",
        ),
        (format!("{a}state = \"sleeping\"\n"), "key: got nothing, expected a key to sleep on"),
        (
            format!("{a}state = \"sleeping\"\nkey = \"k\"\n"),
            "w.toml:1: sleep: got k, expected a key that some process wakes",
        ),
        (format!("{a}key = \"k\"\n"), "key: got a key, expected it only beside state"),
        (
            format!("{a}state = \"running\"\nstart_ms = 5\n"),
            "start_ms: got a time, expected it only beside state = \"new\"",
        ),
        (
            format!("{a}state = \"running\"\ncount = 2\n"),
            "w.toml:1: state: got running, where all its CPUs have a process",
        ),
        (format!("{a}daemon = true\n"), "w.toml:1: daemon: got a that never waits, expected a get, a sleep"),
        (format!("{a}daemon = true\nrepeat = 3\n"), "repeat: got it beside daemon = true, expected no end"),
        (format!("{a}daemon = true\ntask = true\n"), "task: got it beside daemon = true"),
        (
            format!("{a}[[file]]\nname = \"f\"\nsize = \"2g\"\n"),
            "w.toml:4: size: got f of 2147483648 bytes, expected a file that fits the disk of 1052090368 bytes: it is larger",
        ),
        (format!("{a}[[file]]\nname = \"f\"\nsize = \"1000m\"\n"), "no space left on the device"),
        (format!("{a}[[file]]\nname = \"f\"\nsize = -1\n"), "size: got -1, expected bytes"),
        (
            format!("{a}[[file]]\nname = \"f\"\n"),
            "size: got nothing, expected a size, or an event that makes f: create = \"f\"",
        ),
        (
            format!("{a}[[file]]\nname = \"f\"\nsize = 1\ndirectory = \"d\"\n"),
            "directory: got d, expected a [[directory]] above this, of which there is none",
        ),
        (
            format!("{a}[[directory]]\nname = \"d\"\ndirectory = \"d\"\n"),
            "directory: got d, expected a [[directory]] above this",
        ),
        (
            format!("{a}[[directory]]\nname = \"d\"\n[[file]]\nname = \"d\"\nsize = 1\n"),
            "w.toml:6: name: got d a second time",
        ),
        (format!("{a}[[file]]\nname = \"f\"\ncached = true\n"), "cached: got true, expected a size beside it"),
        (format!("{a}[[channel]]\nname = \"c\"\ncapacity = 0\n"), "capacity: got 0, expected bytes"),
        (format!("{a}[[channel]]\nname = \"\"\n"), "name: got nothing, expected a name in one line"),
        (format!("{a}[[external]]\nname = \"e\"\n"), "period_ms: got nothing, expected period_ms, or a list at_ms"),
        (
            format!("{a}[[external]]\nname = \"e\"\nperiod_ms = 0\n"),
            "period_ms: got 0, expected values of at least 0.001",
        ),
        (
            format!("{a}[[external]]\nname = \"e\"\nperiod_ms = 1\nhandler_us = 1000\n"),
            "handler_us: got 1000 µs for each, expected time left between",
        ),
        (
            format!("{a}[[external]]\nname = \"e\"\nperiod_ms = 1\nat_ms = [1]\n"),
            "period_ms: got it and `at_ms`, expected one of them",
        ),
        (
            format!("{a}[[external]]\nname = \"e\"\nat_ms = [2, 1]\n"),
            "at_ms: got [2, 1], expected a list of times from 0 to 1000000000, in order",
        ),
        (
            format!("{a}[[external]]\nname = \"e\"\nat_ms = [1]\ncount = 1\n"),
            "count: got a value, expected it only beside `period_ms`",
        ),
        (
            format!("{a}[[external]]\nname = \"e\"\nat_ms = [1]\ncpu = 1\n"),
            "w.toml:4: cpu: got 1, expected a CPU of the machine's: 0 to 0",
        ),
        (
            format!("{a}[[external]]\nname = \"e\"\nat_ms = [1]\nput = \"c\"\nbytes = 1\n"),
            "put: got c, expected a [[channel]], of which there is none",
        ),
        (
            format!("{a}{CHANNEL}[[external]]\nname = \"e\"\nat_ms = [1]\nput = \"queue\"\nbytes = 1\n"),
            "put: got queue, a channel nobody empties, expected a get of it",
        ),
        (
            format!("{a}[[external]]\nname = \"e\"\nat_ms = [1]\nwakeup = \"k\"\n"),
            "wakeup: got k, expected a key that some process sleeps on",
        ),
        (
            format!(
                "{CHANNEL}{}daemon = true\n[[external]]\nname = \"e\"\nperiod_ms = 1\nput = \"queue\"\nbytes = 1\n",
                process("a", "{ get = \"queue\", bytes = 1 }")
            ),
            "period_ms: got no end, expected a count, a list at_ms, or a process that is no daemon",
        ),
        (
            format!(
                "{CHANNEL}{}daemon = true\n[[external]]\nname = \"e\"\nat_ms = [1]\nput = \"queue\"\nbytes = 1\ntask = true\n",
                process("a", "{ get = \"queue\", bytes = 1 }")
            ),
            "task: got true, expected an event that ends it: answer = \"queue\"",
        ),
        (
            format!(
                "{}[[program]]\nname = \"p\"\nevents = [{{ fork = \"q\" }}]\n[[program]]\nname = \"q\"\nevents = [{{ fork = \"p\" }}]\n",
                process("a", "{ fork = \"p\" }")
            ),
            "w.toml:4: fork: got p, which starts itself through others",
        ),
    ] {
        let told = told(&text);
        assert!(told.contains(expected), "{text}\n  told     {told}\n  expected {expected}");
    }
    let deep = format!("{}{{ compute_ms = 1 }}{}", "{ repeat = 2, events = [".repeat(9), "] }".repeat(9));
    assert!(told(&process("a", &deep)).contains("repeat: got a loop in too many loops, expected at most 8"));
}

#[test]
fn a_deadlock_in_the_description_is_named() {
    let channels = "[[channel]]\nname = \"x\"\n[[channel]]\nname = \"y\"\n";
    let text = format!(
        "{channels}{}{}{}",
        process("a", "{ get = \"x\", bytes = 1 }, { put = \"y\", bytes = 1 }"),
        process("b", "{ compute_ms = 1 }, { get = \"y\", bytes = 1 }, { put = \"x\", bytes = 1 }"),
        process("c", "{ compute_ms = 1 }"),
    );
    assert_eq!(
        told(&text),
        "w.toml:7: events: got a cycle of waits, expected an order in which all can go on: a waits for channel x of b, \
         b waits for channel y of a"
    );
    // The first put is enough for one round, which puts the bytes of the next.
    let primed = text
        .replace("{ compute_ms = 1 }, { get", "{ put = \"x\", bytes = 1 }, { get")
        .replace("name = \"a\"", "name = \"a\"\nrepeat = 1");
    assert!(UserProgramsSpec::from_toml(&primed, "w.toml").is_ok());
    let family = format!(
        "[[program]]\nname = \"child\"\nevents = [{{ sleep = \"k\" }}]\n{}",
        process("parent", "{ fork = \"child\" }, { wait = \"child\" }, { wakeup = \"k\", all = true }"),
    );
    let told_of = told(&family);
    assert!(
        told_of.contains("a cycle of waits")
            && told_of.contains("parent waits for the end of child, child waits for a wake-up on k of parent"),
        "{told_of}"
    );
    let starved = format!(
        "{channels}{}{}daemon = true\n",
        process("a", "{ get = \"x\", bytes = 1 }"),
        process("b", "{ get = \"y\", bytes = 1 }, { put = \"x\", bytes = 1 }, { put = \"y\", bytes = 1 }"),
    );
    assert!(told(&starved).contains("b waits for channel y of b"), "{}", told(&starved));
}

#[test]
fn a_deadlock_that_only_the_run_shows_is_named_with_its_file() {
    let locks = |first: &str, second: &str| {
        format!(
            "{{ lock = \"{first}\" }}, {{ nap_ms = 1 }}, {{ lock = \"{second}\" }}, {{ unlock = \"{second}\" }}, {{ unlock = \"{first}\" }}"
        )
    };
    let told_of = told(&format!("{}{}", process("a", &locks("x", "y")), process("b", &locks("y", "x"))));
    assert_eq!(
        told_of,
        "w.toml: processes: got a cycle of waits, expected an order in which all can go on, as a (1000) waits for lock `y` of \
         b (1001), b (1001) waits for lock `x` of a (1000)"
    );
    let gone =
        told(&format!("{FILES}{}", process("a", "{ remove = \"data\" }, { open = \"data\" }, { create = \"log\" }")));
    assert!(gone.contains("w.toml: process a (1000): got `data` does not exist"), "{gone}");
}
