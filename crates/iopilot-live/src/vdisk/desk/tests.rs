use super::*;
use iopilot_device::ConstantDevice;
use proptest::prelude::*;

type Desk = super::Desk<ConstantDevice, u32>;

/// One request at a time, each 1000 ns, in a device that takes `depth`.
fn desk(depth: u32) -> Desk {
    Desk::new(ConstantDevice::simple(1 << 20, depth, Nanos(1000), 0.0))
}

fn read(lba: u64) -> Order {
    Order { op: Op::Read, lba: Lba(lba), sectors: Sectors(8) }
}

fn dues(desk: &mut Desk) -> Vec<(u32, u64)> {
    desk.ready().drain(..).map(|d| (d.answer, d.due.0)).collect()
}

#[test]
fn an_answer_waits_until_it_is_due() {
    let mut desk = desk(4);
    let id = desk.enter(read(0), Nanos(50));
    assert_eq!(desk.deliver(id, 7), None);
    desk.run(Nanos(1049));
    assert!(desk.ready().is_empty());
    assert_eq!(desk.next_event(), Some(Nanos(1050)));
    desk.run(Nanos(1050));
    assert_eq!(dues(&mut desk), [(7, 1050)]);
    assert_eq!(desk.in_flight(), 0);
}

#[test]
fn an_answer_that_comes_too_late_leaves_at_once() {
    let mut desk = desk(4);
    let id = desk.enter(read(0), Nanos(0));
    desk.run(Nanos(5000));
    assert!(desk.ready().is_empty());
    let late = desk.deliver(id, 7).unwrap();
    assert_eq!((late.answer, late.due), (7, Nanos(1000)));
}

#[test]
fn a_late_caller_delays_nothing_that_is_queued() {
    for depth in [1, 4] {
        let mut desk = desk(depth);
        for n in 0..3 {
            let id = desk.enter(read(n), Nanos(0));
            assert_eq!(desk.deliver(id, n as u32), None);
        }
        desk.run(Nanos(1_000_000));
        assert_eq!(dues(&mut desk), [(0, 1000), (1, 2000), (2, 3000)], "depth {depth}");
    }
}

#[test]
fn an_arrival_sees_what_was_over_before_it() {
    let mut desk = desk(1);
    let first = desk.enter(read(0), Nanos(0));
    desk.deliver(first, 0);
    let second = desk.enter(read(8), Nanos(4000));
    desk.deliver(second, 1);
    assert_eq!(dues(&mut desk), [(0, 1000)]);
    assert_eq!(desk.next_event(), Some(Nanos(5000)));
}

#[test]
fn a_stamp_from_the_past_counts_from_now() {
    let mut desk = desk(1);
    desk.run(Nanos(300));
    let id = desk.enter(read(0), Nanos(200));
    desk.deliver(id, 0);
    assert_eq!(desk.next_event(), Some(Nanos(1300)));
}

#[test]
fn a_retired_model_holds_nothing_back() {
    let mut desk = desk(1);
    let held = desk.enter(read(0), Nanos(0));
    let outside = desk.enter(read(1), Nanos(0));
    let unmoved = desk.enter(read(2), Nanos(0));
    desk.deliver(held, 0);
    desk.deliver(outside, 1);
    desk.retire();
    assert_eq!(desk.next_event(), None);
    assert_eq!(dues(&mut desk).len(), 2);
    assert!(desk.deliver(unmoved, 2).is_some());
    let new = desk.enter(read(3), Nanos(10));
    assert!(desk.deliver(new, 3).is_some());
    assert_eq!(desk.in_flight(), 0);
}

proptest! {
    /// Whenever the caller looks and whenever data come: every request is answered once, none before its time, and the
    /// modelled times are those of a caller that is never late.
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
        let mut desk = desk(depth);
        let mut ids = vec![None; arrivals.len()];
        let mut got = vec![None; arrivals.len()];
        for (now, kind, n) in events {
            let mut out: Vec<Departure<u32>> = Vec::new();
            match kind {
                0 => ids[n] = Some(desk.enter(read(n as u64), Nanos(now))),
                1 => out.extend(desk.deliver(ids[n].unwrap(), n as u32)),
                _ => desk.run(Nanos(now)),
            }
            out.append(desk.ready());
            for departure in out {
                prop_assert!(departure.due.0 <= now);
                prop_assert!(got[departure.answer as usize].replace(departure.due.0).is_none());
            }
        }
        prop_assert_eq!(got.into_iter().collect::<Option<Vec<_>>>(), Some(expected));
        prop_assert_eq!(desk.in_flight(), 0);
    }
}

#[test]
fn an_idle_device_is_replaced_and_time_goes_on() {
    let mut desk = desk(4);
    let id = desk.enter(read(0), Nanos(50));
    let slow = || ConstantDevice::simple(1 << 20, 4, Nanos(9000), 0.0);
    assert!(!desk.replace(slow()));
    desk.deliver(id, 1);
    desk.run(Nanos(2000));
    assert_eq!(dues(&mut desk), [(1, 1050)]);
    assert!(desk.replace(slow()));
    let id = desk.enter(read(0), Nanos(1900));
    desk.deliver(id, 2);
    desk.run(Nanos(20_000));
    assert_eq!(dues(&mut desk), [(2, 11_000)], "not before what has been");
    desk.retire();
    assert!(!desk.replace(slow()), "nobody would ask it");
}
