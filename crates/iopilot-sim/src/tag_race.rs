//! [`TagRace`]: who gets the tag of a request that is complete, where somebody sleeps for it.
//!
//! The kernel wakes the task whose request is complete, and then a sleeper. Both look for the tag: the one for its next request, the other
//! for what it has in hand. Who is first is the CPU scheduler's choice (seen of Linux 6.18 by its events, [`crate::HostConfig`]):
//!
//! - A sleeper that lay down on another CPU than the one on which the completion is heard is there when that CPU has woken: 20 to 60 µs later,
//!   when the tag is mostly gone. It lies down there again.
//! - One on the same CPU loses the first time that it is called since it was served last, and wins the second time.
//! - Where the task whose request is complete is woken on another CPU, it is late itself, and one on this CPU wins as a rule.
//!
//! So of equal tasks some get their tags by turns, and others starve until these have nothing left to read.

use crate::host::TagChances;
use iopilot_block::{ProcessId, ProcessMap};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// With which chance a task that goes on on another CPU has its tag again: 0.12 to 0.17 of those of 32 readers in recordings under `none`;
/// 0.07 to 0.12 of 8, but 0.42 of backward ones.
const KEPT_ELSEWHERE: f64 = 0.15;

/// What a race hangs on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Odds {
    /// Chance: with which the sleeper loses.
    Loses(f64),
    /// How long it takes until it is there.
    Time,
}

/// What decides the race.
#[derive(Clone, Debug)]
pub(crate) struct TagRace {
    chances: TagChances,
    /// Of tasks that have been served: whether they have lost since.
    lost: ProcessMap<bool>,
    /// By CPU, how often a task that had been served went on there.
    went_on: Vec<u32>,
    /// Of tasks that have been served: whether they go on elsewhere, where that is drawn.
    elsewhere: ProcessMap<bool>,
    random: Pcg64Mcg,
}

impl TagRace {
    pub(crate) fn new(chances: TagChances, cpus: u16, seed: u64) -> Self {
        Self {
            chances,
            lost: ProcessMap::default(),
            went_on: vec![0; usize::from(cpus.max(1))],
            elsewhere: ProcessMap::default(),
            random: Pcg64Mcg::seed_from_u64(seed.wrapping_add(2)),
        }
    }

    /// Whether anything hangs on what was before.
    fn has_memory(&self) -> bool {
        self.chances.again.is_some() || self.chances.away || self.chances.goes_away.is_some()
    }

    /// A task submits a request, on `cpu` where that is the source's to say: on which it does.
    pub(crate) fn arrived(&mut self, process: ProcessId, cpu: u16) -> u16 {
        if !self.has_memory() {
            return cpu;
        }
        let cpu = match self.elsewhere.get(&process) {
            Some(true) => (self.heard_on() + 1) % self.went_on.len() as u16,
            Some(false) => self.heard_on(),
            None => cpu,
        };
        if let Some(went_on) = self.went_on.get_mut(usize::from(cpu)).filter(|_| self.lost.contains_key(&process)) {
            *went_on += 1;
        }
        cpu
    }

    /// A request of `process` is complete.
    pub(crate) fn served(&mut self, process: ProcessId) {
        if self.has_memory() {
            self.lost.insert(process, false);
        }
        if let Some(chance) = self.chances.goes_away.filter(|_| self.went_on.len() > 1) {
            self.elsewhere.insert(process, self.random.random_bool(chance));
        }
    }

    /// A task has exited.
    pub(crate) fn exited(&mut self, process: ProcessId) {
        self.lost.remove(&process);
        self.elsewhere.remove(&process);
    }

    /// What hangs on it whether the sleeper of `process`, which submitted on `cpu`, wins against the task `served`.
    pub(crate) fn odds(&self, (process, cpu): (ProcessId, u16), served: ProcessId) -> Odds {
        if self.chances.away && cpu != self.heard_on() {
            return Odds::Time;
        }
        if self.elsewhere.get(&served) == Some(&true) {
            return Odds::Loses(KEPT_ELSEWHERE);
        }
        let again = self.chances.again.filter(|_| self.lost.get(&process) == Some(&true));
        Odds::Loses(again.unwrap_or(self.chances.first))
    }

    /// It has lost.
    pub(crate) fn lose(&mut self, process: ProcessId) {
        if self.has_memory() {
            self.lost.insert(process, true);
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

    fn race() -> TagRace {
        let mut race = TagRace::new(TagChances { first: 0.9, again: Some(0.1), away: true, goes_away: None }, 2, 1);
        // Whoever is served goes on on the second CPU.
        for process in [1, 2].map(ProcessId) {
            race.arrived(process, 0);
            race.served(process);
            assert_eq!(race.arrived(process, HERE), HERE);
        }
        race
    }

    #[test]
    fn who_has_lost_wins_until_it_is_served() {
        let mut race = race();
        let sleeper = ProcessId(1);
        assert_eq!(race.odds((sleeper, HERE), OTHER), Odds::Loses(0.9));
        race.lose(sleeper);
        assert_eq!(race.odds((sleeper, HERE), OTHER), Odds::Loses(0.1));
        race.served(sleeper);
        assert_eq!(race.odds((sleeper, HERE), OTHER), Odds::Loses(0.9));
    }

    #[test]
    fn who_sleeps_elsewhere_is_as_fast_as_its_cpu_however_often_it_has_lost() {
        let mut race = race();
        let sleeper = ProcessId(2);
        assert_eq!(race.odds((sleeper, 0), OTHER), Odds::Time);
        race.lose(sleeper);
        assert_eq!(race.odds((sleeper, 0), OTHER), Odds::Time);
        race.exited(sleeper);
        assert_eq!(race.odds((sleeper, HERE), OTHER), Odds::Loses(0.9), "its number is another's now");
    }

    #[test]
    fn where_nothing_more_is_known_all_have_the_same_chance() {
        let mut race = TagRace::new(TagChances { first: 0.4, again: None, away: false, goes_away: None }, 2, 1);
        race.served(ProcessId(1));
        race.lose(ProcessId(1));
        assert_eq!([0, 1].map(|cpu| race.odds((ProcessId(1), cpu), OTHER)), [Odds::Loses(0.4); 2]);
    }

    #[test]
    fn who_goes_on_elsewhere_is_late() {
        let chances = |goes_away| TagChances { first: 0.9, again: None, away: true, goes_away: Some(goes_away) };
        let (sleeper, cpus) = (ProcessId(1), 2);
        let mut race = TagRace::new(chances(1.0), cpus, 1);
        assert_eq!(race.arrived(OTHER, HERE), HERE, "its first request is where the source says");
        race.served(OTHER);
        assert_eq!(race.odds((sleeper, 0), OTHER), Odds::Loses(KEPT_ELSEWHERE));
        assert_eq!(race.odds((sleeper, HERE), OTHER), Odds::Time, "as the sleeper is");
        assert_eq!(race.arrived(OTHER, 0), HERE);
        let mut race = TagRace::new(chances(0.0), cpus, 1);
        race.served(OTHER);
        assert_eq!((race.odds((sleeper, 0), OTHER), race.arrived(OTHER, HERE)), (Odds::Loses(0.9), 0));
        let mut race = TagRace::new(chances(1.0), 1, 1);
        race.served(OTHER);
        assert_eq!(race.odds((sleeper, 0), OTHER), Odds::Loses(0.9), "there is no other CPU");
    }
}
