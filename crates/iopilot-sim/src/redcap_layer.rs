//! [`RedcapLayer`]: REDCAP between the workload and the block layer (GF 2.3).

use crate::ios::Io;
use crate::metrics::Recorder;
use crate::redcap_report::{RedcapReport, StateChange};
use crate::report::RunReport;
use iopilot_block::{IoIndex, Nanos, Request};
use iopilot_redcap::{Action, CopyId, Part, PartId, Redcap, RedcapSpec, Role, Served};
use iopilot_workload::{Arrival, SourceHandle};

/// State changes that a report keeps at most.
const CHANGES: usize = 4096;

/// A request of the workload in the cache.
#[derive(Clone, Copy, Debug)]
struct Original {
    arrival: Arrival,
    arrived: Nanos,
}

/// The cache of one device. The engine carries out what it asks for.
#[derive(Clone)]
pub(crate) struct RedcapLayer {
    cache: Redcap,
    settings: String,
    originals: Vec<Original>,
    free: Vec<u64>,
    /// By its index, the part that the block layer has under that number.
    parts: Vec<Option<PartId>>,
    /// Nanoseconds to copy a sector.
    copy_per_sector: f64,
    prefetches: u64,
    changes: Vec<StateChange>,
    /// What the workload sees. The block layer's own recorder sees the disk's requests.
    pub(crate) recorder: Recorder,
    /// What is to be done; empty between calls of the engine.
    pub(crate) actions: Vec<Action>,
}

impl RedcapLayer {
    pub(crate) fn new(cache: Redcap, spec: &RedcapSpec, recorder: Recorder) -> Self {
        let active = cache.state().is_active();
        Self {
            cache,
            settings: spec.to_string(),
            originals: Vec::new(),
            free: Vec::new(),
            parts: Vec::new(),
            copy_per_sector: spec.copy_us_per_kib * 500.0,
            prefetches: 0,
            changes: vec![StateChange { time_s: 0.0, active }],
            recorder,
            actions: Vec::new(),
        }
    }

    /// Requests of the workload that are not complete.
    pub(crate) fn outstanding(&self) -> usize {
        self.originals.len() - self.free.len()
    }

    pub(crate) fn is_active(&self) -> bool {
        self.cache.state().is_active()
    }

    /// Turns the cache on or off, from outside.
    pub(crate) fn set_active(&mut self, active: bool, now: Nanos) {
        self.cache.set_active(active, now, &mut self.actions);
        self.note_state(now);
    }

    /// Takes a request of the workload.
    pub(crate) fn submit(&mut self, arrival: &Arrival, now: Nanos) {
        self.recorder.arrived(now);
        let original = Original { arrival: *arrival, arrived: now };
        let handle = match self.free.pop() {
            Some(handle) => {
                self.originals[handle as usize] = original;
                handle
            }
            None => {
                self.originals.push(original);
                self.originals.len() as u64 - 1
            }
        };
        let &Arrival { op, lba, sectors, flags, process, priority, criticality, cpu, .. } = arrival;
        let io = iopilot_redcap::Io { handle, op, lba, sectors, flags, process, priority, criticality, cpu };
        self.cache.submit(&io, now, &mut self.actions);
        self.note_state(now);
    }

    /// A part as the block layer takes it.
    pub(crate) fn arrival_of(&mut self, part: &Part) -> Arrival {
        let index = part.id.index();
        if index >= self.parts.len() {
            self.parts.resize(index + 1, None);
        }
        self.parts[index] = Some(part.id);
        self.prefetches += u64::from(part.role == Role::Prefetch);
        let &Part { op, lba, sectors, flags, process, priority, criticality, cpu, .. } = part;
        let handle = SourceHandle(index as u64);
        Arrival { op, lba, sectors, flags, process, priority, criticality, cpu, handle }
    }

    /// The block layer has completed what it has under `handle`.
    pub(crate) fn served(&mut self, handle: SourceHandle, inserted: Nanos, issued: Nanos, now: Nanos) {
        let part = self.parts.get_mut(handle.0 as usize).and_then(Option::take);
        let served = Served { inserted, dispatched: issued, completed: now };
        if let Some(part) = part {
            self.cache.served(part, served, &mut self.actions);
        }
        self.note_state(now);
    }

    /// A prefetch is given up: nobody waits for it, and the queue is full.
    pub(crate) fn give_up(&mut self, part: &Part, now: Nanos) {
        self.cache.dropped(part.id, now, &mut self.actions);
    }

    /// How long copying takes.
    pub(crate) fn copy_time(&self, sectors: u32) -> Nanos {
        Nanos((f64::from(sectors) * self.copy_per_sector).round() as u64)
    }

    /// A copy has ended.
    pub(crate) fn copied(&mut self, copy: CopyId, now: Nanos) {
        self.cache.copied(copy, now, &mut self.actions);
        self.note_state(now);
    }

    /// A request of the workload is complete; its arrival.
    pub(crate) fn done(&mut self, handle: u64, now: Nanos) -> Arrival {
        let Original { arrival, arrived } = self.originals[handle as usize];
        self.free.push(handle);
        let &Arrival { op, lba, sectors, flags, process, priority, criticality, cpu, handle } = &arrival;
        let mut request = Request::new(op, lba, sectors, process);
        (request.flags, request.priority, request.criticality) = (flags, priority, criticality);
        (request.cpu, request.io, request.arrived) = (cpu, IoIndex(0), arrived);
        let io = Io { handle, lba, sectors, parts_left: 0 };
        self.recorder.completed(&request, &io, arrived, now);
        arrival
    }

    fn note_state(&mut self, now: Nanos) {
        let active = self.is_active();
        if self.changes.last().is_none_or(|last| last.active != active) && self.changes.len() < CHANGES {
            self.changes.push(StateChange { time_s: now.as_secs_f64(), active });
        }
    }

    /// The report of a run under `scheduler` whose disk `below` recorded.
    pub(crate) fn finish(self, below: Recorder, scheduler: String) -> RunReport {
        let report = RedcapReport::new(self.settings, &self.cache, self.changes, self.prefetches);
        report.join(self.recorder.finish(scheduler.clone()), below.finish(scheduler))
    }
}
