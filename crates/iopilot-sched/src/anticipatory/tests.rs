use super::*;
use crate::bench_queue::Bench;
use iopilot_block::{Flags, Op};

fn bench() -> Bench<Anticipatory> {
    Bench::new(Anticipatory::new())
}

fn ms(n: u64) -> Nanos {
    Nanos::from_millis(n)
}

fn submit(b: &mut Bench<Anticipatory>, process: u32, op: Op, lba: u64, flags: Flags) {
    let mut rq = b.request(op, lba, 8);
    rq.process = ProcessId(process);
    rq.flags = flags | Flags::NO_MERGE;
    b.put(rq);
}

fn read(b: &mut Bench<Anticipatory>, process: u32, lba: u64) {
    submit(b, process, Op::Read, lba, Flags::empty());
}

/// Process 1 reads at `lba` alone; the request is served within 1 ms.
fn served(b: &mut Bench<Anticipatory>, lba: u64) {
    read(b, 1, lba);
    let id = b.dispatch().expect("alone");
    b.now += ms(1);
    b.complete(id);
}

fn ask(b: &mut Bench<Anticipatory>) -> Dispatch {
    b.scheduler.dispatch(&mut b.rqs, b.now)
}

#[test]
fn waits_for_the_process_that_just_read() {
    let mut b = bench();
    served(&mut b, 1000);
    read(&mut b, 2, 90_000_000);
    let until = b.now + Nanos::from_millis_f64(6.7);
    assert_eq!(ask(&mut b), Dispatch::WaitUntil(until));
    b.now += ms(2);
    read(&mut b, 1, 1008);
    assert_eq!(b.take(1), [1008]);
    assert_eq!(ask(&mut b), Dispatch::WaitUntil(b.now + Nanos::from_millis_f64(6.7)));
    b.now += ms(7);
    assert_eq!(b.take(1), [90_000_000], "the timer has expired");
}

#[test]
fn a_request_nearby_ends_the_wait() {
    let mut b = bench();
    served(&mut b, 1000);
    read(&mut b, 2, 5_000);
    assert_eq!(b.take(1), [5_000]);
}

#[test]
fn does_not_wait_for_processes_with_long_think_times_nor_after_writes() {
    let mut b = bench();
    for i in 0..4 {
        served(&mut b, 1000 + 8 * i);
        b.now += ms(15);
    }
    read(&mut b, 2, 90_000_000);
    assert_eq!(b.take(1), [90_000_000], "a think time of 15 ms is too long");
    let mut b = bench();
    submit(&mut b, 1, Op::Write, 1000, Flags::empty());
    assert_eq!(b.take(1), [1000]);
    read(&mut b, 2, 90_000_000);
    assert_eq!(b.take(1), [90_000_000]);
}

#[test]
fn antic_expire_zero_never_waits() {
    let mut b = bench();
    b.set("antic_expire", 0.0);
    served(&mut b, 1000);
    read(&mut b, 2, 90_000_000);
    assert_eq!(b.take(1), [90_000_000]);
}

#[test]
fn learns_that_processes_exit() {
    let mut b = bench();
    let mut waits = 0;
    for i in 0..40 {
        let process = 10 + i;
        read(&mut b, process, u64::from(i) * 10_000_000);
        submit(&mut b, 5_000, Op::Write, 3_000_000_000 + u64::from(i) * 1_000_000, Flags::empty());
        while let Some(id) = b.dispatch() {
            let of = b.rqs[id].process;
            b.complete(id);
            if of.0 == process {
                b.scheduler.process_exited(of, b.now);
            }
        }
        while let Dispatch::WaitUntil(until) = ask(&mut b) {
            waits += 1;
            b.now = until;
            b.take(9);
        }
        assert_eq!(b.scheduler.queued(), 0);
    }
    assert!((1..20).contains(&waits), "{waits} waits for 40 processes that exited");
}

#[test]
fn small_steps_back_cost_double_and_far_ones_wait_for_the_next_sweep() {
    let mut b = bench();
    b.set("antic_expire", 0.0);
    read(&mut b, 1, 10_000_000);
    assert_eq!(b.take(1), [10_000_000]);
    for lba in [10_000_308, 9_999_908, 100, 9_999_808] {
        read(&mut b, 1, lba);
    }
    // 100 back costs 200, 200 back 400, 300 ahead 300.
    assert_eq!(b.take(4), [9_999_908, 9_999_808, 10_000_308, 100]);
}

#[test]
fn batches_of_reads_and_writes_alternate_by_time_and_writes_are_counted() {
    let mut b = bench();
    b.set("antic_expire", 0.0);
    b.set("read_expire", 1e6);
    b.set("write_expire", 1e6);
    for i in 0..400 {
        read(&mut b, 1, 1_000_000 + 8 * i);
        submit(&mut b, 2, Op::Write, 8 * i, Flags::empty());
    }
    let mut runs: Vec<(bool, usize)> = Vec::new();
    for _ in 0..300 {
        let id = b.dispatch().expect("much is queued");
        b.now += ms(5);
        let write = b.rqs[id].is_write();
        match runs.last_mut() {
            Some((w, n)) if *w == write => *n += 1,
            _ => runs.push((write, 1)),
        }
        b.complete(id);
    }
    // From the first completion, 500 ms at 5 ms are 100 reads. Write batches start with 12 and approach 125 ms, which
    // is 25.
    let reads: Vec<usize> = runs.iter().filter(|r| !r.0).map(|r| r.1).collect();
    let writes: Vec<usize> = runs.iter().filter(|r| r.0).map(|r| r.1).collect();
    assert!(reads[..2].iter().all(|n| (100..104).contains(n)), "{runs:?}");
    assert!(writes.len() >= 2 && writes[1] >= writes[0], "{runs:?}");
}

#[test]
fn a_batch_starts_at_the_oldest_and_in_2_6_23_where_the_last_one_ended() {
    for (old, expected) in [(0.0, 900_000), (1.0, 100)] {
        let mut b = bench();
        b.set("linux_2_6_23", old);
        b.set("antic_expire", 0.0);
        read(&mut b, 1, 500_000_000);
        assert_eq!(b.take(1), [500_000_000]);
        submit(&mut b, 1, Op::Write, 900_000, Flags::empty());
        submit(&mut b, 1, Op::Write, 100, Flags::empty());
        assert_eq!(b.take(1), [expected]);
    }
}

#[test]
fn writes_do_not_starve_on_a_queueing_disk() {
    for (old, starve) in [(0.0, false), (1.0, true)] {
        let mut b = bench();
        b.set("linux_2_6_23", old);
        b.set("antic_expire", 0.0);
        for i in 0..20 {
            read(&mut b, 1, 8 * i);
        }
        for i in 0..10 {
            submit(&mut b, 2, Op::Write, 1_000_000 + 8 * i, Flags::empty());
        }
        let mut in_flight = VecDeque::new();
        let mut writes = 0;
        for i in 20..600 {
            read(&mut b, 1, 8 * i);
            while in_flight.len() < 4 {
                let Some(id) = b.dispatch() else { break };
                writes += usize::from(b.rqs[id].is_write());
                in_flight.push_back(id);
            }
            b.now += ms(3);
            if let Some(id) = in_flight.pop_front() {
                b.complete(id);
            }
        }
        assert_eq!(writes < 10, starve, "{writes} writes in 1.8 s");
    }
}
