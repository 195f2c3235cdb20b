//! How near simulations are to the kernel.
//!
//! On a virtual disk, tasks read in five patterns under each of the kernel's schedulers, and what reaches the disk is
//! captured. Each recording is then replayed, with its dependencies and think times, on the same model of the disk: under
//! the scheduler it was recorded under, and under the others. The kernel is the truth.

mod hand_over;
mod judge;
mod measure;
mod picks;
mod predict;
mod race;
mod replay;
mod requests;
mod seen;
mod start;

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
    /// Reads of all processes together.
    reads: fn(u32) -> u32,
    recordings: Recordings,
}

/// How many are made of each cell under each scheduler: the fewest that tell the kernel's own means as well as they are asked for.
#[derive(Clone, Copy, Debug)]
struct Recordings {
    least: usize,
    /// So many at most for means that are known to [`KNOWN`](measure::KNOWN).
    most: usize,
    /// Where recordings differ so much that these do not tell the mean to [`SETTLED`](measure::SETTLED), up to so many.
    chaotic: usize,
}

impl Recordings {
    /// Whether `made` of them do, where the standard error of the mean that is known worst is `error` percent.
    fn are_enough(&self, made: usize, error: f64) -> bool {
        let needed = if made < self.most { measure::KNOWN } else { measure::SETTLED };
        made >= self.chaotic || (made >= self.least && error <= needed)
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
            reads: |processes| if processes > 8 { 640 } else { 400 },
            recordings: Recordings { least: 3, most: 8, chaotic: 48 },
        };
        if !quick {
            return full;
        }
        Self {
            depths: vec![4],
            patterns: vec![ReadPattern::Sequential, ReadPattern::SmallFiles],
            processes: vec![1, 8],
            reads: |_| 160,
            recordings: Recordings { least: 1, most: 1, chaotic: 1 },
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
    let predicted = predict::all(&plan, &measured, predict::Picked::Followed, setup)?;
    Ok(judge::outcome(&plan, &measured, &predicted))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recordings_are_made_until_the_kernel_is_known() {
        let recordings = Plan::new(false).recordings;
        let enough = |error: f64| (0..100).find(|&made| recordings.are_enough(made, error));
        assert_eq!([2.4, 2.6, 5.1].map(enough), [Some(3), Some(8), Some(48)]);
        assert_eq!((0..100).find(|&made| Plan::new(true).recordings.are_enough(made, 0.0)), Some(1));
    }
}
