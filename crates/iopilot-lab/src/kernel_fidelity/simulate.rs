//! Answers the three questions for the recordings.

use super::choices::{Choices, choices};
use super::figures::FidelityFigures;
use super::record::CellRecordings;
use super::{Plan, SCHEDULERS, predict, replay};
use crate::Setup;
use iopilot_sched::SchedulerSpec;
use rayon::prelude::*;

/// The simulations of a [`CellRecordings`]: means over its recordings.
#[derive(Clone, Copy, Debug)]
pub(super) struct CellSimulations {
    /// (a) How often the scheduler picks what the kernel picked.
    pub(super) choices: Choices,
    /// (b) The replay under the scheduler it was recorded under.
    pub(super) replayed: FidelityFigures,
    /// (c) The predictions for each scheduler.
    pub(super) predicted: [FidelityFigures; SCHEDULERS.len()],
}

/// The simulations of each of `recorded`.
pub(super) fn all(plan: &Plan, recorded: &[CellRecordings], setup: &Setup<'_>) -> anyhow::Result<Vec<CellSimulations>> {
    let one = |recorded: &CellRecordings| -> anyhow::Result<CellSimulations> {
        let machine = predict::machine(plan.disk, recorded.cell.depth)?;
        let scheduler = SchedulerSpec::parse(SCHEDULERS[recorded.scheduler])?;
        let (mut same, mut replayed) = (Choices::default(), Vec::new());
        let mut predicted: [Vec<FidelityFigures>; SCHEDULERS.len()] = Default::default();
        for recording in &recorded.recordings {
            // `none` does not choose.
            if scheduler.name != "none" {
                same = same + choices(&recording.records, recording.origin, &scheduler, &machine)?;
            }
            replayed.push(replay::replayed(recording, &scheduler, &machine, setup)?);
            let under = predict::predicted(recording, &machine, setup)?;
            predicted.iter_mut().zip(under).for_each(|(all, figures)| all.push(figures));
        }
        Ok(CellSimulations {
            choices: same,
            replayed: FidelityFigures::mean(&replayed),
            predicted: predicted.map(|all| FidelityFigures::mean(&all)),
        })
    };
    recorded.par_iter().map(one).collect()
}
