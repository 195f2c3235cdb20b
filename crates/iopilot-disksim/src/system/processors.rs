//! [`Processors`]: the CPUs and processes that issue the synthetic load.
//!
//! Each generator is a process that computes for its think time, issues a request, and goes on at once unless it has
//! to wait for the request. Processes are not pre-empted: with one processor and requests nobody waits for, only the
//! first process ever runs. A process that wakes up is taken by processor 0, or by a processor whose process has just
//! begun to wait; a processor that found nothing to do stays idle. That is how DiskSim 4.0 behaves, and its reference
//! results need it.

use crate::system::generator::time;
use crate::system::limits::WaitDeltas;
use crate::system::{Drawn, Rand48, SyntheticGenerator};
use iopilot_block::{Criticality, EventQueue, Nanos, Scheduled};
use std::collections::{HashMap, HashSet, VecDeque};

/// What all generators share (`disksim_synthio` and `disksim_pf`).
#[derive(Clone, Debug, PartialEq)]
pub struct LoadConfig {
    /// The run ends when the generators have been asked for this many requests after their first ones.
    pub requests: u64,
    /// No request is generated at or after this time.
    pub end: Nanos,
    /// Computation from the system call to the request, and from the request to the return, ms; where set, a process
    /// spends them with each time-critical request.
    pub system_call: Option<(f64, f64)>,
    /// Number of processors, at least 1.
    pub processors: usize,
    /// Multiplies all computation.
    pub time_scale: f64,
}

/// A request that a process issues now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IssuedOperation {
    /// The name under which [`Processors::completed`] reports its end.
    pub operation: u64,
    /// Which generator, from 0.
    pub generator: usize,
    /// The request.
    pub request: Drawn,
}

/// What [`Processors::advance`] came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LoadStep {
    /// A request is issued.
    Issue(IssuedOperation),
    /// A process now waits for this operation.
    Waiting(u64),
    /// The load has ended: the run stops here.
    End,
    /// No processor has had anything to do for 50 s.
    Idle,
    /// No request can be drawn from the generator with this number.
    Impossible(usize),
    /// Nothing that shows from outside.
    Nothing,
}

#[derive(Clone, Copy, Debug)]
enum Action {
    Issue(IssuedOperation),
    /// Wait for the operation, if it has not ended yet.
    Wait(u64),
    /// Draw the next request.
    Generate,
}

#[derive(Clone, Debug)]
struct Process {
    generator: SyntheticGenerator,
    /// What it does next, each after so much computation.
    script: VecDeque<(f64, Action)>,
    limits: WaitDeltas,
}

/// Processors, processes and what they wait for.
#[derive(Clone, Debug)]
pub struct Processors {
    config: LoadConfig,
    random: Rand48,
    processes: Vec<Process>,
    /// Which process each processor runs.
    running: Vec<Option<usize>>,
    /// Processes that could run, in order.
    ready: VecDeque<usize>,
    /// When each processor's process has computed enough.
    agenda: EventQueue<usize>,
    /// Operations that somebody waits for or will wait for, and that have not ended.
    outstanding: HashSet<u64>,
    sleeping: HashMap<u64, usize>,
    asked: u64,
    /// Since when no processor has had a process.
    idle_since: Option<Nanos>,
}

/// A run ends when no processor has had anything to do for this long.
const IDLE: Nanos = Nanos::from_secs(50);

impl Processors {
    /// Processes for `generators`, with their first requests drawn: the last generator's first. `None` in the place of
    /// a generator that can draw none is reported as its number.
    pub fn new(config: LoadConfig, generators: Vec<SyntheticGenerator>, random: Rand48) -> Result<Self, usize> {
        let processes = generators
            .into_iter()
            .map(|generator| Process { generator, script: VecDeque::new(), limits: WaitDeltas::default() })
            .collect();
        let mut this = Self {
            running: vec![None; config.processors.max(1)],
            config,
            random,
            processes,
            ready: VecDeque::new(),
            agenda: EventQueue::new(),
            outstanding: HashSet::new(),
            sleeping: HashMap::new(),
            asked: 0,
            idle_since: None,
        };
        for process in (0..this.processes.len()).rev() {
            let request = this.processes[process].generator.first(&mut this.random).ok_or(process)?;
            this.append(process, request).ok_or(process)?;
            this.ready.push_back(process);
        }
        for processor in 0..this.running.len() {
            this.dispatch(processor, Nanos::ZERO);
        }
        Ok(this)
    }

    /// The generator of random numbers, which the whole run shares.
    pub fn random(&mut self) -> &mut Rand48 {
        &mut self.random
    }

    /// When a process next does something, or the load ends because nobody has anything to do.
    pub fn next_event(&self) -> Option<Nanos> {
        let idle = self.idle_since.map(|t| t.saturating_add(IDLE));
        let work = self.agenda.next_time();
        match (work, idle) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// Does the one thing that is due at `now`, the time of [`Processors::next_event`].
    pub fn advance(&mut self, now: Nanos) -> LoadStep {
        let Some(Scheduled { event: processor, .. }) = self.agenda.pop_due(now) else { return LoadStep::Idle };
        let Some(process) = self.running[processor] else { return LoadStep::Nothing };
        let action = self.processes[process].script.pop_front();
        let step = match action {
            Some((_, Action::Issue(issued))) => {
                if issued.request.criticality != Criticality::TimeNonCritical {
                    self.outstanding.insert(issued.operation);
                }
                LoadStep::Issue(issued)
            }
            Some((_, Action::Wait(operation))) => {
                if self.outstanding.contains(&operation) {
                    self.sleeping.insert(operation, process);
                    self.running[processor] = None;
                    self.dispatch(processor, now);
                    return LoadStep::Waiting(operation);
                }
                LoadStep::Nothing
            }
            Some((_, Action::Generate)) | None => {
                self.asked += 1;
                if now >= self.config.end || self.asked >= self.config.requests {
                    return LoadStep::End;
                }
                match self.generate(process) {
                    Some(()) => LoadStep::Nothing,
                    None => return LoadStep::Impossible(process),
                }
            }
        };
        self.schedule(processor, now);
        step
    }

    /// `operation` has ended.
    pub fn completed(&mut self, operation: u64, now: Nanos) {
        if !self.outstanding.remove(&operation) {
            return;
        }
        let Some(process) = self.sleeping.remove(&operation) else { return };
        self.ready.push_back(process);
        if self.running[0].is_none() {
            self.dispatch(0, now);
        }
    }

    fn generate(&mut self, process: usize) -> Option<()> {
        let request = self.processes[process].generator.next(&mut self.random)?;
        self.append(process, request)
    }

    /// Lets `process` issue `request` after its think time, with the waits that fall before and after it.
    fn append(&mut self, process: usize, request: Drawn) -> Option<()> {
        let generators = self.processes.len() as u64;
        let p = &mut self.processes[process];
        let operation = self.asked * generators + process as u64;
        let issue = Action::Issue(IssuedOperation { operation, generator: process, request });
        match (request.criticality, self.config.system_call) {
            (Criticality::TimeCritical, Some((call, back))) => {
                push(&mut p.script, &mut p.limits, call, None);
                p.script.push_back((request.think, issue));
                p.script.push_back((back, Action::Wait(operation)));
            }
            (Criticality::TimeCritical, None) => {
                push(&mut p.script, &mut p.limits, request.think, Some(issue));
                p.script.push_back((0.0, Action::Wait(operation)));
            }
            (Criticality::TimeLimited, _) => {
                let limit = time(&p.generator.config().time_limit, &mut self.random)?;
                p.limits.insert(operation, limit + request.think);
                push(&mut p.script, &mut p.limits, request.think, Some(issue));
            }
            (Criticality::TimeNonCritical, _) => push(&mut p.script, &mut p.limits, request.think, Some(issue)),
        }
        p.script.push_back((0.0, Action::Generate));
        Some(())
    }

    /// Gives `processor` the next process that could run.
    fn dispatch(&mut self, processor: usize, now: Nanos) {
        match self.ready.pop_front() {
            Some(process) => {
                self.running[processor] = Some(process);
                self.idle_since = None;
                self.schedule(processor, now);
            }
            None if self.running.iter().all(Option::is_none) => self.idle_since = Some(now),
            None => {}
        }
    }

    /// Lets `processor` compute until its process's next action.
    fn schedule(&mut self, processor: usize, now: Nanos) {
        let Some(process) = self.running[processor] else { return };
        let computation = self.processes[process].script.front().map_or(0.0, |&(t, _)| t);
        let at = now.saturating_add(Nanos::from_millis_f64(computation * self.config.time_scale));
        self.agenda.push(at, processor);
    }
}

/// Appends `action` after `time` of computation, and before it the limits that expire until then.
fn push(script: &mut VecDeque<(f64, Action)>, limits: &mut WaitDeltas, mut time: f64, action: Option<Action>) {
    while let Some((operation, step)) = limits.take_before(time) {
        script.push_back((step, Action::Wait(operation)));
        time -= step;
    }
    match action {
        Some(action) => script.push_back((time, action)),
        // A mere delay: added to what comes next.
        None => script.push_back((time, Action::Wait(u64::MAX))),
    }
}
