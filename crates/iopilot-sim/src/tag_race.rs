//! [`TagRace`]: who gets the tag of a request that is complete, where somebody sleeps for it.
//!
//! The kernel wakes the task whose request is complete, and then a sleeper. Both look for the tag: the one for its next request, the other
//! for what it has in hand. Who is first is the CPU scheduler's choice. What it hangs on is [`TagOdds`]; so of equal tasks some get their tags
//! by turns, and others starve until these have nothing left to read.

use crate::host::TagChances;
use iopilot_block::{Nanos, ProcessId, ProcessMap};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use serde::Deserialize;

/// The chances with which a task keeps the tag of its request that is complete where a sleeper is called for it, as Linux 6.18 has them under
/// `none`.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TagOdds {
    /// Where the completion before was at least so long ago, in microseconds: a CPU that has slept deeper is slower.
    #[serde(default)]
    pub rest_us: f64,
    /// And where at least so many requests had been complete before: in the beginning of a load tasks keep their tags more often.
    #[serde(default)]
    pub after: u64,
    /// Against a sleeper that lay down on the CPU on which the completion is heard: by how often that has lost since it was served last, never,
    /// once, twice, and more often. It mostly wins the second time that it is called.
    pub here: [f64; TagOdds::TIMES],
    /// Against one on another CPU, which has to wake first: it lies down there again, however often it has lost.
    pub away: [f64; TagOdds::TIMES],
    /// Of a task that goes on on another CPU itself, and is late: against a sleeper on the CPU on which the completion is heard, and against one
    /// on another.
    pub gone: [f64; 2],
    /// By which factors the odds of the chances `here`, `away` and `gone` differ for a task that had kept its tag for the request that is complete.
    #[serde(default = "TagOdds::alike")]
    pub kept: [f64; 3],
    /// And for one that had slept for it.
    #[serde(default = "TagOdds::alike")]
    pub slept: [f64; 3],
}

impl TagOdds {
    /// How often a sleeper has lost: never, once, twice, and more often.
    pub const TIMES: usize = 4;
    /// Each as likely as the other, whatever was before.
    pub const EVEN: Self = Self {
        rest_us: 0.0,
        after: 0,
        here: [0.5; Self::TIMES],
        away: [0.5; Self::TIMES],
        gone: [0.5; 2],
        kept: [1.0; 3],
        slept: [1.0; 3],
    };

    fn alike() -> [f64; 3] {
        Self::EVEN.kept
    }

    /// All of them.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&'static str, f64)> {
        let of = |name, chances: &[f64]| chances.iter().map(move |&chance| (name, chance)).collect::<Vec<_>>();
        [of("here", &self.here), of("away", &self.away), of("gone", &self.gone)].into_iter().flatten()
    }

    /// The factors.
    pub(crate) fn factors(&self) -> impl Iterator<Item = (&'static str, f64)> {
        self.kept.map(|factor| ("kept", factor)).into_iter().chain(self.slept.map(|factor| ("slept", factor)))
    }
}

/// A chance whose odds are `factor` times those of `chance`.
fn times(chance: f64, factor: f64) -> f64 {
    chance * factor / (1.0 - chance + chance * factor)
}

/// The chances with which a task whose request is complete goes on on another CPU than the one on which that is heard. First where it had kept
/// its tag for that request, then where it had slept for one.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TagMoves {
    /// Of a task that had submitted it where completions are heard.
    pub here: [f64; 2],
    /// Of one that had on another CPU: it mostly stays there.
    pub away: [f64; 2],
}

impl TagMoves {
    /// All of them.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&'static str, f64)> {
        self.here.map(|chance| ("here", chance)).into_iter().chain(self.away.map(|chance| ("away", chance)))
    }
}

/// What decides the race.
#[derive(Clone, Debug)]
pub(crate) struct TagRace {
    chances: TagChances,
    tasks: ProcessMap<Task>,
    /// By CPU, how often a task that had been served went on there.
    went_on: Vec<u32>,
    /// When a request was complete last, how long the rest before that was, and how many had been before.
    last: Nanos,
    rest: Nanos,
    before: u64,
    complete: u64,
    random: Pcg64Mcg,
}

/// One of those that race.
#[derive(Clone, Copy, Debug, Default)]
struct Task {
    /// How often it has lost since it was served last.
    lost: u8,
    served: bool,
    /// Whether it has slept for a tag since, and whether it had for the one of the request that was complete last.
    slept: bool,
    had_slept: bool,
    /// Where it was last.
    cpu: u16,
    /// Whether it goes on elsewhere, where that is drawn.
    elsewhere: Option<bool>,
}

impl TagRace {
    pub(crate) fn new(chances: TagChances, cpus: u16, seed: u64) -> Self {
        Self {
            chances,
            tasks: ProcessMap::default(),
            went_on: vec![0; usize::from(cpus.max(1))],
            last: Nanos::ZERO,
            rest: Nanos::ZERO,
            before: 0,
            complete: 0,
            random: Pcg64Mcg::seed_from_u64(seed.wrapping_add(2)),
        }
    }

    /// Whether anything hangs on what was before.
    fn has_memory(&self) -> bool {
        !self.chances.odds.is_empty() || self.chances.moves.is_some()
    }

    /// A task submits a request, on `cpu` where that is the source's to say: on which it does.
    pub(crate) fn arrived(&mut self, process: ProcessId, cpu: u16) -> u16 {
        if !self.has_memory() {
            return cpu;
        }
        let (heard_on, cpus) = (self.heard_on(), self.went_on.len() as u16);
        let task = self.tasks.entry(process).or_default();
        task.cpu = match task.elsewhere {
            Some(true) if task.cpu == heard_on => (heard_on + 1) % cpus,
            Some(true) => task.cpu,
            Some(false) => heard_on,
            None => cpu,
        };
        if let Some(went_on) = self.went_on.get_mut(usize::from(task.cpu)).filter(|_| task.served) {
            *went_on += 1;
        }
        task.cpu
    }

    /// A request of `process` sleeps for a tag.
    pub(crate) fn sleeps(&mut self, process: ProcessId) {
        if let Some(task) = self.tasks.get_mut(&process) {
            task.slept = true;
        }
    }

    /// A request of `process` is complete.
    pub(crate) fn served(&mut self, process: ProcessId, now: Nanos) {
        self.rest = now.since(self.last);
        self.last = now;
        self.before = self.complete;
        self.complete += 1;
        let heard_on = self.heard_on();
        let Some(task) = self.tasks.get_mut(&process) else { return };
        task.elsewhere = self.chances.moves.filter(|_| self.went_on.len() > 1).map(|moves| {
            let chances = if task.cpu == heard_on { moves.here } else { moves.away };
            self.random.random_bool(chances[usize::from(task.slept)])
        });
        (task.lost, task.served) = (0, true);
        task.had_slept = std::mem::take(&mut task.slept);
    }

    /// A task has exited.
    pub(crate) fn exited(&mut self, process: ProcessId) {
        self.tasks.remove(&process);
    }

    /// With which chance the sleeper of `process`, which submitted on `cpu`, loses against the task `served`.
    pub(crate) fn loses(&self, (process, cpu): (ProcessId, u16), served: ProcessId) -> f64 {
        let rest = self.rest.as_micros_f64();
        let is_now = |odds: &&TagOdds| odds.after <= self.before && odds.rest_us <= rest;
        let Some(odds) = self.chances.odds.iter().rev().find(is_now) else {
            return self.chances.steal;
        };
        let away = usize::from(cpu != self.heard_on());
        let task = self.tasks.get(&served).copied().unwrap_or_default();
        let lost = self.tasks.get(&process).map_or(0, |task| task.lost);
        let lost = usize::from(lost).min(TagOdds::TIMES - 1);
        let (chance, kind) = match (task.elsewhere, away) {
            (Some(true), _) => (odds.gone[away], 2),
            (_, 0) => (odds.here[lost], 0),
            _ => (odds.away[lost], 1),
        };
        times(chance, if task.had_slept { odds.slept } else { odds.kept }[kind])
    }

    /// It has lost.
    pub(crate) fn lose(&mut self, process: ProcessId) {
        if let Some(task) = self.tasks.get_mut(&process) {
            task.lost = task.lost.saturating_add(1);
        }
    }

    /// On which CPU completions are heard: a task that waits for one goes on there.
    fn heard_on(&self) -> u16 {
        let most = self.went_on.iter().copied().max().unwrap_or_default();
        self.went_on.iter().position(|&n| n == most).unwrap_or_default() as u16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: u16 = 1;
    const OTHER: ProcessId = ProcessId(9);
    const AT: Nanos = Nanos::from_millis(1);
    const ODDS: TagOdds =
        TagOdds { here: [0.9, 0.1, 0.7, 0.8], away: [0.6, 0.65, 0.75, 0.85], gone: [0.15, 0.3], ..TagOdds::EVEN };

    fn race(moves: Option<TagMoves>) -> TagRace {
        let mut race = TagRace::new(TagChances { steal: 0.5, odds: vec![ODDS], moves: None }, 2, 1);
        // Whoever is served goes on on the second CPU.
        for process in [1, 2].map(ProcessId) {
            race.arrived(process, 0);
            race.served(process, AT);
            assert_eq!(race.arrived(process, HERE), HERE);
        }
        race.chances.moves = moves;
        race
    }

    #[test]
    fn what_a_sleepers_chances_are_hangs_on_how_often_it_has_lost_since_it_was_served() {
        for (cpu, odds) in [(HERE, ODDS.here), (0, ODDS.away)] {
            let mut race = race(None);
            let sleeper = ProcessId(1);
            for chance in odds.into_iter().chain([odds[3]]) {
                assert_eq!(race.loses((sleeper, cpu), OTHER), chance);
                race.lose(sleeper);
            }
            race.served(sleeper, AT);
            assert_eq!(race.loses((sleeper, cpu), OTHER), odds[0]);
            race.lose(sleeper);
            race.exited(sleeper);
            assert_eq!(race.loses((sleeper, cpu), OTHER), odds[0], "its number is another's now");
        }
    }

    #[test]
    fn where_nothing_more_is_known_all_have_the_same_chance() {
        let mut race = TagRace::new(TagChances { steal: 0.4, odds: Vec::new(), moves: None }, 2, 1);
        race.served(ProcessId(1), AT);
        race.lose(ProcessId(1));
        assert_eq!([0, 1].map(|cpu| race.loses((ProcessId(1), cpu), OTHER)), [0.4; 2]);
    }

    #[test]
    fn who_goes_on_elsewhere_is_late() {
        let moves = |chance| Some(TagMoves { here: [chance; 2], away: [chance; 2] });
        let sleeper = ProcessId(1);
        let mut late = race(moves(1.0));
        assert_eq!(late.arrived(OTHER, HERE), HERE, "its first request is where the source says");
        late.served(OTHER, AT);
        late.lose(sleeper);
        assert_eq!([HERE, 0].map(|cpu| late.loses((sleeper, cpu), OTHER)), ODDS.gone);
        assert_eq!(late.arrived(OTHER, HERE), 0);
        let mut stays = race(moves(0.0));
        stays.arrived(OTHER, 0);
        stays.served(OTHER, AT);
        assert_eq!((stays.loses((sleeper, HERE), OTHER), stays.arrived(OTHER, 0)), (ODDS.here[0], HERE));
        let mut alone = TagRace::new(TagChances { steal: 0.5, odds: vec![ODDS], moves: moves(1.0) }, 1, 1);
        alone.arrived(OTHER, 0);
        alone.served(OTHER, AT);
        assert_eq!(alone.loses((sleeper, 0), OTHER), ODDS.here[0], "there is no other CPU");
    }

    #[test]
    fn where_a_task_goes_on_hangs_on_where_it_was_and_whether_it_slept() {
        let mut race = race(Some(TagMoves { here: [0.0, 1.0], away: [1.0, 0.0] }));
        let task = ProcessId(1);
        let mut next = |slept: bool| {
            if slept {
                race.sleeps(task);
            }
            race.served(task, AT);
            race.arrived(task, HERE)
        };
        assert_eq!([false, true, false, false, true, false].map(&mut next), [HERE, 0, 0, 0, HERE, HERE]);
    }

    #[test]
    fn who_had_slept_for_its_tag_has_other_odds_than_who_had_kept_it() {
        let mut race = race(None);
        race.chances.odds = vec![TagOdds { kept: [2.0, 3.0, 1.0], slept: [0.5, 0.25, 1.0], ..ODDS }];
        let mut chances = |slept: bool| {
            race.arrived(OTHER, HERE);
            if slept {
                race.sleeps(OTHER);
            }
            race.served(OTHER, AT);
            [HERE, 0].map(|cpu| race.loses((ProcessId(1), cpu), OTHER))
        };
        let odds = |chances: [f64; 2]| chances.map(|chance| (chance / (1.0 - chance) * 1e6).round() / 1e6);
        assert_eq!([false, true, false].map(|slept| odds(chances(slept))), [[18.0, 4.5], [4.5, 0.375], [18.0, 4.5]]);
        assert_eq!([0.0, 1.0].map(|chance| times(chance, 3.0)), [0.0, 1.0], "what never or always happens");
    }

    #[test]
    fn after_a_long_rest_the_chances_are_others() {
        let mut race = race(None);
        let rested = TagOdds { rest_us: 250.0, here: [0.6; 4], ..ODDS };
        race.chances.odds.push(rested);
        let us = Nanos::from_micros;
        let mut chance = |at: u64| {
            race.served(OTHER, us(at));
            race.loses((ProcessId(1), HERE), OTHER)
        };
        assert_eq!([2_000, 2_249, 2_499, 2_598].map(&mut chance), [0.6, 0.9, 0.6, 0.9]);
    }

    #[test]
    fn once_more_requests_are_complete_the_chances_are_others() {
        let mut race = race(None);
        let (first, rested) =
            (race.complete, TagOdds { rest_us: 250.0, after: race.complete + 2, here: [0.6; 4], ..ODDS });
        race.chances.odds = vec![ODDS, TagOdds { after: first + 2, here: [0.4; 4], ..ODDS }, rested];
        let us = Nanos::from_micros;
        let mut chance = |at: u64| {
            race.served(OTHER, us(at));
            race.loses((ProcessId(1), HERE), OTHER)
        };
        assert_eq!([2_000, 4_000, 4_100, 4_400].map(&mut chance), [0.9, 0.9, 0.4, 0.6]);
    }
}
