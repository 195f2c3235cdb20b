//! [`Dependent`]: processes wait and think as in the recording.

use super::ReplayRecord;
use crate::{Source, SourceHandle, Step};
use iopilot_block::{Nanos, ProcessId, ProcessMap};
use iopilot_trace::{ArrivalSimulator, Dependencies};
use std::borrow::Borrow;
use std::collections::HashSet;

/// Processes issue their requests in the recorded order, wait for the requests that they waited for, and think in between.
#[derive(Clone, Debug)]
pub struct Dependent<R, D> {
    records: R,
    simulator: ArrivalSimulator<D>,
    /// One request of each process, which names the process to the simulator.
    request_of: ProcessMap<u32>,
    due: Vec<u32>,
    exits: Vec<ProcessId>,
    /// If set, only these processes exit after their last request.
    ended: Option<HashSet<ProcessId>>,
    /// The time of the last of `exits`.
    exited: Nanos,
}

impl<R: Borrow<[ReplayRecord]>, D: Borrow<Dependencies>> Dependent<R, D> {
    /// Replays `records` under `dependencies` inferred from the same trace; think times are scaled by `think_scale`.
    pub fn new(records: R, dependencies: D, think_scale: f64) -> Self {
        let deps: &Dependencies = dependencies.borrow();
        let request_of = (0..deps.processes() as u32)
            .filter_map(|p| deps.requests_of(p).first())
            .map(|&request| (deps.process(request), request))
            .collect();
        Self {
            records,
            simulator: ArrivalSimulator::with_think_scale(dependencies, think_scale),
            request_of,
            due: Vec::new(),
            exits: Vec::new(),
            ended: None,
            exited: Nanos::ZERO,
        }
    }

    /// For records that are only a part of a run: only the processes in `ended` exit after their last record.
    pub fn lasting(self, ended: HashSet<ProcessId>) -> Self {
        Self { ended: Some(ended), ..self }
    }
}

impl<R: Borrow<[ReplayRecord]>, D: Borrow<Dependencies>> Source for Dependent<R, D> {
    fn next_event(&self) -> Option<Nanos> {
        let exit = (!self.exits.is_empty()).then_some(self.exited);
        match (self.simulator.next_event(), exit) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    fn advance(&mut self, now: Nanos, out: &mut Vec<Step>) {
        out.extend(self.exits.drain(..).map(Step::Exit));
        self.simulator.advance(now, &mut self.due);
        let records = self.records.borrow();
        out.extend(self.due.drain(..).map(|i| Step::Request(records[i as usize].arrival(SourceHandle(u64::from(i))))));
    }

    fn completed(&mut self, handle: SourceHandle, now: Nanos) {
        if let Some(process) = self
            .simulator
            .completed(handle.0 as u32, now)
            .filter(|p| self.ended.as_ref().is_none_or(|ended| ended.contains(p)))
        {
            self.exits.push(process);
            self.exited = now;
        }
    }

    fn blocked(&mut self, process: ProcessId, _: Nanos) {
        if let Some(&request) = self.request_of.get(&process) {
            self.simulator.blocked(request);
        }
    }

    fn unblocked(&mut self, process: ProcessId, now: Nanos) {
        if let Some(&request) = self.request_of.get(&process) {
            self.simulator.unblocked(request, now);
        }
    }

    fn goes_on(&self, handle: SourceHandle, by: Nanos) -> Option<Nanos> {
        let records = self.records.borrow();
        let record = |request: u32| &records[request as usize];
        let (at, next) = self.simulator.next_of(handle.0 as u32)?;
        (at <= by && record(handle.0 as u32).may_share_plug(record(next))).then_some(at)
    }

    fn thinks_from_block_layer(&self) -> bool {
        true
    }

    fn waiting(&self) -> Option<Vec<(ProcessId, Nanos)>> {
        let deps = self.simulator.dependencies();
        let of = |p: u32| (deps.process(deps.requests_of(p)[0]), self.simulator.waited(p));
        Some((0..deps.processes() as u32).map(of).collect())
    }
}
