//! What happened each time a request was complete.

use super::hand_over::WAITED;
use super::rest;
use super::usual::{AtOnce, resumptions};
use iopilot_block::Nanos;
use iopilot_sim::{HandOver, Left, Situation, Turnaround};
use iopilot_trace::TraceRecord;

/// Who was given several requests hands them over in shorter steps than this.
const AT_ONCE: Nanos = Nanos::from_micros(30);

/// Of `records`, which were handed to the scheduler when they arrived and after each of which that happened: each time that a task went on at
/// once. A scheduler chooses `choice` before a request reaches the device, where it was not seen to.
pub(super) fn of_each(records: &[TraceRecord], hand_overs: &[HandOver], choice: Nanos) -> Vec<(Situation, Turnaround)> {
    let mut issues: Vec<(Nanos, usize)> =
        (records.iter().enumerate()).filter_map(|(n, r)| Some((r.issue?, n))).collect();
    issues.sort_unstable();
    let rests = rest::long(records);
    let mut ends: Vec<Nanos> = records.iter().filter_map(|r| r.completion).collect();
    ends.sort_unstable();
    // Whether any has been issued before and is not complete by then.
    let in_device =
        |at: Nanos| issues.partition_point(|&(issue, _)| issue < at) > ends.partition_point(|&end| end <= at);
    let of = |AtOnce { of, before, end, resumed }: AtOnce| {
        // What came to the device first, if it was there already.
        let first = issues.get(issues.partition_point(|&(at, _)| at < end));
        let waited = first.filter(|&&(at, n)| records[n].arrival < end && at.since(end) < WAITED);
        let more = waited.and_then(|&(_, n)| Some(hand_overs[n].asked.as_ref()?.issued.as_ref()?.after));
        let HandOver { heard, issued, .. } = hand_overs[before];
        let next = &hand_overs[of];
        let seen = next.asked.as_ref().and_then(|asked| asked.inserted.as_ref());
        let inserted = seen.map(|ask| ask.after + ask.choice.unwrap_or(choice)).or(next.inserted);
        let follows = issued.filter(|takes| *takes < AT_ONCE);
        let restarted = waited.map(|(at, _)| at.since(end));
        // Where nobody was seen to ask after it, somebody else was faster, and it is not known how long it would have taken.
        let left = match restarted.is_some() && more.is_some() {
            true => Left::Waiting,
            false if in_device(end) => Left::Others,
            false => Left::Nothing,
        };
        let turnaround = Turnaround { resumed, heard, restarted, asked: more, inserted, stood: next.stood, follows };
        (Situation { rest: rests[before], left }, turnaround)
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
        let told =
            |of_second| of_each(&records, &[seen(None, None), of_second, seen(Some(8), None), seen(None, None)], us(1));
        let expected = Turnaround {
            resumed: us(30),
            heard: us(6),
            restarted: Some(us(15)),
            asked: Some(us(7)),
            inserted: Some(us(10)),
            stood: us(3),
            follows: Some(us(9)),
        };
        let rest = Nanos::MAX;
        assert_eq!(told(seen(None, Some(7))), [(Situation { rest, left: Left::Waiting }, expected)]);
        let not_asked = Turnaround { asked: None, ..expected };
        assert_eq!(told(seen(None, None)), [(Situation { rest, left: Left::Nothing }, not_asked)]);
    }
}
