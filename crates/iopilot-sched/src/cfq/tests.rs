use super::*;
use crate::bench_queue::Bench;
use PriorityClass::{BestEffort, Idle, RealTime};
use iopilot_block::{IoPriority, Op};

fn bench() -> Bench<Cfq> {
    Bench::new(Cfq::new())
}

fn ms(n: u64) -> Nanos {
    Nanos::from_millis(n)
}

fn submit(b: &mut Bench<Cfq>, process: u32, op: Op, lba: u64, class: PriorityClass, level: u8, flags: Flags) {
    let mut rq = b.request(op, lba, 8);
    rq.process = ProcessId(process);
    rq.priority = IoPriority { class, level };
    rq.flags = flags | Flags::NO_MERGE;
    b.put(rq);
}

fn read(b: &mut Bench<Cfq>, process: u32, lba: u64) {
    submit(b, process, Op::Read, lba, BestEffort, 4, Flags::empty());
}

/// Serves one request at a time for 5 ms each, and idles as the scheduler says. Returns the processes in order of
/// service.
fn serve(b: &mut Bench<Cfq>, n: usize) -> Vec<u32> {
    let mut of = Vec::new();
    while of.len() < n {
        match b.scheduler.dispatch(&mut b.rqs, b.now) {
            Dispatch::Request(id) => {
                of.push(b.rqs[id].process.0);
                b.now += ms(5);
                b.complete(id);
            }
            Dispatch::WaitUntil(at) => b.now = at,
            Dispatch::Empty => break,
        }
    }
    of
}

fn runs(of: &[u32]) -> Vec<(u32, usize)> {
    let mut runs: Vec<(u32, usize)> = Vec::new();
    for &p in of {
        match runs.last_mut() {
            Some((q, n)) if *q == p => *n += 1,
            _ => runs.push((p, 1)),
        }
    }
    runs
}

#[test]
fn processes_take_turns_by_time() {
    let mut b = bench();
    for i in 0..100 {
        read(&mut b, 1, 8 * i);
        read(&mut b, 2, 1_000_000 + 8 * i);
    }
    let runs = runs(&serve(&mut b, 120));
    // A slice of 100 ms, from the first completion, is 21 requests of 5 ms, and the requests sent ahead.
    assert!(runs.len() >= 4 && runs[..4].iter().all(|&(_, n)| (20..=24).contains(&n)), "{runs:?}");
    assert!(runs.windows(2).all(|w| w[0].0 != w[1].0));
}

#[test]
fn slices_grow_with_priority() {
    let mut b = bench();
    for i in 0..400 {
        submit(&mut b, 1, Op::Read, 8 * i, BestEffort, 0, Flags::empty());
        submit(&mut b, 2, Op::Read, 1_000_000 + 8 * i, BestEffort, 7, Flags::empty());
    }
    let of = serve(&mut b, 300);
    let high = of.iter().filter(|&&p| p == 1).count();
    // 180 ms against 40 ms.
    let ratio = high as f64 / (300 - high) as f64;
    assert!((3.0..6.0).contains(&ratio), "{ratio}");
}

#[test]
fn real_time_goes_first_and_idle_last_after_the_grace_time() {
    let mut b = bench();
    for i in 0..30 {
        submit(&mut b, 1, Op::Read, 8 * i, Idle, 0, Flags::empty());
        submit(&mut b, 2, Op::Read, 1_000_000 + 8 * i, BestEffort, 4, Flags::empty());
        submit(&mut b, 3, Op::Read, 2_000_000 + 8 * i, RealTime, 4, Flags::empty());
    }
    let of = serve(&mut b, 90);
    let first = |p: u32| of.iter().position(|&q| q == p).expect("served");
    let last = |p: u32| of.iter().rposition(|&q| q == p).expect("served");
    assert!(last(3) < first(1) && last(2) < first(1), "{:?}", runs(&of));
    assert!(first(3) < first(2), "{:?}", runs(&of));
    b.now += ms(1);
    submit(&mut b, 2, Op::Read, 5_000_000, BestEffort, 4, Flags::empty());
    serve(&mut b, 1);
    let done = b.now;
    b.scheduler.process_exited(ProcessId(2), b.now);
    submit(&mut b, 1, Op::Read, 0, Idle, 0, Flags::empty());
    assert_eq!(b.scheduler.dispatch(&mut b.rqs, b.now), Dispatch::WaitUntil(done + IDLE_GRACE));
}

#[test]
fn idles_for_the_next_request_of_a_process_unless_it_exits() {
    let mut b = bench();
    read(&mut b, 1, 1000);
    read(&mut b, 2, 90_000_000);
    assert_eq!(serve(&mut b, 1), [1]);
    assert_eq!(b.scheduler.dispatch(&mut b.rqs, b.now), Dispatch::WaitUntil(b.now + ms(8)));
    b.now += ms(3);
    read(&mut b, 1, 1008);
    assert_eq!(serve(&mut b, 1), [1]);
    b.scheduler.process_exited(ProcessId(1), b.now);
    let now = b.now;
    assert_eq!(serve(&mut b, 1), [2]);
    assert_eq!(b.now, now + ms(5), "without a wait");
}

#[test]
fn slice_idle_zero_never_idles() {
    let mut b = bench();
    b.set("slice_idle", 0.0);
    read(&mut b, 1, 1000);
    read(&mut b, 2, 90_000_000);
    assert_eq!(serve(&mut b, 2), [1, 2]);
    assert_eq!(b.now, ms(10));
}

#[test]
fn idling_is_short_for_processes_that_seek_and_none_if_the_device_queues() {
    let mut b = bench();
    for i in 0..5 {
        read(&mut b, 1, 10_000_000 * (i * 7 % 5));
        serve(&mut b, 1);
    }
    read(&mut b, 2, 0);
    assert_eq!(b.scheduler.dispatch(&mut b.rqs, b.now), Dispatch::WaitUntil(b.now + SEEKY_IDLE));
    b.now += SEEKY_IDLE;
    // Process 2 is alone and new: it may have 16 requests at the device.
    for i in 0..8 {
        read(&mut b, 2, 100 * i);
    }
    let ids: Vec<_> = (0..6).map(|_| b.dispatch().expect("queued")).collect();
    ids.into_iter().for_each(|id| b.complete(id));
    assert!(b.scheduler.device_queues);
    for i in 0..3 {
        serve(&mut b, 9);
        read(&mut b, 1, 30_000_000 * (i % 2));
    }
    serve(&mut b, 9);
    read(&mut b, 3, 0);
    assert!(matches!(b.scheduler.dispatch(&mut b.rqs, b.now), Dispatch::Request(_)), "no idling for process 1");
}

#[test]
fn asynchronous_requests_wait_for_synchronous_ones_in_flight() {
    let mut b = bench();
    submit(&mut b, 1, Op::Write, 100, BestEffort, 4, Flags::empty());
    submit(&mut b, 2, Op::Write, 300, BestEffort, 4, Flags::empty());
    submit(&mut b, 2, Op::Write, 200, BestEffort, 5, Flags::empty());
    // The disk does not idle for shared queues: their requests go to the dispatch queue at once, and leave it sorted.
    assert_eq!(b.take(1), [100]);
    read(&mut b, 3, 9000);
    assert_eq!(b.take(3), [200, 300, 9000]);
    read(&mut b, 3, 9008);
    let read = b.dispatch().expect("queued");
    submit(&mut b, 1, Op::Write, 400, BestEffort, 4, Flags::empty());
    b.scheduler.process_exited(ProcessId(3), b.now);
    assert_eq!(b.dispatch(), None, "a synchronous request is in flight");
    b.complete(read);
    assert_eq!(b.take(1), [400]);
}

#[test]
fn metadata_preempts_a_slice_of_data() {
    let mut b = bench();
    b.set("quantum", 1.0);
    for i in 0..10 {
        read(&mut b, 1, 8 * i);
        read(&mut b, 3, 1_000_000 + 8 * i);
    }
    assert_eq!(serve(&mut b, 3), [1, 1, 1]);
    submit(&mut b, 2, Op::Read, 50_000_000, BestEffort, 4, Flags::META);
    assert_eq!(serve(&mut b, 1), [2]);
}

#[test]
fn an_expired_request_starts_a_slice() {
    for (waited, first) in [(100, 10), (130, 9_000_000)] {
        let mut b = bench();
        b.set("quantum", 1.0);
        read(&mut b, 1, 9_000_000);
        b.now = ms(waited);
        read(&mut b, 1, 10);
        read(&mut b, 2, 5);
        assert_eq!(b.take(1), [first]);
    }
}

#[test]
fn merges_only_within_a_queue() {
    let mut b = bench();
    b.submit_sectors(Op::Read, 100, 8);
    let mut rq = b.request(Op::Read, 108, 8);
    rq.process = ProcessId(2);
    assert!(!b.put(rq), "another process");
    assert!(b.submit_sectors(Op::Read, 92, 8));
    b.submit_sectors(Op::Write, 500, 8);
    let mut rq = b.request(Op::Write, 508, 8);
    rq.process = ProcessId(2);
    assert!(b.put(rq), "writes are shared");
}

#[test]
fn the_context_of_an_exited_process_is_reused() {
    let mut b = bench();
    for p in 1..50 {
        read(&mut b, p, 1000);
        assert_eq!(serve(&mut b, 1), [p]);
        b.scheduler.process_exited(ProcessId(p), b.now);
    }
    assert_eq!(b.scheduler.queues.len(), SHARED + 1);
}
