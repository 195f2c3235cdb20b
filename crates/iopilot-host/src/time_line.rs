//! [`TimeLine`]: how the CPUs spent their time, over time.

use crate::totals::{CpuTotals, CpuUse};
use iopilot_block::{Nanos, OverTime};

/// The most intervals. When a run gets longer than they cover, neighbours are merged in pairs.
const INTERVALS: usize = 128;
/// The initial length of an interval, ns.
const SHORTEST: u64 = 1_000_000;

/// How all CPUs spent their time in each of a number of equal intervals, to the nanosecond. The parts of an interval add up to
/// its length times the CPUs. Work is added when it ends, and is spread evenly over the time that it took.
#[derive(Clone, Debug)]
pub(crate) struct TimeLine {
    from: Nanos,
    /// The length of an interval, ns.
    length: u64,
    times: Box<[CpuTotals; INTERVALS]>,
    /// Dirty pages at the end of each interval that is over.
    dirty: Box<[u32; INTERVALS]>,
    over: usize,
    /// The interval of the last lookup, with its start and end. Most lookups are in the same one.
    last: (usize, Nanos, Nanos),
}

impl TimeLine {
    /// A time line that starts at `from`. Earlier time does not count.
    pub(crate) fn new(from: Nanos) -> Self {
        Self {
            from,
            length: SHORTEST,
            times: Box::new([CpuTotals::default(); INTERVALS]),
            dirty: Box::new([0; INTERVALS]),
            over: 0,
            last: (0, from, from + Nanos(SHORTEST)),
        }
    }

    /// A CPU did `what` for `done` of the time from `begin` to `end`. Clock interrupts took the rest.
    pub(crate) fn add(&mut self, begin: Nanos, end: Nanos, what: CpuUse, done: Nanos) {
        let passed = end.since(begin);
        let until =
            |at: Nanos| Nanos((u128::from(done.0) * u128::from(at.since(begin).0) / u128::from(passed.0)) as u64);
        self.each(begin, end, |times, from, to| {
            let done = if (from, to) == (begin, end) { done } else { until(to).since(until(from)) };
            times.add(what, done);
            times.add(CpuUse::Kernel, to.since(from).since(done));
        });
    }

    /// From `begin` to `end`, `false_idle` CPUs were falsely idle and `idle` CPUs idle otherwise.
    pub(crate) fn add_idle(&mut self, begin: Nanos, end: Nanos, false_idle: u64, idle: u64) {
        if false_idle + idle == 0 {
            return;
        }
        self.each(begin, end, |times, from, to| {
            let passed = to.since(from).0;
            times.false_idle += Nanos(false_idle * passed);
            times.idle += Nanos(idle * passed);
        });
    }

    /// Rebooks the last `time` of idle time before `now` as kernel work.
    pub(crate) fn idle_was_kernel(&mut self, time: Nanos, is_false: bool, now: Nanos) {
        let (mut left, mut at) = (time, self.find(now));
        while left > Nanos::ZERO {
            let times = &mut self.times[at];
            let idle = if is_false { &mut times.false_idle } else { &mut times.idle };
            let taken = left.min(*idle);
            *idle = idle.since(taken);
            times.kernel += taken;
            left = left.since(taken);
            if at == 0 {
                break;
            }
            at -= 1;
        }
    }

    /// Moves to `now`. `dirty` pages have been dirty since the last event.
    pub(crate) fn go_to(&mut self, now: Nanos, dirty: u32) {
        if now.since(self.from).0 < (self.over as u64 + 1).saturating_mul(self.length) {
            return;
        }
        let at = self.find(now);
        for interval in self.over..at {
            self.dirty[interval] = dirty;
        }
        self.over = self.over.max(at);
    }

    /// The length and times of each interval up to `now`. All work up to then must have been added.
    pub(crate) fn intervals(&self, now: Nanos) -> impl Iterator<Item = (Nanos, &CpuTotals)> {
        let (length, passed) = (self.length, now.since(self.from).0);
        let count = passed.div_ceil(length) as usize;
        self.times.iter().take(count).zip(0..).map(move |(times, n)| (Nanos((passed - n * length).min(length)), times))
    }

    /// The report at `now` for `cpus` CPUs and `dirty` dirty pages; `None` without files.
    pub(crate) fn report(&self, now: Nanos, cpus: u16, dirty: Option<u32>) -> OverTime {
        let shares = |of: fn(&CpuTotals) -> Nanos| {
            let share = |(length, times): (Nanos, &CpuTotals)| of(times).0 as f64 / (length.0 * u64::from(cpus)) as f64;
            self.intervals(now).map(share).collect()
        };
        let at_end = |interval, dirty| if interval < self.over { self.dirty[interval] } else { dirty };
        let count = self.intervals(now).count();
        OverTime {
            interval_s: Nanos(self.length).as_secs_f64(),
            computation: shares(|times| times.process),
            other: shares(|times| times.kernel),
            false_computation: shares(|times| times.false_computation),
            false_idle: shares(|times| times.false_idle),
            idle: shares(|times| times.idle),
            dirty_pages: dirty.map(|dirty| (0..count).map(|interval| at_end(interval, dirty)).collect()),
        }
    }

    /// Calls `add` for each interval that overlaps `begin` to `end`, with the overlap.
    fn each(&mut self, begin: Nanos, end: Nanos, mut add: impl FnMut(&mut CpuTotals, Nanos, Nanos)) {
        let mut from = begin.max(self.from);
        if from >= end {
            return;
        }
        // A lookup of the end may merge intervals, so it comes first.
        self.find(Nanos(end.0 - 1));
        while from < end {
            let interval = self.find(from);
            let to = end.min(self.last.2);
            add(&mut self.times[interval], from, to);
            from = to;
        }
    }

    /// The interval that contains `at`. Merges intervals until there is one.
    fn find(&mut self, at: Nanos) -> usize {
        let (interval, begin, end) = self.last;
        if begin <= at && at < end {
            return interval;
        }
        let passed = at.since(self.from).0;
        while passed / self.length >= INTERVALS as u64 {
            self.join();
        }
        let interval = passed / self.length;
        let begin = self.from + Nanos(interval * self.length);
        self.last = (interval as usize, begin, begin.saturating_add(Nanos(self.length)));
        interval as usize
    }

    fn join(&mut self) {
        for n in 0..INTERVALS / 2 {
            let second = self.times[2 * n + 1];
            self.times[n] = self.times[2 * n];
            self.times[n] += second;
            self.dirty[n] = self.dirty[2 * n + 1];
        }
        self.times[INTERVALS / 2..].fill(CpuTotals::default());
        // If the number was odd, the last one is half of an interval that is not over.
        self.over /= 2;
        self.length = self.length.saturating_mul(2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ms(n: u64) -> Nanos {
        Nanos::from_millis(n)
    }

    #[test]
    fn work_over_several_intervals_is_spread_evenly() {
        let mut line = TimeLine::new(Nanos::ZERO);
        // Work from 0.5 to 2.5 ms, of which clock interrupts take a tenth; idle before and after.
        line.add_idle(Nanos::ZERO, Nanos(500_000), 0, 1);
        line.add(Nanos(500_000), Nanos(2_500_000), CpuUse::Process, Nanos(1_800_000));
        line.add_idle(Nanos(2_500_000), ms(3), 1, 0);
        let report = line.report(ms(3), 1, None);
        assert_eq!(report.interval_s, 0.001);
        assert_eq!((report.computation, report.other), (vec![0.45, 0.9, 0.45], vec![0.05, 0.1, 0.05]));
        assert_eq!((report.idle, report.false_idle), (vec![0.5, 0.0, 0.0], vec![0.0, 0.0, 0.5]));
        line.idle_was_kernel(Nanos(600_000), true, Nanos(2_999_999));
        let report = line.report(ms(3), 1, None);
        assert_eq!((report.other[2], report.false_idle[2]), (0.55, 0.0), "no more than there was");
    }

    #[test]
    fn a_longer_run_has_longer_intervals_and_the_dirty_pages_at_their_ends() {
        let mut line = TimeLine::new(ms(10));
        for n in 0..1000 {
            line.go_to(ms(10 + n), n as u32);
        }
        line.add_idle(Nanos::ZERO, ms(1010), 0, 2);
        line.go_to(ms(1010), 1000);
        let report = line.report(ms(1010), 2, Some(7));
        assert_eq!((report.interval_s, report.idle.len()), (0.008, 125), "those before the beginning do not count");
        assert!(report.idle.iter().all(|&share| share == 1.0));
        let dirty: Vec<u32> = (1..=125).map(|n| 8 * n).collect();
        assert_eq!(report.dirty_pages, Some(dirty));
    }

    proptest! {
        /// The times of each interval add up to its length, also for work that begins before the time line.
        #[test]
        fn all_time_of_each_interval_is_accounted_for(
            from in 0u64..10_000_000,
            pieces in prop::collection::vec((0u64..50_000_000, 0u8..4, 0.0f64..1.0), 1..200),
        ) {
            let (mut line, mut now) = (TimeLine::new(Nanos(from)), Nanos::ZERO);
            for (length, what, share) in pieces {
                let end = now + Nanos(length);
                match what {
                    0 => line.add_idle(now, end, 1, 0),
                    1 => line.add_idle(now, end, 0, 1),
                    2 => line.add(now, end, CpuUse::Process, Nanos((length as f64 * share) as u64)),
                    _ => line.add(now, end, CpuUse::FalseComputation, Nanos(length)),
                }
                now = end;
                line.go_to(now, 0);
            }
            let mut all = Nanos::ZERO;
            for (length, times) in line.intervals(now) {
                prop_assert_eq!(times.sum(), length);
                all += length;
            }
            prop_assert_eq!(all, now.since(Nanos(from)));
        }
    }
}
