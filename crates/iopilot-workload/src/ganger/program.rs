//! Generators as programs of a host's processes (Ganger A.2.3): they share its CPUs.

use super::process::Process;
use super::source::processes_of;
use super::spec::GangerSpec;
use crate::WorkloadError;
use iopilot_block::Nanos;
use iopilot_host::{AnyProgram, Event, Host, HostEnd, HostSettings, Program, TaskSpec};

/// The program of one process of a generator.
#[derive(Clone, Debug)]
struct GeneratorProgram(Process);

impl Program for GeneratorProgram {
    fn next(&mut self) -> Event {
        self.0.next_event()
    }

    fn boxed(&self) -> Box<dyn Program> {
        Box::new(self.clone())
    }
}

/// The generators of `spec` on the CPUs of a host with a device of `capacity_sectors`; all random choices follow from `seed`.
///
/// # Errors
/// Where a generator does not fit the device, or a setting of the host makes no sense.
pub fn on_host(
    spec: &GangerSpec,
    settings: &HostSettings,
    capacity_sectors: u64,
    seed: u64,
) -> Result<Host, WorkloadError> {
    let processes = processes_of(spec, capacity_sectors, seed)?;
    let tasks = (processes.into_iter())
        .map(|(process, generator)| TaskSpec {
            name: generator.name.as_str().into(),
            start: generator.start,
            program: AnyProgram::new(GeneratorProgram(process)),
            is_task: true,
        })
        .collect();
    let end = HostEnd { requests: spec.requests.unwrap_or(u64::MAX), at: spec.duration.unwrap_or(Nanos::MAX) };
    Ok(Host::new(settings.clone(), tasks, &[], end)?)
}
