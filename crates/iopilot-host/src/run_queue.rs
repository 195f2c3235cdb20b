//! [`RunQueue`]: the processes that wait for a CPU, and which one is next.

mod fair;
mod pins;
mod round_robin;
mod svr4;

use crate::cpu::Cpu;
use crate::cpu_scheduler::CpuScheduler;
use crate::settings::HostSettings;
use fair::Fair;
use iopilot_block::Nanos;
use pins::Pins;
use round_robin::RoundRobin;
use std::collections::VecDeque;
use svr4::Svr4;

#[derive(Clone, Debug)]
enum Policy {
    RoundRobin(RoundRobin),
    Svr4(Svr4),
    Fair(Fair),
}

/// The runnable processes, and the policy that chooses the next one.
///
/// Processes and CPUs are the host's indices. All methods but [`RunQueue::remove`] are at most O(log n) in the waiting
/// processes, and O(n) in the CPUs. With pinned processes they are O(n) in the waiting processes, too.
#[derive(Clone, Debug)]
pub(crate) struct RunQueue {
    /// Processes that go before all others, under any policy.
    first: VecDeque<usize>,
    pins: Pins,
    policy: Policy,
}

impl RunQueue {
    pub(crate) fn new(settings: &HostSettings) -> Self {
        let policy = match settings.scheduler {
            CpuScheduler::RoundRobin => Policy::RoundRobin(RoundRobin::new(settings.quantum)),
            CpuScheduler::Svr4 => Policy::Svr4(Svr4::default()),
            CpuScheduler::Fair => Policy::Fair(Fair::new(settings.fair, settings.cpus)),
        };
        Self { first: VecDeque::new(), pins: Pins::default(), policy }
    }

    /// Adds a process with the next index and this parent.
    pub(crate) fn add(&mut self, parent: Option<usize>) {
        self.pins.add(parent);
        match &mut self.policy {
            Policy::RoundRobin(_) => {}
            Policy::Svr4(svr4) => svr4.add(parent),
            Policy::Fair(fair) => fair.add(),
        }
    }

    /// Pins process `p`, and its future children, to CPU `c`.
    pub(crate) fn pin(&mut self, p: usize, c: usize) {
        self.pins.pin(p, c);
    }

    /// Whether process `p` may run on CPU `c`.
    pub(crate) fn allows(&self, p: usize, c: usize) -> bool {
        self.pins.allow(p, c)
    }

    /// Process `p` wakes up. The caller pushes it, or puts it on a CPU.
    pub(crate) fn wake(&mut self, p: usize, waited_for_io: bool) {
        match &mut self.policy {
            Policy::RoundRobin(_) => {}
            Policy::Svr4(svr4) => svr4.wake(p, waited_for_io),
            Policy::Fair(fair) => fair.wake(p),
        }
    }

    /// Process `p` waits for a CPU. Returns that CPU; `None` if it waits for any.
    pub(crate) fn push(&mut self, p: usize, last_cpu: Option<usize>, now: Nanos) -> Option<usize> {
        match &mut self.policy {
            Policy::RoundRobin(queue) => queue.push(p),
            Policy::Svr4(svr4) => svr4.push(p, now),
            Policy::Fair(fair) => return Some(fair.push(p, self.pins.of(p).or(last_cpu), now)),
        }
        self.pins.of(p)
    }

    /// Process `p` waits for any CPU that it may run on, before all others.
    pub(crate) fn push_first(&mut self, p: usize) {
        self.first.push_front(p);
    }

    /// The CPU whose process must yield to `p`, which has just been pushed.
    pub(crate) fn victim(&self, p: usize, cpus: &[Cpu]) -> Option<usize> {
        match &self.policy {
            Policy::RoundRobin(_) => None,
            Policy::Svr4(svr4) => svr4.victim(p, cpus, |c| self.pins.allow(p, c)),
            Policy::Fair(fair) => fair.victim(p),
        }
    }

    /// Whether no process waits for a CPU.
    pub(crate) fn is_empty(&self) -> bool {
        self.first.is_empty()
            && match &self.policy {
                Policy::RoundRobin(queue) => queue.waiting().next().is_none(),
                Policy::Svr4(svr4) => svr4.waiting().next().is_none(),
                Policy::Fair(fair) => fair.is_empty(),
            }
    }

    /// Whether a process waits for CPU `c`.
    pub(crate) fn is_waited_for(&self, c: usize) -> bool {
        let allowed = |&p: &usize| self.pins.allow(p, c);
        self.first.iter().any(allowed)
            || match &self.policy {
                Policy::RoundRobin(queue) => queue.waiting().any(allowed),
                Policy::Svr4(svr4) => svr4.waiting().any(allowed),
                // A pinned process waits in its CPU's queue.
                Policy::Fair(fair) => fair.is_waited_for(c),
            }
    }

    /// The turn of process `p` on CPU `c` begins. Returns when it ends, if that is known already.
    pub(crate) fn begin_turn(&mut self, c: usize, p: usize, now: Nanos) -> Nanos {
        match &mut self.policy {
            Policy::RoundRobin(queue) => queue.turn_ends(now),
            Policy::Svr4(svr4) => svr4.turn_ends(p, now),
            Policy::Fair(fair) => {
                fair.begin_turn(c, now);
                Nanos::MAX
            }
        }
    }

    /// When the turn on CPU `c` ends, if a process waits; `known` is the result of [`RunQueue::begin_turn`].
    pub(crate) fn turn_ends(&self, c: usize, known: Nanos) -> Nanos {
        match &self.policy {
            Policy::RoundRobin(_) | Policy::Svr4(_) => known,
            Policy::Fair(fair) => fair.turn_ends(c),
        }
    }

    /// The next process for CPU `c`.
    pub(crate) fn take(&mut self, c: usize, now: Nanos) -> Option<usize> {
        let pins = &self.pins;
        let allowed = |p: usize| pins.allow(p, c);
        if let Some(at) = self.first.iter().position(|&p| allowed(p)) {
            return self.first.remove(at);
        }
        match &mut self.policy {
            Policy::RoundRobin(queue) => queue.take(allowed),
            Policy::Svr4(svr4) => svr4.take(now, allowed),
            Policy::Fair(fair) => fair.take(c, allowed),
        }
    }

    /// Process `p` has CPU `c` from now on.
    pub(crate) fn enter(&mut self, c: usize, p: usize, now: Nanos) {
        if let Policy::Fair(fair) = &mut self.policy {
            fair.enter(c, p, now);
        }
    }

    /// Process `p` yields CPU `c`, and waits again. Its turn was to end at `turn_ends`.
    pub(crate) fn put_back(&mut self, c: usize, p: usize, turn_ends: Nanos, now: Nanos) {
        match &mut self.policy {
            Policy::RoundRobin(queue) => queue.push(p),
            Policy::Svr4(svr4) => svr4.put_back(p, turn_ends, now),
            Policy::Fair(fair) => fair.put_back(c, p, now),
        }
    }

    /// The process on CPU `c` sleeps, or has exited.
    pub(crate) fn leave(&mut self, c: usize, now: Nanos) {
        if let Policy::Fair(fair) = &mut self.policy {
            fair.leave(c, now);
        }
    }

    /// Removes process `p`, which did not get a CPU.
    pub(crate) fn remove(&mut self, p: usize) {
        self.first.retain(|&other| other != p);
        match &mut self.policy {
            Policy::RoundRobin(queue) => queue.remove(p),
            Policy::Svr4(svr4) => svr4.remove(p),
            Policy::Fair(fair) => fair.remove(p),
        }
    }
}
