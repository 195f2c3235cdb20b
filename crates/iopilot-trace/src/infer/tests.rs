//! The thesis' claims about arrivals, and the property that makes a replay trustworthy.

use super::*;
use iopilot_block::{Flags, Lba, Op, ProcessId, Sectors};
use proptest::prelude::*;
use std::collections::VecDeque;

fn us(n: u64) -> Nanos {
    Nanos::from_micros(n)
}

/// A read of `process` that arrives and completes at these microseconds.
fn read(process: u32, arrival: u64, completion: u64) -> TraceRecord {
    let mut r = TraceRecord::new(us(arrival), Op::Read, Lba(arrival * 8), Sectors(8));
    r.process = Some(ProcessId(process));
    r.completion = Some(us(completion));
    r
}

fn write(process: u32, arrival: u64, completion: u64) -> TraceRecord {
    TraceRecord { op: Op::Write, ..read(process, arrival, completion) }
}

fn read_ahead(process: u32, arrival: u64, completion: u64) -> TraceRecord {
    TraceRecord { flags: Flags::READ_AHEAD, ..read(process, arrival, completion) }
}

fn born(mut r: TraceRecord, parent: u32, start: u64) -> TraceRecord {
    r.parent = Some(ProcessId(parent));
    r.process_start = Some(us(start));
    r
}

fn inferred(records: &[TraceRecord]) -> Dependencies {
    infer(records, &InferOptions::default()).unwrap()
}

fn extra(deps: &Dependencies, request: u32) -> Vec<u32> {
    deps.cross_process(request).collect()
}

/// Replays with a service time per request (all in parallel): (request, arrival) in order of arrival.
fn replay(deps: &Dependencies, service: impl Fn(u32) -> Nanos) -> Vec<(u32, Nanos)> {
    let mut simulator = ArrivalSimulator::new(deps);
    let mut in_flight: Vec<(Nanos, u32)> = Vec::new();
    let mut arrivals = Vec::new();
    while !simulator.is_done() {
        let completion = in_flight.iter().min().copied();
        // A completion at the time of an arrival is seen first, as it was when the trace was read.
        match (completion, simulator.next_event()) {
            (Some((at, request)), next) if next.is_none_or(|n| at <= n) => {
                in_flight.retain(|&c| c != (at, request));
                simulator.completed(request, at);
            }
            (_, Some(now)) => {
                let request = simulator.pop(now).unwrap();
                arrivals.push((request, now));
                in_flight.push((now + service(request), request));
            }
            _ => panic!("the replay is stuck"),
        }
    }
    arrivals
}

fn arrival_of(arrivals: &[(u32, Nanos)], request: u32) -> Nanos {
    arrivals.iter().find(|a| a.0 == request).unwrap().1
}

#[test]
fn a_synchronous_process_waits_for_its_read_and_thinks_as_long_as_before() {
    let deps = inferred(&[read(1, 10, 110), read(1, 130, 230)]);
    assert_eq!((deps.outstanding_limit(1), deps.think(1)), (0, us(20)));
    let arrivals = replay(&deps, |_| us(5_000));
    assert_eq!(arrivals, [(0, us(10)), (1, us(5_030))]);
}

#[test]
fn read_ahead_neither_blocks_nor_is_waited_for() {
    // A synchronous read, read-ahead behind it, and the next synchronous read while the read-ahead is outstanding.
    let deps = inferred(&[read(1, 0, 100), read_ahead(1, 1, 900), read(1, 150, 950)]);
    assert_eq!([deps.outstanding_limit(0), deps.outstanding_limit(1), deps.outstanding_limit(2)], [0, 1, 0]);
    let arrivals = replay(&deps, |i| if i == 1 { us(90_000) } else { us(100) });
    assert_eq!(arrivals, [(0, us(0)), (1, us(1)), (2, us(150))]);
}

#[test]
fn what_the_page_cache_marks_as_read_ahead_is_waited_for() {
    // `cat` on Linux 6: nothing but read-ahead, each after the one before it has completed.
    let records = [read_ahead(1, 0, 100), read_ahead(1, 120, 300), read_ahead(1, 310, 400)];
    assert_eq!(replay(&inferred(&records), |_| us(1_000)), [(0, us(0)), (1, us(1_020)), (2, us(2_030))]);
    let options = InferOptions { read_ahead: ReadAhead::Ignored, ..InferOptions::default() };
    let deps = infer(&records, &options).unwrap();
    assert_eq!(replay(&deps, |_| us(1_000)), [(0, us(0)), (1, us(120)), (2, us(310))]);
}

#[test]
fn background_writes_keep_their_gaps_whatever_the_disk_does() {
    let deps = inferred(&[write(1, 0, 5_000), write(1, 10, 6_000), write(1, 40, 7_000)]);
    let arrivals = replay(&deps, |_| us(1_000_000));
    assert_eq!(arrivals, [(0, us(0)), (1, us(10)), (2, us(40))]);
}

#[test]
fn synchronous_writes_are_waited_for() {
    let sync = |r| TraceRecord { flags: Flags::SYNC, ..r };
    let deps = inferred(&[sync(write(1, 0, 100)), sync(write(1, 101, 200))]);
    assert_eq!(replay(&deps, |_| us(300)), [(0, us(0)), (1, us(301))]);
}

#[test]
fn requests_in_flight_stay_in_flight() {
    // Two in flight; each completion brings the next.
    let deps = inferred(&[read(1, 0, 100), read(1, 0, 150), read(1, 110, 300), read(1, 155, 310), read(1, 305, 400)]);
    assert_eq!((0..5).map(|i| deps.outstanding_limit(i)).collect::<Vec<_>>(), [0, 1, 1, 1, 1]);
    let arrivals = replay(&deps, |i| us(if i == 0 { 10_000 } else { 50 }));
    assert_eq!(arrival_of(&arrivals, 2), us(50 + 10), "the first slot to become free is used, whichever it was");
}

#[test]
fn in_flight_can_be_set_where_submission_slept() {
    let records = [read(1, 0, 100), read(1, 0, 150), read(1, 110, 300), read(1, 155, 310), read(2, 200, 210)];
    let options = InferOptions { in_flight: Some(4), ..InferOptions::default() };
    let deps = infer(&records, &options).unwrap();
    assert_eq!(deps.outstanding_limit(2), 3);
    assert_eq!(deps.outstanding_limit(4), 0, "a synchronous process stays one");
    let arrivals = replay(&deps, |_| us(10_000));
    assert_eq!(arrival_of(&arrivals, 3), us(10 + 5), "four are outstanding before anything completes");
}

#[test]
fn one_large_synchronous_read_in_pieces_is_synchronous() {
    let records = [read(1, 0, 100), read(1, 1, 101), read(1, 2, 102), read(1, 120, 200), read(1, 121, 201)];
    let options = InferOptions { in_flight: Some(32), ..InferOptions::default() };
    assert_eq!(infer(&records, &options).unwrap().outstanding_limit(3), 0);
}

#[test]
fn parent_and_child_wait_for_each_other() {
    // GF 3.2.3: the parent reads, creates a child and waits for it, and reads again.
    let deps = inferred(&[read(10, 0, 100), born(read(11, 150, 250), 10, 120), read(10, 300, 400)]);
    assert_eq!(extra(&deps, 1), [0]);
    assert_eq!(extra(&deps, 2), [1]);
    let arrivals = replay(&deps, |_| us(1_000));
    assert_eq!(arrivals, [(0, us(0)), (1, us(1_050)), (2, us(2_100))]);
}

#[test]
fn a_parent_that_does_not_wait_depends_on_its_own_reads_only() {
    let deps = inferred(&[
        read(10, 0, 100),
        born(read(11, 150, 250), 10, 120),
        read(10, 160, 260),
        born(read(11, 270, 300), 10, 120),
        read(10, 350, 400),
    ]);
    assert_eq!(extra(&deps, 1), [0]);
    assert!(extra(&deps, 2).is_empty() && extra(&deps, 4).is_empty());
}

#[test]
fn without_a_start_there_is_no_parent_to_wait_for() {
    let mut child = born(read(11, 150, 250), 10, 120);
    child.process_start = None;
    assert_eq!(inferred(&[read(10, 0, 100), child, read(10, 300, 400)]).cross_process_count(), 0);
}

#[test]
fn a_process_whose_start_is_recorded_late_waits_for_no_elder_that_had_not_ended() {
    // The first record of process 12 has no start; the second has one that lies after the first record.
    let deps = inferred(&[born(read(11, 10, 100), 10, 5), read(12, 50, 60), born(read(12, 150, 200), 10, 120)]);
    assert!(extra(&deps, 1).is_empty());
    let mut child = born(read(12, 50, 60), 10, 120);
    child.process_start = None;
    let deps = inferred(&[read(10, 0, 130), child, born(read(12, 150, 200), 10, 120)]);
    assert!(extra(&deps, 1).is_empty());
}

#[test]
fn children_run_one_after_another_stay_so() {
    // xargs: the parent itself does no I/O.
    let deps = inferred(&[
        born(read(11, 100, 200), 10, 90),
        born(read(12, 250, 300), 10, 220),
        born(read(13, 255, 300), 10, 221),
    ]);
    let arrivals = replay(&deps, |_| us(10_000));
    assert_eq!(arrivals, [(0, us(100)), (1, us(10_150)), (2, us(10_155))]);
}

#[test]
fn a_parent_waits_for_all_children_it_waited_for() {
    let deps = inferred(&[born(read(11, 10, 100), 10, 5), born(read(12, 11, 90), 10, 6), {
        let mut parent = read(10, 120, 200);
        parent.process_start = Some(us(0));
        parent
    }]);
    assert_eq!(extra(&deps, 2), [0, 1]);
    let arrivals = replay(&deps, |i| us(if i == 1 { 5_000 } else { 50 }));
    assert_eq!(arrival_of(&arrivals, 2), us(11 + 5_000 + 20));
}

#[test]
fn a_reused_id_is_another_process() {
    let deps = inferred(&[born(read(7, 10, 50), 2, 1), born(read(7, 100, 150), 2, 90)]);
    assert_eq!(deps.processes(), 2);
    assert_eq!(deps.think(1), us(100));
}

#[test]
fn a_refused_process_is_silent_and_thinks_after_admission() {
    let deps = inferred(&[write(1, 0, 500), write(1, 10, 600), write(2, 12, 600)]);
    let mut simulator = ArrivalSimulator::new(&deps);
    assert_eq!(simulator.pop(us(0)), Some(0));
    simulator.blocked(0);
    assert_eq!(simulator.next_event(), Some(us(12)), "the other process goes on");
    assert_eq!(simulator.pop(us(12)), Some(2));
    assert_eq!(simulator.next_event(), None);
    simulator.unblocked(0, us(70));
    assert_eq!(simulator.next_event(), Some(us(80)));
    assert_eq!(simulator.pop(us(80)), Some(1));
}

#[test]
fn the_last_completion_of_a_process_is_its_exit() {
    let deps = inferred(&[write(4, 0, 500), write(4, 10, 600)]);
    let mut simulator = ArrivalSimulator::new(&deps);
    let mut out = Vec::new();
    simulator.advance(us(10), &mut out);
    assert_eq!(out, [0], "its successor's think time starts with its arrival");
    simulator.advance(us(20), &mut out);
    assert_eq!(simulator.completed(1, us(30)), None);
    assert_eq!(simulator.completed(0, us(31)), Some(ProcessId(4)));
    assert!(simulator.is_done());
}

#[test]
fn think_times_scale() {
    let deps = inferred(&[read(1, 0, 100), read(1, 140, 230)]);
    let mut simulator = ArrivalSimulator::with_think_scale(&deps, 0.25);
    assert_eq!(simulator.pop(us(0)), Some(0));
    simulator.completed(0, us(100));
    assert_eq!(simulator.next_event(), Some(us(110)));
}

#[test]
fn an_error_names_what_is_missing_in_a_line() {
    let bare = TraceRecord::new(us(0), Op::Read, Lba(0), Sectors(8));
    let no_completion = TraceRecord { completion: None, ..read(1, 0, 1) };
    let message = |records: &[TraceRecord]| can_infer(records).unwrap_err().to_string();
    assert_eq!(message(&[bare]), "dependencies need process ids: only 0 of 1 requests have one");
    assert_eq!(message(&vec![no_completion; 8]), "dependencies need completion times: only 0 of 8 requests have one");
    assert_eq!(
        message(&[read(1, 5, 6), read(1, 4, 6)]),
        "request 2 arrives before the one ahead of it, expected arrival order"
    );
    assert_eq!(message(&[read(1, 5, 4)]), "request 1 completes before it arrives");
    assert_eq!(can_infer(&[]), Ok(()));
}

#[test]
fn requests_in_flight_when_the_recording_ended_block_no_process() {
    let mut records: Vec<_> = (0..8).map(|i| read(1, i * 100, i * 100 + 50)).collect();
    records[6].completion = None;
    let deps = inferred(&records);
    assert!(!deps.is_blocking(6));
    assert_eq!(replay(&deps, |_| us(50)).len(), 8);
}

/// The eight processes of four synchronous reads each of GF 4.4.1, all equally eager.
fn eight_processes(mut serve: impl FnMut(&mut VecDeque<(u32, u32)>) -> Option<(u32, u32)>) -> Vec<(u32, u32)> {
    // Recorded under FIFO at 100 us a request.
    let records: Vec<_> =
        (0..32).map(|n| read(10 + n % 8, u64::from((n + 1).saturating_sub(8)) * 100, u64::from(n + 1) * 100)).collect();
    let deps = inferred(&records);
    let mut simulator = ArrivalSimulator::new(&deps);
    let (mut queue, mut now, mut served) = (VecDeque::new(), Nanos::ZERO, Vec::new());
    while !simulator.is_done() {
        while let Some(request) = simulator.pop(now) {
            queue.push_back((deps.process_index(request), request));
        }
        let (process, request) = serve(&mut queue).unwrap();
        now += us(100);
        simulator.completed(request, now);
        served.push((process + 1, request / 8 + 1));
    }
    served
}

#[test]
fn arrivals_follow_the_scheduler_of_the_replay_not_of_the_recording() {
    let fifo = eight_processes(|queue| queue.pop_front());
    let round_robin: Vec<_> = (1..=4).flat_map(|j| (1..=8).map(move |i| (i, j))).collect();
    assert_eq!(fifo, round_robin, "GF 4.4.1: R1,1 R2,1 ... R8,1 R1,2 ...");
    let mut last = 0;
    let in_a_row = eight_processes(|queue| {
        let at = queue.iter().position(|&(process, _)| process == last).unwrap_or(0);
        let next = queue.remove(at)?;
        last = next.0;
        Some(next)
    });
    let four_each: Vec<_> = (1..=8).flat_map(|i| (1..=4).map(move |j| (i, j))).collect();
    assert_eq!(in_a_row, four_each, "GF 4.4.1: R1,1 R1,2 R1,3 R1,4 R2,1 ...");
}

prop_compose! {
    /// A recording of several processes against a FIFO server: arbitrary arrivals, operations and service times, ids that
    /// are reused, parents among them.
    fn recordings()(
        steps in prop::collection::vec((0u64..200, 0u64..120, 1u32..6, 0u8..4, 0u32..6, any::<bool>()), 1..150),
    ) -> Vec<TraceRecord> {
        let (mut now, mut free_at) = (0, 0);
        let mut starts = [0u64; 8];
        steps.into_iter().map(|(gap, service, process, kind, parent, reborn)| {
            // Gaps of zero are frequent: ties are where replays go wrong.
            now += gap.saturating_sub(60);
            let done = if kind == 3 { now + service } else { free_at.max(now) + service };
            if kind != 3 {
                free_at = done;
            }
            if reborn && service > 100 {
                starts[process as usize] = now.saturating_sub(service % 7);
            }
            let process = process + 2;
            let mut r = match kind {
                0 => write(process, now, done),
                1 => read_ahead(process, now, done),
                _ => read(process, now, done),
            };
            if parent > 0 {
                r = born(r, parent + 2, starts[process as usize - 2]);
            }
            r
        }).collect()
    }
}

proptest! {
    #[test]
    fn a_replay_that_completes_as_recorded_arrives_as_recorded(
        records in recordings(),
        families: bool,
        read_ahead in prop::sample::select(vec![ReadAhead::Auto, ReadAhead::Ignored, ReadAhead::Awaited]),
    ) {
        let options = InferOptions { families, read_ahead, ..InferOptions::default() };
        let deps = infer(&records, &options).unwrap();
        let replayed = replay(&deps, |i| {
            let r = &records[i as usize];
            r.completion.unwrap() - r.arrival
        });
        prop_assert_eq!(replayed.len(), records.len());
        for (request, arrival) in replayed {
            prop_assert_eq!(arrival, records[request as usize].arrival, "request {}", request);
        }
    }

    #[test]
    fn no_replay_gets_stuck_or_reorders_a_process(records in recordings(), service in prop::collection::vec(0u64..5_000, 1..20)) {
        let deps = inferred(&records);
        let replayed = replay(&deps, |i| us(service[i as usize % service.len()]));
        prop_assert_eq!(replayed.len(), records.len());
        for p in 0..deps.processes() as u32 {
            let mine: Vec<u32> = replayed.iter().map(|a| a.0).filter(|&i| deps.process_index(i) == p).collect();
            prop_assert_eq!(&mine[..], deps.requests_of(p));
        }
    }
}

#[test]
fn sleep_in_a_submission_is_no_think_time() {
    // Two at once: under `none` the second waits until the disk has room, and the process with it; then it thinks for 3 us.
    let record = |arrival, inserted: Option<u64>, issue, completion| TraceRecord {
        inserted: inserted.map(us),
        issue: Some(us(issue)),
        ..read(7, arrival, completion)
    };
    let mut records = vec![
        record(0, Some(140), 141, 210),
        record(1, None, 310, 440), // goes to the disk at once when there is room
        record(313, None, 350, 500),
    ];
    let deps = inferred(&records);
    assert_eq!((deps.outstanding_limit(2), deps.think(2)), (1, us(3)));
    // A trace without insertion times does not show that sleep.
    records[0].inserted = None;
    assert_eq!(inferred(&records).think(2), us(103));
}

/// A process that writes and waits for a journal, ten times; the journal's thread waits for the process.
fn journaled() -> Vec<TraceRecord> {
    (0..10).flat_map(|i| [read(1, 4_000 * i, 4_000 * i + 900), read(2, 4_000 * i + 950, 4_000 * i + 3_940)]).collect()
}

#[test]
fn a_process_that_continues_just_after_a_request_of_another_was_woken_by_it() {
    let deps = inferred(&journaled());
    assert_eq!(deps.cross_process_count(), 18, "all but the first of each process");
    assert_eq!((extra(&deps, 2), extra(&deps, 3)), (vec![1], vec![2]));
    assert_eq!((deps.think(2), deps.think(3)), (us(60), us(50)));
    // With a journal that takes twice as long, the process waits twice as long.
    let arrivals = replay(&deps, |i| us(if i % 2 == 0 { 900 } else { 2 * 2_990 }));
    assert_eq!(arrival_of(&arrivals, 2), us(950 + 5_980 + 60));
    let options = InferOptions { wakeups: false, ..InferOptions::default() };
    assert_eq!(infer(&journaled(), &options).unwrap().cross_process_count(), 0);
}

#[test]
fn a_process_that_thinks_long_beside_a_busy_one_was_not_woken_by_it() {
    let mut records: Vec<TraceRecord> = (0..400).map(|i| read(1, 1_000 * i, 1_000 * i + 800)).collect();
    // Every 7.3 ms, at all distances from the other's completions.
    records.extend((0..50).map(|i| read(2, 50 + 7_310 * i, 50 + 7_310 * i + 600)));
    records.sort_by_key(|r| r.arrival);
    assert_eq!(inferred(&records).cross_process_count(), 0);
}

#[test]
fn a_process_with_requests_in_flight_waits_for_a_tag_and_not_for_another_process() {
    // As `journaled`, but the first process has a request in flight all the time.
    let mut records = journaled();
    records.extend((0..10).map(|i| read(1, 4_000 * i + 10, 4_000 * (i + 1) + 600)));
    records.sort_by_key(|r| r.arrival);
    let deps = inferred(&records);
    let woken = (0..records.len() as u32).filter(|&i| deps.process(i) == ProcessId(1) && !extra(&deps, i).is_empty());
    assert_eq!(woken.count(), 0);
}
