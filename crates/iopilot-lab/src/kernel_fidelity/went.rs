//! [`Went`]: where tasks go on under `none`, as a recording tells it.

use super::race::{AT_ONCE, BACK, heard_on};
use super::races::Tally;
use iopilot_block::ProcessId;
use iopilot_sim::TagMoves;
use iopilot_trace::TraceRecord;
use std::collections::HashMap;
use std::ops::AddAssign;

/// The chances where too few tasks tell them: those of 32 on four tags on a machine of two CPUs.
pub(super) const USUAL: TagMoves = TagMoves { here: [0.005, 0.065], away: [0.5, 0.16] };

/// How often a task went on on another CPU than most, of those that soon did: by whether it had been there already, and whether it had slept
/// for its tag.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Went([[Tally; 2]; 2]);

impl AddAssign for Went {
    fn add_assign(&mut self, other: Self) {
        self.0.iter_mut().flatten().zip(other.0.into_iter().flatten()).for_each(|(all, more)| *all += more);
    }
}

impl Went {
    pub(super) fn of(records: &[TraceRecord]) -> Self {
        let mut went = Self::default();
        let Some(heard_on) = heard_on(records) else { return went };
        let mut last: HashMap<ProcessId, &TraceRecord> = HashMap::new();
        for r in records {
            let Some(before) = r.process.and_then(|process| last.insert(process, r)) else { continue };
            let Some(end) = before.completion.filter(|&end| r.arrival.since(end) <= BACK) else { continue };
            let slept = before.issue.is_some_and(|issue| issue <= end && issue.since(before.arrival) >= AT_ONCE);
            let away = before.cpu != Some(heard_on);
            went.0[usize::from(away)][usize::from(slept)] += Tally::one(r.cpu != Some(heard_on));
        }
        went
    }

    /// The share of all.
    pub(super) fn elsewhere(&self) -> f64 {
        let all = self.0.iter().flatten().fold(Tally::default(), |mut all, more| {
            all += *more;
            all
        });
        f64::from(all.so) / f64::from(all.all.max(1))
    }

    /// The chances; the `usual` ones where too few tell them.
    pub(super) fn moves(&self, usual: &TagMoves) -> TagMoves {
        let [here, away] = &self.0;
        TagMoves {
            here: std::array::from_fn(|n| here[n].or(usual.here[n])),
            away: std::array::from_fn(|n| away[n].or(usual.away[n])),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_block::{Lba, Nanos, Op, Sectors};

    #[test]
    fn where_a_task_goes_on_is_told_by_where_it_was_and_whether_it_slept() {
        let us = Nanos::from_micros;
        let read = |cpu: u16, arrival: u64, wait: u64| TraceRecord {
            process: Some(ProcessId(1)),
            cpu: Some(cpu),
            issue: Some(us(arrival + wait)),
            completion: Some(us(arrival + wait + 100)),
            ..TraceRecord::new(us(arrival), Op::Read, Lba(arrival), Sectors(8))
        };
        // Most go on on the first CPU. The last comes too late to tell anything.
        let records = [
            read(0, 0, 1),
            read(0, 110, 1),
            read(1, 220, 50),
            read(1, 380, 1),
            read(0, 490, 50),
            read(0, 650, 1),
            read(0, 1000, 1),
        ];
        let went = Went::of(&records);
        let one = Tally::one;
        assert_eq!(went.0[0][0].all, 2, "here and at once, twice");
        assert_eq!(went.0[0], [Tally { so: 1, all: 2 }, one(false)]);
        assert_eq!(went.0[1], [one(false), one(true)]);
        assert_eq!(went.elsewhere(), 0.4);
        assert_eq!(went.moves(&USUAL), USUAL, "too few");
        let mut all = Went::default();
        (0..20).for_each(|_| all += went);
        assert_eq!(all.moves(&USUAL), TagMoves { here: [0.5, USUAL.here[1]], away: USUAL.away });
    }
}
