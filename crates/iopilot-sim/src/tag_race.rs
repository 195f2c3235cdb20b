//! [`TagRace`]: who gets the tag of a request that is complete, where somebody sleeps for it.
//!
//! The kernel wakes the task whose request is complete, and then a sleeper. Both look for the tag: the one for its next request, the other
//! for what it has in hand. Who is first is the CPU scheduler's choice (seen of Linux 6.18 by its events, [`crate::HostConfig`]):
//!
//! - A sleeper that lay down on another CPU than the one on which the completion is heard is there when that CPU has woken: 20 to 60 µs later,
//!   when the tag is mostly gone. It lies down there again.
//! - One on the same CPU loses the first time that it is called since it was served last, and wins the second time.
//!
//! So of equal tasks some get their tags by turns, and others starve until these have nothing left to read.

use crate::host::TagChances;
use iopilot_block::{ProcessId, ProcessMap};

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
}

impl TagRace {
    pub(crate) fn new(chances: TagChances, cpus: u16) -> Self {
        Self { chances, lost: ProcessMap::default(), went_on: vec![0; usize::from(cpus.max(1))] }
    }

    /// Whether anything hangs on what was before.
    fn has_memory(&self) -> bool {
        self.chances.again.is_some() || self.chances.away
    }

    /// A task submits a request on `cpu`.
    pub(crate) fn arrived(&mut self, process: ProcessId, cpu: u16) {
        if !self.has_memory() {
            return;
        }
        if let Some(went_on) = self.went_on.get_mut(usize::from(cpu)).filter(|_| self.lost.contains_key(&process)) {
            *went_on += 1;
        }
    }

    /// A request of `process` is complete.
    pub(crate) fn served(&mut self, process: ProcessId) {
        if self.has_memory() {
            self.lost.insert(process, false);
        }
    }

    /// A task has exited.
    pub(crate) fn exited(&mut self, process: ProcessId) {
        self.lost.remove(&process);
    }

    /// What hangs on it whether the sleeper of `process`, which submitted on `cpu`, wins.
    pub(crate) fn odds(&self, process: ProcessId, cpu: u16) -> Odds {
        if self.chances.away && cpu != self.heard_on() {
            return Odds::Time;
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

    fn race() -> TagRace {
        let mut race = TagRace::new(TagChances { first: 0.9, again: Some(0.1), away: true }, 2);
        // Whoever is served goes on on the second CPU.
        for process in [1, 2].map(ProcessId) {
            race.arrived(process, 0);
            race.served(process);
            race.arrived(process, HERE);
        }
        race
    }

    #[test]
    fn who_has_lost_wins_until_it_is_served() {
        let mut race = race();
        let sleeper = ProcessId(1);
        assert_eq!(race.odds(sleeper, HERE), Odds::Loses(0.9));
        race.lose(sleeper);
        assert_eq!(race.odds(sleeper, HERE), Odds::Loses(0.1));
        race.served(sleeper);
        assert_eq!(race.odds(sleeper, HERE), Odds::Loses(0.9));
    }

    #[test]
    fn who_sleeps_elsewhere_is_as_fast_as_its_cpu_however_often_it_has_lost() {
        let mut race = race();
        let sleeper = ProcessId(2);
        assert_eq!(race.odds(sleeper, 0), Odds::Time);
        race.lose(sleeper);
        assert_eq!(race.odds(sleeper, 0), Odds::Time);
        race.exited(sleeper);
        assert_eq!(race.odds(sleeper, HERE), Odds::Loses(0.9), "its number is another's now");
    }

    #[test]
    fn where_nothing_more_is_known_all_have_the_same_chance() {
        let mut race = TagRace::new(TagChances { first: 0.4, again: None, away: false }, 2);
        race.served(ProcessId(1));
        race.lose(ProcessId(1));
        assert_eq!([0, 1].map(|cpu| race.odds(ProcessId(1), cpu)), [Odds::Loses(0.4); 2]);
    }
}
