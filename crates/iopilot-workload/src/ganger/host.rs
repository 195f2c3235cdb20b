//! Generators as processes of a host (Ganger A.2.3): on shared CPUs, or on one CPU each.

use super::program::GeneratorProgram;
use super::spec::GangerSpec;
use crate::WorkloadError;
use iopilot_block::{InputError, Nanos};
use iopilot_host::{AnyProgram, Host, HostEnd, HostSettings, TaskSpec};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::sync::Arc;

/// The generators of `spec` on the CPUs of a host with a device of `capacity_sectors`; all random choices follow from `seed`.
///
/// # Errors
/// If a generator does not fit the device, or a setting of the host is invalid.
pub fn on_host(
    spec: &GangerSpec,
    settings: &HostSettings,
    capacity_sectors: u64,
    seed: u64,
) -> Result<Host, WorkloadError> {
    let tasks = tasks_of(spec, capacity_sectors, seed)?;
    Ok(Host::new(settings.clone(), tasks, &[], end_of(spec))?)
}

/// The generators of `spec` with a CPU for each process, as in Ganger's open and closed models ([`Host::on_own_cpus`]).
///
/// # Errors
/// If a generator does not fit the device, or there are too many processes.
pub fn on_own_cpus(spec: &GangerSpec, capacity_sectors: u64, seed: u64) -> Result<Host, WorkloadError> {
    let tasks = tasks_of(spec, capacity_sectors, seed)?;
    Ok(Host::on_own_cpus(tasks, end_of(spec))?)
}

fn end_of(spec: &GangerSpec) -> HostEnd {
    HostEnd { requests: spec.requests.unwrap_or(u64::MAX), at: spec.duration.unwrap_or(Nanos::MAX) }
}

/// The processes of all generators on a device of `capacity_sectors`, in the order of the file.
fn tasks_of(spec: &GangerSpec, capacity_sectors: u64, seed: u64) -> Result<Vec<TaskSpec>, WorkloadError> {
    let mut seeds = Pcg64Mcg::seed_from_u64(seed);
    let mut tasks = Vec::new();
    for generator in &spec.generators {
        let error = |key: &str, got: u64, expected: String| {
            InputError::new(key, got.to_string(), expected).in_file(&spec.source_name).at_line(generator.line)
        };
        if generator.first_sector >= capacity_sectors {
            let expected = format!("less than the disk's {capacity_sectors} sectors");
            return Err(error("first_sector", generator.first_sector, expected).into());
        }
        let rest = capacity_sectors - generator.first_sector;
        let capacity = generator.capacity.unwrap_or(rest);
        if capacity > rest {
            let expected = format!("at most the {rest} sectors that the disk has from first_sector");
            return Err(error("capacity_sectors", capacity, expected).into());
        }
        let blocks = capacity / generator.blocking_factor;
        let shared = Arc::new(generator.clone());
        for _ in 0..generator.processes {
            let program = (blocks > 0)
                .then(|| GeneratorProgram::new(&shared, blocks, seeds.random()))
                .flatten()
                .ok_or_else(|| error("size_sectors", capacity, "sizes that fit the capacity".to_owned()))?;
            tasks.push(TaskSpec {
                name: generator.name.as_str().into(),
                start: generator.start,
                program: AnyProgram::new(program),
                is_task: true,
            });
        }
    }
    Ok(tasks)
}
