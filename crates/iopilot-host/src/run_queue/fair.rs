//! [`Fair`]: the completely fair scheduler of Linux 2.6.23 to 6.5, for processes of equal weight.
//!
//! Each CPU has a queue in order of *virtual run time*: how long each process has run. The process with the least runs for its
//! share of a latency, the period in which all of the queue run once. A process that has slept is placed half a latency before
//! the others, so that it runs soon but keeps no more credit. A new process is placed a share behind. A woken process pre-empts
//! one that is ahead of it by more than the wake-up granularity. An idle CPU pulls from the longest queue.
//!
//! As in `kernel/sched/fair.c`: `place_entity`, `sched_slice`, `wakeup_preempt_entity`. Left out: nice values, groups, the
//! periodic balancing of busy CPUs, and the rounding of shares to clock interrupts.

use crate::cpu_scheduler::FairSettings;
use iopilot_block::Nanos;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Where a process comes from when it enters a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// It is new.
    Birth,
    /// It has slept.
    Sleep,
    /// It ran, or has been placed already.
    Queue,
}

#[derive(Clone, Copy, Debug)]
struct Entity {
    /// Its virtual run time in nanoseconds, by the clock of its CPU's queue.
    vruntime: i64,
    cpu: usize,
    origin: Origin,
}

/// The queue of a CPU.
#[derive(Clone, Debug, Default)]
struct Queue {
    /// Waiting processes, by virtual run time, then by arrival.
    waiting: BinaryHeap<Reverse<(i64, u64, usize)>>,
    /// The least virtual run time in the queue; it never falls.
    min_vruntime: i64,
    current: Option<usize>,
    /// When the current process was last charged, and when its turn began.
    charged: Nanos,
    turn: Nanos,
}

/// A queue for each CPU.
#[derive(Clone, Debug)]
pub(super) struct Fair {
    settings: FairSettings,
    entities: Vec<Entity>,
    queues: Vec<Queue>,
    arrivals: u64,
}

impl Fair {
    pub(super) fn new(settings: FairSettings, cpus: u16) -> Self {
        Self { settings, entities: Vec::new(), queues: vec![Queue::default(); usize::from(cpus)], arrivals: 0 }
    }

    pub(super) fn add(&mut self) {
        self.entities.push(Entity { vruntime: 0, cpu: 0, origin: Origin::Birth });
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queues.iter().all(|queue| queue.waiting.is_empty())
    }

    pub(super) fn is_waited_for(&self, c: usize) -> bool {
        !self.queues[c].waiting.is_empty()
    }

    pub(super) fn wake(&mut self, p: usize) {
        let origin = &mut self.entities[p].origin;
        if *origin == Origin::Queue {
            *origin = Origin::Sleep;
        }
    }

    /// Returns the CPU: the one it ran on last; for a new process, the one with the fewest.
    pub(super) fn push(&mut self, p: usize, last_cpu: Option<usize>, now: Nanos) -> usize {
        let load = |c: &usize| self.queues[*c].waiting.len() + usize::from(self.queues[*c].current.is_some());
        let c = last_cpu.or_else(|| (0..self.queues.len()).min_by_key(load)).unwrap_or(0);
        self.charge(c, now);
        self.place(p, c);
        self.insert(p);
        c
    }

    fn insert(&mut self, p: usize) {
        self.arrivals += 1;
        let Entity { vruntime, cpu, .. } = self.entities[p];
        self.queues[cpu].waiting.push(Reverse((vruntime, self.arrivals, p)));
    }

    /// Sets the virtual run time of process `p` in the queue of CPU `c`.
    fn place(&mut self, p: usize, c: usize) {
        let min = self.queues[c].min_vruntime;
        // The running process has a share, too.
        let share = self.slice(c, 1 + usize::from(self.queues[c].current.is_some()));
        let from = self.queues[self.entities[p].cpu].min_vruntime;
        let entity = &mut self.entities[p];
        if entity.cpu != c {
            entity.vruntime += min - from;
            entity.cpu = c;
        }
        match entity.origin {
            Origin::Birth => entity.vruntime = min + nanos(share),
            Origin::Sleep => entity.vruntime = entity.vruntime.max(min - nanos(self.settings.latency) / 2),
            Origin::Queue => {}
        }
        entity.origin = Origin::Queue;
    }

    /// The share of each process, for those that wait for CPU `c` and `others` more.
    fn slice(&self, c: usize, others: usize) -> Nanos {
        let all = self.queues[c].waiting.len() + others;
        Nanos(self.settings.latency.0 / all as u64).max(self.settings.min_granularity)
    }

    /// Charges the process on CPU `c` for the time it has run.
    fn charge(&mut self, c: usize, now: Nanos) {
        let queue = &mut self.queues[c];
        let passed = now.since(queue.charged);
        queue.charged = now;
        let current = queue.current.map(|p| {
            let entity = &mut self.entities[p];
            entity.vruntime += nanos(passed);
            entity.vruntime
        });
        let waiting = queue.waiting.peek().map(|&Reverse((vruntime, ..))| vruntime);
        if let Some(least) = current.into_iter().chain(waiting).min() {
            queue.min_vruntime = queue.min_vruntime.max(least);
        }
    }

    /// The CPU of `p`, which has just been pushed, if the process there is too far ahead of it.
    pub(super) fn victim(&self, p: usize) -> Option<usize> {
        let Entity { vruntime, cpu, .. } = self.entities[p];
        let current = self.entities[self.queues[cpu].current?].vruntime;
        (current - vruntime > nanos(self.settings.wakeup_granularity)).then_some(cpu)
    }

    pub(super) fn enter(&mut self, c: usize, p: usize, now: Nanos) {
        self.place(p, c);
        let queue = &mut self.queues[c];
        (queue.current, queue.charged, queue.turn) = (Some(p), now, now);
    }

    pub(super) fn begin_turn(&mut self, c: usize, now: Nanos) {
        self.queues[c].turn = now;
    }

    /// Computed anew each time, because processes may have come since the turn began.
    pub(super) fn turn_ends(&self, c: usize) -> Nanos {
        self.queues[c].turn.saturating_add(self.slice(c, 1))
    }

    pub(super) fn put_back(&mut self, c: usize, p: usize, now: Nanos) {
        self.leave(c, now);
        self.insert(p);
    }

    pub(super) fn leave(&mut self, c: usize, now: Nanos) {
        self.charge(c, now);
        self.queues[c].current = None;
    }

    /// The next process of CPU `c`, or one of another CPU that is `allowed` here.
    pub(super) fn take(&mut self, c: usize, allowed: impl Fn(usize) -> bool) -> Option<usize> {
        if let Some(Reverse((.., p))) = self.queues[c].waiting.pop() {
            return Some(p);
        }
        // The longest queue; among equals, the first.
        let has_one = |c: &usize| self.queues[*c].waiting.iter().any(|&Reverse((.., p))| allowed(p));
        let from = (0..self.queues.len()).rev().filter(has_one).max_by_key(|&c| self.queues[c].waiting.len())?;
        let waiting = &mut self.queues[from].waiting;
        let &Reverse(next) = waiting.iter().filter(|Reverse((.., p))| allowed(*p)).max()?;
        waiting.retain(|&Reverse(other)| other != next);
        Some(next.2)
    }

    pub(super) fn remove(&mut self, p: usize) {
        let cpu = self.entities[p].cpu;
        self.queues[cpu].waiting.retain(|&Reverse((.., other))| other != p);
    }
}

/// Time as virtual run time, which may be negative.
fn nanos(time: Nanos) -> i64 {
    i64::try_from(time.0).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanos = Nanos::from_millis(1);

    fn of(cpus: u16, processes: usize) -> Fair {
        let mut fair = Fair::new(FairSettings::of(cpus), cpus);
        (0..processes).for_each(|_| fair.add());
        fair
    }

    /// Has the next process run on the CPU until `now`; returns it.
    fn run(fair: &mut Fair, from: Nanos, to: Nanos) -> usize {
        let p = fair.take(0, |_| true).unwrap();
        fair.enter(0, p, from);
        fair.put_back(0, p, to);
        p
    }

    #[test]
    fn all_of_a_queue_run_once_in_a_latency_but_not_for_less_than_the_granularity() {
        let mut fair = of(1, 20);
        let mut slices = Vec::new();
        fair.enter(0, 0, MS);
        for p in 1..20 {
            fair.push(p, None, MS);
            slices.push(fair.turn_ends(0).since(MS));
        }
        assert_eq!(slices[..3], [MS * 3, MS * 2, Nanos::from_micros(1500)]);
        assert_eq!(slices[6..], [Nanos::from_micros(750); 13]);
    }

    #[test]
    fn the_least_virtual_run_time_is_next_and_equal_ones_in_order() {
        let mut fair = of(1, 3);
        (0..3).for_each(|p| _ = fair.push(p, None, Nanos::ZERO));
        // New processes are placed a share behind: 6 ms, then half of it, then a third. That is at 6, 9 and 8 ms.
        let order: Vec<usize> = (0..6).map(|n| run(&mut fair, MS * n, MS * (n + 1))).collect();
        assert_eq!(order, [0, 0, 2, 0, 1, 2]);
    }

    #[test]
    fn a_sleeper_comes_soon_but_keeps_no_credit() {
        let mut fair = of(1, 2);
        fair.enter(0, 0, Nanos::ZERO);
        fair.leave(0, MS);
        fair.enter(0, 1, MS);
        // The other process computes for a second while this one sleeps.
        fair.wake(0);
        fair.push(0, Some(0), MS * 1001);
        assert_eq!(fair.victim(0), Some(0), "the other has run far more");
        let credit = fair.entities[1].vruntime - fair.entities[0].vruntime;
        assert_eq!(credit, nanos(MS * 3), "half a latency");
    }

    #[test]
    fn a_woken_process_preempts_one_ahead_by_more_than_the_granularity() {
        for (computed_us, victim) in [(1900, None), (2100, Some(0))] {
            let mut fair = of(1, 2);
            fair.entities.iter_mut().for_each(|entity| entity.origin = Origin::Queue);
            fair.enter(0, 1, Nanos::ZERO);
            fair.leave(0, MS);
            fair.enter(0, 0, MS);
            fair.wake(1);
            fair.push(1, Some(0), MS + Nanos::from_micros(computed_us));
            assert_eq!(fair.victim(1), victim, "{computed_us} µs against 1 ms");
        }
    }

    #[test]
    fn an_idle_cpu_pulls_from_the_longest_queue() {
        let mut fair = of(3, 6);
        for (p, cpu) in [(0, 1), (1, 2), (2, 2), (3, 1), (4, 2)] {
            fair.push(p, Some(cpu), Nanos::ZERO);
        }
        let p = fair.take(0, |_| true).unwrap();
        assert!([1, 2, 4].contains(&p), "{p}");
        fair.enter(0, p, MS);
        assert_eq!(fair.entities[p].cpu, 0);
        assert_eq!(fair.push(5, None, MS), 0, "a new one goes where fewest are");
    }

    #[test]
    fn a_removed_process_is_not_taken() {
        let mut fair = of(1, 2);
        (0..2).for_each(|p| _ = fair.push(p, Some(0), Nanos::ZERO));
        fair.remove(1);
        assert_eq!((fair.take(0, |_| true), fair.take(0, |_| true)), (Some(0), None));
    }
}
