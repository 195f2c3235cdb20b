//! External interrupts, the tasks that they begin, and the end of a run that daemons and endless interrupts would prolong.

use super::Host;
use super::external_sources::{ExternalSource, ExternalSources, InterruptTask};
use crate::cpu::{KernelWork, KernelWorkKind};
use crate::external::{ExternalInterrupts, InterruptEffect};
use crate::process::{ProcessState, WaitReason};
use crate::process_times::ProcessTimes;
use crate::program::Key;
use crate::totals::{CpuTotals, CpuUse};
use iopilot_block::{InputError, Nanos, TaskReport};
use std::collections::VecDeque;

/// Events of daemons and interrupts of endless sources between two checks that another process can still make progress.
const PATIENCE: u64 = 1 << 18;

impl Host {
    /// Adds a source of interrupts.
    ///
    /// # Errors
    /// If its CPU does not exist.
    pub fn add_external(&mut self, external: ExternalInterrupts) -> Result<(), InputError> {
        if external.cpu >= self.settings.cpus {
            let expected = format!("a CPU of the machine's: 0 to {}", self.settings.cpus - 1);
            return Err(InputError::new("cpu", external.cpu.to_string(), expected));
        }
        self.externals.pending.resize_with(self.cpus.len(), VecDeque::new);
        self.externals.ending += usize::from(!external.is_endless);
        self.externals.streams.push(ExternalSource { external, begun: VecDeque::new() });
        self.externals.set_next(self.externals.streams.len() - 1, Nanos::ZERO);
        Ok(())
    }

    /// An interrupt of source `stream` comes.
    pub(super) fn external_interrupt(&mut self, stream: usize, now: Nanos) {
        self.externals.interrupts += 1;
        self.externals.set_next(stream, now);
        let ExternalInterrupts { is_task, is_endless, cpu, .. } = self.externals.streams[stream].external;
        if is_endless {
            self.count_turn(now);
        }
        if is_task {
            let before = self.count_for_task(now);
            let job = InterruptTask {
                stream,
                begun: now,
                before,
                holder: None,
                life: ProcessTimes::default(),
                computed: Nanos::ZERO,
            };
            let job = self.externals.jobs.insert(job);
            self.externals.streams[stream].begun.push_back(job);
        }
        let c = usize::from(cpu);
        let is_external = |work: &KernelWork| matches!(work.what, KernelWorkKind::External(_));
        if self.cpus[c].work.iter().any(is_external) {
            self.externals.pending[c].push_back(stream);
        } else {
            self.handle_external(stream, c, now);
        }
    }

    /// The handler of an interrupt of source `stream` begins.
    fn handle_external(&mut self, stream: usize, c: usize, now: Nanos) {
        let left = self.cost(self.externals.streams[stream].external.handler.as_micros_f64());
        self.push_work(c, left, KernelWorkKind::External(stream), CpuUse::Kernel, now);
    }

    /// Counts an event of a daemon, or an interrupt of an endless source. Ends the run when many of these have not let another
    /// process make progress.
    pub(super) fn count_turn(&mut self, now: Nanos) {
        self.externals.turns += 1;
        if self.externals.turns % PATIENCE > 0 || !self.makes_no_progress(now) {
            return;
        }
        if self.live == 0 {
            let got = format!("{PATIENCE} events after all else is over");
            let error =
                InputError::new("daemon", got, "daemons that wait for others, or nap, once there is nothing to do");
            self.failure.get_or_insert(error);
        }
        self.stop_all(now);
    }

    /// Whether, since the last check, all processes but daemons have exited or waited for others, and no source is left that
    /// ends by itself.
    fn makes_no_progress(&mut self, now: Nanos) -> bool {
        let since = std::mem::replace(&mut self.externals.asked, now);
        let waits = |p: usize| {
            let process = &self.processes[p];
            let waits = match process.state {
                ProcessState::Blocked(wait) => wait.is_for_others(),
                state => state == ProcessState::Exited,
            };
            process.is_daemon || self.is_syncer(p) || (waits && process.since <= since)
        };
        self.externals.ending == 0 && (0..self.processes.len()).all(waits)
    }

    fn is_syncer(&self, p: usize) -> bool {
        self.files.as_ref().is_some_and(|files| files.syncer == p)
    }

    /// The handler of an interrupt ends on CPU `c`. The next handler starts before any process is woken.
    pub(super) fn external_handled(&mut self, stream: usize, c: usize, now: Nanos) {
        if let Some(next) = self.externals.pending[c].pop_front() {
            self.handle_external(next, c, now);
        }
        let ExternalSource { external, begun } = &mut self.externals.streams[stream];
        let job = begun.pop_front();
        match external.effect {
            InterruptEffect::Nothing => {}
            InterruptEffect::Wakeup { key, all } => self.sync.wake(key, all, &mut self.woken),
            InterruptEffect::Put { channel, bytes } => {
                if self.sync.offer(channel, bytes, job, &mut self.woken) {
                    self.assign_interrupt_tasks();
                } else {
                    self.externals.lost += 1;
                    if let Some(job) = job {
                        self.externals.jobs.remove(job);
                    }
                }
            }
        }
        self.wake_all(now);
    }

    /// Assigns tasks of interrupts to the processes that have just got their bytes.
    pub(super) fn assign_interrupt_tasks(&mut self) {
        for (p, job) in self.sync.drain_taken() {
            let process = &self.processes[p];
            let of = &mut self.externals.jobs[job];
            of.holder = Some(p);
            (of.life, of.computed) = (process.life, process.computed());
            self.externals.held.push(job);
        }
    }

    /// Process `p` has answered what came by `channel`: the tasks end.
    pub(super) fn answer(&mut self, p: usize, channel: Key, now: Nanos) {
        if self.externals.held.is_empty() {
            return;
        }
        let totals = self.count_for_task(now);
        let ExternalSources { streams, jobs, held, .. } = &mut self.externals;
        let process = &self.processes[p];
        let before = held.len();
        held.retain(|&slot| {
            let job = &jobs[slot];
            let ExternalInterrupts { name, effect, .. } = &streams[job.stream].external;
            let is_of_channel = matches!(effect, InterruptEffect::Put { channel: own, .. } if *own == channel);
            if job.holder != Some(p) || !is_of_channel {
                return true;
            }
            let job = jobs.remove(slot);
            if job.begun >= self.reported_from {
                let passed = totals - job.before;
                let elapsed = now.since(job.begun);
                debug_assert_eq!(
                    passed.sum().0,
                    self.cpus.len() as u64 * elapsed.0,
                    "all time is accounted for: {passed:?}"
                );
                // An exited child also adds its time from before the task.
                let own = process.computed().since(job.computed).min(passed.process);
                let life = process.life - job.life;
                self.tasks.push(TaskReport {
                    name: name.to_string(),
                    process: process.id.0,
                    elapsed_s: elapsed.as_secs_f64(),
                    times: passed.times(own),
                    io_waits: life.io_waits,
                    io_wait_s: life.io_wait.as_secs_f64(),
                    runnable_s: life.runnable.as_secs_f64(),
                });
            }
            false
        });
        if self.externals.held.len() < before {
            self.note_end_of_task(now);
        }
    }

    /// Process `p` has exited.
    pub(super) fn forget_process(&mut self, p: usize) {
        self.live -= u64::from(!self.processes[p].is_daemon && !self.is_syncer(p));
        let ExternalSources { jobs, held, .. } = &mut self.externals;
        held.retain(|&slot| {
            let is_gone = jobs[slot].holder == Some(p);
            if is_gone {
                jobs.remove(slot);
            }
            !is_gone
        });
    }

    /// Counts all CPUs up to now, for a task that begins or ends.
    fn count_for_task(&mut self, now: Nanos) -> CpuTotals {
        self.count_all(now);
        self.begun = now;
        self.totals
    }

    /// Stops the endless sources, and cancels the naps of daemons, once nothing else is left to do.
    pub(super) fn end_daemons(&mut self) {
        if self.live > 0 || self.externals.ending > 0 || (self.daemons == 0 && self.externals.are_over) {
            return;
        }
        if !self.externals.are_over {
            self.externals.stop();
        }
        let is_quiet = self.io_waiters == 0 && self.idle_cpus == self.cpus.len() as u64;
        if self.daemons == 0 || !is_quiet {
            return;
        }
        let naps = |p: &usize| {
            self.processes[*p].is_daemon && self.processes[*p].state == ProcessState::Blocked(WaitReason::Timer)
        };
        let answers = |p: &usize| self.externals.held.iter().any(|&job| self.externals.jobs[job].holder == Some(*p));
        let napping: Vec<usize> = (0..self.processes.len()).filter(naps).collect();
        if !napping.iter().any(answers) {
            napping.into_iter().for_each(|p| self.agenda.set(self.appointment(p), None));
            self.daemons = 0;
        }
    }
}
