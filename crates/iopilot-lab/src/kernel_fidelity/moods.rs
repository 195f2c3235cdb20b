//! [`Moods`]: what the race for tags under `none` hangs on besides who is in it.
//!
//! From one recording to the next the kernel's CPU scheduler sends more or fewer tasks on to another CPU, one in a hundred or one in five,
//! and as many more of those that stay lose their tags to sleepers: something else keeps the CPU on which completions are heard busy for as
//! long as the recording takes. So the chances are those of one recording after the other, and not the mean of all.

use super::race::USUAL;
use super::races::Races;
use super::went::{self, Went};
use iopilot_sim::{TagMoves, TagOdds};
use iopilot_trace::TraceRecord;

/// From which share of tasks that go on elsewhere on each is.
const ELSEWHERE: [f64; 6] = [0.0, 0.015, 0.03, 0.05, 0.08, 0.12];

/// What a recording under `none` tells.
#[derive(Clone, Copy, Debug)]
pub(super) struct Told {
    mood: usize,
    went: Went,
    /// Where it tells who was called.
    races: Option<Races>,
}

impl Told {
    pub(super) fn by(records: &[TraceRecord]) -> Self {
        let went = Went::of(records);
        let elsewhere = went.elsewhere();
        let mood = ELSEWHERE.iter().rposition(|&from| from <= elsewhere).unwrap_or_default();
        Self { mood, went, races: Races::of(records) }
    }
}

/// The chances in a mood.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Mood {
    pub(super) odds: Vec<TagOdds>,
    pub(super) moves: TagMoves,
}

impl Mood {
    /// The same where a task keeps its tag the more often the more `by` is above zero, in each part of a recording, which begins where so many requests
    /// are complete: the odds of each chance are `e` to this times what they were.
    pub(super) fn kept_more(&self, by: impl IntoIterator<Item = (u64, f64)>) -> Self {
        let part = |(after, by): (u64, f64)| {
            let of = move |chance: f64| logistic(logit(chance) + by);
            let put_right = move |odds: &TagOdds| TagOdds {
                after,
                here: odds.here.map(of),
                away: odds.away.map(of),
                gone: odds.gone.map(of),
                ..*odds
            };
            self.odds.iter().map(put_right)
        };
        Self { odds: by.into_iter().flat_map(part).collect(), moves: self.moves }
    }
}

/// The logarithm of the odds of a chance. One that always or never was so is taken for one in two hundred.
pub(super) fn logit(chance: f64) -> f64 {
    let chance = chance.clamp(0.005, 0.995);
    (chance / (1.0 - chance)).ln()
}

fn logistic(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// By mood, of [`ELSEWHERE`].
#[derive(Clone, Debug)]
pub(super) struct Moods([Mood; ELSEWHERE.len()]);

impl Moods {
    /// As recordings tell it together. What too few in a mood tell is as in all.
    pub(super) fn of(told: &[Told]) -> Self {
        let races = |of: Option<usize>| {
            let these = told.iter().filter(|told| of.is_none_or(|mood| told.mood == mood));
            these.filter_map(|told| told.races).sum::<Races>()
        };
        let went = |of: Option<usize>| {
            let these = told.iter().filter(|told| of.is_none_or(|mood| told.mood == mood));
            these.fold(Went::default(), |mut all, more| {
                all += more.went;
                all
            })
        };
        let (all, usual_moves) = (races(None), went(None).moves(&went::USUAL));
        let each: [Races; ELSEWHERE.len()] = std::array::from_fn(|mood| races(Some(mood)));
        let [kept, slept] = Races::factors(&each, [USUAL.kept, USUAL.slept]);
        Self(std::array::from_fn(|mood| Mood {
            odds: each[mood].odds(&all, &USUAL).into_iter().map(|odds| TagOdds { kept, slept, ..odds }).collect(),
            moves: went(Some(mood)).moves(&usual_moves),
        }))
    }

    /// Those in which a recording is.
    pub(super) fn in_which(&self, told: &Told) -> &Mood {
        &self.0[told.mood]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_block::{Lba, Nanos, Op, ProcessId, Sectors};

    impl Told {
        /// Whether it tells who was called.
        pub(in super::super) fn is_followed(&self) -> bool {
            self.races.is_some()
        }
    }

    impl Moods {
        /// From which share on, how many of `told` are in it, and how many of these tell who was called.
        pub(in super::super) fn table(&self, told: &[Told]) -> impl Iterator<Item = (f64, [usize; 2], &Mood)> {
            let of = |mood: usize| {
                let these = told.iter().filter(move |told| told.mood == mood);
                [these.clone().count(), these.filter(|told| told.races.is_some()).count()]
            };
            let counts: Vec<_> = (0..self.0.len()).map(of).collect();
            ELSEWHERE.into_iter().zip(counts).zip(&self.0).map(|((from, n), mood)| (from, n, mood))
        }
    }

    /// A task of whose hundred requests as many as that come from the other CPU, one after the other.
    fn told(elsewhere: u64) -> Told {
        let us = Nanos::from_micros;
        let read = |n: u64| TraceRecord {
            process: Some(ProcessId(1)),
            cpu: Some(u16::from(n < elsewhere)),
            issue: Some(us(100 * n + 1)),
            completion: Some(us(100 * n + 90)),
            ..TraceRecord::new(us(100 * n), Op::Read, Lba(n), Sectors(8))
        };
        Told::by(&(0..101).map(read).collect::<Vec<_>>())
    }

    #[test]
    fn the_more_tasks_go_on_elsewhere_the_worse_the_mood() {
        assert_eq!([0, 2, 3, 10, 40].map(|elsewhere| told(elsewhere).mood), [0, 0, 1, 4, 5]);
    }

    #[test]
    fn the_better_the_mood_the_more_often_tags_are_kept() {
        let mood = Moods::of(&[]).in_which(&told(0)).clone();
        let [more, even] = [2.0_f64.ln(), 0.0].map(|by| mood.kept_more([(0, 0.0), (9, by)]));
        assert_eq!((more.moves, more.odds.len()), (mood.moves, 2 * mood.odds.len()));
        let (first, then) = more.odds.split_at(mood.odds.len());
        assert!(first.iter().all(|odds| odds.after == 0) && then.iter().all(|odds| odds.after == 9));
        assert_eq!(first, &even.odds[..first.len()]);
        for (more, usual) in then.iter().zip(&mood.odds) {
            // The odds are twice what they were.
            assert!((more.here[0] - 2.0 * usual.here[0] / (1.0 + usual.here[0])).abs() < 1e-9, "{more:?}");
            assert!((logit(more.gone[1]) - logit(usual.gone[1]) - 2.0_f64.ln()).abs() < 1e-9, "{more:?}");
        }
        assert!((logit(0.0) + logit(1.0)).abs() < 1e-9 && logit(0.0).is_finite());
    }

    #[test]
    fn in_a_mood_the_chances_are_its_own_where_enough_tell_them() {
        let told: Vec<Told> = (0..3).map(|_| told(0)).chain((0..3).map(|_| told(30))).collect();
        let moods = Moods::of(&told);
        let [calm, restless] = [told[0], told[5]].map(|told| moods.in_which(&told).moves);
        assert_eq!(calm.here, [0.0, went::USUAL.here[1]]);
        assert_eq!(restless.here[0], 0.0);
        assert!((restless.away[0] - 29.0 / 30.0).abs() < 1e-9, "{restless:?}");
        // There is none in between: as in all, of which no race is told.
        let between = moods.table(&told).nth(3).unwrap();
        assert_eq!((between.1, between.2.moves.away[0]), ([0; 2], restless.away[0]));
        assert!(between.2.odds.iter().all(|odds| (odds.here[0] - USUAL.here[0]).abs() < 1e-9));
    }
}
