//! [`Host`] as a [`Source`].

use super::{END, FIRST_CPU, Host};
use crate::cpu::Task;
use crate::process::{State, Wait};
use crate::settings::InterruptCpu;
use crate::totals::Use;
use iopilot_block::{HostReport, InputError, Nanos, Op, ProcessId, Source, SourceHandle, Step};

impl Source for Host {
    fn next_event(&self) -> Option<Nanos> {
        self.agenda.next()
    }

    fn advance(&mut self, now: Nanos, out: &mut Vec<Step>) {
        self.go_to(now);
        let first_process = self.appointment(0);
        while let Some(task) = self.agenda.take(now) {
            match task.checked_sub(first_process) {
                None if task == END => self.stop_all(now),
                None => self.look(task - FIRST_CPU, now, out),
                Some(p) => {
                    let process = &mut self.processes[p];
                    if process.state == State::New {
                        (process.since, process.started) = (now, now);
                        self.begin(p, now);
                    }
                    self.wake(p, now);
                }
            }
            out.extend(self.exited.drain(..).map(|p| Step::Exit(self.processes[p].id)));
        }
    }

    fn served(&mut self, _: SourceHandle, cache_hit: bool) {
        self.cache_hit = cache_hit;
    }

    fn completed(&mut self, handle: SourceHandle, now: Nanos) {
        self.go_to(now);
        let slot = handle.0 as usize;
        self.requests.complete(slot, now);
        let c = match self.settings.interrupt_cpu {
            InterruptCpu::First => 0,
            InterruptCpu::Issuer => self.requests.get(slot).cpu,
        };
        self.interrupts += 1;
        let state = self.processes[self.requests.get(slot).process].state;
        let waits = matches!(state, State::Blocked(Wait::Request(s)) if s == slot)
            || self.files.as_ref().is_some_and(|files| files.is_waited_for(slot));
        let costs = &self.settings.costs;
        let irqs = match (self.requests.get(slot).op, self.cache_hit) {
            (Op::Read, true) => costs.irqs_per_hit,
            (Op::Read, false) => costs.irqs_per_read,
            _ => costs.irqs_per_write,
        };
        self.interrupts_before(c, irqs - 1, now);
        let costs = &self.settings.costs;
        let us = costs.irq_us + if waits { costs.wake_us } else { 0.0 };
        self.push_work(c, us, Task::Completion(slot), Use::Kernel, now);
    }

    fn blocked(&mut self, process: ProcessId, now: Nanos) {
        let Some(&p) = self.by_id.get(&process) else { return };
        self.processes[p].is_stuck_in_submission = true;
        if matches!(self.processes[p].state, State::Running(_) | State::Runnable) {
            self.block(p, Wait::Submission, now);
        }
    }

    fn unblocked(&mut self, process: ProcessId, now: Nanos) {
        let Some(&p) = self.by_id.get(&process) else { return };
        self.processes[p].is_stuck_in_submission = false;
        if self.processes[p].state == State::Blocked(Wait::Submission) {
            self.wake(p, now);
        }
    }

    /// What completes is an interrupt, which the host times itself.
    fn thinks_from_block_layer(&self) -> bool {
        true
    }

    fn lateness(&self) -> Option<f64> {
        self.requests.lateness()
    }

    fn waiting(&self) -> Option<Vec<(ProcessId, Nanos)>> {
        Some(self.processes.iter().map(|process| (process.id, process.life.io_wait)).collect())
    }

    fn has_host(&self) -> bool {
        true
    }

    fn restart_report(&mut self, now: Nanos) {
        self.restart(now);
    }

    fn host_report(&mut self) -> Option<HostReport> {
        Some(self.report())
    }

    fn failure(&self) -> Option<InputError> {
        let stuck = || {
            let expected = format!("a wake-up, as {}", self.sleepers()?);
            Some(InputError::new("processes", "nothing more that can happen", expected))
        };
        self.failure.clone().or_else(stuck)
    }
}
