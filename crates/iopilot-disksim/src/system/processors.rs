//! [`Processors`]: the CPUs and processes that issue the synthetic load.
//!
//! Each generator is a process that computes for its think time, issues a request, and continues unless it has to wait
//! for the request. Processes are not pre-empted. With one processor and only requests without waits, only the first
//! process ever runs. A process that wakes up runs on processor 0, or on a processor whose process has just started to
//! wait. Another processor that has become idle stays idle. DiskSim 4.0 behaves like this, and its reference results
//! depend on it.

use crate::system::generator::time;
use crate::system::limits::WaitDeltas;
use crate::system::{Drawn, Rand48, SyntheticGenerator};
use iopilot_block::{Criticality, EventQueue, Nanos, Scheduled};
use std::collections::{HashMap, HashSet, VecDeque};

/// Parameters common to all generators (`disksim_synthio` and `disksim_pf`).
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LoadConfig {
    /// The run ends when the generators have been asked for this many requests after their first ones.
    pub(crate) requests: u64,
    /// No request is generated at or after this time.
    pub(crate) end: Nanos,
    /// Computation from the system call to the request, and from the request to the return, ms. If set, each
    /// time-critical request includes them.
    pub(crate) system_call: Option<(f64, f64)>,
    /// Number of processors, at least 1.
    pub(crate) processors: usize,
    /// Scales all computation.
    pub(crate) time_scale: f64,
}

/// A request issued now by a process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct IssuedOperation {
    /// The number by which [`Processors::completed`] reports its completion.
    pub(crate) operation: u64,
    /// The request.
    pub(crate) request: Drawn,
}

/// The result of [`Processors::advance`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum LoadStep {
    /// A request is issued.
    Issue(IssuedOperation),
    /// A process now waits for this operation.
    Waiting(u64),
    /// The load has ended: the run stops here.
    End,
    /// No processor has had work for 50 s.
    Idle,
    /// No request can be drawn from the generator with this number.
    Impossible(usize),
    /// Nothing visible from outside.
    Nothing,
}

#[derive(Clone, Copy, Debug)]
enum Action {
    Issue(IssuedOperation),
    /// Wait for the operation, if it has not completed yet.
    Wait(u64),
    /// Draw the next request.
    Generate,
}

#[derive(Clone, Debug)]
struct Process {
    generator: SyntheticGenerator,
    /// Its next actions, each after some computation.
    script: VecDeque<(f64, Action)>,
    limits: WaitDeltas,
}

/// Processors, processes and their waits.
#[derive(Clone, Debug)]
pub(crate) struct Processors {
    config: LoadConfig,
    random: Rand48,
    processes: Vec<Process>,
    /// The process that each processor runs.
    running: Vec<Option<usize>>,
    /// Processes ready to run, in order.
    ready: VecDeque<usize>,
    /// When the process of each processor finishes its computation.
    agenda: EventQueue<usize>,
    /// Uncompleted operations for which a process waits or may wait later.
    outstanding: HashSet<u64>,
    sleeping: HashMap<u64, usize>,
    asked: u64,
    /// Since when all processors have been idle.
    idle_since: Option<Nanos>,
}

/// A run ends when all processors have been idle for this long.
const IDLE: Nanos = Nanos::from_secs(50);

impl Processors {
    /// Processes for `generators`, with their first requests drawn, beginning with the last generator. The error is the
    /// number of a generator that cannot draw a request.
    pub(crate) fn new(config: LoadConfig, generators: Vec<SyntheticGenerator>, random: Rand48) -> Result<Self, usize> {
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

    /// The random number generator, which the whole run shares.
    pub(crate) fn random(&mut self) -> &mut Rand48 {
        &mut self.random
    }

    /// The time of the next action of a process, or when the load ends because all processors are idle.
    pub(crate) fn next_event(&self) -> Option<Nanos> {
        let idle = self.idle_since.map(|t| t.saturating_add(IDLE));
        let work = self.agenda.next_time();
        match (work, idle) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// Performs the action that is due at `now`, the time of [`Processors::next_event`].
    pub(crate) fn advance(&mut self, now: Nanos) -> LoadStep {
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

    /// Reports that `operation` has completed.
    pub(crate) fn completed(&mut self, operation: u64, now: Nanos) {
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

    /// Lets `process` issue `request` after its think time, with the waits before and after it.
    fn append(&mut self, process: usize, request: Drawn) -> Option<()> {
        let generators = self.processes.len() as u64;
        let p = &mut self.processes[process];
        let operation = self.asked * generators + process as u64;
        let issue = Action::Issue(IssuedOperation { operation, request });
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

    /// Gives `processor` the next ready process.
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

    /// Lets `processor` compute until the next action of its process.
    fn schedule(&mut self, processor: usize, now: Nanos) {
        let Some(process) = self.running[processor] else { return };
        let computation = self.processes[process].script.front().map_or(0.0, |&(t, _)| t);
        let at = now.saturating_add(Nanos::from_millis_f64(computation * self.config.time_scale));
        self.agenda.push(at, processor);
    }
}

/// Appends `action` after `time` of computation, preceded by the waits whose limits expire until then.
fn push(script: &mut VecDeque<(f64, Action)>, limits: &mut WaitDeltas, mut time: f64, action: Option<Action>) {
    while let Some((operation, step)) = limits.take_before(time) {
        script.push_back((step, Action::Wait(operation)));
        time -= step;
    }
    match action {
        Some(action) => script.push_back((time, action)),
        // A pure delay, implemented as a wait for an operation that does not exist.
        None => script.push_back((time, Action::Wait(u64::MAX))),
    }
}
