//! [`Recording`]: what a trace shows of its recording.

use iopilot_block::{Nanos, Op};
use iopilot_trace::{Dependencies, RecordedSystem, Stall, TraceRecord};

/// What a trace shows of its recording: the recorded system, and measurements.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recording {
    /// The machine and the settings, if the trace has them.
    pub system: Option<RecordedSystem>,
    /// The measurements, if the trace has completion times.
    pub observed: Option<RecordingMetrics>,
}

/// What was measured when a trace was recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RecordingMetrics {
    /// From the first arrival to the last completion, without the stalls of the machine, in seconds.
    pub elapsed_s: f64,
    /// Mean time from arrival to completion, in milliseconds.
    pub response_ms_mean: f64,
    /// Mean wait of a process for each request that it waits for, in milliseconds; 0 if no process is known to wait.
    pub wait_ms_mean: f64,
    /// The disk's queue depth, if the trace shows it: more requests were queued, and the disk did not take them.
    pub queue_depth: Option<u32>,
    /// The most requests that the disk had at once.
    pub in_flight_max: u32,
}

impl RecordingMetrics {
    /// The measurements of `records`. `dependencies` were inferred from them, and `stalls` removed. `None` without completion
    /// times.
    pub(super) fn of(records: &[TraceRecord], dependencies: Option<&Dependencies>, stalls: &[Stall]) -> Option<Self> {
        let complete = || records.iter().filter_map(|r| Some((r, r.completion?)));
        let first = records.first()?.arrival;
        let last = complete().map(|(_, completion)| completion).max()?;
        let stalled: f64 = stalls.iter().map(|stall| stall.duration.as_secs_f64()).sum();
        let response: f64 = complete().map(|(r, completion)| completion.since(r.arrival).as_secs_f64()).sum();
        let waits = dependencies.map_or(0.0, |deps| {
            let waited = (0..deps.processes() as u32).map(|p| deps.recorded_waiting(p).as_secs_f64()).sum::<f64>();
            let waited_for = (0..deps.len() as u32).filter(|&r| deps.is_blocking(r)).count();
            if waited_for > 0 { 1e3 * waited / waited_for as f64 } else { 0.0 }
        });
        let (in_flight_max, limited) = in_flight(records);
        Some(Self {
            elapsed_s: (last.since(first).as_secs_f64() - stalled).max(0.0),
            response_ms_mean: 1e3 * response / complete().count() as f64,
            wait_ms_mean: waits,
            queue_depth: limited.then_some(in_flight_max),
            in_flight_max,
        })
    }
}

/// The most requests that the disk had at once, and whether that is its depth. It is if the disk had that many for at least a
/// tenth of the time in which others waited in the scheduler. O(n log n).
fn in_flight(records: &[TraceRecord]) -> (u32, bool) {
    let mut events: Vec<(Nanos, Change)> = Vec::new();
    let own = records.iter().filter(|r| r.merged != Some(true) && r.op != Op::Flush);
    for r in own {
        let (Some(issue), Some(completion)) = (r.issue, r.completion) else { continue };
        events.push((completion, Change::Completed));
        match r.inserted {
            Some(inserted) => events.extend([(inserted, Change::Inserted), (issue, Change::Issued)]),
            None => events.push((issue, Change::IssuedAtOnce)),
        }
    }
    events.sort_unstable();
    let (mut inside, mut waiting, mut most) = (0u32, 0u32, 0u32);
    let (mut since, mut waited) = (Nanos::ZERO, Nanos::ZERO);
    let mut at_most = Nanos::ZERO;
    for (at, event) in events {
        if waiting > 0 {
            waited += at.since(since);
            if inside == most {
                at_most += at.since(since);
            }
        }
        since = at;
        match event {
            Change::Completed => inside = inside.saturating_sub(1),
            Change::Inserted => waiting += 1,
            Change::Issued => (inside, waiting) = (inside + 1, waiting.saturating_sub(1)),
            Change::IssuedAtOnce => inside += 1,
        }
        if inside > most {
            (most, at_most) = (inside, Nanos::ZERO);
        }
    }
    (most, at_most > Nanos::ZERO && at_most.0 * 10 >= waited.0)
}

/// Events that change the number of requests in the disk or in the scheduler, in the order in which they count at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Change {
    Completed,
    Inserted,
    Issued,
    /// The request did not pass through the scheduler.
    IssuedAtOnce,
}

/// Gives a likely completion to requests that their processes wait for and whose completion is missing: after the median
/// response time, but not after the process' next request. Without one, their processes would not wait for them in a replay.
/// Returns their number.
pub(super) fn complete(records: &mut [TraceRecord]) -> u64 {
    let missing = |r: &TraceRecord| r.completion.is_none() && r.blocks_process() && r.process.is_some();
    if !records.iter().any(missing) {
        return 0;
    }
    let mut responses: Vec<Nanos> =
        records.iter().filter_map(|r| r.completion.map(|completion| completion.since(r.arrival))).collect();
    if responses.is_empty() {
        return 0;
    }
    let middle = responses.len() / 2;
    let median = *responses.select_nth_unstable(middle).1;
    let mut next = std::collections::HashMap::new();
    let mut count = 0;
    for r in records.iter_mut().rev() {
        let later = r.process.and_then(|process| next.insert(process, r.arrival));
        if missing(r) {
            let likely = r.arrival + median;
            r.completion = Some(later.map_or(likely, |later| likely.min(later)));
            count += 1;
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_block::{Lba, ProcessId, Sectors};

    fn record(arrival: u64, issue: u64, completion: Option<u64>) -> TraceRecord {
        TraceRecord {
            inserted: Some(Nanos::from_micros(arrival)),
            issue: Some(Nanos::from_micros(issue)),
            completion: completion.map(Nanos::from_micros),
            process: Some(ProcessId(7)),
            ..TraceRecord::new(Nanos::from_micros(arrival), Op::Read, Lba(0), Sectors(8))
        }
    }

    #[test]
    fn a_disk_that_takes_no_more_shows_its_depth() {
        // Eight requests arrive at once; the disk takes two at a time, 100 us each.
        let all: Vec<_> = (0..8).map(|n| record(n, 10 + n / 2 * 100, Some(110 + n / 2 * 100))).collect();
        assert_eq!(in_flight(&all), (2, true));
        // One at a time as they arrive: the process limits that, not the disk.
        let all: Vec<_> = (0..8).map(|n| record(n * 200, n * 200, Some(n * 200 + 100))).collect();
        assert_eq!(in_flight(&all), (1, false));
    }

    #[test]
    fn a_completion_that_was_not_seen_is_put_before_the_next_request() {
        let mut all = vec![record(0, 0, Some(100)), record(150, 150, None), record(210, 210, Some(310))];
        all.push(record(400, 400, None));
        assert_eq!(complete(&mut all), 2);
        assert_eq!(all[1].completion, Some(Nanos::from_micros(210)), "not after the next request");
        assert_eq!(all[3].completion, Some(Nanos::from_micros(500)), "after the median of 100 us");
        assert_eq!(complete(&mut all), 0);
    }
}
