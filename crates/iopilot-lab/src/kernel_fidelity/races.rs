//! [`Races`]: how often tasks kept their tags under `none`, as a recording tells it.
//!
//! A recording does not say who was called. But sleepers lie down and are called in turn (`Tags` of iopilot-sim), and who got a tag says when
//! each lay down: so the eight queues are followed, from each of the beds that may have been the first to be called.

mod followed;

use super::race::heard_on;
use followed::{Followed, QUEUES, events};
use iopilot_sim::TagOdds;
use iopilot_trace::TraceRecord;
use std::iter::Sum;
use std::ops::AddAssign;

/// Of fewer races nothing is told.
const ENOUGH: u32 = 40;
/// Where more of the sleepers that got tags than this had not been called, others had been: the queues are not followed rightly. That happens
/// where two take their turns for a bed at once.
const UNCALLED: f64 = 0.15;

/// How often something happened, and how often it might have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) so: u32,
    pub(super) all: u32,
}

impl Tally {
    pub(super) fn one(so: bool) -> Self {
        Self { so: u32::from(so), all: 1 }
    }

    /// Both together.
    pub(super) fn and(mut self, other: Self) -> Self {
        self += other;
        self
    }

    /// The share; of none, zero.
    pub(super) fn share(self) -> f64 {
        f64::from(self.so) / f64::from(self.all.max(1))
    }

    /// The share; `usual` where that is of too few.
    pub(super) fn or(self, usual: f64) -> f64 {
        if self.all < ENOUGH { usual } else { self.share() }
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.so += other.so;
        self.all += other.all;
    }
}

/// From how long a rest before the completion on the chances are others, in microseconds: a CPU that has slept deeper is slower.
const RESTS_US: [f64; 3] = [0.0, 250.0, 2000.0];

/// By the rest before, of [`RESTS_US`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Races([Kept; RESTS_US.len()]);

/// How often a tag was kept, of tasks that had kept it before and of those that had slept for it; what hangs on what is [`TagOdds`]'.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Kept {
    here: [[Tally; 2]; TagOdds::TIMES],
    away: [[Tally; 2]; TagOdds::TIMES],
    gone: [[Tally; 2]; 2],
}

impl AddAssign for Kept {
    fn add_assign(&mut self, other: Self) {
        let pairs =
            [(&mut self.here[..], &other.here[..]), (&mut self.away, &other.away), (&mut self.gone, &other.gone)];
        let pairs = pairs.into_iter().flat_map(|(all, more)| all.iter_mut().flatten().zip(more.iter().flatten()));
        pairs.for_each(|(all, more)| *all += *more);
    }
}

impl Kept {
    fn odds(&self, rest_us: f64, usual: &TagOdds) -> TagOdds {
        let both = |[kept, slept]: [Tally; 2]| kept.and(slept);
        TagOdds {
            rest_us,
            here: std::array::from_fn(|n| both(self.here[n]).or(usual.here[n])),
            away: std::array::from_fn(|n| both(self.away[n]).or(usual.away[n])),
            gone: std::array::from_fn(|n| both(self.gone[n]).or(usual.gone[n])),
            ..*usual
        }
    }

    /// Those `here`, `away` and `gone`.
    fn kinds(&self) -> [&[[Tally; 2]]; 3] {
        [&self.here, &self.away, &self.gone]
    }
}

impl Sum for Kept {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |mut sum, one| {
            sum += one;
            sum
        })
    }
}

impl Sum for Races {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |mut sum, one| {
            sum.0.iter_mut().zip(one.0).for_each(|(all, more)| *all += more);
            sum
        })
    }
}

impl Races {
    /// Those of a recording under `none`; `None` where it does not tell who was called.
    pub(super) fn of(records: &[TraceRecord]) -> Option<Self> {
        let heard_on = heard_on(records)?;
        let events = events(records);
        let all = (0..QUEUES).map(|first| Followed::through(records, &events, heard_on, first));
        let best = all.min_by_key(|followed| followed.uncalled)?;
        let sleepers = best.called + best.uncalled;
        (f64::from(best.uncalled) <= UNCALLED * f64::from(sleepers)).then_some(best.races)
    }

    /// The chances after any rest; where too few races tell one, the `usual` one.
    fn after_any_rest(&self, usual: &TagOdds) -> TagOdds {
        self.0.iter().copied().sum::<Kept>().odds(0.0, usual)
    }

    /// By which factors the odds differ of tasks that had kept their tag before, and of those that had slept for it, here, away and gone, as `each` of the
    /// moods tells it; what too few tell is as `usual`.
    pub(super) fn factors(each: &[Self], usual: [[f64; 3]; 2]) -> [[f64; 3]; 2] {
        let mut shares = [[Share::default(); 3]; 2];
        for kinds in each.iter().flat_map(|races| &races.0).map(Kept::kinds) {
            for (kind, before) in
                kinds.into_iter().enumerate().flat_map(|(kind, all)| all.iter().map(move |of| (kind, of)))
            {
                let both = before[0].and(before[1]).share();
                for (shares, told) in shares.iter_mut().zip(before) {
                    let share = &mut shares[kind];
                    share.so += f64::from(told.so);
                    share.expected += f64::from(told.all) * both;
                    share.all += f64::from(told.all);
                }
            }
        }
        std::array::from_fn(|before| std::array::from_fn(|kind| shares[before][kind].factor(usual[before][kind])))
    }

    /// The chances by rest. Where too few of these races tell one, `more` of them do: it differs from that after any rest as it does there.
    pub(super) fn odds(&self, more: &Self, usual: &TagOdds) -> Vec<TagOdds> {
        let there = more.after_any_rest(usual);
        let here = self.after_any_rest(&there);
        let by_rest = self.0.iter().zip(&more.0).zip(RESTS_US);
        by_rest
            .map(|((kept, more), rest_us)| {
                let usual = each(&more.odds(rest_us, &there), &there, &here);
                kept.odds(rest_us, &usual)
            })
            .collect()
    }
}

/// How often tags were kept, and how often they would have been if it made no difference.
#[derive(Clone, Copy, Debug, Default)]
struct Share {
    so: f64,
    expected: f64,
    all: f64,
}

impl Share {
    /// By which factor the odds differ; `usual` where too few tell it.
    fn factor(self, usual: f64) -> f64 {
        let odds = |so: f64| (so + 0.5) / (self.all - so + 0.5);
        if self.all < f64::from(ENOUGH) { usual } else { (odds(self.so) / odds(self.expected)).clamp(0.1, 10.0) }
    }
}

/// Chances that differ from those `here` as `rested` ones differ from those `there`, chance by chance: by a factor of the odds.
fn each(rested: &TagOdds, there: &TagOdds, here: &TagOdds) -> TagOdds {
    fn of<const N: usize>(rested: [f64; N], there: [f64; N], here: [f64; N]) -> [f64; N] {
        // One that always or never was so knows no factor.
        let odds = |chance: f64| chance.clamp(0.005, 0.995) / (1.0 - chance.clamp(0.005, 0.995));
        std::array::from_fn(|n| {
            let odds = odds(here[n]) * odds(rested[n]) / odds(there[n]);
            odds / (1.0 + odds)
        })
    }
    TagOdds {
        rest_us: rested.rest_us,
        here: of(rested.here, there.here, here.here),
        away: of(rested.away, there.away, here.away),
        gone: of(rested.gone, there.gone, here.gone),
        ..*here
    }
}

#[cfg(test)]
mod tests {
    use super::super::predict::of_depth;
    use super::super::race::USUAL;
    use super::super::went::{self, Went};
    use super::*;
    use iopilot_block::{Lba, Nanos, Op, ProcessId, Sectors};
    use iopilot_sched::SchedulerSpec;
    use iopilot_sim::{Machine, Progress, RunOptions, TagMoves, simulate};
    use iopilot_workload::{FioJobs, Workload};

    const ODDS: TagOdds =
        TagOdds { here: [0.7, 0.2, 0.5, 0.6], away: [0.8, 0.6, 0.7, 0.9], gone: [0.1, 0.4], ..TagOdds::EVEN };
    const MOVES: TagMoves = TagMoves { here: [0.02, 0.1], away: [0.6, 0.3] };

    /// What 32 random readers do on four tags where these are the chances.
    fn recording(odds: Vec<TagOdds>) -> Vec<TraceRecord> {
        let mut machine = of_depth(&Machine::for_disk("hd-500-16").unwrap(), 4);
        machine.host.tag_odds = odds;
        machine.host.tag_moves = Some(MOVES);
        (machine.host.issue_us, machine.host.resume_us) = (1.0, 10.0);
        let jobs = "[readers]\nrw=randread\nbs=4k\nsize=4g\nnumjobs=32\nnumber_ios=1000\n";
        let workload = Workload::Fio { name: "readers".to_owned(), jobs: FioJobs::parse(jobs, "readers").unwrap() };
        let none = SchedulerSpec::parse("none").unwrap();
        let options = RunOptions { seed: 42, log: true };
        let mut records = simulate(&machine, &workload, &none, &options, &Progress::default()).unwrap().log.unwrap();
        // All begin at once, and lie down in turn.
        records.sort_by_key(|r| (r.arrival, r.process));
        records
    }

    fn all(odds: &TagOdds) -> Vec<f64> {
        [&odds.here[..], &odds.away, &odds.gone].concat()
    }

    #[test]
    fn what_few_races_tell_differs_by_rest_as_it_does_in_more() {
        let kept = |so: u32, all: u32| Kept { here: [[Tally { so, all }, Tally::default()]; 4], ..Kept::default() };
        let few = Races([kept(10, 20), kept(0, 0), kept(45, 100)]);
        let more = Races([kept(900, 1000), kept(600, 1000), kept(0, 1000)]);
        let [soon, later, late] = few.odds(&more, &USUAL).try_into().unwrap();
        // 55 of 120 here, and 1500 of 3000 there, so that the odds are 55 / 65 of those there.
        let chance = |there: f64| 1.0 / (1.0 + 65.0 / 55.0 * (1.0 - there) / there);
        assert!((soon.here[0] - chance(0.9)).abs() < 1e-9, "{soon:?}");
        assert!((later.here[0] - chance(0.6)).abs() < 1e-9, "{later:?}");
        assert_eq!(late.here[0], 0.45);
        assert_eq!([soon.rest_us, later.rest_us, late.rest_us], RESTS_US);
    }

    #[test]
    fn a_recording_tells_with_which_chances_it_was_made() {
        let records = recording(vec![ODDS]);
        let races = Races::of(&records).unwrap();
        let told = races.after_any_rest(&USUAL);
        for (told, made) in all(&told).into_iter().zip(all(&ODDS)) {
            assert!((told - made).abs() < 0.06, "{told} {made}: {races:?}");
        }
        let moves = Went::of(&records).moves(&went::USUAL);
        for (told, made) in [moves.here, moves.away].concat().into_iter().zip([MOVES.here, MOVES.away].concat()) {
            assert!((told - made).abs() < 0.05, "{told} {made}");
        }
    }

    #[test]
    fn what_it_makes_to_have_slept_is_told_within_each_mood() {
        let mood = |[kept, slept]: [[u32; 2]; 2]| {
            let before = [kept, slept].map(|[so, all]| Tally { so, all });
            Races([Kept { here: [before; 4], ..Kept::default() }; 3])
        };
        let factors = |moods: &[Races]| Races::factors(moods, [[7.0; 3]; 2]);
        // Calm tasks mostly keep their tags, and restless ones have mostly slept, which makes no difference in either mood.
        let [kept, slept] = factors(&[mood([[800, 1000], [80, 100]]), mood([[30, 100], [270, 900]])]);
        assert!((kept[0] - 1.0).abs() < 1e-9 && (slept[0] - 1.0).abs() < 1e-9, "{kept:?} {slept:?}");
        // Odds of two and of a half, where those of all are even.
        let [kept, slept] = factors(&[mood([[200, 300], [100, 300]])]);
        assert!((kept[0] - 2.0).abs() < 0.01 && (slept[0] - 0.5).abs() < 0.01, "{kept:?} {slept:?}");
        assert_eq!((&kept[1..], &slept[1..]), (&[7.0; 2][..], &[7.0; 2][..]), "too few");
    }

    #[test]
    fn the_chances_hang_on_the_rest_before() {
        let rested = TagOdds { rest_us: 2000.0, here: [0.3; 4], away: [0.4; 4], ..ODDS };
        let races = Races::of(&recording(vec![ODDS, rested])).unwrap();
        let [_, soon, late] = races.odds(&races, &USUAL).try_into().unwrap();
        let TagOdds { here: [soon, ..], .. } = soon;
        let TagOdds { here: [late, ..], .. } = late;
        assert!((soon - 0.7).abs() < 0.1 && (late - 0.3).abs() < 0.1, "{soon} {late}");
    }

    #[test]
    fn where_nobody_sleeps_nothing_is_told() {
        assert_eq!(Races::of(&[]), None);
        let read = TraceRecord {
            cpu: Some(0),
            process: Some(ProcessId(1)),
            ..TraceRecord::new(Nanos(7), Op::Read, Lba(0), Sectors(8))
        };
        let none = Races::of(&[read.clone(), read]).unwrap();
        assert_eq!(none, Races::default());
        for told in none.odds(&none, &USUAL) {
            assert!(
                all(&told).into_iter().zip(all(&USUAL)).all(|(told, usual)| (told - usual).abs() < 1e-9),
                "{told:?}"
            );
        }
    }
}
