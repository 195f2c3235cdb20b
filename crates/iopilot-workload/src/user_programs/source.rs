//! From a description to a host.

use super::arrivals::InterruptArrivals;
use super::program::{CompiledPrograms, EventListProgram};
use super::spec::{FileNode, InterruptTimes, ProcessSpec, UserProgramsSpec};
use crate::WorkloadError;
use iopilot_block::InputError;
use iopilot_host::{
    AnyArrivals, AnyProgram, ExternalInterrupts, FileId, Host, HostEnd, HostSettings, InitialState, Placement, Preset,
    TaskSpec, WorkloadNames,
};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::sync::Arc;

impl UserProgramsSpec {
    /// Checks that it fits a disk of `capacity` sectors. Its demand on the CPUs is not known before it runs.
    ///
    /// # Errors
    /// Names what does not fit.
    pub fn check_disk(&self, capacity: u64) -> Result<(), WorkloadError> {
        let host = HostSettings::of(Preset::Y1995, 1);
        self.check_places(capacity)?;
        self.layout(host.layout, host.cache, capacity)?;
        self.first_files()?;
        Ok(())
    }

    /// The host that runs it on a device of `capacity` sectors. Without `host`, it is a machine of 1995 with one CPU, as for
    /// built-in programs. All random choices follow from `seed`.
    ///
    /// # Errors
    /// If it does not fit the device or the CPUs, or a setting of the host is invalid.
    pub fn source(&self, host: Option<&HostSettings>, capacity: u64, seed: u64) -> Result<Host, WorkloadError> {
        let own = HostSettings::of(Preset::Y1995, 1);
        let settings = host.unwrap_or(&own);
        self.check_places(capacity)?;
        self.check_load(settings)?;
        let setup = self.layout(settings.layout.clone(), settings.cache, capacity)?;
        let first_files = self.first_files()?;
        let codes = Arc::new(CompiledPrograms::new(self, capacity));
        let mut seeds = Pcg64Mcg::seed_from_u64(seed);
        let mut tasks = Vec::new();
        let mut placements = Vec::new();
        for (n, process) in self.processes.iter().enumerate() {
            for copy in 0..process.count {
                let first_file = first_files[n] + (copy * codes.numbers(n)) as u32;
                placements.push((tasks.len(), process));
                tasks.push(TaskSpec {
                    name: process.name_of(copy),
                    program: AnyProgram::new(EventListProgram::new(&codes, n, first_file, seeds.random())),
                    start: process.start,
                    is_task: process.is_task,
                });
            }
        }
        let channels: Vec<_> = self.channels.iter().enumerate().map(|(n, of)| (n as u64, of.capacity)).collect();
        let mut host = Host::new(settings.clone(), tasks, &channels, HostEnd::NEVER)?;
        if let Some(setup) = setup {
            host = host.with_files(setup).map_err(|error| error.in_file(&self.source_name))?;
        }
        host.set_names(self.names());
        placements.sort_by_key(|(_, process)| process.turn());
        for (p, process) in placements {
            host.place_process(p, process.placement())
                .map_err(|e| e.in_file(&self.source_name).at_line(process.line))?;
        }
        for external in &self.externals {
            let stream = InterruptArrivals::new(&external.times, Pcg64Mcg::seed_from_u64(seeds.random()));
            let added = host.add_external(ExternalInterrupts {
                name: external.name.clone(),
                arrivals: AnyArrivals::new(stream),
                is_endless: external.count().is_none(),
                cpu: external.cpu,
                handler: external.handler,
                effect: external.effect,
                is_task: external.is_task,
            });
            added.map_err(|e| e.in_file(&self.source_name).at_line(external.line))?;
        }
        Ok(host)
    }

    /// The names of its keys and files, for messages.
    fn names(&self) -> WorkloadNames {
        let keys = self.keys.iter().enumerate().map(|(key, name)| (key as u64, name.clone())).collect();
        let files = self.nodes.iter().enumerate().map(|(n, node)| (FileNode::id(n), node.name.clone())).collect();
        WorkloadNames::new(&self.source_name, keys, files)
    }

    /// For each [`ProcessSpec`], the first file number of its first process.
    fn first_files(&self) -> Result<Vec<u32>, InputError> {
        let codes = CompiledPrograms::new(self, u64::MAX);
        let mut next = u64::from(FileId::ROOT.0) + 1 + self.nodes.len() as u64;
        let mut first = Vec::new();
        for (n, process) in self.processes.iter().enumerate() {
            first.push(next as u32);
            next = next.saturating_add(codes.numbers(n).saturating_mul(process.count));
            if next > u64::from(u32::MAX) {
                let got = format!("{next} files that processes create for themselves");
                return Err(self.error(process.line, "create", got, format!("at most {}", u32::MAX)));
            }
        }
        Ok(first)
    }

    /// Refuses endless interrupts that leave their CPU no time.
    fn check_load(&self, settings: &HostSettings) -> Result<(), InputError> {
        let mut load = vec![0.0; usize::from(settings.cpus)];
        for external in self.externals.iter().filter(|external| external.count().is_none()) {
            let (InterruptTimes::Every { period_ms, .. }, Some(load)) =
                (&external.times, load.get_mut(usize::from(external.cpu)))
            else {
                continue;
            };
            *load += external.handler.as_millis_f64() / settings.speed / period_ms.mean().max(1e-6);
            if *load >= 1.0 {
                let got = format!("{} µs for each", external.handler.as_micros_f64());
                return Err(self.error(
                    external.line,
                    "handler_us",
                    got,
                    "time left between interrupts that do not end",
                ));
            }
        }
        Ok(())
    }
}

impl ProcessSpec {
    fn name_of(&self, copy: u64) -> Arc<str> {
        if self.count == 1 { self.name.clone() } else { format!("{} {}", self.name, copy + 1).into() }
    }

    fn placement(&self) -> Placement {
        Placement { cpu: self.cpu, state: self.state, is_daemon: self.is_daemon }
    }

    /// The order of placement: running processes first, and among them pinned ones.
    fn turn(&self) -> u8 {
        match (self.state, self.cpu) {
            (InitialState::Running, Some(_)) => 0,
            (InitialState::Running, None) => 1,
            (InitialState::Runnable, _) => 2,
            (InitialState::New | InitialState::Sleeping(_), _) => 3,
        }
    }
}
