//! `redcap-live`: real programs on REDCAP over virtual disks, on the bare disk, and on the same server without the
//! cache.

mod judge;
mod load;
mod memory_limit;
mod picture;
mod plan;
mod rival;
mod stage;

use super::{Experiment, Outcome, Setup};
use iopilot_live::Signals;
use load::ShellLoad;
use plan::{ReadPath, RedcapLivePlan};
use stage::ReadOnlyStage;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "redcap-live",
    source: "GF 2.5",
    title: "REDCAP over virtual disks: real programs, with and without the cache (needs root)",
    run,
};

/// A load, with its times in seconds in each path.
struct Cell {
    disk: &'static str,
    load: &'static str,
    /// In the order of [`RedcapLivePlan::paths`]; empty if the load failed.
    seconds: Vec<Vec<f64>>,
}

fn run(setup: &Setup<'_>) -> anyhow::Result<Outcome> {
    let plan = RedcapLivePlan::new(setup.quick);
    let signals = Signals::catch()?;
    let (loads, without): (Vec<&ShellLoad>, Vec<&ShellLoad>) = plan.loads.iter().partition(|load| load.can_run());
    let (mut cells, mut failures) = (Vec::new(), Vec::new());
    for part in &plan.parts {
        let stage = ReadOnlyStage::set(part, plan.share, setup.seed)?;
        for load in &loads {
            let mut seconds = vec![Some(Vec::new()); plan.paths.len()];
            // The paths take turns, so that changes of the machine affect all of them.
            for _ in 0..plan.runs {
                for (path, place) in plan.paths.iter().zip(&mut seconds) {
                    let Some(seconds) = place else { continue };
                    match stage.run(load, *path, plan.limited, &signals) {
                        Ok(took) => seconds.push(took),
                        // A failure of another cache does not end the experiment.
                        Err(e) if matches!(path, ReadPath::Rival(_)) && signals.caught().is_none() => {
                            failures.push(format!(
                                "{} failed under {} on {}: {e:#}",
                                path.name(),
                                load.name,
                                part.disk
                            ));
                            *place = None;
                        }
                        Err(e) => return Err(e),
                    }
                }
            }
            let seconds = seconds.into_iter().map(Option::unwrap_or_default).collect();
            cells.push(Cell { disk: part.disk, load: load.name, seconds });
            setup.progress.add(1);
        }
    }
    let left_out: Vec<&str> = without.iter().map(|load| load.name).collect();
    Ok(judge::outcome(&plan, &cells, &left_out, failures))
}
