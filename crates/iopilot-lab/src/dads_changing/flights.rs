//! The flights, and the runs that they are compared with.

use super::loads::ChangingLoad;
use super::{Plan, Setup};
use iopilot_compare::compare;
use iopilot_dads::{AutopilotSettings, DEFAULT_CANDIDATES, FlightPlan, fly, parse_candidates};
use iopilot_sim::{Machine, RunOptions, SimError};
use rayon::prelude::*;

/// A flight over a load, beside the runs of its candidates alone.
pub(super) struct ChangingFlight {
    pub(super) load: &'static ChangingLoad,
    pub(super) disk: &'static str,
    pub(super) seed: u64,
    /// Seconds from the first request to the last completion.
    pub(super) elapsed_s: f64,
    /// The candidate that is the fastest alone, and the seconds that it takes.
    pub(super) best: String,
    pub(super) best_s: f64,
    /// The mean response time, in ms, beside the shortest of a candidate alone.
    pub(super) response_ms: f64,
    pub(super) least_response_ms: f64,
    /// Changes and reinstallations of the scheduler, and the seconds that they took.
    pub(super) changes: usize,
    pub(super) changing_s: f64,
}

impl ChangingFlight {
    /// How much longer it took than the best candidate alone, in percent.
    pub(super) fn regret(&self) -> f64 {
        100.0 * (self.elapsed_s / self.best_s - 1.0)
    }

    /// How much longer its requests took in the mean than under the candidate that is best for that, in percent.
    pub(super) fn response_regret(&self) -> f64 {
        100.0 * (self.response_ms / self.least_response_ms - 1.0)
    }
}

/// Makes all flights of the plan: by load, disk and seed. The number of threads changes nothing.
pub(super) fn all(plan: &'static Plan, setup: &Setup<'_>) -> anyhow::Result<Vec<ChangingFlight>> {
    let of_disk = |load, disk| (0..plan.seeds).map(move |n| (load, disk, setup.seed.wrapping_add(n)));
    let of_load = |load| plan.disks.iter().flat_map(move |&disk| of_disk(load, disk));
    let cells: Vec<_> = plan.loads.iter().flat_map(of_load).collect();
    cells.into_par_iter().with_max_len(1).map(|(load, disk, seed)| flown(load, disk, seed, setup)).collect()
}

fn flown(
    load: &'static ChangingLoad,
    disk: &'static str,
    seed: u64,
    setup: &Setup<'_>,
) -> anyhow::Result<ChangingFlight> {
    let machine = Machine::for_disk(disk)?;
    let options = RunOptions { seed, log: false, ..RunOptions::default() };
    let workload = load.workload(if machine.run_config(&options).rotational { 1 } else { load.times_on_ssd })?;
    let candidates = parse_candidates(&[DEFAULT_CANDIDATES])?;
    let plan = FlightPlan::new(AutopilotSettings::new(candidates.clone()), &machine, seed);
    let flight = fly(&machine, &workload, &plan, |_| Ok::<(), SimError>(()))?;
    let alone = compare(&machine, &workload, &candidates, &options, setup.progress)?.runs;
    let best = alone.iter().min_by(|a, b| a.elapsed_s.total_cmp(&b.elapsed_s));
    let best = best.ok_or_else(|| anyhow::anyhow!("no candidate was run"))?;
    Ok(ChangingFlight {
        load,
        disk,
        seed,
        elapsed_s: flight.report.elapsed_s,
        best: best.scheduler.clone(),
        best_s: best.elapsed_s,
        response_ms: flight.report.response_ms.mean,
        least_response_ms: alone.iter().map(|run| run.response_ms.mean).fold(f64::INFINITY, f64::min),
        changes: flight.checks.iter().filter(|check| check.acts()).count(),
        changing_s: flight.changing.as_secs_f64(),
    })
}
