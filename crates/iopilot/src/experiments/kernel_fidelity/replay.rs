//! [`Replayable`]: a recording, ready to be replayed.

use super::hand_over::{Asked, Usual, of_each, of_tags};
use super::measure::Recording;
use super::predict::Figures;
use super::race::Steals;
use crate::experiments::Setup;
use iopilot_block::Nanos;
use iopilot_device::{Distant, OnClock};
use iopilot_sched::SchedulerSpec;
use iopilot_sim::workload::replay::{Dependent, ReplayRecord};
use iopilot_sim::{HandOver, HandOvers, Machine, RunConfig, RunReport, run};
use iopilot_trace::{Dependencies, InferOptions, TraceRecord, infer};

/// How often a recording is replayed where something is drawn.
const DRAWS: u64 = 8;
/// A kernel chooses so long before the request reaches the device, or up to [`DRAWS`] - 1 times [`CHOICE_STEP`] longer.
const CHOICE: Nanos = Nanos(400);
const CHOICE_STEP: u64 = 350;

/// A whole number of the kernel's ticks, whatever its `HZ`: a replay goes on where in them the recording began.
const SECOND: u64 = 1_000_000_000;

/// A recording with what its tasks depended on.
pub(super) struct Replayable<'a> {
    recording: &'a Recording,
    pub(super) hand_over: Usual,
    requests: Vec<ReplayRecord>,
    dependencies: Dependencies,
    /// What it tells of the scheduler it was recorded under.
    own: Own,
}

/// A recording as its own scheduler saw it: requests arrive when they were handed to it.
struct Own {
    requests: Vec<ReplayRecord>,
    dependencies: Dependencies,
    /// As far as the recording tells it.
    hand_overs: Vec<HandOver>,
    /// From a request's arrival to its insertion.
    before: Vec<Nanos>,
    /// From the first arrival to the first insertion.
    begin: Nanos,
    /// When it begins in the replay, so that the kernel's ticks are where they were.
    tick: Nanos,
}

/// The same `by` later.
fn later(r: &TraceRecord, by: Nanos) -> TraceRecord {
    let [inserted, issue, completion] = [r.inserted, r.issue, r.completion].map(|time| time.map(|time| time + by));
    TraceRecord { arrival: r.arrival + by, inserted, issue, completion, ..r.clone() }
}

impl Own {
    fn of(recording: &Recording) -> anyhow::Result<Self> {
        let records = &recording.records;
        // Under `none` a request is handed to nobody.
        let scheduled = records.iter().any(|r| r.inserted.is_some());
        let mut inserted: Vec<(Nanos, TraceRecord)> = records
            .iter()
            .map(|r| (r.arrival, TraceRecord { arrival: r.inserted.unwrap_or(r.arrival), ..r.clone() }))
            .collect();
        inserted.sort_by_key(|(_, r)| r.arrival);
        let before: Vec<Nanos> = inserted.iter().map(|(arrival, r)| r.arrival.since(*arrival)).collect();
        let inserted: Vec<TraceRecord> = inserted.into_iter().map(|(_, r)| r).collect();
        let first = |records: &[TraceRecord]| records.iter().map(|r| r.arrival).min().unwrap_or_default();
        let begin = first(&inserted).since(first(records));
        let hand_overs = if scheduled { of_each(&inserted, &before) } else { of_tags(&inserted) };
        let tick = Nanos(recording.origin.0 % SECOND);
        let inserted: Vec<TraceRecord> = inserted.iter().map(|r| later(r, tick)).collect();
        Ok(Self {
            requests: inserted.iter().map(ReplayRecord::from).collect(),
            dependencies: infer(&inserted, &InferOptions::default())?,
            hand_overs,
            before,
            begin,
            tick,
        })
    }

    /// What became of the requests, from their arrival.
    fn figures(&self, report: &RunReport) -> Figures {
        let outcomes = report.outcomes.iter().flatten();
        let mut responses: Vec<Nanos> = outcomes.zip(&self.before).map(|(o, before)| o.response + *before).collect();
        Figures::from_responses(&mut responses, report.bytes, report.elapsed_s + self.begin.as_secs_f64())
    }
}

impl Asked {
    /// As `recordings` under a scheduler tell it together.
    pub(super) fn by<'a>(recordings: impl Iterator<Item = &'a Replayable<'a>> + Clone) -> Self {
        Self::of(&recordings.flat_map(|r| &r.own.hand_overs), Self::default())
    }
}

impl<'a> Replayable<'a> {
    pub(super) fn new(recording: &'a Recording) -> anyhow::Result<Self> {
        Ok(Self {
            recording,
            hand_over: Usual::of(&recording.records),
            requests: recording.records.iter().map(ReplayRecord::from).collect(),
            dependencies: infer(&recording.records, &InferOptions::default())?,
            own: Own::of(recording)?,
        })
    }

    /// One replay on a machine under a scheduler, in which freed tags go to the tasks that have freed them with these probabilities.
    fn once(&self, race: Steals, draw: u64, on: &Rig<'_>) -> anyhow::Result<RunReport> {
        let hand_over = on.hand_over.unwrap_or(self.hand_over);
        let config = RunConfig { host: race.on(&hand_over.on(&on.config.host)), ..on.config.clone() };
        self.run((&self.requests, &self.dependencies), Nanos::ZERO, draw, &config, on)
    }

    /// A replay in which the recording begins at `begin`.
    fn run(
        &self,
        (requests, dependencies): (&[ReplayRecord], &Dependencies),
        begin: Nanos,
        draw: u64,
        config: &RunConfig,
        on: &Rig<'_>,
    ) -> anyhow::Result<RunReport> {
        let config = RunConfig { seed: config.seed.wrapping_add(draw), ..config.clone() };
        let path = &self.recording.path;
        // The medium stands where it stood then.
        let disk = OnClock::new(on.machine.device(), path.model.unwrap_or(begin), begin);
        let device =
            Distant::new(disk, &path.there, &path.back, config.seed).knowing(path.by_sector(&self.recording.records));
        let source = Dependent::new(requests, dependencies, 1.0);
        Ok(run(source, device, on.scheduler, &config, on.setup.progress)?)
    }

    /// With which probabilities freed tags go to the tasks that have freed them in a recording under `none`: those with which a
    /// simulation under it shows as many that went there. (What follows a completion need not follow from it, so that the shares
    /// themselves are a little low.)
    pub(super) fn race(&self, on: &Rig<'_>) -> anyhow::Result<Steals> {
        let shown = self.recording.steals;
        if shown == Steals::default() {
            return Ok(shown);
        }
        let mut drawn = shown;
        for _ in 0..2 {
            let once = |draw: u64| -> anyhow::Result<Steals> {
                Ok(self.once(drawn, draw, on)?.log.as_deref().map(Steals::of).unwrap_or_default())
            };
            let simulated = (0..DRAWS).map(once).collect::<anyhow::Result<Vec<_>>>()?;
            drawn = drawn.corrected(shown, Steals::mean(&simulated));
        }
        Ok(drawn)
    }

    /// The mean over as many replays as the scheduler needs.
    pub(super) fn figures(&self, on: &Rig<'_>) -> anyhow::Result<Figures> {
        // Who wins the race for tags is drawn under another scheduler's recording, when a scheduler chose under its own.
        let (own, none) = (on.hand_over.is_none(), on.scheduler.name == "none");
        let draws = if own == none { 1 } else { DRAWS };
        let once = |draw: u64| -> anyhow::Result<Figures> {
            if own {
                return self.again(draw, on);
            }
            let report = self.once(Steals::default(), draw, on)?;
            let mut responses: Vec<Nanos> = report.outcomes.iter().flatten().map(|o| o.response).collect();
            Ok(Figures::from_responses(&mut responses, report.bytes, report.elapsed_s))
        };
        Ok(Figures::mean(&(0..draws).map(once).collect::<anyhow::Result<Vec<_>>>()?))
    }

    /// One replay under the scheduler it was recorded under, which is asked when it was asked.
    fn again(&self, draw: u64, on: &Rig<'_>) -> anyhow::Result<Figures> {
        let own = &self.own;
        let choice = CHOICE + Nanos(draw * CHOICE_STEP);
        let asked = Asked::of(&own.hand_overs.iter(), on.asked);
        let hand_overs = HandOvers::new(asked.filled(&own.hand_overs), choice);
        let config =
            RunConfig { host: self.hand_over.on(&on.config.host), hand_overs: Some(hand_overs), ..on.config.clone() };
        let report = self.run((&own.requests, &own.dependencies), own.tick, draw, &config, on)?;
        Ok(own.figures(&report))
    }
}

/// What a recording is replayed on.
pub(super) struct Rig<'a> {
    pub(super) machine: &'a Machine,
    pub(super) scheduler: &'a SchedulerSpec,
    pub(super) config: &'a RunConfig,
    /// What the scheduler takes to hand requests over; `None` where the recording tells, as it is of this scheduler.
    pub(super) hand_over: Option<Usual>,
    /// How soon this scheduler is asked, where too little in its own recording tells.
    pub(super) asked: Asked,
    pub(super) setup: &'a Setup<'a>,
}
