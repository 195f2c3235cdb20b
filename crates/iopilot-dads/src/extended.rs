//! [`ExtendedTrial`]: a short window whose processes go on as they did, until the trial is long enough.

use crate::candidate::TrialCandidate;
use crate::objective::{Costing, Objective};
use crate::pattern::{KnownRequests, WindowPattern};
use crate::pattern_source::PatternSource;
use crate::tag_waits::ready_times;
use crate::trial::{Trial, Tried};
use iopilot_block::{InputError, Nanos, ProcessId};
use iopilot_device::Device;
use iopilot_sim::{RequestOutcome, RunConfig};
use iopilot_trace::{Dependencies, InferOptions, TraceRecord, infer};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The most times that a window is repeated.
const MAX_ROUNDS: u64 = 64;
/// The virtual time between two looks at the progress of a trial.
const LOOK: Nanos = Nanos::from_millis(50);
/// A trial ends after this time, even with too few requests.
const MAX_TIME: Nanos = Nanos::from_secs(600);
/// A trial ends when it has served this many times its requests, even if it is shorter than [`SPANS`].
const MAX_OVERSHOOT: u64 = 8;
/// Each half of a trial lasts this many windows, so that every process gets its turn.
const SPANS: u64 = 2;
/// The number of parts of the cost, from which the confidence is estimated.
const PARTS: usize = 96;

/// A window that a trial repeats. Streams go on where they ended, other processes a little further on. Each process
/// keeps its own pace and its own pause between two rounds. All processes are at work during the whole trial, as they
/// were in the window.
///
/// A scheduler that has just been installed has yet to adapt: `bfq` takes a second or two to find out for whom to idle.
/// Some windows are over before that. So only the second half of a trial counts.
#[derive(Clone, Debug)]
pub(crate) struct ExtendedTrial<'a> {
    window: &'a [TraceRecord],
    pattern: WindowPattern,
    /// For each record, whether no process waits for it.
    background: Vec<bool>,
    /// For each record, when it would have arrived, had its process not slept for tags.
    ready: Vec<Nanos>,
    /// How many requests make a trial.
    requests: u64,
}

impl<'a> ExtendedTrial<'a> {
    /// A trial of `window`, in order of arrival, for at least `least` requests on a disk of `capacity` sectors.
    ///
    /// The window began at `since`, and `pending` requests are in flight at its end. `before` are the requests served
    /// before it, which show what its first requests waited for. `correct` corrects the dependencies of all of them
    /// together, and says which slept for a tag. O(n log n).
    ///
    /// Returns `None` where the window has `least` requests already, where processes started in it, or where a record
    /// has no process or completion. The caller then replays the window once.
    ///
    /// # Errors
    /// Where the dependencies of the records cannot be inferred.
    pub(crate) fn new(
        before: &[TraceRecord],
        window: &'a [TraceRecord],
        (since, pending): (Nanos, usize),
        least: u64,
        capacity: u64,
        correct: impl FnOnce(&[TraceRecord], &mut Dependencies) -> Option<Vec<bool>>,
    ) -> Result<Option<Self>, InputError> {
        let is_usable = |r: &TraceRecord| {
            r.process.is_some() && r.completion.is_some() && r.process_start.is_none_or(|start| start <= since)
        };
        if least <= window.len() as u64 || !window.iter().all(is_usable) {
            return Ok(None);
        }
        let earlier = before.iter().filter(|r| is_usable(r)).map(|r| (None, r));
        let mut all: Vec<(Option<usize>, &TraceRecord)> =
            earlier.chain(window.iter().enumerate().map(|(n, r)| (Some(n), r))).collect();
        all.sort_by_key(|(_, r)| r.arrival);
        let (place, records): (Vec<_>, Vec<TraceRecord>) = all.into_iter().map(|(n, r)| (n, r.clone())).unzip();
        let mut dependencies = infer(&records, &InferOptions { families: false, ..InferOptions::default() })
            .map_err(|e| InputError::new("requests", e.to_string(), "requests that tell what they waited for"))?;
        let slept = correct(&records, &mut dependencies);
        let mut ready: Vec<Nanos> = window.iter().map(|r| r.arrival).collect();
        if let Some(slept) = slept {
            let of = |i: u32| &records[i as usize];
            let times = ready_times(&dependencies, |i| slept[i as usize], |i| of(i).arrival, |i| of(i).completion);
            place.iter().zip(times).for_each(|(place, time)| {
                // A request that was ready before the window waits from the window's start.
                place.map(|n| ready[n] = time.max(since.min(window[n].arrival)));
            });
        }
        let known = KnownRequests { records: &records, dependencies: &dependencies, place: &place, since, pending };
        let requests = least.min(MAX_ROUNDS * window.len() as u64);
        let pattern = WindowPattern::new(&known, capacity);
        let mut background = vec![false; window.len()];
        pattern.in_background().for_each(|n| background[n] = true);
        Ok(Some(Self { window, pattern, background, ready, requests }))
    }

    /// For each record, when it would have arrived, had its process not slept for tags.
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
        let mut session = candidate.session(PatternSource::new(&self.pattern, start), device, config)?;
        let (mut at, mut half) = (start, None);
        let long = Nanos(SPANS * self.pattern.span.0);
        let over = |requests: u64, since: Nanos, at: Nanos, served: u64| {
            served >= MAX_OVERSHOOT * requests || (served >= requests && at >= since + long)
        };
        loop {
            at += LOOK;
            session.run_until(at)?;
            let served = session.completed();
            match half {
                Some((half, _)) if at > start + MAX_TIME || over(self.requests, half, at, served) => break,
                None if at > start + Nanos(MAX_TIME.0 / 2) || over(self.requests / 2, start, at, served) => {
                    half = Some((at, session.source_mut().waited(at)));
                }
                _ => {}
            }
        }
        let (half, before) = half.unwrap_or((start, Nanos::ZERO));
        let end = at.max(session.now());
        let waited = session.source_mut().waited(end) - before;
        let issued = session.source_mut().end();
        // The next trial must find the disk without requests of this one.
        session.run_until(Nanos::MAX)?;
        let clock = session.now();
        let disk = session.take_disk_completed();
        let contents = session.redcap_contents().map(Arc::new);
        let (mut report, device) = session.finish();
        let outcomes = report.outcomes.take().unwrap_or_default();
        let from_readiness = |((record, ready), outcome): ((usize, Nanos), RequestOutcome)| {
            let waits = outcome.completion.since(ready);
            let response = if costing.is_of_responses() { outcome.response.max(waits) } else { outcome.response };
            (record, RequestOutcome { response, ..outcome })
        };
        let mut second: Vec<(usize, RequestOutcome)> = (issued.into_iter().zip(outcomes))
            .map(from_readiness)
            .filter(|(_, outcome)| outcome.completion > half)
            .collect();
        second.sort_by_key(|(_, outcome)| outcome.completion);
        let served = second.partition_point(|(_, outcome)| outcome.completion <= end);
        let second = SecondHalf { trial: self, waited, half, end, served, all: second };
        let cost = second.cost(costing);
        let (shares, window_s) = (second.shares(costing, cost), second.window_s());
        let rates = second.rates();
        let trial = Trial { report, cost, shares, window_s, rates, disk, contents };
        Ok((trial, device, clock))
    }
}

/// The second half of a trial.
struct SecondHalf<'a> {
    trial: &'a ExtendedTrial<'a>,
    /// How long processes waited in it, all together.
    waited: Nanos,
    /// Its start and its end.
    half: Nanos,
    end: Nanos,
    /// The requests in the queue or the disk during that time, in order of completion, each with its index in the
    /// window.
    all: Vec<(usize, RequestOutcome)>,
    /// How many of them had completed by its end.
    served: usize,
}

impl SecondHalf<'_> {
    /// How many times the window was repeated: a weighted mean over the processes. A process with few requests in the
    /// window weighs little, since it may just have been served badly there. No process counts for more than four times
    /// the median.
    fn rounds(&self) -> f64 {
        let window = self.trial.window;
        let mut of_process: BTreeMap<Option<ProcessId>, (f64, f64)> = BTreeMap::new();
        window.iter().for_each(|r| of_process.entry(r.process).or_default().0 += 1.0);
        for (record, _) in &self.all[..self.served] {
            of_process.entry(window[*record].process).or_default().1 += 1.0;
        }
        let mut rounds: Vec<f64> = of_process.values().map(|(once, served)| served / once).collect();
        let (_, &mut middle, _) = rounds.select_nth_unstable_by(of_process.len() / 2, f64::total_cmp);
        let most = if middle > 0.0 { 4.0 * middle } else { f64::INFINITY };
        let usual = window.len() as f64 / of_process.len() as f64;
        let weights = || of_process.values().map(|(once, _)| once / (once + usual));
        let sum: f64 =
            of_process.values().zip(weights()).map(|((once, served), w)| w * (served / once).min(most)).sum();
        (sum / weights().sum::<f64>()).max(f64::EPSILON)
    }

    /// The cost of one round of the window.
    ///
    /// Requests that processes wait for cost what they cost in the window, scaled by how much longer or shorter the
    /// processes waited here. With one request at a time, that is the sum of the response times. A process with several
    /// requests in the queue, or one that sleeps for a tag, is not held up by the sum of them.
    fn cost(&self, costing: Costing) -> f64 {
        let window = self.trial.window;
        match costing.objective {
            Objective::ServiceTime | Objective::BlockedTime => {
                let background = self.in_background(costing);
                let took: f64 = (window.iter().zip(&self.trial.ready).zip(&self.trial.background))
                    .filter(|(_, background)| !**background)
                    .filter_map(|((r, ready), _)| self.share(costing, r, r.completion?.since(*ready)))
                    .sum();
                let was = self.trial.pattern.waited.as_secs_f64();
                let longer = if was > 0.0 { self.waited.as_secs_f64() / was } else { 0.0 };
                (background + took * longer) / self.rounds()
            }
            Objective::BusyTime | Objective::Throughput | Objective::P99 | Objective::Fairness => {
                let mut served: Vec<TraceRecord> = self.all[..self.served]
                    .iter()
                    .map(|(record, outcome)| with_times(outcome, &window[*record]))
                    .collect();
                served.sort_by_key(|r| r.arrival);
                let cost = costing.measured(&served).unwrap_or_default();
                if costing.objective.is_time() { cost / self.rounds() } else { cost }
            }
        }
    }

    /// The cost of the requests that no process waits for. Those still in flight count, too: not serving them is no
    /// gain.
    fn in_background(&self, costing: Costing) -> f64 {
        let cost = |(record, outcome): &(usize, RequestOutcome)| {
            let arrival = Nanos(outcome.completion.0.saturating_sub(outcome.response.0));
            let response = outcome.completion.min(self.end).since(arrival.max(self.half));
            self.share(costing, &self.trial.window[*record], response)
        };
        self.all.iter().filter(|(record, _)| self.trial.background[*record]).filter_map(cost).sum()
    }

    fn share(&self, costing: Costing, record: &TraceRecord, response: Nanos) -> Option<f64> {
        costing.share(&RequestOutcome { response, criticality: record.criticality(), ..RequestOutcome::default() })
    }

    /// The cost in parts of equally many successive requests; `None` where the cost is not a sum.
    fn shares(&self, costing: Costing, cost: f64) -> Option<Vec<f64>> {
        costing.share(&RequestOutcome::default())?;
        let parts = PARTS.min(self.served);
        let edge = |n: usize| match n {
            0 => self.half,
            n => self.all[n * self.served / parts - 1].1.completion,
        };
        let all = self.end.since(self.half).as_secs_f64();
        Some((0..parts).map(|n| cost * edge(n + 1).since(edge(n)).as_secs_f64() / all).collect())
    }

    /// The requests a second of each process.
    fn rates(&self) -> Vec<(Option<ProcessId>, f64)> {
        let window = self.trial.window;
        let mut of_process: BTreeMap<Option<ProcessId>, f64> = window.iter().map(|r| (r.process, 0.0)).collect();
        for (record, _) in &self.all[..self.served] {
            *of_process.entry(window[*record].process).or_default() += 1.0;
        }
        let seconds = self.end.since(self.half).as_secs_f64().max(1e-6);
        of_process.into_iter().map(|(process, served)| (process, served / seconds)).collect()
    }

    /// How long one round of the window took, in seconds.
    fn window_s(&self) -> f64 {
        self.end.since(self.half).as_secs_f64() / self.rounds()
    }
}

/// `record` with the times of `outcome`.
fn with_times(outcome: &RequestOutcome, record: &TraceRecord) -> TraceRecord {
    let since = |span: Nanos| Nanos(outcome.completion.0.saturating_sub(span.0));
    TraceRecord {
        arrival: since(outcome.response),
        issue: Some(since(outcome.service)),
        completion: Some(outcome.completion),
        ..record.clone()
    }
}

#[cfg(test)]
mod tests;
