//! What takes longer in a machine that has rested.

use super::race::median;
use super::usual::{longer, median_us};
use iopilot_block::Nanos;
use iopilot_device::Rests;
use iopilot_trace::TraceRecord;

/// How long nothing was complete, from the least on: below the first a CPU has not gone to sleep, above the last its caches are cold.
const RESTS: [Nanos; 3] = [Nanos::from_micros(500), RESTED, Nanos::from_millis(5)];
/// From here on a machine has rested: where tasks stream from the disk, something is complete more often.
pub(super) const RESTED: Nanos = Nanos::from_millis(2);

/// After what rest something happens, of [`RESTS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rest(usize);

impl Rest {
    fn of(rest: Nanos) -> Self {
        Self(RESTS.partition_point(|&long| long <= rest))
    }
}

/// After what rest each of `records` is complete.
pub(super) fn of_each(records: &[TraceRecord]) -> Vec<Rest> {
    long(records).into_iter().map(Rest::of).collect()
}

/// After what rest each of `records` is issued: that before the last completion, or that since, whichever is longer.
pub(super) fn of_issues(records: &[TraceRecord]) -> Vec<Rest> {
    let ends = ends(records);
    let rest = |issue: Nanos| {
        let by = ends.partition_point(|&end| end <= issue);
        let [before, last] = [2, 1].map(|n| by.checked_sub(n).map(|n| ends[n]));
        last.map_or(Nanos::MAX, |last| issue.since(last).max(before.map_or(Nanos::MAX, |before| last.since(before))))
    };
    records.iter().map(|r| Rest::of(r.issue.map_or(Nanos::MAX, rest))).collect()
}

fn ends(records: &[TraceRecord]) -> Vec<Nanos> {
    let mut ends: Vec<Nanos> = records.iter().filter_map(|r| r.completion).collect();
    ends.sort_unstable();
    ends
}

/// For how long nothing had been complete when each of `records` is. Before the first the machine had rested for long.
pub(super) fn long(records: &[TraceRecord]) -> Vec<Nanos> {
    let ends = ends(records);
    let rest = |end: Nanos| {
        let before = ends.partition_point(|&other| other < end).checked_sub(1);
        before.map_or(Nanos::MAX, |n| end.since(ends[n]))
    };
    records.iter().map(|r| r.completion.map_or(Nanos::MAX, rest)).collect()
}

/// The longer one of the two rests before that after which a request is complete at `end`, one of `ends`, which are sorted.
pub(super) fn before(ends: &[Nanos], end: Nanos) -> Nanos {
    let this = ends.partition_point(|&other| other < end);
    let rest = |n: usize| Some(ends[this.checked_sub(n)?].since(ends[this.checked_sub(n + 1)?]));
    [1, 2].map(|n| rest(n).unwrap_or(Nanos::MAX)).into_iter().max().unwrap_or(Nanos::MAX)
}

/// A time in microseconds; `None` where too few tell.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Rested {
    /// By the rest before it.
    after: [Option<f64>; RESTS.len() + 1],
}

impl Rested {
    /// The medians of `times`.
    pub(super) fn of(times: impl Iterator<Item = (Rest, Nanos)>) -> Self {
        let mut by_rest: [Vec<Nanos>; RESTS.len() + 1] = Default::default();
        times.for_each(|(rest, time)| by_rest[rest.0].push(time));
        Self { after: by_rest.map(|mut times| median_us(&mut times)) }
    }

    /// The medians of what `all` tell.
    pub(super) fn typical(all: &(impl Iterator<Item = Self> + Clone)) -> Self {
        Self { after: std::array::from_fn(|rest| median(all.clone().filter_map(|one| one.after[rest]).collect())) }
    }

    /// What is not known of it as in `other`.
    pub(super) fn or(self, other: Self) -> Self {
        Self { after: std::array::from_fn(|rest| self.after[rest].or(other.after[rest])) }
    }

    /// Where it is not known after some rest, as after the next longer one, or else the next shorter one.
    fn times_us(self) -> Option<[f64; RESTS.len() + 1]> {
        let known = |rest: usize| {
            let longer = self.after[rest..].iter().flatten().next();
            longer.or_else(|| self.after[..rest].iter().rev().flatten().next()).copied()
        };
        known(0)?;
        Some(std::array::from_fn(|rest| known(rest).unwrap_or_default()))
    }
}

/// A time as it is here instead of there: so much longer in a machine that has not rested, and longer still in one that has.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Instead {
    /// There, by rest.
    there_us: [f64; RESTS.len() + 1],
    here_us: [f64; RESTS.len() + 1],
}

impl Instead {
    /// Nothing is longer where either is not known.
    pub(super) fn of(there: Rested, here: Rested) -> Self {
        let both = there.times_us().zip(here.times_us());
        both.map_or_else(Self::default, |(there_us, here_us)| Self { there_us, here_us })
    }

    /// What took `time` there, after a rest, as it is here after none.
    pub(super) fn at_once(&self, time: Nanos, rest: Rest) -> Nanos {
        longer(time, self.here_us[0] - self.there_us[rest.0])
    }

    /// By how much longer it is here after rests.
    pub(super) fn rests(&self) -> Rests {
        let longer = |rest: usize| Nanos::from_millis_f64((self.here_us[rest] - self.here_us[0]).max(0.0) / 1e3);
        Rests::new(RESTS.iter().enumerate().map(|(n, &after)| (after, longer(n + 1))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_block::{Lba, Op, Sectors};

    fn complete(us: u64) -> TraceRecord {
        let completion = Some(Nanos::from_micros(us));
        TraceRecord { completion, ..TraceRecord::new(Nanos::ZERO, Op::Read, Lba(0), Sectors(8)) }
    }

    #[test]
    fn what_is_complete_soon_after_another_is_so_after_no_rest() {
        let records = [9000, 1000, 1499, 2000, 4000].map(complete);
        assert_eq!(of_each(&records), [Rest(3), Rest(3), Rest(0), Rest(1), Rest(2)]);
    }

    #[test]
    fn before_a_rest_there_were_two() {
        let ends = [100, 300, 350, 1000, 1010].map(Nanos);
        assert_eq!([350, 1000, 1010].map(|end| before(&ends, Nanos(end)).0), [u64::MAX, 200, 650]);
    }

    #[test]
    fn what_is_issued_soon_after_a_rest_has_rested() {
        let at = |issue: u64, completion: u64| TraceRecord {
            issue: Some(Nanos::from_micros(issue)),
            ..complete(completion)
        };
        let records = [at(0, 1000), at(1100, 1400), at(1450, 4000), at(4010, 4200), at(4210, 5000), at(8000, 9000)];
        assert_eq!(of_issues(&records), [Rest(3), Rest(3), Rest(0), Rest(2), Rest(0), Rest(2)]);
    }

    #[test]
    fn a_time_here_is_that_of_a_machine_that_has_not_rested_and_so_much_longer() {
        let times = |us: [u64; 4]| {
            let of = us.into_iter().enumerate().map(|(rest, us)| (Rest(rest), Nanos::from_micros(us)));
            Rested::of(of.flat_map(|one| [one; 20]))
        };
        let instead = Instead::of(times([10, 20, 25, 30]), times([5, 25, 35, 45]));
        assert_eq!(instead.at_once(Nanos::from_micros(33), Rest(3)), Nanos::from_micros(8));
        let mut rests = instead.rests();
        let longer = [0, 100, 700, 3000, 9000].map(|us| rests.end(Nanos::from_micros(us)).0 / 1000);
        assert_eq!(longer, [40, 0, 20, 30, 40]);
        // Where a rest was not seen it is as after the next longer one, or the longest.
        let few = Rested::of([(Rest(1), Nanos::from_micros(9)); 20].into_iter());
        assert_eq!(few.times_us(), Some([9.0; 4]));
        assert_eq!(Rested::default().or(few), few);
        assert_eq!(Rested::typical(&[few, times([7; 4])].into_iter()).after[0], Some(7.0));
        assert_eq!(Instead::of(Rested::default(), few), Instead::default());
    }
}
