//! [`Lasting`]: a window that is repeated until a trial is long enough.

use crate::objective::Objective;
use iopilot_block::{Lba, Nanos, ProcessId};
use iopilot_sim::Outcome;
use iopilot_trace::TraceRecord;
use std::collections::BTreeMap;

/// A window is repeated so often at most.
const MOST: u64 = 64;
/// What is neither a stream forward nor backward moves on by so many sectors each time: past what a disk's cache holds.
const APART: i64 = 64 << 11;

/// A window again and again, as if its processes went on as they did: streams where they ended, others a little apart, each
/// process after a pause as it made before.
///
/// A scheduler that has just been put in place is not what it will be: `bfq` finds out in a second or two for whom to idle.
/// Some windows are over before.
#[derive(Clone, Debug)]
pub(crate) struct Lasting {
    /// In order of arrival.
    pub(crate) records: Vec<TraceRecord>,
    /// How often the window is in them.
    pub(crate) times: u32,
    /// Of each record, after how many repetitions it comes.
    turns: Vec<u32>,
}

impl Lasting {
    /// `window`, whose times count from its start, in order of arrival, repeated until it holds `least` requests, on a disk of
    /// `capacity` sectors. Once only where processes came or went in it (`ended`), or it does not tell what
    /// belongs to which. O(n log n) in what comes out.
    pub(crate) fn new(window: Vec<TraceRecord>, least: u64, capacity: u64, ended: bool) -> Self {
        let times = least.div_ceil(window.len().max(1) as u64).clamp(1, MOST) as u32;
        let tells = |r: &TraceRecord| {
            r.process.is_some() && r.completion.is_some() && r.process_start.is_none_or(|start| start == Nanos::ZERO)
        };
        if times == 1 || ended || !window.iter().all(tells) {
            let turns = vec![0; window.len()];
            return Self { records: window, times: 1, turns };
        }
        let span = window.iter().filter_map(|r| r.completion).max().unwrap_or_default();
        let mut of_process: BTreeMap<Option<ProcessId>, Vec<&TraceRecord>> = BTreeMap::new();
        window.iter().for_each(|r| of_process.entry(r.process).or_default().push(r));
        let mut all = Vec::with_capacity(window.len() * times as usize);
        for records in of_process.values() {
            let (period, step) = (period(records, span), step(records));
            for turn in 0..times {
                all.extend(
                    records
                        .iter()
                        .map(|r| (turn, moved(r, period.0 * u64::from(turn), step * i64::from(turn), capacity))),
                );
            }
        }
        all.sort_by_key(|(_, record)| record.arrival);
        let (turns, records) = all.into_iter().unzip();
        Self { records, times, turns }
    }

    /// Those of `outcomes`, one for each record, that count: of the second half of the repetitions.
    pub(crate) fn counted(&self, outcomes: &[Outcome]) -> Vec<Outcome> {
        self.late().filter_map(|n| outcomes.get(n).copied()).collect()
    }

    /// What once through the window costs, by `outcomes`, one for each record, of those that count.
    pub(crate) fn cost(&self, objective: Objective, outcomes: &[Outcome]) -> f64 {
        let mut served: Vec<TraceRecord> =
            self.late().filter_map(|n| Some(became(outcomes.get(n)?, &self.records[n]))).collect();
        served.sort_by_key(|r| r.arrival);
        let cost = objective.measured(&served).unwrap_or_default();
        if objective.is_time() { cost / f64::from(self.times - self.times / 2) } else { cost }
    }

    fn late(&self) -> impl Iterator<Item = usize> + '_ {
        let half = self.times / 2;
        self.turns.iter().enumerate().filter(move |&(_, &turn)| turn >= half).map(|(n, _)| n)
    }
}

/// `record` with the times of `outcome`.
fn became(outcome: &Outcome, record: &TraceRecord) -> TraceRecord {
    let since = |span: Nanos| Nanos(outcome.completion.0.saturating_sub(span.0));
    TraceRecord {
        arrival: since(outcome.response),
        issue: Some(since(outcome.service)),
        completion: Some(outcome.completion),
        ..record.clone()
    }
}

/// After what time a process begins anew, in a window that lasts `span`.
fn period(records: &[&TraceRecord], span: Nanos) -> Nanos {
    let (Some(first), Some(last)) = (records.first(), records.last()) else { return span };
    let end = records.iter().filter_map(|r| r.completion).max().unwrap_or(last.arrival);
    let mut done = Nanos::ZERO;
    let mut pauses: Vec<Nanos> = Vec::with_capacity(records.len());
    let (mut waits, mut longest) = (true, Nanos::ZERO);
    for r in records {
        if done > Nanos::ZERO {
            waits &= r.arrival >= done;
            pauses.push(r.arrival.since(done));
        }
        done = done.max(r.completion.unwrap_or(r.arrival));
        longest = longest.max(r.completion.unwrap_or(r.arrival).since(r.arrival));
    }
    let longest = pauses.iter().copied().fold(longest, Nanos::max);
    // It came late or went early: it does not go on all the time.
    let away = first.arrival + span.since(end);
    if pauses.is_empty() || away > Nanos(4 * longest.0) {
        return span;
    }
    if !waits {
        let gaps = records.len() as u64 - 1;
        return Nanos(last.arrival.since(first.arrival).0 * (gaps + 1) / gaps);
    }
    let middle = pauses.len() / 2;
    let (_, &mut pause, _) = pauses.select_nth_unstable(middle);
    end.since(first.arrival) + pause
}

/// How far a process moves on from one time to the next, in sectors.
fn step(records: &[&TraceRecord]) -> i64 {
    let (up, down) = records.windows(2).fold((0, 0), |(up, down), pair| {
        (up + usize::from(pair[1].lba > pair[0].lba), down + usize::from(pair[1].lba < pair[0].lba))
    });
    let low = records.iter().map(|r| r.lba.0).min().unwrap_or_default();
    let high = records.iter().map(|r| r.lba.0).max().unwrap_or_default();
    let (steps, most) = (records.len() as u64 - 1, records.len() * 4 / 5);
    // As far as from its first place to its last, and one step more.
    let reach = (high - low) + (high - low).checked_div(steps).unwrap_or_default();
    match reach as i64 {
        reach if steps > 0 && up >= most => reach,
        reach if steps > 0 && down >= most => -reach,
        _ => APART,
    }
}

fn moved(record: &TraceRecord, later: u64, on: i64, capacity: u64) -> TraceRecord {
    let at = |time: Nanos| Nanos(time.0 + later);
    let room = capacity.saturating_sub(u64::from(record.sectors.0)).max(1);
    TraceRecord {
        arrival: at(record.arrival),
        inserted: record.inserted.map(at),
        issue: record.issue.map(at),
        completion: record.completion.map(at),
        lba: Lba((record.lba.0 as i64 + on).rem_euclid(room as i64) as u64),
        ..record.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_block::{Op, Sectors};

    /// Two processes that read after each completion, 50 us later: one forward, one backward.
    fn window() -> Vec<TraceRecord> {
        let record = |process: u32, n: u64, lba: u64| TraceRecord {
            process: Some(ProcessId(process)),
            completion: Some(Nanos::from_micros(1000 * n + 950)),
            ..TraceRecord::new(Nanos::from_micros(1000 * n), Op::Read, Lba(lba), Sectors(8))
        };
        (0..10).flat_map(|n| [record(1, n, 1000 + 24 * n), record(2, n, 900_000 - 8 * n)]).collect()
    }

    #[test]
    fn processes_go_on_as_they_did() {
        let lasting = Lasting::new(window(), 50, 1 << 30, false);
        assert_eq!((lasting.times, lasting.records.len()), (3, 60));
        let of = |process| lasting.records.iter().filter(move |r| r.process == Some(ProcessId(process)));
        for (n, (up, down)) in of(1).zip(of(2)).enumerate() {
            assert_eq!(up.arrival, Nanos::from_micros(1000 * n as u64), "the pause between two rounds is as any other");
            assert_eq!((up.lba.0, down.lba.0), (1000 + 24 * n as u64, 900_000 - 8 * n as u64));
        }
        assert!(lasting.records.is_sorted_by_key(|r| r.arrival));
    }

    #[test]
    fn the_second_half_counts() {
        let lasting = Lasting::new(window(), 80, 1 << 30, false);
        let outcome = |n: usize| {
            let response = Nanos::from_millis(if lasting.turns[n] < 2 { 50 } else { 3 });
            Outcome { response, completion: Nanos::from_secs(9), service: Nanos::from_millis(1), ..Outcome::default() }
        };
        let outcomes: Vec<Outcome> = (0..80).map(outcome).collect();
        let cost = lasting.cost(Objective::ServiceTime, &outcomes);
        assert!((cost - 20.0 * 0.003).abs() < 1e-9, "once through the window: {cost}");
        assert!((lasting.cost(Objective::P99, &outcomes) - 0.003).abs() < 1e-4);
        assert_eq!(lasting.counted(&outcomes).len(), 40);
    }

    #[test]
    fn who_comes_or_goes_is_not_repeated() {
        let times = |window: Vec<TraceRecord>, ended| Lasting::new(window, 500, 1 << 30, ended).times;
        assert_eq!(times(window(), false), 25);
        assert_eq!(times(window(), true), 1);
        let mut born = window();
        born[4].process_start = Some(Nanos(1));
        assert_eq!(times(born, false), 1);
        // A process that is away for most of the window stays so.
        let mut away = window();
        let late: Vec<TraceRecord> = window().into_iter().filter(|r| r.process == Some(ProcessId(1))).collect();
        away.retain(|r| r.process == Some(ProcessId(2)) || r.arrival < Nanos::from_millis(2));
        let period_of = |records: &[TraceRecord]| period(&records.iter().collect::<Vec<_>>(), Nanos::from_micros(9950));
        assert_eq!(period_of(&late), Nanos::from_millis(10));
        away.retain(|r| r.process == Some(ProcessId(1)));
        assert_eq!(period_of(&away), Nanos::from_micros(9950));
    }

    #[test]
    fn nothing_leaves_the_disk() {
        let lasting = Lasting::new(window(), 600, 900_100, false);
        assert!(lasting.records.iter().all(|r| (r.lba + r.sectors).0 <= 900_100));
    }
}
