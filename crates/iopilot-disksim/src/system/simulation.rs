//! [`Simulation`]: a whole DiskSim system run.

mod access;
mod logical;
mod request;

use crate::system::driver::Driver;
use crate::system::load::{Incoming, SystemLoad};
use crate::system::measures::Measures;
use crate::system::organisation::{DeviceAccess, LogicalOrganisation};
use crate::system::processors::LoadStep;
use crate::system::{Rand48, RunError};
use iopilot_block::{Criticality, EventQueue, InputError, Nanos, Op};
use iopilot_device::Completion;
use iopilot_scsi::{AnyTarget, Subsystem};
use iopilot_trace::Destination;
use logical::LogicalRequests;
use std::fs::File;
use std::io::{BufWriter, Write};

/// The source of the driver's access times (`Constant access time`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum AccessTimes {
    /// From the subsystem below.
    Simulated,
    /// Constant.
    Constant(Nanos),
    /// From the trace, after a simulated queue.
    Traced,
    /// Simulated, after the time in the queue from the trace.
    TracedQueue,
    /// Both from the trace.
    TracedBoth,
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunEnding {
    /// The synthetic load has generated all its requests, or its time is over.
    Load,
    /// The trace has ended.
    Trace,
    /// All processors were idle for 50 s.
    Idle,
    /// An organisation had 10,000 requests outstanding.
    Saturated,
}

/// The start of a run's statistics.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum SystemWarmUp {
    None,
    Time(Nanos),
    Requests(u64),
}

/// The log of arriving requests.
pub(super) struct ArrivalLog {
    pub(super) destination: Destination,
    pub(super) file: BufWriter<File>,
}

impl ArrivalLog {
    /// Writes a line in DiskSim's own format.
    fn write(&mut self, request: &Incoming, now: Nanos) -> std::io::Result<()> {
        let &Incoming { device, lba, sectors, op, criticality, .. } = request;
        let flags = u32::from(op == Op::Read)
            | match criticality {
                Criticality::TimeCritical => 2,
                Criticality::TimeLimited => 4,
                Criticality::TimeNonCritical => 0,
            };
        writeln!(self.file, "{:.6}\t{device}\t{lba}\t{sectors}\t{flags:x}", now.as_millis_f64())
    }
}

/// The parts of a system.
pub(super) struct SystemParts {
    pub(super) subsystem: Subsystem<AnyTarget>,
    /// The devices' sizes in sectors.
    pub(super) capacities: Vec<u64>,
    pub(super) driver: Driver,
    pub(super) access_times: AccessTimes,
    pub(super) organisations: Vec<LogicalOrganisation>,
    pub(super) load: SystemLoad,
    pub(super) random: Rand48,
    pub(super) warm_up: SystemWarmUp,
    pub(super) log: Option<ArrivalLog>,
}

/// A whole system.
pub(super) struct Simulation {
    pub(super) parts: SystemParts,
    pub(super) measures: Measures,
    pub(super) now: Nanos,
    requests: LogicalRequests,
    /// Accesses whose completion or start is timed by the driver or the trace.
    timed: EventQueue<Timed>,
    arrivals: u64,
    buffers: Buffers,
}

/// Buffers used within one step, so that a step does not allocate.
#[derive(Default)]
struct Buffers {
    completions: Vec<Completion>,
    /// Completed jobs.
    ended: Vec<u32>,
    /// Accesses that may start.
    started: Vec<DeviceAccess>,
    /// Devices whose queues have received accesses.
    touched: Vec<usize>,
    /// Logical requests that have just completed.
    finished: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
enum Timed {
    Start(u32),
    End(u32),
}

impl Simulation {
    pub(super) fn new(parts: SystemParts) -> Self {
        Self {
            measures: Measures::new(parts.capacities.len(), parts.organisations.len()),
            parts,
            now: Nanos::ZERO,
            requests: LogicalRequests::default(),
            timed: EventQueue::new(),
            arrivals: 0,
            buffers: Buffers::default(),
        }
    }

    /// Runs to the end.
    pub(super) fn run(&mut self) -> Result<RunEnding, RunError> {
        if let SystemLoad::Trace(trace) = &mut self.parts.load {
            trace.fetch(Nanos::ZERO)?;
        }
        loop {
            let load = match &self.parts.load {
                SystemLoad::Synthetic(processors) => processors.next_event(),
                SystemLoad::Trace(trace) => trace.next_event(),
            };
            let below = self.parts.subsystem.next_event();
            let timed = self.timed.next_time();
            let Some(now) = [load, below, timed].into_iter().flatten().min() else { return Ok(RunEnding::Trace) };
            self.now = now;
            if let SystemWarmUp::Time(end) = self.parts.warm_up {
                if now >= end {
                    self.parts.warm_up = SystemWarmUp::None;
                    self.measures.reset(end);
                }
            }
            if below == Some(now) {
                self.advance_subsystem(now)?;
            } else if timed == Some(now) {
                self.advance_timed(now)?;
            } else if let Some(ending) = self.advance_load(now)? {
                return Ok(ending);
            }
        }
    }

    fn advance_subsystem(&mut self, now: Nanos) -> Result<(), RunError> {
        let mut completions = std::mem::take(&mut self.buffers.completions);
        self.parts.subsystem.advance(now, &mut completions);
        for completion in completions.drain(..) {
            self.access_ended(completion.id.index() as u32, now)?;
        }
        self.buffers.completions = completions;
        Ok(())
    }

    fn advance_timed(&mut self, now: Nanos) -> Result<(), RunError> {
        match self.timed.pop().map(|next| next.event) {
            Some(Timed::End(job)) => self.access_ended(job, now)?,
            Some(Timed::Start(job)) => {
                if let Some(sending) = self.parts.driver.take(job, now) {
                    self.send(sending, now);
                }
            }
            None => {}
        }
        Ok(())
    }

    fn advance_load(&mut self, now: Nanos) -> Result<Option<RunEnding>, RunError> {
        let incoming = match &mut self.parts.load {
            SystemLoad::Synthetic(processors) => match processors.advance(now) {
                LoadStep::Nothing => return Ok(None),
                LoadStep::Waiting(operation) => {
                    self.raise(operation);
                    return Ok(None);
                }
                LoadStep::End => return Ok(Some(RunEnding::Load)),
                LoadStep::Idle => return Ok(Some(RunEnding::Idle)),
                LoadStep::Impossible(generator) => return Err(impossible(generator).into()),
                LoadStep::Issue(issued) => Incoming::from(issued),
            },
            SystemLoad::Trace(trace) => match trace.take() {
                Some(incoming) => incoming,
                None => return Ok(Some(RunEnding::Trace)),
            },
        };
        if self.arrive(incoming, now)? {
            return Ok(Some(RunEnding::Saturated));
        }
        if let SystemLoad::Trace(trace) = &mut self.parts.load {
            if !trace.is_closed() && !trace.fetch(now)? {
                return Ok(Some(RunEnding::Trace));
            }
        }
        Ok(None)
    }

    /// Puts the log in its final place.
    pub(super) fn finish(&mut self) -> Result<(), RunError> {
        if let Some(mut log) = self.parts.log.take() {
            log.file.flush()?;
            log.destination.commit(log.file.get_ref())?;
        }
        Ok(())
    }

    /// Logical requests in flight.
    pub(super) fn outstanding(&self) -> u64 {
        self.measures.organisations.iter().map(|o| o.outstanding).sum()
    }
}

/// The error for a generator that cannot draw a request.
pub(super) fn impossible(generator: usize) -> InputError {
    let expected = "sizes, times and a capacity that fit: a million draws gave no valid request";
    InputError::new("Generators", format!("generator {generator}"), expected)
}
