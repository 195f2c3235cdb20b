//! [`Simulation`]: a whole DiskSim system run.

use crate::system::driver::{Driver, Sending};
use crate::system::load::{Incoming, Load};
use crate::system::measures::Measures;
use crate::system::organisation::{Access, AccessPlan, LogicalOrganisation};
use crate::system::processors::LoadStep;
use crate::system::{Rand48, RunError};
use iopilot_block::{Criticality, EventQueue, Flags, InputError, Lba, Nanos, Op, RequestId, Sectors};
use iopilot_device::{AnyTarget, Completion, DeviceRequest, Subsystem};
use iopilot_trace::Destination;
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufWriter, Write};

/// How the driver gets its times (`Constant access time`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AccessTimes {
    /// From the subsystem below.
    Simulated,
    /// Always the same.
    Constant(Nanos),
    /// As traced, after a simulated queue.
    Traced,
    /// Simulated, after as long in the queue as traced.
    TracedQueue,
    /// Both as traced.
    TracedBoth,
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The synthetic load has generated all its requests, or its time is over.
    Load,
    /// The trace has ended.
    Trace,
    /// No processor had anything to do for 50 s.
    Idle,
    /// An organisation had 10,000 requests outstanding.
    Saturated,
}

/// A logical request under way.
#[derive(Debug)]
struct Logical {
    organisation: usize,
    arrived: Nanos,
    op: Op,
    criticality: Criticality,
    operation: Option<u64>,
    remaining: u32,
    plan: AccessPlan,
    /// Its accesses in the driver, for raising their priority.
    jobs: Vec<u32>,
}

/// When a run's statistics begin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum WarmUp {
    None,
    Time(Nanos),
    Requests(u64),
}

/// Where requests are noted as they arrive.
pub(super) struct Log {
    pub(super) destination: Destination,
    pub(super) file: BufWriter<File>,
}

const SATURATION: u64 = 10_000;

/// A whole system.
pub(super) struct Simulation {
    pub(super) subsystem: Subsystem<AnyTarget>,
    pub(super) capacities: Vec<u64>,
    pub(super) driver: Driver,
    pub(super) access_times: AccessTimes,
    pub(super) organisations: Vec<LogicalOrganisation>,
    pub(super) load: Load,
    pub(super) random: Rand48,
    pub(super) measures: Measures,
    pub(super) warm_up: WarmUp,
    pub(super) log: Option<Log>,
    pub(super) now: Nanos,
    logical: Vec<Logical>,
    free: Vec<u32>,
    /// Accesses whose end the driver or the trace sets, and those that the trace starts.
    timed: EventQueue<Timed>,
    arrivals: u64,
    /// Logical requests of processes that may still wait for them.
    by_operation: HashMap<u64, u32>,
    completions: Vec<Completion>,
    ended: Vec<u32>,
    started: Vec<Access>,
    touched: Vec<usize>,
    /// Logical requests that have just ended.
    finished: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
enum Timed {
    Start(u32),
    End(u32),
}

impl Simulation {
    #[expect(clippy::too_many_arguments)]
    pub(super) fn new(
        subsystem: Subsystem<AnyTarget>,
        capacities: Vec<u64>,
        driver: Driver,
        access_times: AccessTimes,
        organisations: Vec<LogicalOrganisation>,
        load: Load,
        random: Rand48,
        warm_up: WarmUp,
        log: Option<Log>,
    ) -> Self {
        let measures = Measures::new(capacities.len(), organisations.len());
        Self {
            subsystem,
            capacities,
            driver,
            access_times,
            organisations,
            load,
            random,
            measures,
            warm_up,
            log,
            now: Nanos::ZERO,
            logical: Vec::new(),
            free: Vec::new(),
            timed: EventQueue::new(),
            arrivals: 0,
            by_operation: HashMap::new(),
            completions: Vec::new(),
            ended: Vec::new(),
            started: Vec::new(),
            touched: Vec::new(),
            finished: Vec::new(),
        }
    }

    /// Runs to the end.
    pub(super) fn run(&mut self) -> Result<Ending, RunError> {
        if let Load::Trace(trace) = &mut self.load {
            trace.fetch(Nanos::ZERO)?;
        }
        loop {
            let load = match &self.load {
                Load::Synthetic(processors) => processors.next_event(),
                Load::Trace(trace) => trace.next_event(),
            };
            let below = self.subsystem.next_event();
            let timed = self.timed.next_time();
            let Some(now) = [load, below, timed].into_iter().flatten().min() else { return Ok(Ending::Trace) };
            self.now = now;
            if let WarmUp::Time(end) = self.warm_up {
                if now >= end {
                    self.warm_up = WarmUp::None;
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
        let mut completions = std::mem::take(&mut self.completions);
        self.subsystem.advance(now, &mut completions);
        for completion in completions.drain(..) {
            self.access_ended(completion.id.index() as u32, now)?;
        }
        self.completions = completions;
        Ok(())
    }

    fn advance_timed(&mut self, now: Nanos) -> Result<(), RunError> {
        match self.timed.pop().map(|next| next.event) {
            Some(Timed::End(job)) => self.access_ended(job, now)?,
            Some(Timed::Start(job)) => {
                if let Some(sending) = self.driver.take(job, now) {
                    self.send(sending, now);
                }
            }
            None => {}
        }
        Ok(())
    }

    fn advance_load(&mut self, now: Nanos) -> Result<Option<Ending>, RunError> {
        let incoming = match &mut self.load {
            Load::Synthetic(processors) => match processors.advance(now) {
                LoadStep::Nothing => return Ok(None),
                LoadStep::Waiting(operation) => {
                    self.raise(operation);
                    return Ok(None);
                }
                LoadStep::End => return Ok(Some(Ending::Load)),
                LoadStep::Idle => return Ok(Some(Ending::Idle)),
                LoadStep::Impossible(generator) => return Err(impossible(generator).into()),
                LoadStep::Issue(issued) => Incoming::from(issued),
            },
            Load::Trace(trace) => match trace.take() {
                Some(incoming) => incoming,
                None => return Ok(Some(Ending::Trace)),
            },
        };
        if self.arrive(incoming, now)? {
            return Ok(Some(Ending::Saturated));
        }
        if let Load::Trace(trace) = &mut self.load {
            if !trace.is_closed() && !trace.fetch(now)? {
                return Ok(Some(Ending::Trace));
            }
        }
        Ok(None)
    }

    /// A request reaches the driver; whether its organisation is saturated now.
    fn arrive(&mut self, incoming: Incoming, now: Nanos) -> Result<bool, RunError> {
        let Incoming { device, lba, sectors, op, criticality, operation, times } = incoming;
        self.arrivals += 1;
        if let Some(log) = &mut self.log {
            let flags = u32::from(op == Op::Read)
                | match criticality {
                    Criticality::TimeCritical => 2,
                    Criticality::TimeLimited => 4,
                    Criticality::TimeNonCritical => 0,
                };
            writeln!(log.file, "{:.6}\t{device}\t{lba}\t{sectors}\t{flags:x}", now.as_millis_f64())?;
        }
        if self.warm_up == WarmUp::Requests(self.arrivals) {
            self.warm_up = WarmUp::None;
            self.measures.reset(now);
        }
        let places = self.organisations.iter().enumerate();
        let found = places.filter_map(|(i, o)| o.locate(i as u32, device, lba, sectors).map(|place| (i, place))).next();
        let Some((organisation, place)) = found else { return Err(self.outside(device, lba, sectors)) };
        let number = match self.free.pop() {
            Some(number) => number,
            None => {
                self.logical.push(Logical {
                    organisation,
                    arrived: now,
                    op,
                    criticality,
                    operation,
                    remaining: 0,
                    plan: AccessPlan::default(),
                    jobs: Vec::new(),
                });
                self.logical.len() as u32 - 1
            }
        };
        let logical = &mut self.logical[number as usize];
        (logical.organisation, logical.arrived, logical.op) = (organisation, now, op);
        (logical.criticality, logical.operation) = (criticality, operation);
        logical.jobs.clear();
        let random = match &mut self.load {
            Load::Synthetic(processors) => processors.random(),
            Load::Trace(_) => &mut self.random,
        };
        self.organisations[organisation].plan(place, sectors, op, &self.driver, random, &mut logical.plan);
        logical.remaining = logical.plan.len() as u32;
        if let (Some(operation), true) = (operation, criticality != Criticality::TimeNonCritical) {
            self.by_operation.insert(operation, number);
        }
        let mut started = std::mem::take(&mut self.started);
        started.clear();
        started.extend_from_slice(logical.plan.ready());
        for &access in &started {
            self.begin(access, number, times, now)?;
        }
        self.started = started;
        let outstanding = &mut self.measures.organisations[organisation].outstanding;
        *outstanding += 1;
        Ok(*outstanding >= SATURATION)
    }

    fn past_end(&self, access: Access, capacity: u64) -> RunError {
        let got = format!("{} blocks at block {} of device {}", access.sectors, access.lba, access.device);
        self.refuse(InputError::new("access", got, format!("blocks below {capacity}, the size of the device")))
    }

    fn outside(&self, device: u32, lba: u64, sectors: u32) -> RunError {
        let got = format!("device {device}, block {lba}, {sectors} blocks");
        self.refuse(InputError::new("request", got, "a request that lies in a logical organisation"))
    }

    /// Says where in the trace the request comes from.
    fn refuse(&self, error: InputError) -> RunError {
        match &self.load {
            Load::Trace(trace) => trace.locate(error).into(),
            Load::Synthetic(_) => error.into(),
        }
    }

    /// An access enters its device's queue, and goes on if it may.
    fn begin(
        &mut self,
        access: Access,
        request: u32,
        times: Option<(Nanos, Nanos)>,
        now: Nanos,
    ) -> Result<(), RunError> {
        let capacity = self.capacities[access.device as usize];
        if access.lba + u64::from(access.sectors) > capacity {
            return Err(self.past_end(access, capacity));
        }
        let logical = &mut self.logical[request as usize];
        let job = self.driver.insert(access, request, logical.criticality, now);
        logical.jobs.push(job);
        self.driver.set_traced(job, times);
        match (self.access_times, times) {
            (AccessTimes::TracedQueue | AccessTimes::TracedBoth, Some((queue, _))) => {
                self.timed.push(now + queue, Timed::Start(job));
            }
            (AccessTimes::Traced | AccessTimes::TracedQueue | AccessTimes::TracedBoth, None) => {
                let expected = "a trace that has them (hpl, parquet)";
                return Err(InputError::new("Constant access time", "times from a trace without them", expected).into());
            }
            _ => self.dispatch(access.device as usize, now),
        }
        Ok(())
    }

    /// Sends what `device` may have.
    fn dispatch(&mut self, device: usize, now: Nanos) {
        while let Some(sending) = self.driver.next(device, now, self.subsystem.positions(device)) {
            self.send(sending, now);
        }
    }

    fn send(&mut self, sending: Sending, now: Nanos) {
        let job = self.driver.job(sending.job);
        let traced = job.traced.map_or(Nanos::ZERO, |(_, access)| access);
        match self.access_times {
            AccessTimes::Constant(time) => {
                self.timed.push(now + time, Timed::End(sending.job));
            }
            AccessTimes::Traced | AccessTimes::TracedBoth => {
                self.timed.push(now + traced, Timed::End(sending.job));
            }
            AccessTimes::Simulated | AccessTimes::TracedQueue => {
                let request = DeviceRequest {
                    id: RequestId::from_index(sending.job as usize),
                    op: job.access.op,
                    lba: Lba(sending.lba),
                    sectors: Sectors(sending.sectors),
                    flags: Flags::empty(),
                };
                let device = job.access.device as usize;
                self.subsystem.submit(device, request, now);
            }
        }
    }

    /// What was sent under the name of `job` has ended.
    fn access_ended(&mut self, job: u32, now: Nanos) -> Result<(), RunError> {
        if let Some(sending) = self.driver.next_piece(job) {
            self.send(sending, now);
            return Ok(());
        }
        let device = self.driver.job(job).access.device as usize;
        let mut ended = std::mem::take(&mut self.ended);
        ended.clear();
        self.driver.completed(job, now, &mut ended);
        let mut started = std::mem::take(&mut self.started);
        let mut touched = std::mem::take(&mut self.touched);
        touched.clear();
        // New accesses enter the queues before the device is given its next one.
        for &job in &ended {
            let j = *self.driver.job(job);
            let (queue, access) = (j.issued.since(j.arrived), now.since(j.issued.max(j.arrived)));
            self.measures.access(device, j.access.op, j.access.sectors, queue, access);
            started.clear();
            let logical = &mut self.logical[j.request as usize];
            logical.remaining -= 1;
            if logical.remaining == 0 {
                self.finished.push(j.request);
            }
            logical.plan.completed(&j.access, |access| started.push(access));
            for &access in &started {
                let capacity = self.capacities[access.device as usize];
                if access.lba + u64::from(access.sectors) > capacity {
                    return Err(self.past_end(access, capacity));
                }
                let logical = &mut self.logical[j.request as usize];
                let new = self.driver.insert(access, j.request, logical.criticality, now);
                logical.jobs.push(new);
                self.driver.set_traced(new, j.traced);
                touched.push(access.device as usize);
            }
        }
        self.started = started;
        for &device in &touched {
            self.dispatch(device, now);
        }
        self.touched = touched;
        self.dispatch(device, now);
        for other in self.driver.partners(device) {
            if self.driver.waiting(other) > 0 {
                self.dispatch(other, now);
            }
        }
        for &job in &ended {
            self.driver.forget(job);
        }
        while let Some(request) = self.finished.pop() {
            self.request_ended(request, now)?;
        }
        self.ended = ended;
        Ok(())
    }

    fn request_ended(&mut self, number: u32, now: Nanos) -> Result<(), RunError> {
        let Logical { organisation, arrived, op, operation, .. } = self.logical[number as usize];
        self.free.push(number);
        self.measures.request(organisation, op, now.since(arrived));
        self.measures.organisations[organisation].outstanding -= 1;
        match (&mut self.load, operation) {
            (Load::Synthetic(processors), Some(operation)) => {
                self.by_operation.remove(&operation);
                processors.completed(operation, now);
            }
            (Load::Trace(trace), _) if trace.is_closed() => {
                trace.fetch(now)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// A process waits for its request now.
    fn raise(&mut self, operation: u64) {
        let Some(&number) = self.by_operation.get(&operation) else { return };
        for &job in &self.logical[number as usize].jobs {
            // Numbers of ended jobs may be others' by now.
            if self.driver.job(job).request == number {
                self.driver.raise(job);
            }
        }
    }

    /// Puts the log in place.
    pub(super) fn finish(&mut self) -> Result<(), RunError> {
        if let Some(mut log) = self.log.take() {
            log.file.flush()?;
            log.destination.commit(log.file.get_ref())?;
        }
        Ok(())
    }

    /// Logical requests that have not ended.
    pub(super) fn outstanding(&self) -> u64 {
        self.measures.organisations.iter().map(|o| o.outstanding).sum()
    }
}

/// A generator that can draw no request.
pub(super) fn impossible(generator: usize) -> InputError {
    let expected = "sizes, times and a capacity that go together: a million draws were in vain";
    InputError::new("Generators", format!("generator {generator}"), expected)
}
