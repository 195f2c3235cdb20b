//! [`FioSource`]: the running jobs of a job file.

use super::FioJobs;
use super::job::{ExitWhat, FioJob, OffsetDistribution};
use super::layout::{FileRegion, clones, lay_out};
use super::task::{FIRST_PROCESS, FioTask, FioWait, HANDLE_SHIFT};
use crate::WorkloadError;
use crate::{Source, SourceHandle, Step};
use iopilot_block::Agenda;
use iopilot_block::{Nanos, ProcessId, SECTOR_BYTES};
use std::sync::Arc;

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    /// Not started yet.
    Waiting,
    Running,
    Exited,
}

/// A task and its state.
#[derive(Clone, Debug)]
struct Slot {
    task: FioTask,
    state: State,
    /// Whether it sleeps in a submission.
    blocked: bool,
    /// When it would resume if it were not blocked.
    due: Option<Nanos>,
    /// From the start of the run.
    delay: Nanos,
    /// Whether it waits for all jobs above it (the first clone of a job with `stonewall`).
    stonewall: bool,
    /// The processes of the job it waits for (`wait_for`).
    waits_for: std::ops::Range<usize>,
    group: u32,
}

/// The running jobs of a job file. Each clone of a job is a process; they are numbered from 1000.
#[derive(Clone, Debug)]
pub struct FioSource {
    slots: Vec<Slot>,
    /// When each task resumes, and at index `slots.len()` when another task may start.
    agenda: Agenda,
}

impl FioSource {
    /// The jobs on a device of `capacity_sectors`. All random choices follow from `seed`, the jobs' `randseed`, and
    /// their place in the file.
    ///
    /// # Errors
    /// If a job does not fit the device.
    pub fn new(jobs: &FioJobs, capacity_sectors: u64, seed: u64) -> Result<Self, WorkloadError> {
        let places = lay_out(&jobs.jobs, capacity_sectors.saturating_mul(SECTOR_BYTES))?;
        let shared: Vec<Arc<FioJob>> = jobs.jobs.iter().map(|job| Arc::new(job.clone())).collect();
        let of_job = |name: &str| -> std::ops::Range<usize> {
            let mut from = 0;
            for job in &shared {
                let to = from + job.numjobs as usize;
                if job.name == name {
                    return from..to;
                }
                from = to;
            }
            0..0
        };
        let numbers = shared.iter().flat_map(|job| (0..job.numjobs).map(move |clone| (job, clone)));
        debug_assert_eq!(numbers.clone().count(), clones(&jobs.jobs).count());
        let mut slots: Vec<Slot> = Vec::with_capacity(places.len());
        let mut group = 0;
        for (index, (job, clone)) in numbers.enumerate() {
            group += u32::from(clone == 0 && index > 0 && (job.stonewall || job.new_group));
            let mut task = FioTask::new(job, index, clone, &places[index], seed).ok_or_else(|| {
                let got = format!("{} (job {})", job.spread_text, job.name);
                job.origin.error("random_distribution", got, impossible(job, &places[index]))
            })?;
            slots.push(Slot {
                delay: task.start_delay(),
                task,
                state: State::Waiting,
                blocked: false,
                due: None,
                stonewall: clone == 0 && job.stonewall,
                waits_for: job.wait_for.as_deref().map_or(0..0, of_job),
                group,
            });
        }
        let mut agenda = Agenda::new(slots.len() + 1);
        agenda.set(slots.len(), Some(Nanos::ZERO));
        Ok(Self { slots, agenda })
    }

    /// Starts the tasks that may start now, and sets the time of the next that waits only for its start time.
    fn launch(&mut self, now: Nanos) {
        let mut later: Option<Nanos> = None;
        for index in 0..self.slots.len() {
            if self.slots[index].state != State::Waiting {
                continue;
            }
            let slot = &self.slots[index];
            if slot.stonewall && self.slots[..index].iter().any(|s| s.state != State::Exited) {
                break;
            }
            if self.slots[slot.waits_for.clone()].iter().any(|s| s.state != State::Exited) {
                continue;
            }
            if slot.delay > now {
                later = Some(later.map_or(slot.delay, |t| t.min(slot.delay)));
                continue;
            }
            let slot = &mut self.slots[index];
            slot.state = State::Running;
            slot.task.start(now);
            self.agenda.set(index, Some(now));
        }
        self.agenda.set(self.slots.len(), later);
    }

    /// Handles the exit of a job: jobs that end with it are terminated, and jobs that waited for it may start.
    fn exited(&mut self, index: usize, now: Nanos) {
        let slot = &mut self.slots[index];
        slot.state = State::Exited;
        let (group, what) = (slot.group, slot.task.job.exit_what);
        if slot.task.job.exitall {
            for other in 0..self.slots.len() {
                let slot = &mut self.slots[other];
                if what == ExitWhat::Group && slot.group != group {
                    continue;
                }
                if what == ExitWhat::Stonewall && slot.state == State::Waiting {
                    continue;
                }
                match slot.state {
                    State::Waiting => slot.state = State::Exited,
                    State::Running => {
                        slot.task.terminate();
                        self.wake(other, now);
                    }
                    State::Exited => {}
                }
            }
        }
        self.agenda.set(self.slots.len(), Some(now));
    }

    /// The task runs at `now`, or as soon as it is no longer blocked.
    fn wake(&mut self, index: usize, now: Nanos) {
        let slot = &mut self.slots[index];
        if slot.state != State::Running {
            return;
        }
        slot.due = Some(now);
        if !slot.blocked {
            self.agenda.set(index, Some(now));
        }
    }

    fn index(&self, process: ProcessId) -> Option<usize> {
        let index = process.0.checked_sub(FIRST_PROCESS)? as usize;
        (index < self.slots.len()).then_some(index)
    }
}

/// The expected value in the error for a job without a block in one of its `places`.
fn impossible(job: &FioJob, places: &[FileRegion]) -> String {
    let least = places.iter().map(|place| place.io_size).min().unwrap_or(0);
    match &job.spread {
        OffsetDistribution::Zoned(_) => format!("zones that lie within the {least} bytes that the job works on"),
        _ => format!("at least one block in the {least} bytes that the job works on"),
    }
}

impl Source for FioSource {
    fn next_event(&self) -> Option<Nanos> {
        self.agenda.next()
    }

    fn advance(&mut self, now: Nanos, out: &mut Vec<Step>) {
        while let Some(index) = self.agenda.take(now) {
            if index == self.slots.len() {
                self.launch(now);
                continue;
            }
            let slot = &mut self.slots[index];
            slot.due = None;
            match slot.task.run(now, out) {
                FioWait::Until(at) => {
                    slot.due = Some(at);
                    self.agenda.set(index, Some(at));
                }
                FioWait::Completion => {}
                FioWait::Exited => self.exited(index, now),
            }
        }
    }

    fn completed(&mut self, handle: SourceHandle, now: Nanos) {
        let index = (handle.0 >> HANDLE_SHIFT) as usize;
        self.slots[index].task.completed(handle);
        self.wake(index, now);
    }

    fn pins_buffers(&self) -> bool {
        true
    }

    fn blocked(&mut self, process: ProcessId, _now: Nanos) {
        if let Some(index) = self.index(process) {
            self.slots[index].blocked = true;
            self.agenda.set(index, None);
        }
    }

    fn unblocked(&mut self, process: ProcessId, now: Nanos) {
        if let Some(index) = self.index(process) {
            let slot = &mut self.slots[index];
            slot.blocked = false;
            if let Some(due) = slot.due {
                self.agenda.set(index, Some(due.max(now)));
            }
        }
    }
}

impl FioSource {
    /// The processes, in order.
    pub fn processes(&self) -> impl Iterator<Item = ProcessId> {
        self.slots.iter().map(|slot| slot.task.process())
    }
}
