//! Tests of processes that wait for what cannot come.

use super::*;

#[test]
fn a_cycle_of_waits_is_named() {
    let (left, right) = (DOOR, QUEUE);
    let locks = |first, second| vec![after(1, Call::Lock(first)), after(5, Call::Lock(second))];
    let tasks =
        plain(vec![task("a", locks(left, right)), task("b", locks(right, left)), task("c", locks(left, right))]);
    let run = run(HostSettings::free(3), tasks, Vec::new());
    assert_eq!(
        run.failure.as_deref(),
        Some(
            "w.toml: processes: got a cycle of waits, expected an order in which all can go on, as a (1000) waits for lock \
             `queue` of b (1001), b (1001) waits for lock `door` of a (1000)"
        )
    );
}

#[test]
fn a_process_whose_wait_cannot_end_is_named() {
    let holder = task("a", vec![after(1, Call::Lock(DOOR))]);
    let waits = task("b", vec![after(2, Call::Lock(DOOR))]);
    let told = run(HostSettings::free(2), plain(vec![holder, waits]), Vec::new()).failure.unwrap();
    assert!(told.ends_with("as b (1001) waits for lock `door` of a (1000), which has exited"), "{told}");
    let full = |bytes| vec![after(0, Call::Put { channel: QUEUE, bytes })];
    let told =
        run(HostSettings::free(1), plain(vec![task("a", [full(4), full(1)].concat())]), Vec::new()).failure.unwrap();
    assert!(told.ends_with("as a (1000) waits for room in channel `queue`"), "{told}");
    let gets = vec![after(0, Call::Get { channel: QUEUE, bytes: 1 })];
    let told = run(HostSettings::free(1), plain(vec![task("a", gets.clone())]), Vec::new()).failure.unwrap();
    assert!(told.ends_with("as a (1000) waits for channel `queue`"), "{told}");
    assert_eq!(run(HostSettings::free(1), vec![(daemon("a", gets), DAEMON)], Vec::new()).failure, None);
    // A daemon that waits for room does not wait for work.
    let told = run(HostSettings::free(1), vec![(daemon("a", full(3)), DAEMON)], Vec::new()).failure.unwrap();
    assert!(told.ends_with("as a (1000) waits for room in channel `queue`"), "{told}");
}

#[test]
fn daemons_may_take_turns_to_wait_for_work() {
    // Like servers that hold a lock while they wait for a client.
    let accepts = || {
        let events = vec![
            after(0, Call::Lock(DOOR)),
            after(0, Call::Get { channel: QUEUE, bytes: 1 }),
            after(0, Call::Unlock(DOOR)),
            after(5, Call::Answer(QUEUE)),
        ];
        (daemon("server", events), DAEMON)
    };
    let brings = InterruptEffect::Put { channel: QUEUE, bytes: 1 };
    let clients = || ExternalInterrupts { is_task: true, ..external(&[1, 2, 3], Nanos::ZERO, brings) };
    let served = run(HostSettings::free(2), vec![accepts(), accepts()], vec![clients()]);
    assert_eq!((served.elapsed().len(), &served.failure), (3, &None));
    // A daemon that never releases the lock is an error.
    let keeps = daemon("keeps", vec![after(0, Call::Lock(DOOR)), after(0, Call::Lock(DOOR))]);
    let told = run(HostSettings::free(2), vec![(keeps, DAEMON), accepts()], vec![clients()]).failure.unwrap();
    assert!(
        told.contains("a cycle of waits") && told.ends_with("as keeps (1000) waits for lock `door` of keeps (1000)"),
        "{told}"
    );
}

#[test]
fn only_the_holder_releases_a_lock() {
    let holder = task("a", vec![after(1, Call::Lock(DOOR)), after(9, Call::Unlock(DOOR))]);
    let thief = task("b", vec![after(5, Call::Unlock(DOOR))]);
    let told = run(HostSettings::free(2), plain(vec![holder, thief.clone()]), Vec::new()).failure;
    assert_eq!(
        told.as_deref(),
        Some("w.toml: process b (1001): got unlock of `door`, which a (1000) has, expected a lock that it holds")
    );
    let told = run(HostSettings::free(1), plain(vec![thief]), Vec::new()).failure.unwrap();
    assert!(told.contains("which nobody has"), "{told}");
}

#[test]
fn endless_interrupts_do_not_hide_an_endless_wait() {
    let every = ExternalInterrupts {
        arrivals: AnyArrivals::new(Endless(Nanos(1000), Nanos::ZERO)),
        is_endless: true,
        ..external(&[], Nanos::ZERO, InterruptEffect::Wakeup { key: 9, all: true })
    };
    let tasks = plain(vec![task("a", vec![after(1, Call::Sleep(DOOR))])]);
    let told = run(HostSettings::free(1), tasks, vec![every]).failure.unwrap();
    assert!(told.ends_with("as a (1000) waits for a wake-up on `door`"), "{told}");
}

#[test]
fn a_napping_daemon_does_not_hide_an_endless_wait() {
    let tasks = vec![
        (task("a", vec![after(1, Call::Sleep(DOOR))]), Placement::default()),
        (daemon("naps", vec![ProgramEvent::after(Nanos::ZERO, Call::Nap(Nanos(1000)))]), DAEMON),
    ];
    let told = run(HostSettings::free(1), tasks, Vec::new()).failure.unwrap();
    assert!(told.ends_with("as a (1000) waits for a wake-up on `door`"), "{told}");
}

#[test]
fn daemons_that_never_rest_are_an_error() {
    let other = 7;
    let plays = |get, put| {
        let events = vec![
            ProgramEvent::after(Nanos(1000), Call::Put { channel: put, bytes: 1 }),
            after(0, Call::Get { channel: get, bytes: 1 }),
        ];
        (daemon("plays", events), DAEMON)
    };
    let run = run(HostSettings::free(1), vec![plays(QUEUE, other), plays(other, QUEUE)], Vec::new());
    let told = run.failure.unwrap();
    assert!(
        told.starts_with("w.toml: daemon: got 262144 events after all else is over, expected daemons that wait"),
        "{told}"
    );
}
