//! Answers the three questions for the recordings.

use super::choices::{Choices, choices};
use super::figures::Figures;
use super::record::Recorded;
use super::{Plan, SCHEDULERS, predict, replay};
use crate::Setup;
use iopilot_sched::SchedulerSpec;
use rayon::prelude::*;

/// The simulations of a [`Recorded`]: means over its recordings.
#[derive(Clone, Copy, Debug)]
pub(super) struct Simulated {
    /// (a) How often the scheduler picks what the kernel picked.
    pub(super) choices: Choices,
    /// (b) The replay under the scheduler it was recorded under.
    pub(super) replayed: Figures,
    /// (c) The predictions for each scheduler.
    pub(super) predicted: [Figures; SCHEDULERS.len()],
}

/// The simulations of each of `recorded`.
pub(super) fn all(plan: &Plan, recorded: &[Recorded], setup: &Setup<'_>) -> anyhow::Result<Vec<Simulated>> {
    let one = |recorded: &Recorded| -> anyhow::Result<Simulated> {
        let machine = predict::machine(plan.disk, recorded.cell.depth)?;
        let scheduler = SchedulerSpec::parse(SCHEDULERS[recorded.scheduler])?;
        let (mut same, mut replayed) = (Choices::default(), Vec::new());
        let mut predicted: [Vec<Figures>; SCHEDULERS.len()] = Default::default();
        for recording in &recorded.recordings {
            // `none` does not choose.
            if scheduler.name != "none" {
                same = same + choices(&recording.records, recording.origin, &scheduler, &machine)?;
            }
            replayed.push(replay::replayed(recording, &scheduler, &machine, setup)?);
            let under = predict::predicted(recording, &machine, setup)?;
            predicted.iter_mut().zip(under).for_each(|(all, figures)| all.push(figures));
        }
        Ok(Simulated {
            choices: same,
            replayed: Figures::mean(&replayed),
            predicted: predicted.map(|all| Figures::mean(&all)),
        })
    };
    recorded.par_iter().map(one).collect()
}
