//! Interrupts from outside, the tasks that they begin, and the end of a run that daemons and they would keep going.

use super::Host;
use crate::cpu::{Task, Work};
use crate::external::{Effect, External};
use crate::life::Life;
use crate::process::{State, Wait};
use crate::program::Key;
use crate::totals::{Totals, Use};
use iopilot_block::{Agenda, InputError, Nanos, TaskReport};
use std::collections::VecDeque;

/// After so many events of daemons, and interrupts of sources that do not end, it is asked whether another process can still go on.
const PATIENCE: u64 = 1 << 18;

#[derive(Clone, Debug)]
struct Stream {
    external: External,
    /// The tasks of interrupts that have come and are not handled.
    begun: VecDeque<usize>,
}

/// A task that an interrupt has begun.
#[derive(Clone, Debug)]
struct Job {
    stream: usize,
    begun: Nanos,
    /// The host's totals then.
    before: Totals,
    /// Who has got its bytes, and what that process had done by then.
    holder: Option<usize>,
    life: Life,
    computed: Nanos,
}

/// All sources of interrupts.
#[derive(Clone, Debug)]
pub(super) struct Externals {
    streams: Vec<Stream>,
    agenda: Agenda,
    /// For each CPU, the sources whose interrupts wait until the one before has been handled.
    pending: Vec<VecDeque<usize>>,
    /// Sources that end by themselves, and have not.
    ending: usize,
    /// Whether those that do not have been ended.
    are_over: bool,
    /// Events of daemons, and interrupts of those; and when it was last asked what they are good for.
    turns: u64,
    asked: Nanos,
    interrupts: u64,
    lost: u64,
    jobs: Vec<Job>,
    free: Vec<usize>,
    /// Those that a process has got and not answered.
    held: Vec<usize>,
}

impl Default for Externals {
    fn default() -> Self {
        Self {
            streams: Vec::new(),
            agenda: Agenda::new(0),
            pending: Vec::new(),
            ending: 0,
            are_over: false,
            turns: 0,
            asked: Nanos::ZERO,
            interrupts: 0,
            lost: 0,
            jobs: Vec::new(),
            free: Vec::new(),
            held: Vec::new(),
        }
    }
}

impl Externals {
    pub(super) fn next(&self) -> Option<Nanos> {
        self.agenda.next()
    }

    pub(super) fn take(&mut self, now: Nanos) -> Option<usize> {
        self.agenda.take(now)
    }

    /// No more come.
    pub(super) fn stop(&mut self) {
        (0..self.streams.len()).for_each(|stream| self.agenda.set(stream, None));
        (self.ending, self.are_over) = (0, true);
    }

    /// How many have come; `None` where there are no sources.
    pub(super) fn interrupts(&self) -> Option<u64> {
        (!self.streams.is_empty()).then_some(self.interrupts)
    }

    /// Of how many the bytes were lost; `None` where none can be.
    pub(super) fn lost(&self) -> Option<u64> {
        let puts = |stream: &Stream| matches!(stream.external.effect, Effect::Put { .. });
        self.streams.iter().any(puts).then_some(self.lost)
    }

    /// Begins their report anew.
    pub(super) fn restart(&mut self) {
        (self.interrupts, self.lost) = (0, 0);
    }

    fn set_next(&mut self, stream: usize, now: Nanos) {
        let external = &mut self.streams[stream].external;
        let next = external.arrivals.next();
        if next.is_none() && !external.is_endless {
            self.ending -= 1;
        }
        self.agenda.set(stream, next.map(|at| at.max(now)));
    }

    fn add_job(&mut self, job: Job) -> usize {
        match self.free.pop() {
            Some(slot) => {
                self.jobs[slot] = job;
                slot
            }
            None => {
                self.jobs.push(job);
                self.jobs.len() - 1
            }
        }
    }
}

impl Host {
    /// Adds a source of interrupts.
    ///
    /// # Errors
    /// If its CPU is not there.
    pub fn add_external(&mut self, external: External) -> Result<(), InputError> {
        if external.cpu >= self.settings.cpus {
            let expected = format!("a CPU of the machine's: 0 to {}", self.settings.cpus - 1);
            return Err(InputError::new("cpu", external.cpu.to_string(), expected));
        }
        self.externals.pending.resize_with(self.cpus.len(), VecDeque::new);
        self.externals.ending += usize::from(!external.is_endless);
        self.externals.streams.push(Stream { external, begun: VecDeque::new() });
        self.externals.set_next(self.externals.streams.len() - 1, Nanos::ZERO);
        Ok(())
    }

    /// An interrupt of source `stream` comes.
    pub(super) fn external_interrupt(&mut self, stream: usize, now: Nanos) {
        self.externals.interrupts += 1;
        self.externals.set_next(stream, now);
        let External { is_task, is_endless, cpu, .. } = self.externals.streams[stream].external;
        if is_endless {
            self.take_turn(now);
        }
        if is_task {
            let before = self.count_for_task(now);
            let job = Job { stream, begun: now, before, holder: None, life: Life::default(), computed: Nanos::ZERO };
            let job = self.externals.add_job(job);
            self.externals.streams[stream].begun.push_back(job);
        }
        let c = usize::from(cpu);
        let is_external = |work: &Work| matches!(work.what, Task::External(_));
        if self.cpus[c].work.iter().any(is_external) {
            self.externals.pending[c].push_back(stream);
        } else {
            self.handle_external(stream, c, now);
        }
    }

    /// The handler of an interrupt of source `stream` begins.
    fn handle_external(&mut self, stream: usize, c: usize, now: Nanos) {
        let left = self.cost(self.externals.streams[stream].external.handler.as_micros_f64());
        self.push_work(c, left, Task::External(stream), Use::Kernel, now);
    }

    /// A daemon does something, or an interrupt comes of those that do not end. Where it has done so for long, and that was of no
    /// use to the others, all ends.
    pub(super) fn take_turn(&mut self, now: Nanos) {
        self.externals.turns += 1;
        if self.externals.turns % PATIENCE > 0 || !self.is_hopeless(now) {
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

    /// Whether all processes but daemons have exited, or waited for others, since the last time that this was asked, and nothing
    /// is left that ends by itself.
    fn is_hopeless(&mut self, now: Nanos) -> bool {
        let since = std::mem::replace(&mut self.externals.asked, now);
        let waits = |p: usize| {
            let process = &self.processes[p];
            let waits = match process.state {
                State::Blocked(wait) => wait.is_for_others(),
                state => state == State::Exited,
            };
            process.is_daemon || self.is_syncer(p) || (waits && process.since <= since)
        };
        self.externals.ending == 0 && (0..self.processes.len()).all(waits)
    }

    fn is_syncer(&self, p: usize) -> bool {
        self.files.as_ref().is_some_and(|files| files.syncer == p)
    }

    /// The handler of an interrupt ends on CPU `c`. The next one is there before anybody is woken.
    pub(super) fn external_handled(&mut self, stream: usize, c: usize, now: Nanos) {
        if let Some(next) = self.externals.pending[c].pop_front() {
            self.handle_external(next, c, now);
        }
        let Stream { external, begun } = &mut self.externals.streams[stream];
        let job = begun.pop_front();
        match external.effect {
            Effect::Nothing => {}
            Effect::Wakeup { key, all } => self.meetings.wake(key, all, &mut self.woken),
            Effect::Put { channel, bytes } => {
                if self.meetings.offer(channel, bytes, job, &mut self.woken) {
                    self.hand_over();
                } else {
                    self.externals.lost += 1;
                    self.externals.free.extend(job);
                }
            }
        }
        self.wake_all(now);
    }

    /// Gives tasks that interrupts began to who has just got their bytes.
    pub(super) fn hand_over(&mut self) {
        for (p, job) in self.meetings.drain_taken() {
            let process = &self.processes[p];
            let of = &mut self.externals.jobs[job];
            of.holder = Some(p);
            (of.life, of.computed) = (process.life, process.computed());
            self.externals.held.push(job);
        }
    }

    /// Process `p` has done what came by `channel`: the tasks end.
    pub(super) fn answer(&mut self, p: usize, channel: Key, now: Nanos) {
        if self.externals.held.is_empty() {
            return;
        }
        let totals = self.count_for_task(now);
        let Externals { streams, jobs, free, held, .. } = &mut self.externals;
        let process = &self.processes[p];
        let before = held.len();
        held.retain(|&slot| {
            let job = &jobs[slot];
            let External { name, effect, .. } = &streams[job.stream].external;
            let is_of_channel = matches!(effect, Effect::Put { channel: own, .. } if *own == channel);
            if job.holder != Some(p) || !is_of_channel {
                return true;
            }
            free.push(slot);
            if job.begun >= self.reported_from {
                let passed = totals - job.before;
                let elapsed = now.since(job.begun);
                debug_assert_eq!(
                    passed.sum().0,
                    self.cpus.len() as u64 * elapsed.0,
                    "all time is something: {passed:?}"
                );
                // A child that exits brings the time of before, too.
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
        let Externals { jobs, free, held, .. } = &mut self.externals;
        held.retain(|&slot| {
            let is_gone = jobs[slot].holder == Some(p);
            free.extend(is_gone.then_some(slot));
            !is_gone
        });
    }

    /// Counts what all CPUs have done until now, for a task that begins or ends.
    fn count_for_task(&mut self, now: Nanos) -> Totals {
        self.count_all(now);
        self.begun = now;
        self.totals
    }

    /// Ends the sources that do not end by themselves, and the naps of daemons, once nothing else is to be done.
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
        let naps = |p: &usize| self.processes[*p].is_daemon && self.processes[*p].state == State::Blocked(Wait::Timer);
        let answers = |p: &usize| self.externals.held.iter().any(|&job| self.externals.jobs[job].holder == Some(*p));
        let napping: Vec<usize> = (0..self.processes.len()).filter(naps).collect();
        if !napping.iter().any(answers) {
            napping.into_iter().for_each(|p| self.agenda.set(self.appointment(p), None));
            self.daemons = 0;
        }
    }
}
