//! Processes that come and go within a window.

use iopilot_block::{Nanos, ProcessId};
use iopilot_trace::TraceRecord;
use std::collections::{HashMap, HashSet};

/// The time from which a window that began at `since` shows a single load: its start, or the last start of a process if
/// that lies in its first half. Returns how many of its requests are older, and that time.
pub(crate) fn settled(records: &[TraceRecord], since: Nanos) -> (usize, Nanos) {
    let came = records.iter().filter_map(|r| r.process_start).filter(|&start| start > since).max();
    let until = records.iter().filter_map(|r| r.completion).max();
    let (Some(came), Some(until)) = (came, until) else { return (0, since) };
    let left_out = records.partition_point(|r| r.arrival < came);
    match came.since(since) <= until.since(came) && left_out < records.len() {
        true => (left_out, came),
        false => (0, since),
    }
}

/// The processes that are known to have exited: after their last completion, their parent started another process or
/// issued a request itself.
pub(crate) fn ended(records: &[TraceRecord]) -> HashSet<ProcessId> {
    let mut last: HashMap<ProcessId, (ProcessId, Nanos)> = HashMap::new();
    // When each process last started another, or issued a request.
    let mut went_on: HashMap<ProcessId, Nanos> = HashMap::new();
    for record in records {
        let Some(process) = record.process else { continue };
        let mut go_on = |who, at: Nanos| {
            let latest = went_on.entry(who).or_default();
            *latest = at.max(*latest);
        };
        go_on(process, record.arrival);
        if let (Some(parent), Some(start)) = (record.parent, record.process_start) {
            go_on(parent, start);
            let end = record.completion.unwrap_or(Nanos::MAX);
            let known = last.entry(process).or_insert((parent, end));
            known.1 = known.1.max(end);
        }
    }
    let over = |(_, (parent, end)): &(&ProcessId, &(ProcessId, Nanos))| went_on.get(parent).is_some_and(|at| at >= end);
    last.iter().filter(over).map(|(process, _)| *process).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_block::{Lba, Op, Sectors};

    #[test]
    fn a_load_is_whole_from_when_the_last_process_came() {
        let record = |process, arrival: u64, born: u64| TraceRecord {
            process: Some(ProcessId(process)),
            process_start: Some(Nanos(born)),
            completion: Some(Nanos(arrival + 10)),
            ..TraceRecord::new(Nanos(arrival), Op::Read, Lba(0), Sectors(8))
        };
        let of_two = |born| [record(6, 100, 0), record(7, born, born), record(6, 450, 0), record(7, 490, born)];
        assert_eq!(settled(&of_two(300), Nanos(100)), (1, Nanos(300)), "the last was complete at 500");
        assert_eq!(settled(&of_two(301), Nanos(100)), (0, Nanos(100)), "it came too late");
        assert_eq!(settled(&of_two(90), Nanos(100)), (0, Nanos(100)), "it was there before");
    }

    #[test]
    fn a_process_has_ended_when_its_parent_went_on_after_it() {
        let record = |process: u32, born: Option<u64>, arrival: u64| TraceRecord {
            process: Some(ProcessId(process)),
            parent: born.map(|_| ProcessId(5)),
            process_start: born.map(Nanos),
            completion: Some(Nanos(arrival + 3)),
            ..TraceRecord::new(Nanos(arrival), Op::Read, Lba(0), Sectors(8))
        };
        // 5 reads, then starts 10, 11 and 12, one after the other; 10 is the only one that reads twice.
        let mut records =
            vec![record(5, None, 0), record(10, Some(4), 5), record(10, Some(4), 9), record(11, Some(13), 14)];
        assert_eq!(ended(&records), HashSet::from([ProcessId(10)]));
        records.push(record(12, Some(17), 18));
        assert_eq!(ended(&records), HashSet::from([10, 11].map(ProcessId)), "the last may read on");
        records.push(record(5, None, 30));
        assert_eq!(ended(&records).len(), 3);
        // Workers that were started together.
        let workers = [record(10, Some(1), 5), record(11, Some(2), 6), record(10, Some(1), 9)];
        assert!(ended(&workers).is_empty());
    }
}
