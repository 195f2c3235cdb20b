//! The predictions of `iopilot compare` from one recording, beside the running kernel's results under each scheduler.
//!
//! The loads are real programs on ext4 and XFS, and fio jobs, on virtual disks. Each is recorded once under one
//! scheduler with `iopilot trace record`. `iopilot compare` predicts it under five schedulers, given only the disk's
//! name. Then it is run for real, three times under each.

mod figures;
mod judge;
mod load;
mod stage;

use super::{Experiment, Outcome, Setup};
use crate::mounts::FileSystemKind;
use figures::PredictionFigures;
use iopilot_live::Signals;
use load::RecordedLoad;
use stage::PredictionStage;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "prediction",
    source: "",
    title: "predictions from one recording beside real runs: programs and fio on virtual disks (needs root)",
    run,
};

/// The schedulers that are predicted and run.
const SCHEDULERS: [&str; 5] = ["none", "mq-deadline", "kyber", "bfq", "bfq:low_latency=0"];

/// A disk and its loads.
struct Part {
    disk: &'static str,
    depth: u32,
    file_system: FileSystemKind,
    loads: &'static [RecordedLoad],
}

/// What is measured.
struct Plan {
    parts: Vec<Part>,
    /// Real runs under each scheduler.
    runs: usize,
    schedulers: &'static [&'static str],
}

impl Plan {
    fn new(quick: bool) -> Self {
        if quick {
            let part = Part { disk: "hd-500-16", depth: 4, file_system: FileSystemKind::Ext4, loads: load::QUICK };
            return Self { parts: vec![part], runs: 1, schedulers: &SCHEDULERS[..2] };
        }
        let part = |disk, depth, file_system, loads| Part { disk, depth, file_system, loads };
        let parts = vec![
            part("hd-500-16", 4, FileSystemKind::Ext4, load::ON_A_SHALLOW_DISK),
            part("savvio-10k4-600g", 32, FileSystemKind::Xfs, load::ON_A_DEEP_DISK),
            part("ssd-160", 32, FileSystemKind::Ext4, load::ON_A_SOLID_STATE_DRIVE),
        ];
        Self { parts, runs: 3, schedulers: &SCHEDULERS }
    }
}

/// One load, predicted and run.
#[derive(Clone, Debug)]
struct Cell {
    disk: &'static str,
    load: &'static str,
    /// The scheduler of the recording.
    recorded_under: String,
    /// The error of the model on the recording itself, in percent of the elapsed time.
    self_replay_percent: Option<f64>,
    /// The scheduler that the verdict recommends.
    verdict: String,
    /// The schedulers that the verdict calls equal to it.
    equals: Vec<String>,
    rows: Vec<Row>,
}

/// A load under a scheduler.
#[derive(Clone, Debug)]
struct Row {
    scheduler: &'static str,
    predicted: PredictionFigures,
    /// The stated spread of the predicted elapsed time.
    spread: (f64, f64),
    real: Vec<PredictionFigures>,
}

fn run(setup: &Setup<'_>) -> anyhow::Result<Outcome> {
    let plan = Plan::new(setup.quick);
    let signals = Signals::catch()?;
    let (mut cells, mut left_out) = (Vec::new(), Vec::new());
    let mut recorded = 0;
    for part in &plan.parts {
        let (loads, without): (Vec<&RecordedLoad>, Vec<&RecordedLoad>) =
            part.loads.iter().partition(|load| load.can_run());
        left_out.extend(without.iter().map(|load| load.name));
        let stage = PredictionStage::set(part, &loads, setup.seed)?;
        for load in loads {
            // A user records under whichever scheduler is in use.
            let under = plan.schedulers[recorded % plan.schedulers.len()];
            recorded += 1;
            cells.push(stage.cell(load, under, &plan, &signals)?);
            setup.progress.add(1);
        }
    }
    Ok(judge::outcome(&plan, &cells, &left_out))
}
