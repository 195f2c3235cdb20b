//! `redcap-live`: REDCAP over virtual disks under real programs, beside the bare disk and the same server with the cache off.

mod judge;
mod load;
mod stage;

use super::{Experiment, Outcome, Setup};
use crate::mounts::FileSystemKind;
use iopilot_live::Signals;
use load::Load;
use stage::Stage;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "redcap-live",
    source: "GF 2.5",
    title: "REDCAP over virtual disks: real programs, with and without the cache (needs root)",
    run,
};

/// What the programs read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// The disk itself, with so many KiB of read-ahead.
    Bare { read_ahead_kb: u32 },
    /// The disk under a cache with an algorithm.
    Cached(&'static str),
}

impl Way {
    fn name(self) -> String {
        match self {
            Self::Bare { read_ahead_kb: READ_AHEAD } => "bare".to_owned(),
            Self::Bare { read_ahead_kb } => format!("bare, read_ahead_kb={read_ahead_kb}"),
            Self::Cached(algorithm) => algorithm.to_owned(),
        }
    }
}

/// The kernel's default, KiB.
const READ_AHEAD: u32 = 128;
const BARE: Way = Way::Bare { read_ahead_kb: READ_AHEAD };
const OFF: Way = Way::Cached("never");
const RIG: Way = Way::Cached("rig");
const ALWAYS: Way = Way::Cached("always");

/// A disk, and its file system.
struct Part {
    disk: &'static str,
    depth: u32,
    file_system: FileSystemKind,
}

/// What is measured.
struct Plan {
    parts: Vec<Part>,
    ways: &'static [Way],
    loads: &'static [Load],
    runs: usize,
    /// Of the files' sizes.
    share: f64,
}

impl Plan {
    fn new(quick: bool) -> Self {
        let part = |disk, depth, file_system| Part { disk, depth, file_system };
        let shallow = part("hd-500-16", 4, FileSystemKind::Ext4);
        if quick {
            return Self { parts: vec![shallow], ways: &[BARE, ALWAYS], loads: load::QUICK, runs: 1, share: 0.1 };
        }
        let parts = vec![shallow, part("savvio-10k4-600g", 32, FileSystemKind::Xfs)];
        let ways = &[BARE, Way::Bare { read_ahead_kb: 1024 }, OFF, RIG, ALWAYS];
        Self { parts, ways, loads: load::ALL, runs: 3, share: 1.0 }
    }
}

/// A load, with what it took each time in each way, in seconds.
struct Cell {
    disk: &'static str,
    load: &'static str,
    /// In the order of [`Plan::ways`].
    seconds: Vec<Vec<f64>>,
}

fn run(setup: &Setup<'_>) -> anyhow::Result<Outcome> {
    let plan = Plan::new(setup.quick);
    let signals = Signals::catch()?;
    let (loads, without): (Vec<&Load>, Vec<&Load>) = plan.loads.iter().partition(|load| load.can_run());
    let mut cells = Vec::new();
    for part in &plan.parts {
        let stage = Stage::set(part, plan.share, setup.seed)?;
        for load in &loads {
            let mut seconds = vec![Vec::new(); plan.ways.len()];
            // One after the other, so that what changes on the machine meanwhile meets all alike.
            for _ in 0..plan.runs {
                for (way, seconds) in plan.ways.iter().zip(&mut seconds) {
                    seconds.push(stage.run(load, *way, &signals)?);
                }
            }
            cells.push(Cell { disk: part.disk, load: load.name, seconds });
            setup.progress.add(1);
        }
    }
    let left_out: Vec<&str> = without.iter().map(|load| load.name).collect();
    Ok(judge::outcome(&plan, &cells, &left_out))
}
