use super::*;
use iopilot_device::{CacheControl, ConstantDevice};
use proptest::prelude::*;

type ModelQueue = super::ModelQueue<ConstantDevice, u32>;

/// One request at a time, each 1000 ns, in a device that takes `depth`.
fn queue(depth: u32) -> ModelQueue {
    ModelQueue::new(ConstantDevice::simple(1 << 20, depth, Nanos(1000), 0.0))
}

fn read(lba: u64) -> DiskRequest {
    DiskRequest { op: Op::Read, lba: Lba(lba), sectors: Sectors(8) }
}

fn dues(queue: &mut ModelQueue) -> Vec<(u32, u64)> {
    queue.ready().drain(..).map(|d| (d.answer, d.due.0)).collect()
}

#[test]
fn an_answer_waits_until_it_is_due() {
    let mut queue = queue(4);
    let id = queue.enter(read(0), Nanos(50));
    assert_eq!(queue.deliver(id, 7), None);
    queue.run(Nanos(1049));
    assert!(queue.ready().is_empty());
    assert_eq!(queue.next_event(), Some(Nanos(1050)));
    queue.run(Nanos(1050));
    assert_eq!(dues(&mut queue), [(7, 1050)]);
    assert_eq!(queue.in_flight(), 0);
}

#[test]
fn an_answer_that_comes_too_late_leaves_at_once() {
    let mut queue = queue(4);
    let id = queue.enter(read(0), Nanos(0));
    queue.run(Nanos(5000));
    assert!(queue.ready().is_empty());
    let late = queue.deliver(id, 7).unwrap();
    assert_eq!((late.answer, late.due), (7, Nanos(1000)));
}

#[test]
fn a_late_caller_delays_nothing_that_is_queued() {
    for depth in [1, 4] {
        let mut queue = queue(depth);
        for n in 0..3 {
            let id = queue.enter(read(n), Nanos(0));
            assert_eq!(queue.deliver(id, n as u32), None);
        }
        queue.run(Nanos(1_000_000));
        assert_eq!(dues(&mut queue), [(0, 1000), (1, 2000), (2, 3000)], "depth {depth}");
    }
}

#[test]
fn an_arrival_sees_what_was_over_before_it() {
    let mut queue = queue(1);
    let first = queue.enter(read(0), Nanos(0));
    queue.deliver(first, 0);
    let second = queue.enter(read(8), Nanos(4000));
    queue.deliver(second, 1);
    assert_eq!(dues(&mut queue), [(0, 1000)]);
    assert_eq!(queue.next_event(), Some(Nanos(5000)));
}

#[test]
fn a_stamp_from_the_past_counts_from_now() {
    let mut queue = queue(1);
    queue.run(Nanos(300));
    let id = queue.enter(read(0), Nanos(200));
    queue.deliver(id, 0);
    assert_eq!(queue.next_event(), Some(Nanos(1300)));
}

#[test]
fn a_retired_model_holds_nothing_back() {
    let mut queue = queue(1);
    let held = queue.enter(read(0), Nanos(0));
    let outside = queue.enter(read(1), Nanos(0));
    let unmoved = queue.enter(read(2), Nanos(0));
    queue.deliver(held, 0);
    queue.deliver(outside, 1);
    queue.retire();
    assert_eq!(queue.next_event(), None);
    assert_eq!(dues(&mut queue).len(), 2);
    assert!(queue.deliver(unmoved, 2).is_some());
    let new = queue.enter(read(3), Nanos(10));
    assert!(queue.deliver(new, 3).is_some());
    assert_eq!(queue.in_flight(), 0);
}

proptest! {
    /// Whenever the caller runs the model and data come, every request is answered once and not before its time, and
    /// the modelled times are those of a caller that is never late.
    #[test]
    fn modelled_times_do_not_depend_on_the_caller(
        depth in 1..5u32,
        arrivals in prop::collection::vec(0..3000u64, 1..40),
        looks in prop::collection::vec(0..4000u64, 0..40),
        moving in prop::collection::vec(0..5000u64, 40),
    ) {
        let mut at = 0;
        let arrivals: Vec<u64> = arrivals.iter().map(|gap| { at += gap; at }).collect();
        let mut free = 0;
        let expected: Vec<u64> = arrivals.iter().map(|&t| { free = free.max(t) + 1000; free }).collect();

        let mut at = 0;
        let looks: Vec<u64> = looks.iter().map(|gap| { at += gap; at }).collect();
        let mut events: Vec<(u64, u8, usize)> = looks.iter().map(|&t| (t, 2, 0)).collect();
        for (n, &t) in arrivals.iter().enumerate() {
            events.push((t, 0, n));
            events.push((t + moving[n], 1, n));
        }
        events.push((u64::MAX, 2, 0));
        events.sort();
        let mut queue = queue(depth);
        let mut ids = vec![None; arrivals.len()];
        let mut got = vec![None; arrivals.len()];
        for (now, kind, n) in events {
            let mut out: Vec<DueAnswer<u32>> = Vec::new();
            match kind {
                0 => ids[n] = Some(queue.enter(read(n as u64), Nanos(now))),
                1 => out.extend(queue.deliver(ids[n].unwrap(), n as u32)),
                _ => queue.run(Nanos(now)),
            }
            out.append(queue.ready());
            for departure in out {
                prop_assert!(departure.due.0 <= now);
                prop_assert!(got[departure.answer as usize].replace(departure.due.0).is_none());
            }
        }
        prop_assert_eq!(got.into_iter().collect::<Option<Vec<_>>>(), Some(expected));
        prop_assert_eq!(queue.in_flight(), 0);
    }
}

#[test]
fn an_idle_device_is_replaced_and_time_goes_on() {
    let mut queue = queue(4);
    let id = queue.enter(read(0), Nanos(50));
    let slow = || ConstantDevice::simple(1 << 20, 4, Nanos(9000), 0.0);
    assert!(!queue.replace(slow()));
    queue.deliver(id, 1);
    queue.run(Nanos(2000));
    assert_eq!(dues(&mut queue), [(1, 1050)]);
    assert!(queue.replace(slow()));
    let id = queue.enter(read(0), Nanos(1900));
    queue.deliver(id, 2);
    queue.run(Nanos(20_000));
    assert_eq!(dues(&mut queue), [(2, 11_000)], "not before what has been");
    queue.retire();
    assert!(!queue.replace(slow()), "nobody would ask it");
}

/// Serves everything in 1000 ns, each by itself.
#[derive(Clone)]
struct Parallel {
    drains: bool,
    under_way: Vec<(Nanos, RequestId)>,
}

impl Device for Parallel {
    fn submit(&mut self, request: DeviceRequest, now: Nanos) {
        self.under_way.push((now + Nanos(1000), request.id));
    }

    fn next_event(&self) -> Option<Nanos> {
        self.under_way.iter().map(|(at, _)| *at).min()
    }

    fn advance(&mut self, now: Nanos, out: &mut Vec<Completion>) {
        self.under_way.sort_unstable_by_key(|(at, id)| (*at, id.index()));
        while let Some(&(at, id)) = self.under_way.first().filter(|(at, _)| *at <= now) {
            self.under_way.remove(0);
            out.push(Completion { id, at, service: Default::default() });
        }
    }

    fn capacity(&self) -> u64 {
        1 << 20
    }

    fn queue_depth(&self) -> u32 {
        32
    }

    fn cache_control(&self) -> CacheControl {
        CacheControl { flush_drains: self.drains, ..CacheControl::default() }
    }
}

#[test]
fn a_flush_is_alone_on_sata_and_beside_others_elsewhere() {
    let flush = DiskRequest { op: Op::Flush, lba: Lba(0), sectors: Sectors(0) };
    for (drains, dues) in [(true, [(0, 1000), (1, 2000), (2, 3000)]), (false, [(0, 1000), (1, 1100), (2, 1200)])] {
        let mut queue = super::ModelQueue::new(Parallel { drains, under_way: Vec::new() });
        for (n, request) in [read(0), flush, read(8)].into_iter().enumerate() {
            let id = queue.enter(request, Nanos(100 * n as u64));
            assert_eq!(queue.deliver(id, n), None);
        }
        queue.run(Nanos(1_000_000));
        let due: Vec<(usize, u64)> = queue.ready().drain(..).map(|d| (d.answer, d.due.0)).collect();
        assert_eq!(due, dues, "{drains}");
        assert_eq!(queue.in_flight(), 0);
    }
}
