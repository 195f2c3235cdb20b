//! The load, and running it.

use super::super::bench::{Depth, DiskConfiguration, machine, scheduler};
use crate::Setup;
use crate::postmark::{AllocationStyle, PostmarkSource, PostmarkSpec};
use iopilot_sim::{RunConfig, SimError, run};
use rayon::prelude::*;

/// Runs that begin with the same files.
pub(super) struct PostmarkRuns {
    pub(super) shape: &'static DiskConfiguration,
    pub(super) spec: PostmarkSpec,
    /// Schedulers and depths.
    pub(super) runs: Vec<(&'static str, Depth)>,
}

/// Table 4.6: files up to 2 MiB where the array holds less than 140 GiB, else up to 4 MiB.
pub(super) fn generic(shape: &DiskConfiguration, system: AllocationStyle, quick: bool) -> PostmarkSpec {
    let small = ["disk", "raid-disk", "raid10-2"].contains(&shape.key);
    let spec = PostmarkSpec::carroll(system, if small { 2 << 20 } else { 4 << 20 });
    if quick { shortened(spec) } else { spec }
}

/// Table 4.8.
pub(super) fn of_depth(quick: bool) -> PostmarkSpec {
    let spec = PostmarkSpec { files: 4_000, ..PostmarkSpec::carroll(AllocationStyle::Extents, 2 << 20) };
    if quick { shortened(spec) } else { spec }
}

fn shortened(mut spec: PostmarkSpec) -> PostmarkSpec {
    (spec.files, spec.aging) = (300, 300);
    (spec.warm_up, spec.transactions) = (60, counted(true));
    spec.dirty_bytes = 32 << 20;
    spec
}

/// The number of transactions that are counted.
pub(super) fn counted(quick: bool) -> u32 {
    if quick { 120 } else { 1_500 }
}

/// Transactions per second of an instance, for each run of each job.
pub(super) fn tps(jobs: &[PostmarkRuns], setup: &Setup<'_>) -> Result<Vec<Vec<f64>>, SimError> {
    jobs.par_iter()
        .map(|job| {
            let capacity = machine(job.shape, Depth::Shallow)?.capacity();
            let source = PostmarkSource::new(&job.spec, capacity, setup.seed)?;
            let one = |&(name, depth): &(&str, Depth)| one(job, &source, name, depth, setup);
            job.runs.par_iter().map(one).collect()
        })
        .collect()
}

fn one(
    job: &PostmarkRuns,
    source: &PostmarkSource,
    name: &str,
    depth: Depth,
    setup: &Setup<'_>,
) -> Result<f64, SimError> {
    let machine = machine(job.shape, depth)?;
    let config = RunConfig {
        block: machine.block.clone(),
        host: machine.host.clone(),
        rotational: machine.is_rotational(),
        seed: setup.seed,
        ..RunConfig::default()
    };
    let mut source = source.clone();
    run(&mut source, machine.device(), &scheduler(name)?, &config, setup.progress)?;
    Ok(source.stats().per_instance(job.spec.instances))
}
