//! [`TrialPair`]: a load on a machine, run in whole or in part.

use crate::settings::TunedSettings;
use iopilot_block::Nanos;
use iopilot_compare::{Measure, Runner};
use iopilot_sim::{Machine, Progress, RunOptions, RunReport, SimError, begin};
use iopilot_workload::Workload;

/// The parts of a run in which its length is counted.
pub(crate) const WHOLE: u64 = 16;
/// The shortest part of a run, in requests.
const SHORTEST: u64 = 200;
/// Up to this factor, longer waits are no matter beside throughput.
const LONGER_WAITS: f64 = 2.0;
/// The first step of a run that ends early, and the shortest later one.
const FIRST_STEP: Nanos = Nanos::from_millis(10);
const SHORTEST_STEP: Nanos = Nanos::from_millis(1);

/// A load on a machine.
#[derive(Clone, Debug)]
pub(crate) struct TrialPair {
    pub(crate) machine: Machine,
    pub(crate) workload: Workload,
    pub(crate) seed: u64,
    pub(crate) measure: Measure,
    /// Whether the user chose the measure.
    pub(crate) is_chosen: bool,
    /// The requests of a whole run.
    pub(crate) requests: u64,
    /// Whether a whole run ends before the load does.
    pub(crate) is_clipped: bool,
    /// Whether a part of a run says something about the whole. Tasks end late in a run.
    pub(crate) has_parts: bool,
}

impl TrialPair {
    /// `workload` on `machine`; a whole run has at most `most` requests, unless only the end of a run tells the measure. The
    /// kernel's defaults are run once.
    pub(crate) fn new(
        (machine, workload, seed): (&Machine, &Workload, u64),
        measure: Option<Measure>,
        most: u64,
        run: (&TunedSettings, Runner, &Progress),
    ) -> Result<Self, SimError> {
        let (defaults, runner, progress) = run;
        let is_program = matches!(workload, Workload::BuiltinPrograms(_) | Workload::UserPrograms { .. });
        let options = RunOptions { seed, ..RunOptions::default() };
        let (report, ended) = match is_program {
            true => (runner(machine, workload, &defaults.scheduler, &options, progress)?, true),
            false => limited(machine, workload, defaults, &options, most)?,
        };
        let is_chosen = measure.is_some();
        let measure = measure.unwrap_or_else(|| Measure::of(workload, std::slice::from_ref(&report)));
        let has_parts = !is_program && !matches!(measure, Measure::TaskTime | Measure::Elapsed);
        Ok(Self {
            machine: machine.clone(),
            workload: workload.clone(),
            seed,
            measure,
            is_chosen,
            requests: report.requests.max(1),
            is_clipped: !ended,
            has_parts,
        })
    }

    /// What long waits add to the logarithm of the cost of `run`. Throughput does not show that a process starves. So unless the
    /// user asked for throughput, a 99th percentile of waiting of more than twice that of `base` counts by its ratio to that.
    pub(crate) fn charge(&self, run: &RunReport, base: &RunReport) -> f64 {
        if self.is_chosen || self.measure != Measure::Throughput {
            return 0.0;
        }
        (log_cost(Measure::TailWaiting, run, base) - LONGER_WAITS.ln()).max(0.0)
    }

    /// The pair as the `n`-th replay has it: with other think times, or another seed. `None` if nothing in it is random.
    pub(crate) fn replica(&self, n: u64) -> Option<Self> {
        let seed = self.seed.wrapping_add(n);
        let workload = match &self.workload {
            Workload::Trace(trace) => Workload::Trace(trace.redrawn(seed)?),
            other => other.clone(),
        };
        Some(Self { workload, seed, ..self.clone() })
    }

    /// The requests of `share` of a run.
    pub(crate) fn limit(&self, share: u64) -> u64 {
        if self.has_parts {
            (self.requests * share / WHOLE).clamp(SHORTEST.min(self.requests), self.requests)
        } else {
            self.requests
        }
    }

    /// Runs `workload`, which is this pair's or a redrawn one, to its end or to this pair's limit.
    pub(crate) fn run(
        &self,
        settings: &TunedSettings,
        workload: &Workload,
        options: &RunOptions,
        (run, progress): (Runner, &Progress),
    ) -> Result<RunReport, SimError> {
        if self.is_clipped {
            return Ok(limited(&self.machine, workload, settings, options, self.requests)?.0);
        }
        run(&settings.on(&self.machine), workload, &settings.scheduler, options, progress)
    }
}

/// Runs until `limit` requests are complete, or the load has ended; says whether it has.
pub(crate) fn limited(
    machine: &Machine,
    workload: &Workload,
    settings: &TunedSettings,
    options: &RunOptions,
    limit: u64,
) -> Result<(RunReport, bool), SimError> {
    let machine = settings.on(machine);
    let mut session = begin(&machine, workload, &settings.scheduler, &machine.run_config(options))?;
    let (mut until, mut step) = (FIRST_STEP, FIRST_STEP);
    let mut goes_on = session.run_until(until)?;
    while goes_on && session.completed() < limit {
        let done = session.completed();
        // As long as the rest takes at the present rate; at most twice the time so far.
        let rest = if done == 0 { u64::MAX } else { (until.0 as f64 * (limit - done) as f64 / done as f64) as u64 };
        step = Nanos(rest.clamp(SHORTEST_STEP.0, step.0.saturating_mul(2).max(until.0)));
        until += step;
        goes_on = session.run_until(until)?;
    }
    Ok((session.finish().0, !goes_on))
}

/// The logarithm of the cost of `run` over that of `base`; 0 if there is nothing to compare.
pub(crate) fn log_cost(measure: Measure, run: &RunReport, base: &RunReport) -> f64 {
    let (value, base) = (measure.value(run), measure.value(base));
    if base.is_nan() || base <= 0.0 {
        return 0.0;
    }
    if value.is_nan() || value <= 0.0 {
        // A run without the measure is no run to choose, and one that costs nothing is told apart from none.
        return if measure.is_more_better() || value.is_nan() { f64::MAX.ln() } else { f64::MIN_POSITIVE.ln() };
    }
    let ratio = (value / base).ln();
    if measure.is_more_better() { -ratio } else { ratio }
}
