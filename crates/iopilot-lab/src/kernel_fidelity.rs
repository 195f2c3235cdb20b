//! How near the simulation is to Linux' own schedulers.
//!
//! Processes read a virtual disk in five patterns, under each scheduler of the running kernel. Every request that
//! reaches the disk is recorded. The kernel is the truth. Each recording answers three questions, which differ in what
//! a simulation is *given*:
//!
//! - **(a) Choices** ([`choices`]). A scheduler of `iopilot-sched` gets the requests and completions when the kernel's
//!   scheduler got them. It is asked for the next request when the kernel dispatched one. How often does it choose the
//!   same request?
//! - **(b) Replays** ([`replay`]). The recording is replayed under the scheduler it was recorded under. Given are the
//!   processes' dependencies and think times, and the recorded times: those of the CPUs ([`recorded_timing`]), those of
//!   the path through the loop device and FUSE ([`delayed_device`]), and the angle of the medium ([`shifted_clock`]).
//!   Only the block layer, the scheduler and the disk's queue can still be wrong.
//! - **(c) Predictions** ([`predict`]). The predictions of `iopilot compare` from a recording, under all four
//!   schedulers. Given is only what a user has: the trace, the disk's name and what the kernel shows of the queue.
//!
//! Only (c) shows what a user can expect. See `docs/lab/kernel-fidelity.md`.

mod choices;
mod delayed_device;
mod figures;
mod judge;
mod load;
mod predict;
mod record;
mod recorded_timing;
mod replay;
mod service_path;
mod shifted_clock;
mod simulate;
mod start;
#[cfg(test)]
mod testing;

use super::{Experiment, Outcome, Setup};
use load::ReadPattern;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "kernel-fidelity",
    source: "GF 4.4.1; Linux",
    title: "simulated schedulers against the running kernel's, on a virtual disk (needs root)",
    run,
};

/// The kernel's schedulers.
const SCHEDULERS: [&str; 4] = ["none", "mq-deadline", "kyber", "bfq"];
/// `queue/nr_requests` of a loop device under a scheduler, at any depth.
const NR_REQUESTS: u32 = 256;

/// What is read, how, and on which disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cell {
    pattern: ReadPattern,
    processes: u32,
    /// The queue depth of the disk.
    depth: u32,
}

/// What is measured.
struct Plan {
    /// The disk's model.
    disk: &'static str,
    /// Of the disk, in bytes.
    size: u64,
    depths: Vec<u32>,
    patterns: Vec<ReadPattern>,
    processes: Vec<u32>,
    /// The number of recordings of each cell under each scheduler.
    recordings: usize,
    /// The reads of all processes together in a recording, with one process and with several.
    reads: [u32; 2],
}

impl Plan {
    fn new(quick: bool) -> Self {
        let full = Self {
            disk: "hd-500-16",
            size: 64 << 30,
            depths: vec![4, 32],
            patterns: ReadPattern::ALL.to_vec(),
            processes: vec![1, 8, 32],
            recordings: 3,
            reads: [128, 384],
        };
        if !quick {
            return full;
        }
        Self {
            depths: vec![4],
            patterns: vec![ReadPattern::Sequential, ReadPattern::SmallFiles],
            processes: vec![1, 8],
            recordings: 1,
            reads: [160, 160],
            ..full
        }
    }

    fn cells(&self, depth: u32) -> Vec<Cell> {
        let cell = |pattern| self.processes.iter().map(move |&processes| Cell { pattern, processes, depth });
        self.patterns.iter().flat_map(|&pattern| cell(pattern)).collect()
    }

    /// The reads of each process of `cell` in a recording.
    fn reads(&self, cell: Cell) -> u32 {
        self.reads[usize::from(cell.processes > 1)] / cell.processes
    }
}

fn run(setup: &Setup<'_>) -> anyhow::Result<Outcome> {
    let plan = Plan::new(setup.quick);
    let recorded = record::all(&plan, setup)?;
    let simulated = simulate::all(&plan, &recorded, setup)?;
    Ok(judge::outcome(&plan, &recorded, &simulated))
}

#[cfg(test)]
mod tests {
    use super::load::ReadLoad;
    use super::*;

    #[test]
    fn a_process_has_room_for_every_turn() {
        for plan in [Plan::new(false), Plan::new(true)] {
            for cell in plan.cells(4) {
                for turn in 0..plan.recordings {
                    let load: ReadLoad = record::load(&plan, cell, turn, 1);
                    assert!(load.needs() <= plan.size, "{cell:?}: {} bytes", load.needs());
                    assert!(load.reads > 0, "{cell:?}");
                }
            }
        }
    }
}
