//! `dads-changing`: the autopilot with every default against the best of its own candidates alone, on simulated disks.
//!
//! Ten loads that change their nature, the example of the tutorials, and two loads for which no scheduler matters: on two
//! hard disks and a solid-state drive, with five seeds. The regret of a flight is how much longer it takes than the run
//! of the candidate that is the fastest alone. Nobody knows beforehand which one that is.

mod flights;
mod judge;
mod loads;

use super::{Experiment, Outcome, Setup};
use loads::ChangingLoad;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "dads-changing",
    source: "iopilot",
    title: "the autopilot with every default beside the best scheduler alone: changing loads on three simulated disks",
    run,
};

/// What is flown.
struct Plan {
    disks: &'static [&'static str],
    loads: &'static [ChangingLoad],
    /// How many seeds, from the one of the setup on.
    seeds: u64,
}

const WHOLE: Plan = Plan { disks: &["hd-500-16", "wd1200bb", "ssd-160"], loads: loads::ALL, seeds: 5 };

const QUICK: Plan = Plan { disks: &["hd-500-16"], seeds: 1, ..WHOLE };

fn run(setup: &Setup<'_>) -> anyhow::Result<Outcome> {
    let flights = flights::all(if setup.quick { &QUICK } else { &WHOLE }, setup)?;
    Ok(judge::outcome(&flights))
}
