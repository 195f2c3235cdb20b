//! [`Host`] as a [`Source`].

use super::calls::NEXT_CALL;
use super::{END, FIRST_CPU, Host};
use crate::cpu::KernelWorkKind;
use crate::process::{ProcessState, WaitReason};
use crate::totals::CpuUse;
use iopilot_block::{HostReport, InputError, Nanos, Op, ProcessId, Source, SourceHandle, Step};

impl Source for Host {
    fn next_event(&self) -> Option<Nanos> {
        match (self.agenda.next(), self.externals.next()) {
            (Some(own), Some(external)) => Some(own.min(external)),
            (own, external) => own.or(external),
        }
    }

    fn advance(&mut self, now: Nanos, out: &mut Vec<Step>) {
        self.go_to(now);
        let first_process = self.appointment(0);
        loop {
            let Some(task) = self.agenda.take(now) else {
                match self.externals.take(now) {
                    Some(stream) => self.external_interrupt(stream, now),
                    None => break,
                }
                continue;
            };
            match task.checked_sub(first_process) {
                None if task == END => self.stop_all(now),
                None => self.finish_item(task - FIRST_CPU, now, out),
                // An exited process only reports its exit.
                Some(p) if self.processes[p].state == ProcessState::Exited => {}
                Some(p) => {
                    let process = &mut self.processes[p];
                    if process.state == ProcessState::New {
                        (process.since, process.started) = (now, now);
                        self.begin(p, now);
                    }
                    self.wake(p, now);
                }
            }
            if !self.exited.is_empty() {
                out.extend(self.exited.drain(..).map(|p| Step::Exit(self.processes[p].id)));
            }
        }
        self.end_daemons();
    }

    fn served(&mut self, _: SourceHandle, cache_hit: bool) {
        self.cache_hit = cache_hit;
    }

    fn completed(&mut self, handle: SourceHandle, now: Nanos) {
        self.go_to(now);
        let slot = handle.0 as usize;
        self.requests.complete(slot, now);
        if self.own_cpus {
            return self.handled_at_once(slot, now);
        }
        let c = self.interrupt_cpu(self.requests.get(slot).cpu);
        self.interrupts += 1;
        let state = self.processes[self.requests.get(slot).process].state;
        let waits = matches!(state, ProcessState::Blocked(WaitReason::Request(s)) if s == slot)
            || self.files.as_ref().is_some_and(|files| files.is_waited_for(slot));
        let costs = &self.settings.costs;
        let irqs = match (self.requests.get(slot).op, self.cache_hit) {
            (Op::Read, true) => costs.irqs_per_hit,
            (Op::Read, false) => costs.irqs_per_read,
            _ => costs.irqs_per_write,
        };
        self.interrupts_before(c, irqs - 1, now);
        let costs = &self.settings.costs;
        let left = self.cost(costs.irq_us + if waits { costs.wake_us } else { 0.0 });
        if left > Nanos::ZERO {
            return self.push_work(c, left, KernelWorkKind::Completion(slot), CpuUse::Kernel, now);
        }
        self.handled_at_once(slot, now);
    }

    fn blocked(&mut self, process: ProcessId, now: Nanos) {
        let Some(&p) = self.by_id.get(&process) else { return };
        let process = &mut self.processes[p];
        process.is_stuck_in_submission = true;
        if process.last_issue == Some(now) && process.left == NEXT_CALL {
            // Its sleep separates the two requests.
            process.left = Nanos::ZERO;
        }
        if matches!(self.processes[p].state, ProcessState::Running(_) | ProcessState::Runnable) {
            self.block(p, WaitReason::Submission, now);
        }
    }

    fn unblocked(&mut self, process: ProcessId, now: Nanos) {
        let Some(&p) = self.by_id.get(&process) else { return };
        self.processes[p].is_stuck_in_submission = false;
        if self.processes[p].state == ProcessState::Blocked(WaitReason::Submission) {
            self.wake(p, now);
        }
    }

    /// A completion is an interrupt, which the host times itself, except where its CPUs are free of costs.
    fn thinks_from_block_layer(&self) -> bool {
        self.reports()
    }

    fn lateness(&self) -> Option<f64> {
        self.requests.lateness().filter(|_| self.reports())
    }

    fn waiting(&self) -> Option<Vec<(ProcessId, Nanos)>> {
        let waited = || self.processes.iter().map(|process| (process.id, process.life.io_wait)).collect();
        self.reports().then(waited)
    }

    fn has_host(&self) -> bool {
        self.reports()
    }

    fn restart_report(&mut self, now: Nanos) {
        if self.reports() {
            self.restart(now);
        }
    }

    fn host_report(&mut self) -> Option<HostReport> {
        self.reports().then(|| self.report())
    }

    fn failure(&self) -> Option<InputError> {
        self.failure.clone().or_else(|| self.stuck()).map(|error| self.names.in_file(error))
    }
}
