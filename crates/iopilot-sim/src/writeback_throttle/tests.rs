//! The limits, and how they follow what reads take.

use super::*;
use iopilot_block::{Lba, ProcessId, Requests, Sectors};

fn ms(ms: u64) -> Nanos {
    Nanos::from_millis(ms)
}

struct Bench {
    throttle: WritebackThrottle,
    rqs: Requests,
}

impl Bench {
    fn new() -> Self {
        Self { throttle: WritebackThrottle::new(Nanos::from_micros(2000), 32), rqs: Requests::new() }
    }

    fn submit(&mut self, op: Op, now: Nanos) -> (RequestId, bool) {
        let id = self.rqs.insert(Request::new(op, Lba(0), Sectors(8), ProcessId(1)));
        (id, self.throttle.admit(id, &self.rqs[id], now))
    }

    fn complete(&mut self, id: RequestId, issued: Nanos, now: Nanos) -> usize {
        self.rqs[id].issued = issued;
        self.throttle.served(id, &self.rqs[id], now);
        let mut woken = Vec::new();
        self.throttle.released(id, &mut woken);
        woken.len()
    }

    fn end_window(&mut self) -> Nanos {
        let end = self.throttle.next_timer().unwrap();
        self.throttle.timer(end, &mut Vec::new());
        end
    }
}

#[test]
fn sixteen_places_are_for_write_back_and_four_for_discards() {
    for (op, places) in [(Op::Write, 16), (Op::Discard, 4)] {
        let mut b = Bench::new();
        assert_eq!((0..20).filter(|_| b.submit(op, ms(500)).1).count(), places, "{op}");
    }
}

#[test]
fn sleepers_are_woken_when_half_of_the_places_are_free() {
    let mut b = Bench::new();
    let ids: Vec<_> = (0..24).map(|_| b.submit(Op::Write, ms(500)).0).collect();
    let woken: Vec<usize> = ids[..12].iter().map(|&id| b.complete(id, ms(500), ms(501))).collect();
    // Below eight, and two places less.
    assert_eq!(woken.iter().position(|&n| n > 0), Some(9), "{woken:?}");
    assert_eq!(woken[9], 8, "all of them");
}

#[test]
fn synchronous_writes_need_no_place() {
    let mut b = Bench::new();
    for _ in 0..40 {
        let mut rq = Request::new(Op::Write, Lba(0), Sectors(8), ProcessId(1));
        rq.flags = Flags::SYNC;
        let id = b.rqs.insert(rq);
        assert!(b.throttle.admit(id, &b.rqs[id], ms(1)));
    }
}

#[test]
fn slow_reads_halve_the_places_and_fast_ones_double_them() {
    let mut b = Bench::new();
    let window = |b: &mut Bench, start: Nanos, read: Nanos| {
        let writes: Vec<_> = (0..3).map(|_| b.submit(Op::Write, start).0).collect();
        let reader = b.submit(Op::Read, start).0;
        for id in writes {
            b.complete(id, start, start + Nanos::from_millis(1));
        }
        b.complete(reader, start, start + read);
        let end = b.end_window();
        (b.throttle.most, end)
    };
    let (most, end) = window(&mut b, ms(0), ms(5));
    assert_eq!(most, 8, "1 + 15 / 2");
    let (most, end) = window(&mut b, end, ms(5));
    assert_eq!(most, 4);
    let (most, _) = window(&mut b, end, Nanos::from_micros(500));
    assert_eq!(most, 8);
}

#[test]
fn with_writes_alone_there_are_places_up_to_three_quarters_of_the_queue() {
    let mut b = Bench::new();
    let mut now = ms(0);
    for _ in 0..4 {
        let id = b.submit(Op::Write, now).0;
        b.complete(id, now, now + ms(1));
        now = b.end_window();
    }
    assert_eq!(b.throttle.most, 24);
}

#[test]
fn a_target_of_0_turns_it_off() {
    let mut throttle = WritebackThrottle::new(Nanos::ZERO, 32);
    let rq = Request::new(Op::Write, Lba(0), Sectors(8), ProcessId(1));
    assert!((0..100).all(|n| throttle.admit(RequestId::from_index(n), &rq, ms(1))));
    assert_eq!(throttle.next_timer(), None);
}
