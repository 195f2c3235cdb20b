//! [`Lasting`]: a window whose processes go on as they did, until a trial is long enough.

use crate::habits::{Habits, Told};
use crate::objective::Objective;
use crate::rig::{Trial, Tried};
use crate::rounds::Rounds;
use iopilot_block::{InputError, Nanos, ProcessId};
use iopilot_device::Device;
use iopilot_sched::SchedulerSpec;
use iopilot_sim::{RequestOutcome, RunConfig, Session};
use iopilot_trace::{InferOptions, TraceRecord, infer};
use std::collections::BTreeMap;

/// A window is repeated so often at most.
const MOST: u64 = 64;
/// Between two looks at how far a trial is.
const LOOK: Nanos = Nanos::from_millis(50);
/// A trial that has not served enough by then ends all the same.
const LONGEST: Nanos = Nanos::from_secs(600);
/// A trial that has served so many times what it should ends all the same.
const MANY: u64 = 8;
/// Each half of a trial is so many times as long as the window: all processes have their turn.
const SPANS: u64 = 2;
/// Into so many parts the cost is cut to tell how sure it is.
const PARTS: usize = 96;

/// A window as a habit: streams go on where they ended, others a little apart, each process after a pause as it made before,
/// at its own pace and without end. All processes are at work during all of a trial, as they were in the window.
///
/// A scheduler that has just been put in place is not what it will be: `bfq` finds out in a second or two for whom to idle.
/// Some windows are over before. So the second half of a trial is what counts.
#[derive(Clone, Debug)]
pub(crate) struct Lasting<'a> {
    window: &'a [TraceRecord],
    habits: Habits,
    /// Of each record, whether nobody waits for it.
    background: Vec<bool>,
    /// So many requests make a trial.
    requests: u64,
}

impl<'a> Lasting<'a> {
    /// `window`, in order of arrival, tried for `least` requests on a disk of `capacity` sectors. `before` is what was served
    /// before it, which tells what its first requests waited for; it began at `since`, and `pending` requests are under way at its
    /// end. `None` where that is no more than there
    /// are, where processes came, or where it does not tell what belongs to which: then a trial is once through it. O(n log n).
    ///
    /// # Errors
    /// Where the records do not tell what depends on what.
    pub(crate) fn new(
        before: &[TraceRecord],
        window: &'a [TraceRecord],
        (since, pending): (Nanos, usize),
        least: u64,
        capacity: u64,
    ) -> Result<Option<Self>, InputError> {
        let tells = |r: &TraceRecord| {
            r.process.is_some() && r.completion.is_some() && r.process_start.is_none_or(|start| start <= since)
        };
        if least <= window.len() as u64 || !window.iter().all(tells) {
            return Ok(None);
        }
        let known = before.iter().filter(|r| tells(r)).map(|r| (None, r));
        let mut all: Vec<(Option<usize>, &TraceRecord)> =
            known.chain(window.iter().enumerate().map(|(n, r)| (Some(n), r))).collect();
        all.sort_by_key(|(_, r)| r.arrival);
        let (place, records): (Vec<_>, Vec<TraceRecord>) = all.into_iter().map(|(n, r)| (n, r.clone())).unzip();
        let dependencies = infer(&records, &InferOptions { families: false, ..InferOptions::default() })
            .map_err(|e| InputError::new("requests", e.to_string(), "requests that tell what they waited for"))?;
        let told = Told { records: &records, dependencies: &dependencies, place: &place, since, pending };
        let requests = least.min(MOST * window.len() as u64);
        let habits = Habits::new(&told, capacity);
        let mut background = vec![false; window.len()];
        habits.in_background().for_each(|n| background[n] = true);
        Ok(Some(Self { window, habits, background, requests }))
    }

    /// Tries `candidate` on `device` from `start` on; the device and the time as they are then.
    ///
    /// # Errors
    /// Where a setting is not accepted, or the run gets stuck.
    pub(crate) fn trial<D: Device>(
        &self,
        device: D,
        candidate: &SchedulerSpec,
        config: &RunConfig,
        start: Nanos,
        objective: Objective,
    ) -> Tried<D> {
        let mut session = Session::new(Rounds::new(&self.habits, start), device, candidate, config)?;
        let (mut at, mut half) = (start, None);
        let long = Nanos(SPANS * self.habits.span.0);
        let over = |requests: u64, since: Nanos, at: Nanos, served: u64| {
            served >= MANY * requests || (served >= requests && at >= since + long)
        };
        loop {
            at += LOOK;
            session.run_until(at)?;
            let served = session.completed();
            match half {
                Some((half, _)) if at > start + LONGEST || over(self.requests, half, at, served) => break,
                None if at > start + Nanos(LONGEST.0 / 2) || over(self.requests / 2, start, at, served) => {
                    half = Some((at, session.source_mut().waited(at)));
                }
                _ => {}
            }
        }
        let (half, before) = half.unwrap_or((start, Nanos::ZERO));
        let end = at.max(session.now());
        let waited = session.source_mut().waited(end) - before;
        let issued = session.source_mut().end();
        // The next trial finds the disk without requests of this one.
        session.run_until(Nanos::MAX)?;
        let clock = session.now();
        let (mut report, device) = session.finish();
        let outcomes = report.outcomes.take().unwrap_or_default();
        let mut late: Vec<(usize, RequestOutcome)> =
            issued.into_iter().zip(outcomes).filter(|(_, outcome)| outcome.completion > half).collect();
        late.sort_by_key(|(_, outcome)| outcome.completion);
        let served = late.partition_point(|(_, outcome)| outcome.completion <= end);
        let late = Late { lasting: self, waited, half, end, served, all: late };
        let cost = late.cost(objective);
        let trial = Trial { report, cost, shares: late.shares(objective, cost), window_s: late.window_s() };
        Ok((trial, device, clock))
    }
}

/// The second half of a trial.
struct Late<'a> {
    lasting: &'a Lasting<'a>,
    /// How long processes waited.
    waited: Nanos,
    /// From when to when it lasted.
    half: Nanos,
    end: Nanos,
    /// What was in the queue or the disk in that time, in order of completion, with its place in the window.
    all: Vec<(usize, RequestOutcome)>,
    /// How many of them were complete at its end.
    served: usize,
}

impl Late<'_> {
    /// How often the window was gone through, on average over the processes. One that did little in the window counts little,
    /// as it was out of luck then, perhaps; and none counts as having been round more than four times as often as the usual.
    fn rounds(&self) -> f64 {
        let window = self.lasting.window;
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

    /// What once through the window costs.
    ///
    /// Of what processes wait for, as long as it took in the window, shorter or longer as the processes waited less or more to
    /// get on than they did then. With one request at a time that is the sum of the times that requests took; where a process
    /// has several in the queue, or sleeps as no more are admitted, what holds it up is not how many it had.
    fn cost(&self, objective: Objective) -> f64 {
        let window = self.lasting.window;
        match objective {
            Objective::ServiceTime | Objective::BlockedTime => {
                let background = self.in_background(objective);
                let took: f64 = (window.iter().zip(&self.lasting.background))
                    .filter(|(_, background)| !**background)
                    .filter_map(|(r, _)| self.share(objective, r, r.completion?.since(r.arrival)))
                    .sum();
                let was = self.lasting.habits.waited.as_secs_f64();
                let longer = if was > 0.0 { self.waited.as_secs_f64() / was } else { 0.0 };
                (background + took * longer) / self.rounds()
            }
            Objective::BusyTime | Objective::Throughput | Objective::P99 | Objective::Fairness => {
                let mut served: Vec<TraceRecord> =
                    self.all[..self.served].iter().map(|(record, outcome)| became(outcome, &window[*record])).collect();
                served.sort_by_key(|r| r.arrival);
                let cost = objective.measured(&served).unwrap_or_default();
                if objective.is_time() { cost / self.rounds() } else { cost }
            }
        }
    }

    /// What those cost that nobody waits for. What is still under way counts, too: nobody is better for not being served.
    fn in_background(&self, objective: Objective) -> f64 {
        let cost = |(record, outcome): &(usize, RequestOutcome)| {
            let arrival = Nanos(outcome.completion.0.saturating_sub(outcome.response.0));
            let response = outcome.completion.min(self.end).since(arrival.max(self.half));
            self.share(objective, &self.lasting.window[*record], response)
        };
        self.all.iter().filter(|(record, _)| self.lasting.background[*record]).filter_map(cost).sum()
    }

    fn share(&self, objective: Objective, record: &TraceRecord, response: Nanos) -> Option<f64> {
        objective.share(&RequestOutcome { response, criticality: record.criticality(), ..RequestOutcome::default() })
    }

    /// The parts of the cost, of equal numbers of requests one after the other; `None` where it is not a sum.
    fn shares(&self, objective: Objective, cost: f64) -> Option<Vec<f64>> {
        objective.share(&RequestOutcome::default())?;
        let parts = PARTS.min(self.served);
        let edge = |n: usize| match n {
            0 => self.half,
            n => self.all[n * self.served / parts - 1].1.completion,
        };
        let all = self.end.since(self.half).as_secs_f64();
        Some((0..parts).map(|n| cost * edge(n + 1).since(edge(n)).as_secs_f64() / all).collect())
    }

    /// How long once through the window took, in seconds.
    fn window_s(&self) -> f64 {
        self.end.since(self.half).as_secs_f64() / self.rounds()
    }
}

/// `record` with the times of `outcome`.
fn became(outcome: &RequestOutcome, record: &TraceRecord) -> TraceRecord {
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
