//! [`ReplayTrial`]: a window that is replayed once.

use crate::candidate::TrialCandidate;
use crate::objective::Costing;
use crate::tag_waits::ready_times;
use crate::trial::{Trial, Tried};
use iopilot_block::{InputError, Nanos, ProcessId};
use iopilot_device::Device;
use iopilot_sim::{RequestOutcome, RunConfig};
use iopilot_trace::{Dependencies, InferOptions, TraceRecord, infer};
use iopilot_workload::replay::{Dependent, ReplayRecord};
use iopilot_workload::{Source, SourceHandle, Step};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

/// A window that is replayed once: processes wait for what they waited for, and think as long as they thought.
pub(crate) struct ReplayTrial {
    dependencies: Dependencies,
    requests: Vec<ReplayRecord>,
    /// Who issued each.
    processes: Vec<Option<ProcessId>>,
    /// The processes that exit after their last request.
    ended: HashSet<ProcessId>,
    /// For each request, when it would have arrived, had its process not slept for tags.
    ready: Vec<Nanos>,
}

impl ReplayTrial {
    /// A replay of `records`, a window that began at `since`. `correct` corrects their dependencies, and says which
    /// slept for a tag. O(n log n).
    ///
    /// # Errors
    /// Where the dependencies of the records cannot be inferred.
    pub(crate) fn new(
        records: &[TraceRecord],
        since: Nanos,
        ended: HashSet<ProcessId>,
        correct: impl FnOnce(&[TraceRecord], &mut Dependencies) -> Option<Vec<bool>>,
    ) -> Result<Self, InputError> {
        // Requests that were queued when the window began are queued at the start of the trial.
        let records = from_zero(records, since);
        let mut dependencies = infer(&records, &InferOptions::default())
            .map_err(|e| InputError::new("requests", e.to_string(), "requests that tell what they waited for"))?;
        let slept = correct(&records, &mut dependencies);
        let of = |i: u32| &records[i as usize];
        let mut ready: Vec<Nanos> = records.iter().map(|r| r.arrival).collect();
        if let Some(slept) = slept {
            ready = ready_times(&dependencies, |i| slept[i as usize], |i| of(i).arrival, |i| of(i).completion);
        }
        ready.iter_mut().for_each(|time| *time += since);
        let processes = records.iter().map(|record| record.process).collect();
        Ok(Self { dependencies, requests: records.iter().map(ReplayRecord::from).collect(), processes, ended, ready })
    }

    /// For each record, when it would have arrived, had its process not slept for tags; on the clock of the records.
    pub(crate) fn ready(&self) -> &[Nanos] {
        &self.ready
    }

    /// Tries `candidate` on `device` from `start` on. Returns the device and the time at the end, too.
    ///
    /// # Errors
    /// Where a setting is not accepted, or the run gets stuck.
    pub(crate) fn trial<D: Device>(
        &self,
        device: D,
        candidate: &TrialCandidate,
        config: &RunConfig,
        start: Nanos,
        costing: Costing,
    ) -> Tried<D> {
        let source = Dependent::new(&self.requests[..], &self.dependencies, 1.0).lasting(self.ended.clone());
        let mut session = candidate.session(Observed::new(source, start), device, config)?;
        session.run_until(Nanos::MAX)?;
        let clock = session.now();
        let slept = std::mem::take(&mut session.source_mut().slept);
        let disk = session.take_disk_completed();
        let contents = session.redcap_contents().map(Arc::new);
        let (mut report, device) = session.finish();
        let cost = costing.cost(&report);
        let mut outcomes = report.outcomes.take().unwrap_or_default();
        self.count_from_readiness(&mut outcomes, &slept);
        let responses = outcomes.iter().map(|o| (o.response, o.criticality));
        let cost = if slept.is_empty() { cost } else { costing.of_responses(responses).unwrap_or(cost) };
        let shares = outcomes.iter().map(|outcome| costing.share(outcome)).collect();
        let window_s = report.elapsed_s;
        let rates = self.rates(&outcomes, start);
        Ok((Trial { report, cost, shares, window_s, rates, disk, contents }, device, clock))
    }

    /// The requests a second of each process, from the start of the trial to its last completion.
    fn rates(&self, outcomes: &[RequestOutcome], start: Nanos) -> Vec<(Option<ProcessId>, f64)> {
        let mut of_process: BTreeMap<Option<ProcessId>, (f64, Nanos)> = BTreeMap::new();
        for (process, outcome) in self.processes.iter().zip(outcomes) {
            let (count, last) = of_process.entry(*process).or_default();
            *count += 1.0;
            *last = outcome.completion.max(*last);
        }
        let rate = |(process, (count, last)): (_, (f64, Nanos))| {
            (process, count / last.since(start.min(last)).as_secs_f64().max(1e-6))
        };
        of_process.into_iter().map(rate).collect()
    }

    /// Counts responses from when each request would have arrived, had its process not `slept` for a tag.
    fn count_from_readiness(&self, outcomes: &mut [RequestOutcome], slept: &HashSet<SourceHandle>) {
        if slept.is_empty() || outcomes.len() != self.dependencies.len() {
            return;
        }
        let arrival = |o: &RequestOutcome| Nanos(o.completion.0.saturating_sub(o.response.0));
        let of = |i: u32| &outcomes[i as usize];
        let asleep = |i: u32| slept.contains(&SourceHandle(u64::from(i)));
        let ready = ready_times(&self.dependencies, asleep, |i| arrival(of(i)), |i| Some(of(i).completion));
        for (outcome, ready) in outcomes.iter_mut().zip(ready) {
            outcome.response = outcome.completion.since(ready);
        }
    }
}

/// `records` with times relative to `start`; earlier times become zero.
pub(crate) fn from_zero(records: &[TraceRecord], start: Nanos) -> Vec<TraceRecord> {
    let at = |time: Nanos| Nanos(time.0.saturating_sub(start.0));
    let moved = |r: &TraceRecord| TraceRecord {
        arrival: at(r.arrival),
        inserted: r.inserted.map(at),
        issue: r.issue.map(at),
        completion: r.completion.map(at),
        // How much older a process is does not matter.
        process_start: r.process_start.map(at),
        ..r.clone()
    };
    records.iter().map(moved).collect()
}

/// A source that starts later. It notes after which requests their processes slept for a tag.
struct Observed<S> {
    source: S,
    by: Nanos,
    /// The last request of each process.
    last: HashMap<ProcessId, SourceHandle>,
    slept: HashSet<SourceHandle>,
}

impl<S: Source> Observed<S> {
    fn new(source: S, by: Nanos) -> Self {
        Self { source, by, last: HashMap::new(), slept: HashSet::new() }
    }
}

impl<S: Source> Source for Observed<S> {
    fn next_event(&self) -> Option<Nanos> {
        self.source.next_event().map(|at| at + self.by)
    }

    fn advance(&mut self, now: Nanos, out: &mut Vec<Step>) {
        let before = out.len();
        self.source.advance(now - self.by, out);
        for step in &out[before..] {
            if let Step::Request(arrival) = step {
                self.last.insert(arrival.process, arrival.handle);
            }
        }
    }

    fn completed(&mut self, handle: SourceHandle, now: Nanos) {
        self.source.completed(handle, now - self.by);
    }

    fn blocked(&mut self, process: ProcessId, now: Nanos) {
        self.slept.extend(self.last.get(&process));
        self.source.blocked(process, now - self.by);
    }

    fn goes_on(&self, handle: SourceHandle, by: Nanos) -> Option<Nanos> {
        self.source.goes_on(handle, by - self.by).map(|at| at + self.by)
    }

    fn unblocked(&mut self, process: ProcessId, now: Nanos) {
        self.source.unblocked(process, now - self.by);
    }

    fn is_serial(&self) -> bool {
        self.source.is_serial()
    }

    fn thinks_from_block_layer(&self) -> bool {
        self.source.thinks_from_block_layer()
    }

    fn pins_buffers(&self) -> bool {
        self.source.pins_buffers()
    }
}
