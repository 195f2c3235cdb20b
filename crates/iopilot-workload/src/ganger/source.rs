//! [`GangerSource`]: generators, running.

use super::process::{HANDLE_SHIFT, Process};
use super::spec::{GangerSpec, Generator};
use crate::WorkloadError;
use crate::{Source, SourceHandle, Step};
use iopilot_block::Agenda;
use iopilot_block::{InputError, Nanos, ProcessId};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::sync::Arc;

/// The first process; those of all generators are numbered from here in the order of the file.
const FIRST_PROCESS: u32 = 1000;
/// Separate system calls are separate moments, also where nothing is computed between them.
const NEXT_CALL: Nanos = Nanos(1);

/// Generators, running: each process computes on a CPU of its own, as in Ganger's open and closed models.
#[derive(Clone, Debug)]
pub struct GangerSource {
    processes: Vec<Slot>,
    agenda: Agenda,
    /// Requests left to all generators together.
    left: u64,
    end: Nanos,
}

#[derive(Clone, Debug)]
struct Slot {
    process: Process,
    start: Nanos,
    started: bool,
    exited: bool,
    /// Its own number of requests.
    requests: u64,
}

impl GangerSource {
    /// The generators on a device of `capacity_sectors`; all random choices follow from `seed`.
    ///
    /// # Errors
    /// Where a generator does not fit the device.
    pub fn new(spec: &GangerSpec, capacity_sectors: u64, seed: u64) -> Result<Self, WorkloadError> {
        let slot = |(process, generator): (Process, &Generator)| Slot {
            process,
            start: generator.start,
            started: false,
            exited: false,
            requests: generator.requests.unwrap_or(u64::MAX),
        };
        let processes: Vec<Slot> = processes_of(spec, capacity_sectors, seed)?.into_iter().map(slot).collect();
        let mut agenda = Agenda::new(processes.len());
        for (index, slot) in processes.iter().enumerate() {
            agenda.set(index, Some(slot.start));
        }
        let end = spec.duration.unwrap_or(Nanos::MAX);
        Ok(Self { processes, agenda, left: spec.requests.unwrap_or(u64::MAX), end })
    }

    /// Sets the time of a process' next event, at `earliest` or later, or lets the process exit.
    fn settle(&mut self, index: usize, now: Nanos, earliest: Nanos) {
        let out_of_requests = self.left == 0;
        let slot = &mut self.processes[index];
        if out_of_requests || now >= self.end || slot.process.issued() >= slot.requests {
            slot.process.stop();
        }
        let due = match slot.process.due() {
            _ if slot.exited => None,
            // Stopped: it exits at once, or after its last completion.
            _ if slot.process.is_done() => Some(now),
            // Nothing is issued from the end on. The process runs at the end, and exits.
            Some(at) => Some(at.min(self.end).max(earliest)),
            None => None,
        };
        self.agenda.set(index, due);
    }
}

/// The processes of all generators on a device of `capacity_sectors`, each with its generator.
pub(super) fn processes_of(
    spec: &GangerSpec,
    capacity_sectors: u64,
    seed: u64,
) -> Result<Vec<(Process, &Generator)>, WorkloadError> {
    let mut seeds = Pcg64Mcg::seed_from_u64(seed);
    let mut processes = Vec::new();
    for generator in &spec.generators {
        let error = |key: &str, got: u64, expected: String| {
            InputError::new(key, got.to_string(), expected).in_file(&spec.source_name).at_line(generator.line)
        };
        if generator.first_sector >= capacity_sectors {
            let expected = format!("less than the disk's {capacity_sectors} sectors");
            return Err(error("first_sector", generator.first_sector, expected).into());
        }
        let rest = capacity_sectors - generator.first_sector;
        let capacity = generator.capacity.unwrap_or(rest);
        if capacity > rest {
            let expected = format!("at most the {rest} sectors that the disk has from first_sector");
            return Err(error("capacity_sectors", capacity, expected).into());
        }
        let blocks = capacity / generator.blocking_factor;
        let shared = Arc::new(generator.clone());
        for _ in 0..generator.processes {
            let index = processes.len();
            let id = ProcessId(FIRST_PROCESS + index as u32);
            let process = (blocks > 0)
                .then(|| Process::new(&shared, index as u64, id, blocks, seeds.random()))
                .flatten()
                .ok_or_else(|| error("size_sectors", capacity, "sizes that fit the capacity".to_owned()))?;
            processes.push((process, generator));
        }
    }
    Ok(processes)
}

impl Source for GangerSource {
    fn next_event(&self) -> Option<Nanos> {
        self.agenda.next()
    }

    fn advance(&mut self, now: Nanos, out: &mut Vec<Step>) {
        while let Some(index) = self.agenda.take(now) {
            let slot = &mut self.processes[index];
            let mut earliest = now;
            if !slot.started {
                slot.started = true;
                slot.process.start(now);
            } else if slot.process.is_done() {
                slot.exited = true;
                out.push(Step::Exit(slot.process.id()));
            } else if now < self.end && self.left > 0 {
                if let Some(arrival) = slot.process.advance(now) {
                    self.left -= 1;
                    earliest = now + NEXT_CALL;
                    out.push(Step::Request(arrival));
                    if self.left == 0 {
                        // The others stop too, and exit if they have nothing in flight.
                        (0..self.processes.len()).filter(|&i| i != index).for_each(|i| self.settle(i, now, now));
                    }
                }
            }
            self.settle(index, now, earliest);
        }
    }

    fn completed(&mut self, handle: SourceHandle, now: Nanos) {
        let index = (handle.0 >> HANDLE_SHIFT) as usize;
        self.processes[index].process.completed(handle, now);
        self.settle(index, now, now);
    }

    fn blocked(&mut self, process: ProcessId, now: Nanos) {
        self.set_blocked(process, true, now);
    }

    fn unblocked(&mut self, process: ProcessId, now: Nanos) {
        self.set_blocked(process, false, now);
    }
}

impl GangerSource {
    fn set_blocked(&mut self, process: ProcessId, blocked: bool, now: Nanos) {
        let Some(index) = process.0.checked_sub(FIRST_PROCESS).map(|i| i as usize) else { return };
        if let Some(slot) = self.processes.get_mut(index) {
            slot.process.set_blocked(blocked, now);
            self.settle(index, now, now);
        }
    }
}
