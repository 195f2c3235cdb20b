//! How near simulations are to the kernel.
//!
//! On a virtual disk, tasks read in five patterns under each of the kernel's schedulers, and what reaches the disk is
//! captured. Each recording is then replayed, with its dependencies and think times, on the same model of the disk: under
//! the scheduler it was recorded under, and under the others. The kernel is the truth.

mod hand_over;
mod judge;
mod kept;
mod measure;
mod moods;
mod moves;
mod picks;
mod predict;
mod race;
mod races;
mod replay;
mod requests;
mod rest;
mod seen;
mod start;
mod turnaround;
mod usual;
mod ways;
mod went;

use super::{Experiment, Outcome, Setup};
use iopilot_live::ReadPattern;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "kernel-fidelity",
    source: "GF 4.4.1; Linux",
    title: "simulated schedulers against the running kernel's, on a virtual disk (needs root)",
    run,
};

/// The kernel's schedulers.
const SCHEDULERS: [&str; 4] = ["none", "mq-deadline", "kyber", "bfq"];

/// What is read, how, and on which disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cell {
    pattern: ReadPattern,
    processes: u32,
    /// Requests that the kernel keeps in the disk.
    depth: u32,
}

/// What is measured.
struct Plan {
    /// The disk's model.
    disk: &'static str,
    size: u64,
    depths: Vec<u32>,
    patterns: Vec<ReadPattern>,
    processes: Vec<u32>,
    effort: fn(Cell) -> Effort,
}

/// How much is read in a cell, and how often.
#[derive(Clone, Copy, Debug)]
struct Effort {
    /// Of all processes together in a recording.
    reads: u32,
    recordings: Recordings,
}

/// How many are made of each cell under a scheduler: the fewest that tell the kernel's own mean as well as it is asked for.
#[derive(Clone, Copy, Debug)]
struct Recordings {
    /// Of each scheduler, in turns.
    least: usize,
    /// So many at most until the mean is known to [`KNOWN`](measure::KNOWN).
    most: usize,
}

/// As many of a scheduler that differs from turn to turn by a third tell its mean to 2.5 %.
const MOST: usize = 192;

impl Recordings {
    /// Whether `made` of them do, where the standard error of their mean is `error` percent.
    fn are_enough(&self, made: usize, error: f64) -> bool {
        made >= self.most || (made >= self.least && error <= measure::KNOWN)
    }
}

impl Effort {
    const fn new(reads: u32, least: usize, most: usize) -> Self {
        Self { reads, recordings: Recordings { least, most } }
    }

    /// What tells the kernel's schedulers apart where they are, and tells that they are alike where they are.
    fn of(cell: Cell) -> Self {
        match (cell.pattern, cell.processes) {
            // The disk's cache answers most of these reads, and a turn of the disk that is lost by chance is as long as twenty of
            // them: short recordings of a scheduler differ by a tenth. Long ones, and more of them, tell the mean to a percent or
            // two, and take half a minute.
            (ReadPattern::Strided8k, 1) | (ReadPattern::Backward, 1..=8) => Self::new(2000, 16, MOST),
            (ReadPattern::SmallFiles, 1) => Self::new(2000, 8, MOST),
            (_, 1) => Self::new(400, 3, MOST),
            // Three that are alike by chance would do for the mean of a race that goes another way each time.
            (_, ..=8) => Self::new(400, 8, MOST),
            _ => Self::new(640, 8, MOST),
        }
    }
}

impl Plan {
    fn new(quick: bool) -> Self {
        let full = Self {
            disk: "hd-500-16",
            size: 64 << 30,
            depths: vec![4, 32],
            patterns: ReadPattern::ALL.to_vec(),
            processes: vec![1, 8, 32],
            effort: Effort::of,
        };
        if !quick {
            return full;
        }
        Self {
            depths: vec![4],
            patterns: vec![ReadPattern::Sequential, ReadPattern::SmallFiles],
            processes: vec![1, 8],
            effort: |_| Effort::new(160, 1, 1),
            ..full
        }
    }

    fn cells(&self, depth: u32) -> Vec<Cell> {
        let cell = |pattern| self.processes.iter().map(move |&processes| Cell { pattern, processes, depth });
        self.patterns.iter().flat_map(|&pattern| cell(pattern)).collect()
    }
}

fn run(setup: &Setup<'_>) -> anyhow::Result<Outcome> {
    let plan = Plan::new(setup.quick);
    let measured = measure::all(&plan, setup)?;
    let predicted = predict::all(&plan, &measured, predict::Question::All, setup)?;
    Ok(judge::outcome(&plan, &measured, &predicted))
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_live::ReadLoad;

    #[test]
    fn recordings_are_made_until_the_kernel_is_known() {
        let made = |plan: &Plan, cell, error: f64| {
            let recordings = (plan.effort)(cell).recordings;
            (0..=MOST).find(|&made| recordings.are_enough(made, error))
        };
        let cell = |pattern, processes| Cell { pattern, processes, depth: 4 };
        let (full, quick) = (Plan::new(false), Plan::new(true));
        let sequential = cell(ReadPattern::Sequential, 1);
        assert_eq!([2.4, 2.6].map(|error| made(&full, sequential, error)), [Some(3), Some(MOST)]);
        assert_eq!(
            [0.1, 2.6].map(|error| made(&full, cell(ReadPattern::Sequential, 32), error)),
            [Some(8), Some(MOST)]
        );
        assert_eq!([2.4, 2.6].map(|error| made(&full, cell(ReadPattern::Backward, 1), error)), [Some(16), Some(MOST)]);
        assert_eq!(made(&quick, sequential, 9.0), Some(1));
    }

    #[test]
    fn a_task_has_room_for_every_turn() {
        for plan in [Plan::new(false), Plan::new(true)] {
            for cell in plan.cells(4) {
                let Effort { reads, recordings } = (plan.effort)(cell);
                let load = ReadLoad {
                    pattern: cell.pattern,
                    processes: cell.processes,
                    reads: reads / cell.processes,
                    skip: (0..recordings.most).map(|turn| measure::skip(&plan, cell, turn)).max().unwrap_or_default(),
                    seed: 1,
                    begin: None,
                };
                assert!(load.needs() <= plan.size, "{cell:?}: {} bytes", load.needs());
            }
        }
    }
}
