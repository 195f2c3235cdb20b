//! [`Svr4`]: time sharing as in System V Release 4.
//!
//! Each process has a priority, from 0 to 59. The process with the highest runs; equals take turns. A process falls by 10 when
//! it computes for a whole quantum. It rises by 10 when its request completes, and after each second of waiting for a CPU. A
//! quantum is 100 ms at the lowest priority and 20 ms at the highest. So a process that mostly waits for the disk goes before
//! one that computes. The vendor's own table (`ts_dptbl`) is not known for Ganger's machine: these are its rules with round
//! numbers.

use crate::cpu::Cpu;
use iopilot_block::Nanos;
use std::collections::VecDeque;

const HIGHEST: u8 = 59;
/// By how much a priority rises or falls.
const STEP: u8 = 10;
/// The initial priority of a process without a parent; others inherit their parent's.
const FIRST: u8 = 29;
/// A process that has waited for a CPU this long rises.
const PATIENCE: Nanos = Nanos::from_secs(1);
/// Quanta of the lowest and of the highest priority; linear in between.
const LONGEST: Nanos = Nanos::from_millis(100);
const SHORTEST: Nanos = Nanos::from_millis(20);

/// The quantum of a priority.
fn quantum(priority: u8) -> Nanos {
    Nanos(LONGEST.0 - (LONGEST.0 - SHORTEST.0) * u64::from(priority) / u64::from(HIGHEST))
}

#[derive(Clone, Copy, Debug)]
struct Entity {
    priority: u8,
    /// The rest of its quantum when its next turn begins.
    left: Nanos,
    /// Since when it has waited for a CPU at this priority, if it does.
    since: Option<Nanos>,
}

/// A queue for each priority, for all CPUs.
#[derive(Clone, Debug)]
pub(super) struct Svr4 {
    entities: Vec<Entity>,
    levels: Vec<VecDeque<usize>>,
    /// The levels at which a process waits, as bits.
    occupied: u64,
    /// Waiting processes by the start of their wait. An entry is stale if its process has stopped waiting since.
    by_time: VecDeque<(Nanos, usize)>,
}

impl Default for Svr4 {
    fn default() -> Self {
        let levels = vec![VecDeque::new(); usize::from(HIGHEST) + 1];
        Self { entities: Vec::new(), levels, occupied: 0, by_time: VecDeque::new() }
    }
}

impl Svr4 {
    pub(super) fn add(&mut self, parent: Option<usize>) {
        let priority = parent.map_or(FIRST, |parent| self.entities[parent].priority);
        self.entities.push(Entity { priority, left: quantum(priority), since: None });
    }

    /// Waiting processes, the highest priority first.
    pub(super) fn waiting(&self) -> impl Iterator<Item = &usize> {
        self.occupied_levels().flat_map(|level| &self.levels[level])
    }

    /// The levels at which a process waits, the highest first.
    fn occupied_levels(&self) -> impl Iterator<Item = usize> + use<> {
        let mut left = self.occupied;
        std::iter::from_fn(move || {
            let level = left.checked_ilog2()?;
            left &= !(1 << level);
            Some(level as usize)
        })
    }

    pub(super) fn wake(&mut self, p: usize, waited_for_io: bool) {
        if waited_for_io {
            self.rise(p);
        }
        let entity = &mut self.entities[p];
        entity.left = quantum(entity.priority);
    }

    fn rise(&mut self, p: usize) {
        let priority = &mut self.entities[p].priority;
        *priority = (*priority + STEP).min(HIGHEST);
    }

    pub(super) fn push(&mut self, p: usize, now: Nanos) {
        let level = self.waits(p, now);
        self.levels[level].push_back(p);
    }

    /// Notes that process `p` waits from now on. Returns its level.
    fn waits(&mut self, p: usize, now: Nanos) -> usize {
        let entity = &mut self.entities[p];
        entity.since = Some(now);
        self.by_time.push_back((now, p));
        self.occupied |= 1 << entity.priority;
        usize::from(entity.priority)
    }

    /// The `allowed` CPU whose process has the lowest priority, if that is below the priority of `p`.
    pub(super) fn victim(&self, p: usize, cpus: &[Cpu], allowed: impl Fn(usize) -> bool) -> Option<usize> {
        let running = cpus.iter().enumerate().filter(|(c, _)| allowed(*c));
        let (lowest, c) = running.filter_map(|(c, cpu)| Some((self.entities[cpu.process?].priority, c))).min()?;
        (lowest < self.entities[p].priority).then_some(c)
    }

    pub(super) fn turn_ends(&self, p: usize, now: Nanos) -> Nanos {
        now.saturating_add(self.entities[p].left)
    }

    /// A pre-empted process keeps the rest of its quantum, and goes before the others of its priority.
    pub(super) fn put_back(&mut self, p: usize, turn_ends: Nanos, now: Nanos) {
        let entity = &mut self.entities[p];
        if turn_ends > now {
            entity.left = turn_ends.since(now);
            let level = self.waits(p, now);
            self.levels[level].push_front(p);
        } else {
            entity.priority = entity.priority.saturating_sub(STEP);
            entity.left = quantum(entity.priority);
            self.push(p, now);
        }
    }

    /// The first `allowed` process of the highest priority.
    pub(super) fn take(&mut self, now: Nanos, allowed: impl Fn(usize) -> bool) -> Option<usize> {
        self.age(now);
        let place = |level: usize| self.levels[level].iter().position(|&p| allowed(p)).map(|at| (level, at));
        let (level, at) = self.occupied_levels().find_map(place)?;
        let p = self.levels[level].remove(at)?;
        self.leave_level(p, level);
        Some(p)
    }

    /// Process `p` has left the queue of this level.
    fn leave_level(&mut self, p: usize, level: usize) {
        self.entities[p].since = None;
        if self.levels[level].is_empty() {
            self.occupied &= !(1 << level);
        }
    }

    /// Raises processes that have waited too long.
    fn age(&mut self, now: Nanos) {
        while let Some(&(since, p)) = self.by_time.front() {
            let is_void = self.entities[p].since != Some(since);
            if !is_void && since.saturating_add(PATIENCE) > now {
                return;
            }
            self.by_time.pop_front();
            if !is_void {
                self.remove(p);
                self.rise(p);
                self.push(p, now);
            }
        }
    }

    pub(super) fn remove(&mut self, p: usize) {
        let level = usize::from(self.entities[p].priority);
        self.levels[level].retain(|&other| other != p);
        self.leave_level(p, level);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanos = Nanos::from_millis(1);

    fn of(processes: usize) -> Svr4 {
        let mut svr4 = Svr4::default();
        (0..processes).for_each(|_| svr4.add(None));
        svr4
    }

    fn priority(svr4: &Svr4, p: usize) -> u8 {
        svr4.entities[p].priority
    }

    #[test]
    fn a_quantum_is_100_ms_at_the_lowest_priority_and_20_ms_at_the_highest() {
        assert_eq!((quantum(0), quantum(HIGHEST)), (LONGEST, SHORTEST));
        assert!((1..=HIGHEST).all(|priority| quantum(priority) < quantum(priority - 1)));
    }

    #[test]
    fn a_used_quantum_lowers_and_a_wait_for_a_request_raises_the_priority() {
        let mut svr4 = of(1);
        let mut now = Nanos::ZERO;
        for expected in [19, 9, 0, 0] {
            let ends = svr4.turn_ends(0, now);
            now = ends;
            svr4.put_back(0, ends, now);
            assert_eq!((svr4.take(now, |_| true), priority(&svr4, 0)), (Some(0), expected));
        }
        assert_eq!(svr4.turn_ends(0, now), now + LONGEST);
        for expected in [10, 20, 30, 40, 50, 59, 59] {
            svr4.wake(0, true);
            assert_eq!(priority(&svr4, 0), expected);
        }
        svr4.wake(0, false);
        assert_eq!(priority(&svr4, 0), HIGHEST, "another wait changes nothing");
        svr4.add(Some(0));
        assert_eq!(priority(&svr4, 1), HIGHEST, "a child has its parent's");
    }

    #[test]
    fn the_highest_priority_is_next_and_the_first_of_it() {
        let mut svr4 = of(4);
        svr4.wake(2, true);
        svr4.wake(3, true);
        (0..4).for_each(|p| svr4.push(p, MS));
        let order: Vec<_> = std::iter::from_fn(|| svr4.take(MS, |_| true)).collect();
        assert_eq!(order, [2, 3, 0, 1]);
        assert_eq!(svr4.waiting().count(), 0);
    }

    #[test]
    fn a_preempted_process_goes_first_with_the_rest_of_its_quantum() {
        let mut svr4 = of(2);
        svr4.push(1, Nanos::ZERO);
        let ends = svr4.turn_ends(0, Nanos::ZERO);
        svr4.put_back(0, ends, MS);
        assert_eq!(svr4.take(MS, |_| true), Some(0));
        assert_eq!((svr4.turn_ends(0, MS), priority(&svr4, 0)), (ends, FIRST));
        svr4.put_back(0, ends, ends);
        assert_eq!(svr4.take(ends, |_| true), Some(1), "it has fallen below the other");
    }

    #[test]
    fn a_waiting_process_rises_once_each_second() {
        let mut svr4 = of(3);
        (0..4).for_each(|_| svr4.wake(1, true));
        svr4.push(0, Nanos::ZERO);
        // Another process at the same level comes and goes in front of it. Its wait still counts.
        svr4.entities[2].left = MS;
        svr4.put_back(2, MS * 600, MS * 500);
        let mut at = |ms: u64| {
            svr4.push(1, MS * ms);
            assert_eq!(svr4.take(MS * ms, |_| true), Some(1), "the highest");
            priority(&svr4, 0)
        };
        assert_eq!([999, 1000, 1500, 1999, 2000].map(&mut at), [29, 39, 39, 39, 49]);
        assert_eq!(svr4.take(MS * 2001, |_| true), Some(0), "above the other");
    }

    #[test]
    fn a_removed_process_is_not_taken() {
        let mut svr4 = of(2);
        (0..2).for_each(|p| svr4.push(p, Nanos::ZERO));
        svr4.remove(0);
        assert_eq!((svr4.take(MS, |_| true), svr4.take(MS, |_| true)), (Some(1), None));
        assert_eq!(svr4.take(MS * 5000, |_| true), None, "nor does it age");
    }
}
