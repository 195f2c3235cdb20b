//! [`LoadWatch`]: what the disk's users get done, window after window.

use super::progress::ClassProgress;
use super::signature::LoadSignature;
use super::working_process::WorkingProcess;
use iopilot_block::{Nanos, ProcessId};
use iopilot_trace::TraceRecord;
use std::collections::BTreeMap;

/// The shortest window.
pub(crate) const WINDOW: Nanos = Nanos::from_millis(500);
/// A window of fewer requests goes on, up to the longest.
const ENOUGH: u64 = 20;
const LONGEST: Nanos = Nanos::from_secs(4);
/// A process without a completion for this long does not wait: it is no longer at work.
const STARVED: Nanos = Nanos::from_secs(3);
/// A process without a completion for this long is forgotten.
const FORGOTTEN: Nanos = Nanos::from_secs(30);
/// The most processes that are remembered.
const MOST: usize = 1 << 16;

/// A window of a load.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoadWindow {
    pub(crate) progress: ClassProgress,
    /// The share of the time in which the disk had requests, 0 to 1.
    pub(crate) busy: f64,
    pub(crate) signature: LoadSignature,
}

/// Watches completed requests.
#[derive(Clone, Debug, Default)]
pub(crate) struct LoadWatch {
    began: Nanos,
    /// What completed earlier does not count.
    since: Nanos,
    requests: u64,
    /// The sum of the times from arrival to completion, in seconds.
    waited: f64,
    /// The requests in flight, summed over looks at the disk, and the number of looks.
    pending: (f64, f64),
    /// When requests were at the disk.
    served: Vec<(Nanos, Nanos)>,
    processes: BTreeMap<Option<ProcessId>, WorkingProcess>,
    /// When the last process came that was not known.
    last_came: Nanos,
    last_completion: Nanos,
}

impl LoadWatch {
    /// Takes in requests that have completed.
    pub(crate) fn observe(&mut self, records: &[TraceRecord]) {
        for record in records {
            // What completed earlier was served by another scheduler.
            let Some(completion) = record.completion.filter(|&at| at >= self.since) else { continue };
            if self.processes.len() >= MOST && !self.processes.contains_key(&record.process) {
                continue;
            }
            let came = record.process_start.unwrap_or_default().max(record.arrival);
            let process = self.processes.entry(record.process).or_insert_with(|| {
                self.last_came = self.last_came.max(came);
                WorkingProcess::new(record, came)
            });
            process.note(record, completion);
            self.requests += 1;
            self.waited += completion.since(record.arrival.min(completion)).as_secs_f64();
            self.served.push((record.issue.unwrap_or(record.arrival).min(completion), completion));
            self.last_completion = self.last_completion.max(completion);
        }
    }

    /// Notes how many requests are in flight.
    pub(crate) fn look(&mut self, pending: usize) {
        self.pending = (self.pending.0 + pending as f64, self.pending.1 + 1.0);
    }

    /// When the last request completed.
    pub(crate) fn last_completion(&self) -> Nanos {
        self.last_completion
    }

    /// When the last process came that was not known.
    pub(crate) fn last_came(&self) -> Nanos {
        self.last_came
    }

    /// How many of the processes that got something done in the last window came after `time`, and how many there are.
    pub(crate) fn newcomers(&self, time: Nanos) -> (usize, usize) {
        let working = || self.processes.values().filter(|process| process.is_working);
        (working().filter(|process| process.came > time).count(), working().count())
    }

    /// The class of a process; that of random readers where nothing is known of it.
    pub(crate) fn class(&self, process: Option<ProcessId>) -> usize {
        self.processes.get(&process).map_or(0, WorkingProcess::class)
    }

    /// Begins a window at `now`; what completed since the last one is left out.
    pub(crate) fn restart(&mut self, now: Nanos) {
        self.since = now;
        self.begin(now);
    }

    fn begin(&mut self, now: Nanos) {
        (self.began, self.requests, self.waited, self.pending) = (now, 0, 0.0, (0.0, 0.0));
        self.served.clear();
        self.processes.values_mut().for_each(|process| process.requests = 0);
    }

    /// Whether the window is over at `now`. One of few requests goes on, unless it `must_end`.
    pub(crate) fn is_over(&self, now: Nanos, must_end: bool) -> bool {
        let length = now.since(self.began);
        length >= WINDOW && (must_end || self.requests >= ENOUGH || length >= LONGEST)
    }

    /// Whether the window has too few requests to say anything.
    pub(crate) fn is_thin(&self) -> bool {
        self.requests < ENOUGH
    }

    /// Ends the window at `now`, and begins the next.
    pub(crate) fn close(&mut self, now: Nanos) -> LoadWindow {
        let seconds = now.since(self.began).as_secs_f64();
        self.processes.retain(|_, process| process.last + FORGOTTEN >= now);
        self.find_waiting(now);
        let working = self.processes.values().filter(|process| process.is_working);
        let counts = working.map(|process| (process.class(), f64::from(process.requests)));
        let progress = ClassProgress::of_counts(counts, seconds);
        let window = LoadWindow { progress, busy: self.busy(now), signature: self.signature(seconds) };
        self.begin(now);
        window
    }

    /// Finds who is at work: the processes that got something done in the window, and as many of the others as requests
    /// are in flight beyond what those usually keep there. The last to get something done come first.
    fn find_waiting(&mut self, now: Nanos) {
        let (sum, looks) = self.pending;
        self.processes.values_mut().for_each(|process| process.is_working = process.requests > 0);
        let usual: f64 = self.processes.values().filter(|p| p.is_working).map(WorkingProcess::usually_in_flight).sum();
        let mut excess = sum / looks.max(1.0) - usual;
        let is_silent = |p: &&mut WorkingProcess| !p.is_working && p.last + STARVED >= now;
        let mut silent: Vec<&mut WorkingProcess> = self.processes.values_mut().filter(is_silent).collect();
        silent.sort_by_key(|process| std::cmp::Reverse(process.last));
        for process in silent {
            let own = process.usually_in_flight();
            process.is_working = excess >= own / 2.0 && excess > 0.0;
            excess -= own;
        }
    }

    /// What kind of load it is: each process counts once, however many requests it gets done under this scheduler.
    fn signature(&self, seconds: f64) -> LoadSignature {
        let working = || self.processes.values().filter(|process| process.is_working);
        let n = working().count().max(1) as f64;
        let mean = |of: fn(&WorkingProcess) -> f64| working().map(of).sum::<f64>() / n;
        LoadSignature {
            reads: mean(WorkingProcess::reads),
            size_log2: mean(WorkingProcess::size_log2),
            sequential: mean(WorkingProcess::sequential),
            processes_log2: n.log2(),
            in_flight_log2: (self.waited / seconds.max(1e-3)).max(0.5).log2(),
        }
    }

    fn busy(&mut self, now: Nanos) -> f64 {
        self.served.sort_unstable();
        let (mut busy, mut until) = (Nanos::ZERO, self.began);
        for &(from, to) in &self.served {
            busy += to.since(from.max(until).min(to));
            until = until.max(to);
        }
        busy.as_secs_f64() / now.since(self.began).as_secs_f64().max(1e-9)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_block::{Lba, Op, Sectors};

    fn read(process: u32, ms: u64, took: u64, lba: u64) -> TraceRecord {
        TraceRecord {
            process: Some(ProcessId(process)),
            issue: Some(Nanos::from_millis(ms)),
            completion: Some(Nanos::from_millis(ms + took)),
            ..TraceRecord::new(Nanos::from_millis(ms), Op::Read, Lba(lba), Sectors(8))
        }
    }

    #[test]
    fn a_window_shows_progress_use_and_kind() {
        let mut watch = LoadWatch::default();
        // A stream with 20 requests, and a random reader with 5.
        let stream = (0..20).map(|n| read(1, 20 * n, 10, 8 * n));
        let random = (0..5).map(|n| read(2, 100 * n + 10, 10, 999_999 - 10_000 * n));
        watch.observe(&stream.chain(random).collect::<Vec<_>>());
        let now = Nanos::from_millis(500);
        assert!(watch.is_over(now, false) && !watch.is_thin());
        let window = watch.close(now);
        assert!((window.busy - 0.5).abs() < 1e-9, "{window:?}");
        let signature = window.signature;
        assert!((signature.reads - 1.0).abs() < 1e-9 && (signature.size_log2 - 12.0).abs() < 1e-9);
        assert!((0.4..0.5).contains(&signature.sequential), "one of two: {signature:?}");
        assert!((signature.processes_log2 - 1.0).abs() < 1e-9);
        let expected = (40f64.ln() + 10f64.ln()) / 2.0;
        assert!((window.progress.value() - expected).abs() < 1e-9);
    }

    #[test]
    fn a_starved_process_still_counts_and_one_that_left_does_not() {
        let fly = |pending: usize| {
            let mut watch = LoadWatch::default();
            watch.observe(&[read(1, 490, 9, 0), read(2, 480, 5, 80_000)]);
            watch.close(Nanos::from_millis(500));
            watch.observe(&(0..50).map(|n| read(1, 500 + 10 * n, 9, 8 * n)).collect::<Vec<_>>());
            (0..5).for_each(|_| watch.look(pending));
            watch.close(Nanos::from_secs(1))
        };
        let starved = fly(2);
        assert!(starved.progress.value() < 60f64.ln(), "one of two got nothing");
        assert!((starved.signature.processes_log2 - 1.0).abs() < 1e-9);
        let alone = fly(1);
        assert!((alone.progress.value() - 100f64.ln()).abs() < 1e-9, "nobody else waits");
        assert!(alone.signature.processes_log2.abs() < 1e-9);
    }

    #[test]
    fn newcomers_are_those_that_came_later() {
        let mut watch = LoadWatch::default();
        watch.observe(&[read(1, 0, 5, 0), read(2, 700, 5, 0), read(1, 800, 5, 0)]);
        assert!(watch.is_over(Nanos::from_millis(500), true) && !watch.is_over(Nanos::from_millis(900), false));
        assert!(watch.is_over(Nanos::from_secs(4), false), "however few");
        watch.close(Nanos::from_secs(1));
        assert_eq!(watch.newcomers(Nanos::from_millis(500)), (1, 2));
        assert_eq!(watch.last_came(), Nanos::from_millis(700));
    }
}
