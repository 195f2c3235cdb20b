use super::*;
use crate::bench_queue::Bench;
use crate::{Environment, SchedulerSpec};
use Criticality::{TimeCritical, TimeLimited, TimeNonCritical};
use iopilot_block::{Flags, Op, Sectors};

fn bench(inside: &str) -> Bench<Prio> {
    let spec = SchedulerSpec::parse(inside).expect("a scheduler");
    let env = Environment::default();
    Bench::new(Prio::new(spec.build(&env).expect("its tunables"), &env))
}

/// Submits eight sectors. True if they merged.
fn submit(b: &mut Bench<Prio>, op: Op, lba: u64, class: Criticality) -> bool {
    let mut rq = b.request(op, lba, 8);
    rq.criticality = class;
    rq.flags.set(Flags::SYNC, class == TimeCritical);
    b.put(rq)
}

/// The queued request that begins at `lba`.
fn at(b: &Bench<Prio>, lba: u64) -> RequestId {
    let ids = (0..b.rqs.slots()).map(RequestId::from_index);
    ids.into_iter().find(|&id| b.rqs[id].own_lba.0 == lba).expect("it was submitted")
}

/// A process begins to wait for the request that began at `lba`.
fn wait_for(b: &mut Bench<Prio>, lba: u64) {
    let id = at(b, lba);
    b.rqs[id].criticality = TimeCritical;
    let whole = b.rqs.whole(id);
    b.scheduler.raise(&mut b.rqs, whole, b.now);
}

#[test]
fn critical_and_limited_requests_go_before_noncritical_ones_each_list_in_the_order_of_the_scheduler() {
    let order = |inside| {
        let mut b = bench(inside);
        for (lba, class) in [
            (300, TimeNonCritical),
            (500, TimeLimited),
            (100, TimeNonCritical),
            (400, TimeCritical),
            (200, TimeLimited),
        ] {
            submit(&mut b, Op::Write, lba, class);
        }
        b.take(9)
    };
    assert_eq!(order("clook"), [200, 400, 500, 100, 300]);
    assert_eq!(order("fcfs"), [500, 400, 200, 300, 100]);
}

#[test]
fn a_request_at_the_disk_is_not_preempted_and_completes_in_its_list() {
    for inside in ["clook", "mq-deadline", "kyber", "bfq", "cfq", "as", "ioqueue"] {
        let mut b = bench(inside);
        submit(&mut b, Op::Write, 100, TimeNonCritical);
        let first = b.dispatch().expect("the high list is empty");
        submit(&mut b, Op::Read, 900, TimeCritical);
        submit(&mut b, Op::Write, 300, TimeNonCritical);
        wait_for(&mut b, 100);
        b.now = Nanos::from_millis(10);
        b.complete(first);
        assert_eq!(b.take(1), [900], "{inside}");
        b.now = Nanos::from_millis(100);
        assert_eq!(b.take(9), [300], "{inside}");
    }
}

#[test]
fn requests_merge_within_a_list_only() {
    for inside in ["deadline", "mq-deadline", "bfq", "noop", "vr"] {
        let mut b = bench(inside);
        submit(&mut b, Op::Write, 100, TimeNonCritical);
        assert!(
            !submit(&mut b, Op::Write, 108, TimeLimited),
            "{inside}: the request that it touches is in the low list"
        );
        assert!(submit(&mut b, Op::Write, 108, TimeNonCritical), "{inside}");
        assert!(submit(&mut b, Op::Write, 116, TimeLimited), "{inside}");
        assert_eq!(b.scheduler.queued(), 2);
        assert_eq!(b.take(1), [108], "{inside}");
    }
}

#[test]
fn a_raised_request_moves_with_its_parts() {
    for inside in
        ["clook", "deadline", "mq-deadline", "vr", "noop", "none", "kyber", "sstf", "fcfs", "bfq", "cfq", "as"]
    {
        let mut b = bench(inside);
        for lba in [100, 500, 508, 900] {
            submit(&mut b, Op::Write, lba, TimeNonCritical);
        }
        submit(&mut b, Op::Read, 700, TimeCritical);
        let queued = b.scheduler.queued();
        wait_for(&mut b, 508);
        wait_for(&mut b, 508);
        assert_eq!(b.scheduler.queued(), queued, "{inside}: it is in one list");
        let mut order = Vec::new();
        for _ in 0..queued {
            b.now += Nanos::from_millis(300);
            order.extend(b.take(1));
        }
        let merged = queued == 4;
        let first_two = if merged { [500, 700] } else { [508, 700] };
        assert!(order[..2].iter().all(|lba| first_two.contains(lba)), "{inside}: {order:?}");
        assert_eq!(order.len(), queued, "{inside}: no request is lost");
    }
}

#[test]
fn a_request_that_has_waited_for_the_aging_time_moves_to_the_high_list() {
    let waited = |aging_ms: f64| {
        let mut b = bench("fcfs");
        b.set("aging_ms", aging_ms);
        submit(&mut b, Op::Write, 1, TimeNonCritical);
        for i in 0..200u64 {
            // Under load the high list is never empty.
            submit(&mut b, Op::Read, 1000 + i, TimeCritical);
            submit(&mut b, Op::Read, 2000 + i, TimeCritical);
            b.now += Nanos::from_millis(100);
            if b.take(1) == [1] {
                return Some(b.now);
            }
        }
        None
    };
    assert_eq!(waited(0.0), None, "it starves");
    let aged = waited(5_000.0).expect("it is served");
    // It follows the fifty requests that were waiting when it aged.
    assert!((Nanos::from_millis(5_000)..Nanos::from_millis(10_200)).contains(&aged), "{aged}");
}

#[test]
fn a_merged_request_is_as_old_as_its_oldest_part() {
    let mut b = bench("mq-deadline");
    b.set("aging_ms", 1_000.0);
    submit(&mut b, Op::Write, 116, TimeNonCritical);
    b.now = Nanos::from_millis(600);
    submit(&mut b, Op::Write, 100, TimeNonCritical);
    assert!(submit(&mut b, Op::Write, 108, TimeNonCritical), "it merges with both");
    submit(&mut b, Op::Read, 500, TimeCritical);
    b.now = Nanos::from_millis(1_000);
    assert_eq!(b.take(1), [100], "mq-deadline begins with the direction of writes");
    assert_eq!(b.take(9), [500]);
}

#[test]
fn the_low_list_waits_while_the_high_one_idles_for_a_process_but_not_longer() {
    for inside in ["as", "cfq", "bfq:low_latency=0"] {
        let mut b = bench(inside);
        // Long enough for the scheduler to learn that the process issues the next request at once.
        for i in 0..200 {
            submit(&mut b, Op::Read, 8 * i, TimeCritical);
            b.now += Nanos::from_micros(10);
            let read = b.dispatch().unwrap_or_else(|| panic!("{inside}: nothing else waits"));
            b.now += Nanos::from_millis(1);
            b.complete(read);
            b.now += Nanos::from_micros(100);
        }
        submit(&mut b, Op::Write, 1 << 20, TimeNonCritical);
        let Dispatch::WaitUntil(until) = b.scheduler.dispatch(&mut b.rqs, b.now) else {
            panic!("{inside}: the disk is kept for the reader");
        };
        assert!(until.since(b.now) < Nanos::from_millis(10), "{inside}");
        submit(&mut b, Op::Read, 8 * 200, TimeCritical);
        let read = b.dispatch().unwrap_or_else(|| panic!("{inside}: the reader is back"));
        assert_eq!(b.rqs[read].lba.0, 1600, "{inside}");
        b.complete(read);
        b.now += Nanos::from_millis(20);
        assert_eq!(b.take(1), [1 << 20], "{inside}: the reader issues no more requests");
    }
}

#[test]
fn idling_ends_when_a_request_moves_to_the_high_list() {
    let mut b = bench("cfq");
    b.set("aging_ms", 2.0);
    submit(&mut b, Op::Read, 0, TimeCritical);
    let read = b.dispatch().expect("nothing else waits");
    b.complete(read);
    submit(&mut b, Op::Write, 1 << 20, TimeNonCritical);
    let answer = b.scheduler.dispatch(&mut b.rqs, b.now);
    assert_eq!(answer, Dispatch::WaitUntil(Nanos::from_millis(2)));
}

#[test]
fn a_hardware_queue_does_not_wait_for_the_requests_of_another() {
    let env = Environment { cpus: 2, hardware_queues: 2, ..Environment::default() };
    for (inside, apart) in [("none", true), ("kyber", true), ("mq-deadline", false)] {
        let inside_it = AnyScheduler::by_name(inside, &env).expect("a scheduler");
        let mut b = Bench::new(Prio::new(inside_it, &env));
        for (cpu, lba, class) in [(0, 100, TimeNonCritical), (1, 900, TimeCritical), (1, 300, TimeNonCritical)] {
            let mut rq = b.request(Op::Read, lba, 8);
            (rq.cpu, rq.criticality) = (cpu, class);
            b.put(rq);
        }
        let order = [b.take_from(0, 9), b.take_from(1, 9)];
        let expected = if apart { [vec![100], vec![900, 300]] } else { [vec![900, 100, 300], vec![]] };
        assert_eq!(order, expected, "{inside}");
    }
}

#[test]
fn it_has_its_own_tunables_and_those_of_the_scheduler_inside() {
    let mut b = bench("mq-deadline:read_expire=200");
    let tunables = |b: &Bench<Prio>, name: &str| b.scheduler.tunables().get(name);
    assert_eq!((tunables(&b, "read_expire"), tunables(&b, "aging_ms")), (Some(200.0), Some(0.0)));
    b.set("fifo_batch", 1.0);
    b.set("aging_ms", 15_000.0);
    assert_eq!((tunables(&b, "fifo_batch"), tunables(&b, "aging_ms")), (Some(1.0), Some(15_000.0)));
    assert!(Scheduler::set(&mut b.scheduler, "quantum", 4.0).is_err());
}

#[test]
fn requests_that_merge_at_dispatch_leave_with_the_whole() {
    let mut b = bench("ioqueue:stream_scheme=3:max_concat=64");
    for lba in [16, 8, 24] {
        submit(&mut b, Op::Write, lba, TimeNonCritical);
    }
    submit(&mut b, Op::Write, 32, TimeCritical);
    assert_eq!(b.take(1), [32], "the critical request, alone");
    let whole = b.dispatch().expect("three wait");
    assert_eq!((b.rqs[whole].lba.0, b.rqs[whole].sectors, b.scheduler.queued()), (8, Sectors(24), 0));
    b.complete(whole);
    submit(&mut b, Op::Write, 100, TimeNonCritical);
    assert_eq!(b.take(9), [100]);
}

/// As [`submit`], by this process.
fn submit_by(b: &mut Bench<Prio>, process: u32, lba: u64, class: Criticality) {
    let mut rq = b.request(Op::Read, lba, 8);
    (rq.criticality, rq.process) = (class, ProcessId(process));
    assert!(!b.put(rq), "it touches no other request");
}

/// Gives a sample: a process waits for a request of `process` this long after its arrival.
fn show_limit(b: &mut Bench<Prio>, process: u32, limit: Nanos) {
    let lba = (1 << 30) + 1000 * u64::from(process);
    submit_by(b, process, lba, TimeLimited);
    b.now += limit;
    wait_for(b, lba);
    assert_eq!(b.take(9), [lba]);
}

/// A bench with time-limited requests in a list of their own.
fn limited(inside: &str) -> Bench<Prio> {
    let mut b = bench(inside);
    b.set("limited", 1.0);
    b
}

#[test]
fn limited_requests_go_behind_critical_ones_once_their_limit_is_known() {
    let submit_all = |b: &mut Bench<Prio>| {
        for (lba, class) in [(100, TimeLimited), (200, TimeNonCritical), (300, TimeLimited), (400, TimeCritical)] {
            submit_by(b, 7, lba, class);
        }
    };
    let mut b = limited("fcfs");
    submit_all(&mut b);
    assert_eq!(b.take(9), [100, 300, 400, 200], "they count as critical");
    show_limit(&mut b, 7, Nanos::from_millis(50));
    submit_all(&mut b);
    assert_eq!(b.take(9), [400, 100, 300, 200]);
    let mut together = bench("fcfs");
    show_limit(&mut together, 7, Nanos::from_millis(50));
    submit_all(&mut together);
    assert_eq!(together.take(9), [100, 300, 400, 200], "without the tunable");
}

#[test]
fn limited_requests_whose_limit_is_over_go_to_the_high_list_the_earliest_first() {
    let mut b = limited("fcfs");
    show_limit(&mut b, 7, Nanos::from_millis(50));
    show_limit(&mut b, 8, Nanos::from_millis(20));
    submit_by(&mut b, 7, 100, TimeLimited);
    submit_by(&mut b, 8, 200, TimeLimited);
    let mut under_load = |after, lba| {
        b.now += Nanos::from_millis(after);
        submit_by(&mut b, 9, lba, TimeCritical);
        submit_by(&mut b, 9, lba + 1000, TimeCritical);
        b.take(1)
    };
    assert_eq!(under_load(19, 10_000), [10_000]);
    // At 20 ms the limit of process 8 is over. Its request follows the critical requests that are queued by then.
    assert_eq!(under_load(1, 20_000), [11_000]);
    assert_eq!(under_load(0, 30_000), [20_000]);
    assert_eq!(under_load(0, 40_000), [21_000]);
    assert_eq!(under_load(40, 50_000), [200], "at 60 ms both are over");
    let rest = b.take(99);
    let place = |lba: u64| rest.iter().position(|&other| other == lba);
    assert!(place(100) > place(40_000) && place(100) == rest.len().checked_sub(1), "{rest:?}");

    // Both limits are over at the same check.
    submit_by(&mut b, 7, 100, TimeLimited);
    submit_by(&mut b, 8, 200, TimeLimited);
    b.now += Nanos::from_millis(60);
    submit_by(&mut b, 9, 900, TimeCritical);
    assert_eq!(b.take(1), [900]);
    submit_by(&mut b, 9, 300, TimeCritical);
    assert_eq!(b.take(9), [200, 100, 300]);
}

#[test]
fn the_low_list_has_its_turn_after_low_starved_requests_of_the_others() {
    let order = |low_starved: f64| {
        let mut b = bench("fcfs");
        b.set("low_starved", low_starved);
        for lba in [10, 20] {
            submit_by(&mut b, 1, lba, TimeNonCritical);
        }
        for lba in [110, 120, 130, 140, 150] {
            submit_by(&mut b, 1, lba, TimeCritical);
        }
        b.take(9)
    };
    assert_eq!(order(2.0), [110, 120, 10, 130, 140, 20, 150]);
    assert_eq!(order(0.0), [110, 120, 130, 140, 150, 10, 20]);
}

#[test]
fn requests_dispatched_while_the_low_list_was_empty_do_not_count() {
    let mut b = bench("fcfs");
    b.set("low_starved", 2.0);
    for lba in [110, 120, 130, 140, 150] {
        submit_by(&mut b, 1, lba, TimeCritical);
    }
    assert_eq!(b.take(3), [110, 120, 130]);
    submit_by(&mut b, 1, 10, TimeNonCritical);
    submit_by(&mut b, 1, 160, TimeCritical);
    assert_eq!(b.take(9), [140, 150, 10, 160]);
}
