use super::*;
use crate::ReplayDispatch;
use crate::bench_queue::Bench;

fn bench() -> Bench<Kyber> {
    Bench::new(Kyber::new(&Environment { cpus: 2, ..Environment::default() }))
}

#[test]
fn domains_take_turns_in_batches_of_sixteen_reads_and_eight_writes() {
    let mut b = bench();
    for i in 0..40 {
        b.write(100_000 + 10 * i);
        b.read(10 * (40 - i));
    }
    let order = b.take(40);
    let kinds: String = order.iter().map(|&lba| if lba < 100_000 { 'r' } else { 'w' }).collect();
    assert_eq!(kinds, format!("{0}{1}{0}", "r".repeat(16), "w".repeat(8)));
    assert_eq!(order[..3], [400, 390, 380], "first in, first out");
}

#[test]
fn each_domain_has_its_own_tokens() {
    let mut b = bench();
    for i in 0..300 {
        b.read(10 * i);
    }
    b.write(1_000_000);
    let mut sent = Vec::new();
    while let Some(id) = b.dispatch() {
        sent.push(id);
    }
    assert_eq!((sent.len(), b.scheduler.queued()), (257, 44), "256 reads and the write");
    b.complete(sent[0]);
    assert_eq!(b.take(99).len(), 44, "a freed token is reused");
}

#[test]
fn software_queues_are_moved_in_the_order_of_the_cpus_once_the_last_batch_is_dispatched() {
    let mut b = bench();
    let submit = |b: &mut Bench<Kyber>, cpu, lba| {
        let mut rq = b.request(Op::Read, lba, 8);
        rq.cpu = cpu;
        b.put(rq)
    };
    for (cpu, lba) in [(1, 100), (0, 900), (1, 500)] {
        assert!(!submit(&mut b, cpu, lba));
    }
    assert_eq!(b.take(1), [900]);
    assert!(!submit(&mut b, 1, 508), "a moved request no longer merges");
    assert!(submit(&mut b, 1, 516));
    submit(&mut b, 0, 4000);
    assert_eq!(b.take(9), [100, 500, 4000, 508]);
}

/// Completes `n` requests of `op`, one by one, each `ms` after it was sent.
fn serve(b: &mut Bench<Kyber>, op: Op, n: u64, ms: u64) {
    for _ in 0..n {
        b.submit_sectors(op, b.now.0 / 1000, 8);
        let id = b.dispatch().expect("a token is free");
        b.now += Nanos::from_millis(ms);
        b.complete(id);
    }
}

#[test]
fn slow_reads_throttle_writes_that_are_within_target_and_good_times_leave_depths_alone() {
    let mut b = bench();
    serve(&mut b, Op::Read, 600, 1);
    serve(&mut b, Op::Write, 600, 1);
    b.now += Nanos::from_millis(200);
    b.dispatch();
    assert_eq!(b.scheduler.depth, MAX_DEPTH);
    // Reads at 5 ms miss their target of 2 ms. Writes at 1 ms are in the first quarter of their target of 10 ms.
    serve(&mut b, Op::Read, 300, 5);
    serve(&mut b, Op::Write, 600, 1);
    serve(&mut b, Op::Read, 300, 5);
    b.now += Nanos::from_millis(200);
    b.dispatch();
    let [reads, writes, ..] = b.scheduler.depth;
    assert_eq!(reads, MAX_DEPTH[0], "the slow domain is not throttled");
    assert!(writes < MAX_DEPTH[1], "writes are: {writes}");
}

#[test]
fn a_throttled_domain_beyond_its_target_gets_tokens_back() {
    let mut b = bench();
    b.scheduler.depth[1] = 4;
    serve(&mut b, Op::Write, 600, 30);
    b.now += Nanos::from_millis(200);
    b.dispatch();
    assert!(b.scheduler.depth[1] > 4);
}

#[test]
fn a_quarter_of_the_tags_is_reserved_for_reads() {
    let b = bench();
    assert_eq!(b.scheduler.depth_limit(&b.request(Op::Read, 0, 8), 256), 256);
    assert_eq!(b.scheduler.depth_limit(&b.request(Op::Write, 0, 8), 256), 192);
}

#[test]
fn it_dispatches_what_another_kyber_chose() {
    let mut b = bench();
    let submit = |b: &mut Bench<Kyber>, cpu, lba| {
        let mut rq = b.request(Op::Read, lba, 8);
        rq.cpu = cpu;
        assert!(!b.put(rq));
    };
    for (cpu, lba) in [(0, 900), (0, 300), (1, 100), (1, 500)] {
        submit(&mut b, cpu, lba);
    }
    assert_eq!(b.take(1), [900]);
    submit(&mut b, 0, 4000);
    // The third is ready, so the ones ahead of it must have arrived after the move. The fifth was moved with it.
    assert!(b.scheduler.dispatch_recorded(&mut b.rqs, RequestId::from_index(2), b.now));
    assert!(b.scheduler.dispatch_recorded(&mut b.rqs, RequestId::from_index(4), b.now));
    assert_eq!(b.take(9), [500, 300], "nothing is lost");
}

#[test]
fn hardware_queues_take_their_own_turns_and_share_the_tokens() {
    let env = Environment { cpus: 2, hardware_queues: 2, ..Environment::default() };
    let mut b = Bench::new(Kyber::new(&env));
    for i in 0..400 {
        let mut rq = b.request(Op::Read, 10 * i, 1);
        rq.cpu = (i % 2) as u16;
        b.put(rq);
    }
    // Without a completion, no token is freed.
    let mut taken = [0, 0];
    for queue in [0, 1] {
        while let Dispatch::Request(id) = b.scheduler.dispatch_queue(&mut b.rqs, queue, b.now) {
            assert_eq!(usize::from(b.rqs[id].cpu), queue);
            taken[queue] += 1;
        }
    }
    assert_eq!(taken, [200, 56], "256 tokens for reads");
}
