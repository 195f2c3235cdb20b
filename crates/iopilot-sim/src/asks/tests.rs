use super::*;
use crate::hand_over::AskedAfter;
use crate::{BlockConfig, Progress, RunConfig, Turnarounds, run};
use iopilot_block::{IoPriority, Lba, Op, PriorityClass, Sectors};
use iopilot_device::ConstantDevice;
use iopilot_sched::SchedulerSpec;
use iopilot_trace::TraceRecord;
use iopilot_workload::replay::{Open, ReplayRecord};

fn us(us: u64) -> Nanos {
    Nanos::from_micros(us)
}

/// A read of the task `process`, which is handed to the scheduler at `at_us`.
fn read(process: u32, at_us: u64) -> TraceRecord {
    TraceRecord {
        process: Some(ProcessId(process)),
        ..TraceRecord::new(us(at_us), Op::Read, Lba(1000 * u64::from(process)), Sectors(8))
    }
}

/// When each of `reads` reaches a device that takes `depth` of them and 10 ms for each, under mq-deadline.
fn issues(reads: &[TraceRecord], depth: u32, hand_overs: Option<&[HandOver]>) -> Vec<Nanos> {
    let [plugged, not] = [true, false].map(|plug| issues_through(plug, reads, depth, hand_overs));
    assert_eq!(plugged, not, "a batch of one is the same with and without a plug");
    plugged
}

fn issues_through(plug: bool, reads: &[TraceRecord], depth: u32, hand_overs: Option<&[HandOver]>) -> Vec<Nanos> {
    issues_of("mq-deadline", plug, reads, depth, hand_overs)
}

fn issues_of(
    scheduler: &str,
    plug: bool,
    reads: &[TraceRecord],
    depth: u32,
    hand_overs: Option<&[HandOver]>,
) -> Vec<Nanos> {
    let records: Vec<ReplayRecord> = reads.iter().map(ReplayRecord::from).collect();
    let config = RunConfig {
        block: BlockConfig {
            queue_depth: Some(depth),
            host_tags: Some(depth),
            nr_requests: (scheduler != "none").then_some(64),
            plug: Some(plug),
            ..BlockConfig::default()
        },
        log: true,
        hand_overs: hand_overs.map(|of| HandOvers::new(of.into(), Nanos(1000))),
        ..RunConfig::default()
    };
    let device = ConstantDevice::simple(1 << 30, depth, Nanos::from_millis(10), 0.0);
    let spec = SchedulerSpec::parse(scheduler).unwrap();
    let report = run(Open::new(records), device, &spec, &config, &Progress::default()).unwrap();
    report.log.unwrap().into_iter().map(|r| r.issue.unwrap()).collect()
}

/// After an insertion, a completion and another hand-over.
fn takes(inserted_us: u64, completed_us: u64, issued_us: u64) -> HandOver {
    let [inserted, completed, issued] = [inserted_us, completed_us, issued_us].map(|after_us| Some(us(after_us)));
    HandOver { inserted, completed, issued, ..HandOver::default() }
}

#[test]
fn requests_reach_the_device_when_they_did() {
    let reads = [read(1, 0), read(2, 1000)];
    let told = [takes(30, 70, 5), takes(4, 5, 5)];
    // The second waits for the first, which takes 10 ms.
    assert_eq!(issues(&reads, 1, Some(&told)), [us(30), us(10_100)]);
    let unknown: [HandOver; 2] = Default::default();
    assert_eq!(issues(&reads, 1, Some(&unknown)), [us(10), us(10_030)], "as the host does");
    assert_eq!(issues(&reads, 1, None), [us(10), us(10_030)]);
}

#[test]
fn what_comes_before_the_choice_takes_part_in_it() {
    let urgent = TraceRecord { priority: IoPriority { class: PriorityClass::RealTime, level: 4 }, ..read(2, 5) };
    let reads = [read(1, 0), urgent];
    let told = |first_us| [takes(first_us, 20, 20), takes(50, 20, 20)];
    let first = |issues: Vec<Nanos>| usize::from(issues[1] < issues[0]);
    assert_eq!(first(issues(&reads, 1, Some(&told(5)))), 0, "the choice was made 4 us after the first came");
    assert_eq!(first(issues(&reads, 1, Some(&told(9)))), 1, "and here 8 us after");
}

#[test]
fn there_is_no_room_until_the_scheduler_hears_of_it() {
    let reads = [read(1, 0), read(2, 1000), read(3, 10_030)];
    // The first is complete at 10,010 us.
    let issued = |heard_us| {
        let first = HandOver { heard: us(heard_us), ..takes(10, 70, 5) };
        issues(&reads, 1, Some(&[first, takes(4, 5, 5), takes(4, 5, 5)]))
    };
    assert_eq!(issued(19)[1], us(10_034), "whoever asks for the third gets the second");
    assert_eq!(issued(25)[1], us(10_080), "he finds no room");
    assert_eq!(issued(90)[1], us(10_101), "nobody asks before that is free");
}

#[test]
fn as_many_are_chosen_at_once_as_there_is_room_for() {
    let urgent = TraceRecord { priority: IoPriority { class: PriorityClass::RealTime, level: 4 }, ..read(4, 35) };
    let reads = [read(1, 0), read(2, 1), read(3, 2), urgent];
    let told = [(); 4].map(|()| takes(20, 20, 12));
    // Three are chosen at 19 us and reach the device one after the other; the fourth comes meanwhile, and goes last, 20 us after it came.
    assert_eq!(issues(&reads, 4, Some(&told)), [us(20), us(32), us(44), us(55)]);
}

/// As [`takes`] 20 us each, and seen to be asked after the insertion, or not.
fn seen(inserted: Option<(u64, Option<u64>)>) -> HandOver {
    let ask = |(after, choice): (u64, Option<u64>)| Ask { after: us(after), choice: choice.map(us), ..Ask::default() };
    let asked = AskedAfter { inserted: inserted.map(ask), ..AskedAfter::default() };
    HandOver { asked: Some(asked), ..takes(20, 20, 20) }
}

#[test]
fn a_scheduler_is_asked_when_that_was_seen() {
    let reads = [read(1, 0), read(2, 5)];
    let issued = |first| issues(&reads, 2, Some(&[seen(first), seen(Some((4, Some(3))))]));
    assert_eq!(issued(Some((3, Some(7)))), [us(10), us(30)], "what another chose meanwhile follows");
    assert_eq!(issued(Some((6, Some(20)))), [us(26), us(12)], "who asks at 9 us gets the other, and is faster");
    assert_eq!(issued(None)[0], us(12), "whoever asks for the other gets it");
}

#[test]
fn what_comes_before_more_is_asked_for_takes_part_in_it() {
    let urgent = TraceRecord { priority: IoPriority { class: PriorityClass::RealTime, level: 4 }, ..read(3, 12) };
    let reads = [read(1, 0), read(2, 5), urgent];
    let issued = |again_us: u64| {
        let mut first = seen(Some((6, Some(20))));
        let ask = first.asked.as_mut().and_then(|asked| asked.inserted.as_mut());
        ask.into_iter().for_each(|ask| ask.again = vec![us(again_us), us(again_us + 3)]);
        issues(&reads, 4, Some(&[first, seen(None), seen(None)]))
    };
    assert_eq!(issued(10)[2], us(46), "more was asked for 16 us after the first came");
    assert_eq!(issued(5)[1..], [us(46), us(66)], "and here 11 us after");
}

#[test]
fn who_asks_for_more_waits_for_who_is_at_it() {
    let reads = [read(1, 0), read(2, 4), read(3, 5)];
    let issued = |locked_us: u64| {
        let mut first = seen(Some((6, Some(20))));
        let mut second = seen(Some((8, Some(3))));
        for (told, again, locked) in [(&mut first, vec![us(4), us(9)], 0), (&mut second, vec![us(9)], locked_us)] {
            let ask = told.asked.as_mut().and_then(|asked| asked.inserted.as_mut());
            ask.into_iter().for_each(|ask| (ask.again, ask.locked) = (again.clone(), us(locked)));
        }
        issues(&reads, 4, Some(&[first, second, seen(None)]))
    };
    assert_eq!(issued(1), [us(26), us(46), us(15)], "one who wants more at 10 us gets it");
    assert_eq!(issued(3), [us(26), us(15), us(46)], "not where another has locked the scheduler from 9 us on");
}

/// What usually happens.
fn usual(turnaround: Turnaround, goes_on: &[bool]) -> Asks {
    let situation = Situation { rest: us(500), before: us(500), complete: 999, left: Left::Waiting, queued: false };
    let turnarounds = Turnarounds::new(&[us(500)], [(situation, turnaround)]);
    Asks::new(HandOvers::usual(turnarounds.unwrap(), goes_on.into(), us(1)), 1)
}

#[test]
fn the_clock_of_who_asks_usually_stands_from_when_he_began_to_submit() {
    let mut asks = usual(Turnaround { stood: us(3), ..Turnaround::default() }, &[]);
    let task = ProcessId(1);
    assert_eq!(asks.stood(7, task), us(3));
    asks.inserted(7, task, us(100), us(10));
    assert_eq!(asks.next(), Some(us(109)));
    asks.asked(us(109));
    assert_eq!(asks.begin_to_ask(us(109)), us(12));
    assert!(asks.asks_again(us(109)));
    assert_eq!(asks.next(), Some(us(109) + AGAIN));
    asks.asked(us(120));
    assert_eq!(asks.begin_to_ask(us(120)), us(23));
    // A thread of the kernel has no such clock.
    asks.completed(7, task, false, us(200), us(10));
    asks.asked(us(209));
    assert_eq!(asks.begin_to_ask(us(209)), Nanos::ZERO);
}

#[test]
fn who_would_ask_while_another_does_waits() {
    let mut asks = usual(Turnaround::default(), &[]);
    for now in [100, 101] {
        asks.inserted(7, ProcessId(1), us(now), us(10));
    }
    asks.asked(us(109));
    asks.begin_to_ask(us(109));
    assert_eq!(asks.next(), Some(us(109) + LOCKED));
}

#[test]
fn what_happens_when_a_request_is_complete_is_what_was_seen_to() {
    let seen = Turnaround {
        resumed: us(40),
        heard: us(7),
        restarted: Some(us(20)),
        asked: Some(us(9)),
        inserted: Some(us(8)),
        ..Turnaround::default()
    };
    let mut asks = usual(seen, &[false, true]);
    let task = ProcessId(1);
    assert_eq!(asks.complete(0, task, (Left::Waiting, false), us(1000)), [us(7), Nanos::ZERO], "its task thinks");
    assert_eq!(asks.complete(1, task, (Left::Waiting, true), us(2000)), [us(7), us(40)]);
    // What waits is there 20 us after the completion, and 9 us later more is asked for.
    asks.completed(1, task, true, us(2007), us(50));
    assert_eq!(asks.next(), Some(us(2019)));
    asks.asked(us(2019));
    asks.begin_to_ask(us(2019));
    asks.chosen(RequestId::from_index(0), us(2019));
    let (_, by) = asks.take_issue(us(2020)).unwrap();
    asks.issued((5, ProcessId(2)), by, us(2020), us(50));
    assert_eq!(asks.next(), Some(us(2029)));
    asks.asked(us(2029));
    // Where nothing waits, the scheduler is asked as soon as usual.
    asks.completed(1, task, false, us(3007), us(50));
    assert_eq!(asks.next(), Some(us(3056)));
    asks.asked(us(3056));
    asks.inserted(2, task, us(4000), us(50));
    assert_eq!(asks.next(), Some(us(4007)));
}

#[test]
fn where_nothing_waits_the_kernel_asks_when_the_task_has_gone_on() {
    let turnaround = |run| Turnaround { heard: us(2), run, inserted: Some(us(8)), ..Turnaround::default() };
    let task = ProcessId(1);
    let mut asks = usual(turnaround(Some(us(30))), &[true]);
    asks.complete(0, task, (Left::Nothing, false), us(1000));
    assert!(asks.asks_after_completion(0, task) && !asks.is_quiet_after(0, task));
    asks.completed(0, task, false, us(1002), us(50));
    assert_eq!(asks.next(), Some(us(1030)));
    let mut asks = usual(turnaround(None), &[true, false]);
    asks.complete(0, task, (Left::Nothing, false), us(1000));
    assert!(!asks.asks_after_completion(0, task) && asks.is_quiet_after(0, task));
    assert!(!asks.is_quiet_after(1, task), "its task thinks");
}

#[test]
fn a_task_chooses_when_it_was_seen_to_and_seldom_asks_on() {
    let turnaround = |more| Turnaround { inserted: Some(us(20)), choice: Some(us(6)), more, ..Turnaround::default() };
    let task = ProcessId(1);
    let asked_on = |more| {
        let mut asks = usual(turnaround(more), &[]);
        asks.stood(7, task);
        asks.inserted(7, task, us(100), us(10));
        assert_eq!(asks.next(), Some(us(114)));
        asks.asked(us(114));
        asks.begin_to_ask(us(114));
        asks.chosen(RequestId::from_index(0), us(114));
        let (_, by) = asks.take_issue(us(120)).unwrap();
        asks.issued((9, ProcessId(2)), by, us(120), us(50));
        asks.next()
    };
    assert_eq!(asked_on(None), None);
    assert_eq!(asked_on(Some(us(13))), Some(us(133)));
}

#[test]
fn a_task_that_looked_before_anything_waited_asks_all_the_same() {
    let task = ProcessId(1);
    let beside = |inserted: u64| {
        let mut asks = usual(Turnaround::default(), &[]);
        asks.stood(7, task);
        asks.leaves_over(us(100));
        asks.inserted(7, task, us(inserted), us(20));
        asks.asked(us(inserted + 19));
        asks.begin_to_ask(us(inserted + 19));
        (asks.asks_beside(), asks.is_early())
    };
    assert_eq!([90, 105, 106].map(beside), [(true, false), (true, false), (false, false)]);
    // Another is about to hand over what waits.
    let mut asks = usual(Turnaround { restarted: Some(us(30)), ..Turnaround::default() }, &[]);
    asks.complete(7, task, (Left::Waiting, false), us(1000));
    asks.completed(7, task, true, us(1000), us(50));
    asks.inserted(7, task, us(1001), us(20));
    asks.asked(us(1020));
    asks.begin_to_ask(us(1020));
    assert!(asks.asks_beside() && asks.is_early());
}

#[test]
fn two_who_ask_at_once_have_two_requests_wait() {
    let urgent = TraceRecord { priority: IoPriority { class: PriorityClass::RealTime, level: 4 }, ..read(4, 3000) };
    let reads = [read(1, 0), read(2, 1000), read(3, 2000), urgent];
    let order = |third| {
        let issues = issues(&reads, 1, Some(&[seen(Some((3, Some(7)))), seen(Some((4, None))), third, seen(None)]));
        let mut order = [0, 1, 2, 3];
        order.sort_by_key(|&n| issues[n]);
        order
    };
    assert_eq!(order(seen(Some((4, None)))), [0, 1, 2, 3], "the third was chosen before the urgent one came");
    assert_eq!(order(seen(None)), [0, 1, 3, 2]);
}

#[test]
fn a_tag_goes_to_whom_it_went() {
    let reads = [read(1, 0), read(2, 1000), read(3, 2000)];
    let alone = |hand_overs: &[HandOver]| issues_of("none", true, &reads, 1, Some(hand_overs));
    // One tag: whoever sleeps first gets it first, unless the recording has it otherwise.
    let known = |next| HandOver { next, completed: Some(us(40)), ..HandOver::default() };
    let issued = alone(&[known(Some(2)), known(None), known(Some(1))]);
    assert_eq!(issued, [us(10), us(20_090), us(10_050)]);
    let fair = alone(&[(); 3].map(|()| known(None)));
    assert!(fair.is_sorted(), "{fair:?}");
}

#[test]
fn a_tag_is_kept_for_who_comes_later() {
    let reads = [read(1, 0), read(2, 1000), read(3, 10_100)];
    let known = |next| HandOver { next, completed: Some(us(40)), ..HandOver::default() };
    let issued = issues_of("none", true, &reads, 1, Some(&[known(Some(2)), known(None), known(Some(1))]));
    assert_eq!(issued, [us(10), us(20_150), us(10_110)]);
}

#[test]
fn a_full_device_is_remembered_for_two_hand_overs() {
    let mut asks = Asks::new(HandOvers::new([].into(), Nanos::ZERO), 1);
    asks.was_busy(true);
    let busy: Vec<bool> = (0..3).map(|_| (asks.is_busy(), asks.was_busy(false)).0).collect();
    assert_eq!(busy, [true, true, false]);
}
