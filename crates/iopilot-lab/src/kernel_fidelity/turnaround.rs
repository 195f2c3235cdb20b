//! What happened each time a request was complete.

use super::hand_over::WAITED;
use super::rest;
use super::seen::Seen;
use super::usual::{AtOnce, resumptions};
use iopilot_block::Nanos;
use iopilot_sim::{HandOver, Left, Situation, Turnaround};
use iopilot_trace::TraceRecord;

/// Who was given several requests hands them over in shorter steps than this.
const AT_ONCE: Nanos = Nanos::from_micros(30);
/// After shorter rests than the first the last turnaround is not over, and both are on two CPUs; from the second on a machine has rested.
pub(super) const RESTS: [Nanos; 2] = [Nanos::from_micros(100), rest::RESTED];

/// Of `records`, which were handed to the scheduler when they arrived and after each of which that happened: each time that a task went on at
/// once. A scheduler chooses `choice` before a request reaches the device, where it was not seen to.
pub(super) fn of_each(
    records: &[TraceRecord],
    hand_overs: &[HandOver],
    seen: &[Seen],
    choice: Nanos,
) -> Vec<(Situation, Turnaround)> {
    let sorted = |time: fn(&TraceRecord) -> Option<Nanos>| {
        let mut all: Vec<Nanos> = records.iter().filter_map(time).collect();
        all.sort_unstable();
        all
    };
    let mut issues: Vec<(Nanos, usize)> =
        (records.iter().enumerate()).filter_map(|(n, r)| Some((r.issue?, n))).collect();
    issues.sort_unstable();
    let (arrivals, ends) = (sorted(|r| Some(r.arrival)), sorted(|r| r.completion));
    let rests = rest::long(records);
    // How many had been issued, and the first that was from then on, if that was soon.
    let issued = |at: Nanos| issues.partition_point(|&(issue, _)| issue < at);
    let next_issue = |from: Nanos| issues.get(issued(from)).filter(|(at, _)| at.since(from) < WAITED).copied();
    let asked_on = |n: usize| Some(hand_overs[n].asked.as_ref()?.issued.as_ref()?.after);
    // Whether a queue came into service then, which takes a while.
    let put_on = |n: usize| {
        let ask = seen[n].asked.as_ref().and_then(|asked| asked.issued.as_ref());
        ask.is_some_and(|ask| ask.locked > Nanos::ZERO)
    };
    let of = |AtOnce { of, before, end, resumed }: AtOnce| {
        let next = &hand_overs[of];
        let asks = next.asked.as_ref().and_then(|asked| asked.inserted.as_ref());
        // When the task was given a request, of whomever.
        let given = asks.filter(|ask| ask.choice.is_some()).map(|ask| end + resumed + ask.after);
        // What came to the device first, if it was there already, and not because the task was given it.
        let waited =
            next_issue(end).filter(|&(at, n)| records[n].arrival < end && given.is_none_or(|given| given > at));
        let HandOver { heard, issued: follows, asked: ref after, .. } = hand_overs[before];
        let turnaround = Turnaround {
            resumed,
            heard,
            restarted: waited.map(|(at, _)| at.since(end)),
            asked: waited.and_then(|(_, n)| asked_on(n)),
            run: after.as_ref().and_then(|after| Some(after.completed.as_ref()?.after)),
            inserted: asks.map(|ask| ask.after + ask.choice.unwrap_or(choice)).or(next.inserted),
            choice: asks.and_then(|ask| ask.choice),
            more: given.and_then(next_issue).and_then(|(_, n)| asked_on(n)),
            stood: next.stood,
            follows: follows.filter(|takes| *takes < AT_ONCE),
        };
        // Where nobody was seen to ask after it, somebody else was faster, and it is not known how long it would have taken.
        let left = match turnaround.asked {
            Some(_) => Left::Waiting,
            None if issued(end) > ends.partition_point(|&other| other <= end) => Left::Others,
            None => Left::Nothing,
        };
        let not_issued = arrivals.partition_point(|&at| at < end).saturating_sub(issued(end));
        let waits = left == Left::Waiting;
        // Who goes on asks only where nothing was left over for the device.
        let kept = waits && asks.is_some() && waited.is_some_and(|(_, n)| !put_on(n));
        let queued = !kept && not_issued > usize::from(waits);
        let complete = (1000 * ends.partition_point(|&other| other < end) / records.len()) as u16;
        (Situation { rest: rests[before], before: rest::before(&ends, end), complete, left, queued }, turnaround)
    };
    resumptions(records).map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_block::{Lba, Op, ProcessId, Sectors};
    use iopilot_sim::{Ask, AskedAfter};

    fn us(us: u64) -> Nanos {
        Nanos::from_micros(us)
    }

    fn read(process: u32, [arrival, issue, completion]: [u64; 3]) -> TraceRecord {
        TraceRecord {
            process: Some(ProcessId(process)),
            issue: Some(us(issue)),
            completion: Some(us(completion)),
            ..TraceRecord::new(us(arrival), Op::Read, Lba(0), Sectors(8))
        }
    }

    #[test]
    fn it_tells_when_the_task_went_on_and_when_what_waited_did() {
        // The second task's request waits for the first's; then the first task goes on, and finds room; and thinks in the end.
        let records =
            [read(1, [0, 10, 500]), read(2, [20, 515, 900]), read(1, [530, 540, 1000]), read(1, [2000, 2010, 9000])];
        let ask = |after| Ask { after: us(after), choice: Some(us(2)), ..Ask::default() };
        let seen = |inserted: Option<u64>, issued: Option<u64>| HandOver {
            asked: Some(AskedAfter { inserted: inserted.map(ask), issued: issued.map(ask), ..AskedAfter::default() }),
            heard: us(6),
            stood: us(3),
            issued: Some(us(9)),
            ..HandOver::default()
        };
        let nothing = vec![Seen::default(); records.len()];
        let told = |of_second| {
            of_each(&records, &[seen(None, None), of_second, seen(Some(8), None), seen(None, None)], &nothing, us(1))
        };
        let expected = Turnaround {
            resumed: us(30),
            heard: us(6),
            restarted: Some(us(15)),
            asked: Some(us(7)),
            inserted: Some(us(10)),
            choice: Some(us(2)),
            run: None,
            more: None,
            stood: us(3),
            follows: Some(us(9)),
        };
        let situation = |left, queued| Situation { rest: Nanos::MAX, before: Nanos::MAX, complete: 0, left, queued };
        assert_eq!(told(seen(None, Some(7))), [(situation(Left::Waiting, false), expected)]);
        let not_asked = Turnaround { asked: None, ..expected };
        assert_eq!(told(seen(None, None)), [(situation(Left::Nothing, true), not_asked)]);
    }

    #[test]
    fn what_the_task_is_given_did_not_wait_for_the_device() {
        // The first task goes on, asks, and is given the second's request, which had waited in the scheduler; then it asks on.
        let records = [read(1, [0, 10, 500]), read(2, [20, 525, 900]), read(1, [510, 540, 1000])];
        let ask = |after, choice: Option<u64>| Some(Ask { after: us(after), choice: choice.map(us), ..Ask::default() });
        let seen = |asked| HandOver { asked: Some(asked), ..HandOver::default() };
        let first = seen(AskedAfter { completed: ask(40, None), ..AskedAfter::default() });
        let second = seen(AskedAfter { issued: ask(6, None), ..AskedAfter::default() });
        let third = seen(AskedAfter { inserted: ask(12, Some(3)), ..AskedAfter::default() });
        let expected = Turnaround {
            resumed: us(10),
            run: Some(us(40)),
            inserted: Some(us(15)),
            choice: Some(us(3)),
            more: Some(us(6)),
            ..Turnaround::default()
        };
        let [rest, before] = [Nanos::MAX; 2];
        let situation = Situation { rest, before, complete: 0, left: Left::Nothing, queued: true };
        assert_eq!(
            of_each(&records, &[first, second, third], &vec![Seen::default(); 3], us(1)),
            [(situation, expected)]
        );
    }

    #[test]
    fn it_tells_how_many_were_complete() {
        let records = [
            read(1, [0, 10, 100]),
            read(2, [20, 30, 300]),
            read(1, [110, 120, 400]),
            read(2, [310, 320, 450]),
            read(1, [410, 420, 500]),
        ];
        let told = of_each(&records, &vec![HandOver::default(); 5], &vec![Seen::default(); 5], us(1));
        let of: Vec<(u16, Nanos)> = told.iter().map(|(situation, _)| (situation.complete, situation.before)).collect();
        assert_eq!(of, [(0, Nanos::MAX), (200, Nanos::MAX), (400, Nanos::MAX)]);
    }

    #[test]
    fn a_scheduler_that_idles_gives_nothing_beside_what_waits() {
        // As the first task goes on the second's request comes to the device, and the third's waits in the scheduler.
        let records =
            [read(1, [0, 10, 500]), read(2, [20, 510, 900]), read(3, [30, 910, 990]), read(1, [530, 920, 1000])];
        let ask = |locked| Ask { after: us(5), locked: us(locked), ..Ask::default() };
        let queued = |goes_on_asking: bool, locked: u64| {
            let asked = [None, Some(AskedAfter { issued: Some(ask(0)), ..AskedAfter::default() })];
            let inserted = AskedAfter { inserted: goes_on_asking.then(|| ask(0)), ..AskedAfter::default() };
            let of = asked.into_iter().chain([None, Some(inserted)]);
            let hand_overs: Vec<HandOver> = of.map(|asked| HandOver { asked, ..HandOver::default() }).collect();
            let mut seen = vec![Seen::default(); records.len()];
            seen[1].asked = Some(AskedAfter { issued: Some(ask(locked)), ..AskedAfter::default() });
            let told = of_each(&records, &hand_overs, &seen, us(1));
            assert_eq!((told.len(), told[0].0.left), (1, Left::Waiting));
            told[0].0.queued
        };
        assert!(queued(false, 0), "it was left over, so that the task did not ask");
        assert!(queued(true, 1), "a queue came into service for it");
        assert!(!queued(true, 0));
    }
}
