//! [`RecordedTiming`]: the times of the CPUs in a recording.

use super::service_path::median;
use iopilot_block::{Nanos, ProcessId};
use iopilot_sim::{CpuTiming, QueueRun};
use iopilot_trace::TraceRecord;
use iopilot_workload::SourceHandle;

/// A request that reaches the device this long after an event was not sent because of the event: it waited for
/// something else.
const WAITED: Nanos = Nanos::from_micros(100);
/// A request that got its tag sooner than this after its arrival did not sleep for it.
const AT_ONCE: Nanos = Nanos::from_micros(15);

/// The times from an event of each request to the moment when the next request reached the device, if the event caused
/// that.
#[derive(Clone, Debug)]
struct Delays {
    /// By handle.
    of: Vec<Option<Nanos>>,
    /// The value for unknown delays.
    median: Nanos,
}

impl Delays {
    fn new(of: Vec<Option<Nanos>>) -> Self {
        let median = median(of.iter().flatten().copied());
        Self { of, median }
    }

    fn get(&self, handle: SourceHandle) -> Nanos {
        self.of.get(handle.0 as usize).copied().flatten().unwrap_or(self.median)
    }
}

/// The fate of the tag of a completed request, if a task slept for a tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Freed {
    /// The request's own task kept it for its next request, which arrived this long after.
    Kept(Nanos),
    /// A sleeper's request took it, and reached the device this long after.
    Passed(Nanos),
}

/// The times of a recording, by request. The handles of a replay are indices of the recording.
///
/// The delay of an event (a request is inserted, issued, completed) is the time until the next request reached the
/// device, if that request was in the scheduler at the event. A replay may differ from the recording, so that a delay
/// is unknown. Then the median of the known ones is taken.
#[derive(Clone, Debug)]
pub(super) struct RecordedTiming {
    inserted: Delays,
    issued: Delays,
    completed: Delays,
    /// The median of all three.
    median: Nanos,
    freed: Vec<Option<Freed>>,
    /// The medians of the two fates.
    kept: Nanos,
    passed: Nanos,
    /// The request whose tag was freed last.
    last_freed: Option<SourceHandle>,
}

/// The fate of a tag; events of one moment are in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Completed,
    Issued,
}

impl RecordedTiming {
    /// The times of `records`, in order of arrival.
    pub(super) fn new(records: &[TraceRecord]) -> Self {
        // Under `none` no request is inserted.
        let scheduled = records.iter().any(|r| r.inserted.is_some());
        let nothing = vec![None; records.len()];
        let (delays, freed) = match scheduled {
            true => (delays(records), nothing),
            false => (at_once(records), freed_tags(records)),
        };
        let [inserted, issued, completed] = delays.map(Delays::new);
        let all = [&inserted, &issued, &completed].into_iter().flat_map(|delays| delays.of.iter().flatten());
        let of = |time: fn(Freed) -> Option<Nanos>| median(freed.iter().flatten().filter_map(|&freed| time(freed)));
        Self {
            median: median(all.copied()),
            kept: of(|freed| if let Freed::Kept(time) = freed { Some(time) } else { None }),
            passed: of(|freed| if let Freed::Passed(time) = freed { Some(time) } else { None }),
            freed,
            inserted,
            issued,
            completed,
            last_freed: None,
        }
    }

    fn freed(&self, handle: SourceHandle) -> Option<Freed> {
        self.freed.get(handle.0 as usize).copied().flatten()
    }
}

/// The delays after insertion, issue and completion of each of `records`.
fn delays(records: &[TraceRecord]) -> [Vec<Option<Nanos>>; 3] {
    let inserted = |r: &TraceRecord| r.inserted.unwrap_or(r.arrival);
    let mut issues: Vec<(Nanos, Nanos)> = records.iter().filter_map(|r| Some((r.issue?, inserted(r)))).collect();
    issues.sort_unstable();
    // The time to the first issue after `from`, if it is soon and of a request that had been inserted by `by`.
    let next = |from: Nanos, by: Nanos| {
        let &(at, inserted) = issues.get(issues.partition_point(|&(at, _)| at < from))?;
        Some(at.since(from)).filter(|delay| inserted <= by && *delay < WAITED)
    };
    let of = |delay: &dyn Fn(&TraceRecord) -> Option<Nanos>| records.iter().map(delay).collect();
    [
        of(&|r| next(inserted(r), inserted(r))),
        of(&|r| Some(next(r.issue? + Nanos(1), r.issue?)? + Nanos(1))),
        of(&|r| next(r.completion?, r.completion?)),
    ]
}

/// The same without a scheduler: a request that has a tag is issued at once.
fn at_once(records: &[TraceRecord]) -> [Vec<Option<Nanos>>; 3] {
    let nothing = || vec![None; records.len()];
    [records.iter().map(had_tag).collect(), nothing(), nothing()]
}

/// The time from arrival to issue of a request that did not sleep for a tag.
fn had_tag(r: &TraceRecord) -> Option<Nanos> {
    Some(r.issue?.since(r.arrival)).filter(|delay| *delay < AT_ONCE)
}

/// The fate of each tag. A task keeps its tag if its next request did not sleep. The remaining tags go in the order in
/// which they were freed to sleepers' requests in the order of issue.
fn freed_tags(records: &[TraceRecord]) -> Vec<Option<Freed>> {
    let mut freed = vec![None; records.len()];
    // A task's requests follow one another.
    let next_of = |n: usize| {
        let later = records[n + 1..].iter();
        let mut own = later.filter(|r| r.process == records[n].process && Some(r.arrival) >= records[n].completion);
        own.next()
    };
    let mut events: Vec<(Nanos, Event, usize)> = Vec::with_capacity(2 * records.len());
    for (n, r) in records.iter().enumerate() {
        if let (Some(issue), Some(completion)) = (r.issue, r.completion) {
            match next_of(n).filter(|next| had_tag(next).is_some()) {
                Some(next) => freed[n] = Some(Freed::Kept(next.arrival.since(completion))),
                None => events.push((completion, Event::Completed, n)),
            }
            if had_tag(r).is_none() {
                events.push((issue, Event::Issued, n));
            }
        }
    }
    events.sort_unstable();
    let mut free = std::collections::VecDeque::new();
    for (at, event, n) in events {
        if event == Event::Completed {
            free.push_back((at, n));
        } else if let Some((since, of)) = free.pop_front() {
            freed[of] = Some(Freed::Passed(at.since(since)));
        }
    }
    freed
}

impl CpuTiming for RecordedTiming {
    fn issue(&mut self, _: u16, run: QueueRun, _: Nanos) -> Nanos {
        match run {
            QueueRun::Inserted(Some(handle)) => self.inserted.get(handle),
            QueueRun::Issued(handle) => self.issued.get(handle),
            QueueRun::Completed { handle, .. } => self.completed.get(handle),
            QueueRun::Inserted(None) | QueueRun::Other => self.median,
        }
    }

    /// Never called: the think times of a replay count from the completion.
    fn resume(&mut self, _: SourceHandle, _: ProcessId, _: Nanos) -> Nanos {
        Nanos::ZERO
    }

    /// A sleeper is woken for the tag that was freed last. Its request reaches the device when the recorded one did, so
    /// the delay after insertion is not counted twice.
    fn wake(&mut self, _: ProcessId, _: Nanos) -> Nanos {
        let passed = match self.last_freed.take().and_then(|handle| self.freed(handle)) {
            Some(Freed::Passed(time)) => time,
            _ => self.passed,
        };
        passed.since(self.inserted.median)
    }

    fn completer_keeps_tag(&mut self, completed: SourceHandle) -> bool {
        self.last_freed = Some(completed);
        matches!(self.freed(completed), Some(Freed::Kept(_)))
    }

    /// The time until the faster task has submitted its request.
    fn lost_wake(&mut self, _: ProcessId, _: Nanos) -> Nanos {
        let kept = match self.last_freed.take().and_then(|handle| self.freed(handle)) {
            Some(Freed::Kept(time)) => time,
            _ => self.kept,
        };
        kept + AT_ONCE
    }

    fn switch(&mut self) -> Nanos {
        Nanos::ZERO
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_block::{Lba, Op, Sectors};

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

    fn handle(n: u64) -> SourceHandle {
        SourceHandle(n)
    }

    #[test]
    fn the_delay_of_an_event_is_the_time_until_the_next_issue() {
        // The second request is issued because of the first's completion, and the third right after it. The fourth is
        // issued after its own insertion, just after a completion. The last one waited for something else.
        let times = [[0, 6, 500], [10, 509, 900], [20, 513, 950], [905, 912, 1300], [1000, 2000, 2500]];
        let records = times.map(|times| TraceRecord { inserted: Some(us(times[0])), ..read(1, times) });
        let mut timing = RecordedTiming::new(&records);
        let completed = |n| QueueRun::Completed { handle: handle(n), waiting: true };
        let inserted = |n| QueueRun::Inserted(Some(handle(n)));
        let mut takes = |run| timing.issue(0, run, Nanos::ZERO);
        assert_eq!([inserted(0), inserted(3)].map(&mut takes), [us(6), us(7)]);
        assert_eq!([completed(0), QueueRun::Issued(handle(1))].map(&mut takes), [us(9), us(4)]);
        // An unknown delay is the median: the fourth was not in the scheduler at the second's completion.
        assert_eq!(
            [inserted(1), inserted(4), completed(1), QueueRun::Other].map(&mut takes),
            [us(7), us(7), us(9), us(7)]
        );
    }

    #[test]
    fn a_tag_is_kept_or_goes_to_the_sleeper_that_is_issued_next() {
        // One tag: the first task keeps it once. Then the other task, which slept, gets it and keeps it.
        let records = [
            read(1, [0, 4, 100]),
            read(2, [50, 230, 300]),
            read(1, [120, 124, 200]),
            read(1, [210, 430, 500]),
            read(2, [320, 326, 400]),
        ];
        let mut timing = RecordedTiming::new(&records);
        let keeps: Vec<bool> = (0..5).map(|n| timing.completer_keeps_tag(handle(n))).collect();
        assert_eq!(keeps, [true, true, false, false, false]);
        let process = ProcessId(1);
        assert!(timing.completer_keeps_tag(handle(0)));
        assert_eq!(timing.lost_wake(process, Nanos::ZERO), us(20) + AT_ONCE);
        assert!(!timing.completer_keeps_tag(handle(2)));
        // 30 us, less the usual 4 to 6 us after getting a tag.
        assert_eq!(timing.wake(process, Nanos::ZERO), us(30) - us(4));
        assert_eq!(timing.issue(0, QueueRun::Inserted(Some(handle(1))), Nanos::ZERO), us(4));
    }
}
