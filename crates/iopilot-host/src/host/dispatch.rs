//! Which process has which CPU: waking, entering, pre-emption, leaving.

use super::Host;
use crate::cpu::KernelWorkKind;
use crate::process::{ProcessState, WaitReason};
use crate::settings::{IdleLoop, InterruptCpu};
use crate::totals::CpuUse;
use iopilot_block::Nanos;

impl Host {
    /// Process `p` becomes runnable.
    pub(super) fn wake(&mut self, p: usize, now: Nanos) {
        let process = &self.processes[p];
        if process.is_stuck_in_submission {
            if process.state != ProcessState::Blocked(WaitReason::Submission) {
                self.change_state(p, ProcessState::Blocked(WaitReason::Submission), now);
            }
            return;
        }
        if self.own_cpus {
            return self.resume_alone(p, now);
        }
        let waited_for_io = process.waits_for_io();
        self.processes[p].was_waiting = waited_for_io;
        self.change_state(p, ProcessState::Runnable, now);
        self.run_queue.wake(p, waited_for_io);
        let last = self.processes[p].last_cpu;
        let is_idle = |&c: &usize| self.cpus[c].is_idle() && self.run_queue.allows(p, c);
        let idle = last.filter(is_idle).or_else(|| (0..self.cpus.len()).find(is_idle));
        match idle {
            Some(c) => self.enter(c, p, now),
            None if waited_for_io && self.settings.io_preempts => {
                self.run_queue.push_first(p);
                let computes = |&c: &usize| self.cpus[c].computes() && self.run_queue.allows(p, c);
                if let Some(c) = (0..self.cpus.len()).find(computes) {
                    self.preempt_soon(c, now);
                }
            }
            None => self.wait_for_cpu(p, now),
        }
    }

    /// Wakes the processes that a call has put into `woken`.
    pub(super) fn wake_all(&mut self, now: Nanos) {
        let mut woken = std::mem::take(&mut self.woken);
        for p in woken.drain(..) {
            self.wake(p, now);
        }
        self.woken = woken;
    }

    fn wait_for_cpu(&mut self, p: usize, now: Nanos) {
        let of_one = self.run_queue.push(p, self.processes[p].last_cpu, now);
        if let Some(c) = self.run_queue.victim(p, &self.cpus) {
            self.preempt_soon(c, now);
        }
        // Because a process waits now, the turns on these CPUs have an end.
        let cpus = of_one.map_or(0..self.cpus.len(), |c| c..c + 1);
        for c in cpus {
            if self.cpus[c].computes() {
                self.count(c, now);
                self.schedule(c, now);
            }
        }
    }

    pub(super) fn change_state(&mut self, p: usize, state: ProcessState, now: Nanos) {
        if self.own_cpus {
            return self.processes[p].enter(state, now);
        }
        self.count_idle(now);
        self.io_waiters -= u64::from(self.processes[p].waits_for_io());
        self.processes[p].enter(state, now);
        self.io_waiters += u64::from(self.processes[p].waits_for_io());
    }

    /// Puts process `p` on the free CPU `c`.
    pub(super) fn enter(&mut self, c: usize, p: usize, now: Nanos) {
        let costs = &self.settings.costs;
        let us = if self.cpus[c].last == Some(p) { 0.0 } else { costs.switch_us + costs.refill_us };
        let counts = if self.processes[p].was_waiting { CpuUse::FalseComputation } else { CpuUse::Kernel };
        self.context_switches += u64::from(self.cpus[c].last != Some(p));
        self.change_state(p, ProcessState::Running(c), now);
        self.processes[p].last_cpu = Some(c);
        self.run_queue.enter(c, p, now);
        let left = self.cost(us);
        // Comes before the process takes the CPU, while it is still idle.
        if left > Nanos::ZERO {
            self.push_work(c, left, KernelWorkKind::Enter, counts, now);
        } else if self.cpus[c].is_idle() {
            self.count_idle(now);
            self.idle_cpus -= 1;
        }
        let cpu = &mut self.cpus[c];
        (cpu.process, cpu.last, cpu.resched) = (Some(p), Some(p), false);
        if left == Nanos::ZERO {
            // The switch takes no time.
            self.begin_turn(c, now);
            self.schedule(c, now);
        }
    }

    /// When the process that computes on CPU `c` yields to another; `None` while no process waits, or it may not be pre-empted.
    /// Its computation has been counted.
    pub(super) fn turn_ends(&self, c: usize) -> Option<Nanos> {
        let cpu = &self.cpus[c];
        if !cpu.computes() || !self.run_queue.is_waited_for(c) || !self.is_preemptible(c) {
            return None;
        }
        Some(if cpu.resched { Nanos::ZERO } else { self.run_queue.turn_ends(c, cpu.quantum) })
    }

    /// Whether the process on CPU `c` may be pre-empted now. Its computation has been counted.
    fn is_preemptible(&self, c: usize) -> bool {
        let is_in_kernel = || self.cpus[c].process.is_some_and(|p| self.processes[p].is_in_kernel());
        self.settings.kernel_preemption || !is_in_kernel()
    }

    /// Pre-empts the process on CPU `c`, now or as soon as it may be.
    fn preempt_soon(&mut self, c: usize, now: Nanos) {
        if self.cpus[c].computes() {
            self.count(c, now);
            if self.is_preemptible(c) {
                return self.preempt(c, now);
            }
        }
        self.cpus[c].resched = true;
    }

    /// Pre-empts the process on CPU `c` for the next one, which may be itself. Its computation has been counted.
    pub(super) fn preempt(&mut self, c: usize, now: Nanos) {
        let Some(p) = self.cpus[c].process else { return };
        self.run_queue.put_back(c, p, self.cpus[c].quantum, now);
        let Some(next) = self.run_queue.take(c, now) else { return };
        if next == p {
            self.run_queue.enter(c, p, now);
            self.begin_turn(c, now);
            self.cpus[c].resched = false;
            return self.schedule(c, now);
        }
        self.cpus[c].process = None;
        self.processes[p].was_waiting = false;
        self.change_state(p, ProcessState::Runnable, now);
        self.idle_cpus += u64::from(self.cpus[c].is_idle());
        self.enter(c, next, now);
    }

    fn begin_turn(&mut self, c: usize, now: Nanos) {
        if let Some(p) = self.cpus[c].process {
            self.cpus[c].quantum = self.run_queue.begin_turn(c, p, now);
        }
    }

    /// Puts process `p` to sleep. The rest of its computation is kept.
    pub(super) fn block(&mut self, p: usize, wait: WaitReason, now: Nanos) {
        let state = self.processes[p].state;
        if let (true, ProcessState::Running(c)) = (self.own_cpus, state) {
            return self.block_alone(p, c, wait, now);
        }
        self.change_state(p, ProcessState::Blocked(wait), now);
        match state {
            ProcessState::Running(c) => self.leave(c, wait.is_io(), now),
            ProcessState::Runnable => self.run_queue.remove(p),
            ProcessState::New | ProcessState::Blocked(_) | ProcessState::Exited => {}
        }
    }

    /// Frees CPU `c`, after the kernel's work of putting its process to sleep.
    pub(super) fn leave(&mut self, c: usize, for_io: bool, now: Nanos) {
        self.count(c, now);
        self.run_queue.leave(c, now);
        self.cpus[c].process = None;
        // The switch to the process may not have finished.
        self.cpus[c].work.retain(|work| work.what != KernelWorkKind::Enter);
        self.count_idle(now);
        self.idle_cpus += u64::from(self.cpus[c].is_idle());
        let counts = if for_io { CpuUse::FalseComputation } else { CpuUse::Kernel };
        let left = self.cost(self.settings.costs.block_us);
        if left == Nanos::ZERO && self.cpus[c].is_idle() && self.run_queue.is_empty() {
            // There is no other process to choose.
            self.begin_idling(c);
            return self.schedule(c, now);
        }
        self.push_work(c, left, KernelWorkKind::Leave, counts, now);
    }

    pub(super) fn work_is_over(&mut self, c: usize, what: KernelWorkKind, now: Nanos) {
        match what {
            KernelWorkKind::Completion(slot) => self.completion_handled(slot, now),
            KernelWorkKind::Enter => self.begin_turn(c, now),
            KernelWorkKind::External(stream) => self.external_handled(stream, c, now),
            KernelWorkKind::Leave | KernelWorkKind::Interrupt => {}
        }
        // A woken process may have taken the CPU.
        if self.cpus[c].is_idle() {
            if let Some(next) = self.run_queue.take(c, now) {
                self.enter(c, next, now);
            } else {
                self.begin_idling(c);
            }
        }
    }

    fn begin_idling(&mut self, c: usize) {
        if self.settings.idle_loop == IdleLoop::Process {
            self.cpus[c].last = None;
        }
    }

    /// The CPU that handles an interrupt of a request from CPU `issuer`.
    pub(super) fn interrupt_cpu(&mut self, issuer: usize) -> usize {
        match self.settings.interrupt_cpu {
            InterruptCpu::First => 0,
            InterruptCpu::Issuer => issuer,
            InterruptCpu::RoundRobin => {
                let c = self.next_interrupt;
                self.next_interrupt = (c + 1) % self.cpus.len();
                c
            }
        }
    }
}
