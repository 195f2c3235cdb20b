//! [`predict`]: replays a load several times under each of several schedulers, which shows how certain the result is.

use crate::comparison::{Comparison, Verdict};
use crate::host_fit::fit_host;
use crate::measure::Measure;
use crate::self_replay::SelfReplay;
use iopilot_redcap::RedcapSpec;
use iopilot_sched::SchedulerSpec;
use iopilot_sim::{Machine, Progress, RunOptions, RunReport, SimError, Spread};
use iopilot_workload::Workload;
use rayon::prelude::*;

/// The default number of dependent replays of a trace: one with the recorded think times, and four with drawn ones.
const TRACE_REPLAYS: u32 = 5;
/// The default number of runs of a synthetic load, each with a seed of its own.
const SYNTHETIC_RUNS: u32 = 3;

/// One replay of a load.
#[derive(Clone, Debug)]
struct Replay {
    workload: Workload,
    options: RunOptions,
}

/// The replays of `workloads`, which are recordings of one load. `replays` is the number for each: by default five for the
/// dependent replay of a trace, and three for a synthetic load. A workload without random draws is run once.
fn replays(workloads: &[Workload], replays: Option<u32>, options: &RunOptions) -> Vec<Replay> {
    let mut all = Vec::new();
    for workload in workloads {
        let usual = if matches!(workload, Workload::Trace(_)) { TRACE_REPLAYS } else { SYNTHETIC_RUNS };
        for n in 0..replays.unwrap_or(usual).max(1) {
            let seed = options.seed.wrapping_add(u64::from(n));
            let drawn = match workload {
                _ if n == 0 => Some(workload.clone()),
                Workload::Trace(trace) => trace.redrawn(seed).map(Workload::Trace),
                Workload::Fio { .. }
                | Workload::Ganger { .. }
                | Workload::BuiltinPrograms(_)
                | Workload::UserPrograms { .. } => Some(workload.clone()),
            };
            let options = RunOptions { seed, ..options.clone() };
            all.extend(drawn.map(|workload| Replay { workload, options }));
        }
    }
    all
}

/// The number of runs that [`predict`] makes for each scheduler, for a progress bar.
pub fn replays_of(workloads: &[Workload], of_each: Option<u32>) -> u64 {
    replays(workloads, of_each, &RunOptions::default()).len() as u64
}

/// Runs a workload on a machine under a scheduler: [`iopilot_sim::simulate`], or a function that also controls a cache.
pub type Runner = fn(&Machine, &Workload, &SchedulerSpec, &RunOptions, &Progress) -> Result<RunReport, SimError>;

/// The schedulers and caches that are compared.
#[derive(Clone, Copy, Debug)]
pub struct Candidates<'a> {
    /// The schedulers.
    pub schedulers: &'a [SchedulerSpec],
    /// The caches that each scheduler is run with; `None` means no cache. If the list is empty, the machine's own.
    pub redcaps: &'a [Option<RedcapSpec>],
    /// The number of runs of each combination, each with other think times or seeds. `None`: the default for the workload.
    pub replays: Option<u32>,
    /// The function that makes a run.
    pub run: Runner,
}

/// Runs `workloads`, one load recorded one or more times, on `machine` under each of `candidates`: each several times, with
/// other think times or seeds. The report of a scheduler is its middle run by the verdict's measure, with the spread of all its
/// runs. The time that the host adds to a request is fitted to the recording, if the recording allows it and the machine's
/// description does not give it. The runs are parallel on rayon's threads; the result does not depend on their number.
///
/// # Errors
/// As [`iopilot_sim::simulate`]; the first of them in the order of `schedulers`.
///
/// # Panics
/// If there is no workload.
pub fn predict(
    machine: &Machine,
    workloads: &[Workload],
    candidates: &Candidates<'_>,
    options: &RunOptions,
    progress: &Progress,
) -> Result<Comparison, SimError> {
    let &Candidates { schedulers, redcaps, replays: of_each, run } = candidates;
    let first = workloads.first().expect("at least one workload");
    let replays = replays(workloads, of_each, options);
    // Recordings come from machines without a cache.
    let plain = machine.with_redcap(None);
    // A recording is compared with its whole replay.
    let whole = RunOptions { warm_up: None, ..options.clone() };
    let (fitted, fit_note) = fit_host(&plain, workloads, &whole, progress)?.unzip();
    let plain = fitted.as_ref().unwrap_or(&plain);
    let redcaps = if redcaps.is_empty() { std::slice::from_ref(&machine.redcap) } else { redcaps };
    let machines: Vec<Machine> = redcaps.iter().map(|redcap| plain.with_redcap(redcap.clone())).collect();
    let setups = || schedulers.iter().flat_map(|scheduler| machines.iter().map(move |machine| (scheduler, machine)));
    let all: Vec<_> = setups().collect();
    let of_setup = |&(scheduler, machine): &(&SchedulerSpec, &Machine), replay: &Replay| {
        run(machine, &replay.workload, scheduler, &replay.options, progress)
    };
    let (runs, measure) = middle_runs(first, &all, &replays, None, of_setup)?;
    let self_replays: Vec<Option<Result<SelfReplay, SimError>>> =
        workloads.par_iter().map(|workload| SelfReplay::of(plain, workload, &whole, progress)).collect();
    let self_replays = self_replays.into_iter().flatten().collect::<Result<Vec<_>, _>>()?;
    let verdict = Verdict::of(&runs, measure);
    let mut workload = first.summary(options.seed);
    workload.notes.extend(fit_note);
    for (other, number) in workloads.iter().zip(1..).skip(1) {
        let more = other.summary(options.seed);
        workload.name += &format!(", {}", more.name);
        workload.notes.extend(more.notes.into_iter().map(|note| format!("recording {number}: {note}")));
    }
    Ok(Comparison { machine: machine.summary(), workload, self_replays, runs, verdict })
}

/// Runs `workload` under each of `setups` several times, with other think times or seeds, by `run`. Returns for each setup the
/// median by `measure` (by default the workload's), with the spread, and the measure. The runs are parallel on rayon's threads;
/// the result does not depend on their number.
///
/// # Errors
/// Those of `run`; the first of them in the order of `setups`.
pub fn replayed<T: Sync>(
    workload: &Workload,
    setups: &[T],
    (of_each, measure): (Option<u32>, Option<Measure>),
    options: &RunOptions,
    run: impl Fn(&T, &Workload, &RunOptions) -> Result<RunReport, SimError> + Sync,
) -> Result<(Vec<RunReport>, Measure), SimError> {
    let replays = replays(std::slice::from_ref(workload), of_each, options);
    middle_runs(workload, setups, &replays, measure, |setup, replay| run(setup, &replay.workload, &replay.options))
}

fn middle_runs<T: Sync>(
    workload: &Workload,
    setups: &[T],
    replays: &[Replay],
    measure: Option<Measure>,
    run: impl Fn(&T, &Replay) -> Result<RunReport, SimError> + Sync,
) -> Result<(Vec<RunReport>, Measure), SimError> {
    let all: Vec<_> = setups.iter().flat_map(|setup| replays.iter().map(move |replay| (setup, replay))).collect();
    let runs: Vec<Result<RunReport, SimError>> =
        all.into_par_iter().map(|(setup, replay)| run(setup, replay)).collect();
    let runs = runs.into_iter().collect::<Result<Vec<_>, _>>()?;
    let measure = measure.unwrap_or_else(|| Measure::of(workload, &runs));
    let mut runs = runs.into_iter();
    let middles = setups.iter().filter_map(|_| middle(runs.by_ref().take(replays.len()).collect(), measure));
    Ok((middles.collect(), measure))
}

/// The median of `runs` by `measure`, with their spread.
fn middle(mut runs: Vec<RunReport>, measure: Measure) -> Option<RunReport> {
    let spread = Spread::of(&runs);
    // The sort is stable: among equals the first run is chosen, which has the recorded think times.
    runs.sort_by(|a, b| measure.value(a).total_cmp(&measure.value(b)));
    let at = runs.len().checked_sub(1)? / 2;
    let mut run = RunReport { spread, ..runs.swap_remove(at) };
    let (range, value) = (measure.range(&run), measure.value(&run));
    if let Some(spread) = &mut run.spread {
        spread.percent = range.percent_of(value);
    }
    Some(run)
}
