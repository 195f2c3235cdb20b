//! Uses the parsed inputs: devices serve requests, workloads run, schedulers schedule.

use crate::answer::refused;
use iopilot_block::{Flags, Lba, Nanos, Op, ProcessId, Sectors};
use iopilot_catalogue::{AnyDevice, DiskSpec};
use iopilot_device::Device;
use iopilot_disksim::params::{ComponentKind, System};
use iopilot_disksim::{Spec, drive_model};
use iopilot_redcap::RedcapSpec;
use iopilot_sched::SchedulerSpec;
use iopilot_scsi::SingleDrive;
use iopilot_sim::{Machine, Progress, RunConfig, SimError, run};
use iopilot_trace::{Dependencies, TraceRecord};
use iopilot_workload::ganger::{GangerSpec, on_own_cpus};
use iopilot_workload::replay::{Closed, Dependent, Open, ReplayRecord};
use iopilot_workload::{BuiltinProgramsSpec, Source, SourceHandle, Step, UserProgramsSpec};
use iopilot_workload::{FioJobs, FioSource};
use std::path::Path;

/// The most requests that a workload may issue, and the most calls for more, as it may compute forever.
const REQUESTS: usize = 200;
const CALLS: usize = 20_000;
/// A small disk, so that files that fill it are made soon: 512 MiB.
const SMALL: u64 = 1 << 20;

/// A source that falls silent after some requests, or calls.
struct Bounded<S> {
    source: S,
    left: usize,
    calls: usize,
}

impl<S: Source> Source for Bounded<S> {
    fn next_event(&self) -> Option<Nanos> {
        self.source.next_event().filter(|_| self.left > 0 && self.calls > 0)
    }

    fn advance(&mut self, now: Nanos, out: &mut Vec<Step>) {
        self.calls = self.calls.saturating_sub(1);
        self.source.advance(now, out);
        out.truncate(self.left);
        self.left -= out.len();
    }

    fn completed(&mut self, handle: SourceHandle, now: Nanos) {
        self.source.completed(handle, now);
    }

    fn blocked(&mut self, process: ProcessId, now: Nanos) {
        self.source.blocked(process, now);
    }

    fn unblocked(&mut self, process: ProcessId, now: Nanos) {
        self.source.unblocked(process, now);
    }

    fn goes_on(&self, handle: SourceHandle, by: Nanos) -> Option<Nanos> {
        self.source.goes_on(handle, by)
    }

    fn is_serial(&self) -> bool {
        self.source.is_serial()
    }

    fn thinks_from_block_layer(&self) -> bool {
        self.source.thinks_from_block_layer()
    }

    fn pins_buffers(&self) -> bool {
        self.source.pins_buffers()
    }
}

/// A disk without an arm: quick to make.
fn any_disk() -> AnyDevice {
    let spec = iopilot_catalogue::load_disk("ssd-160-simple").expect("the catalogue has it");
    spec.build().expect("the catalogue's disks can be built")
}

fn served(source: impl Source, device: AnyDevice, scheduler: &SchedulerSpec, config: &RunConfig) {
    let source = Bounded { source, left: REQUESTS, calls: CALLS };
    match run(source, device, scheduler, config, &Progress::default()) {
        Ok(_) => {}
        Err(e @ SimError::Stuck { .. }) => panic!("{e}"),
        Err(e) => drop(refused(&e)),
    }
}

fn under(scheduler: &str) -> SchedulerSpec {
    SchedulerSpec::parse(scheduler).expect("the name of a scheduler")
}

/// Requests all over a disk of `capacity` sectors.
fn requests(capacity: u64) -> Vec<ReplayRecord> {
    let sectors = |at: u64| Sectors(capacity.saturating_sub(at).clamp(1, 64) as u32);
    let places = [0, capacity - 1, capacity / 2, capacity / 3, 8.min(capacity - 1), capacity - 1 - capacity / 7];
    let ops = [Op::Read, Op::Write, Op::Read, Op::Write];
    let mut all = Vec::new();
    for (i, op) in ops.into_iter().enumerate() {
        for (j, at) in places.into_iter().enumerate() {
            let mut record = TraceRecord::new(Nanos((i * 6 + j) as u64 * 100_000), op, Lba(at), sectors(at));
            record.process = Some(ProcessId(j as u32 % 3));
            record.flags.set(Flags::SYNC, j % 2 == 0);
            all.push(ReplayRecord::from(&record));
        }
    }
    all
}

/// Replays what fits the disk, as it arrived and, where they are known, with its dependencies.
pub(crate) fn replayed(records: &[TraceRecord], dependencies: Option<&Dependencies>) {
    let capacity = any_disk().capacity();
    if records.iter().any(|r| r.lba.0 + u64::from(r.sectors.0) > capacity) {
        return;
    }
    let all: Vec<_> = records.iter().map(ReplayRecord::from).collect();
    let config = RunConfig::default();
    if let Some(dependencies) = dependencies {
        served(Dependent::new(&all[..], dependencies, 1.0), any_disk(), &under("bfq"), &config);
    }
    served(Open::new(all), any_disk(), &under("mq-deadline"), &config);
}

/// The description of a disk, which then serves some requests.
pub(crate) fn disk(text: &str) -> String {
    match DiskSpec::from_toml(text, "fuzz.toml") {
        Err(e) => refused(&e),
        Ok(spec) => {
            let device = spec.build().expect("what is accepted can be built");
            let all = requests(device.capacity());
            served(Closed::new(all, 4), device, &under("none"), &RunConfig::default());
            "ok".to_owned()
        }
    }
}

/// The description of a machine, which then serves some requests.
pub(crate) fn machine(text: &str) -> String {
    match Machine::from_toml(text, Path::new("fuzz.toml")) {
        Err(e) => refused(&e),
        Ok(machine) => {
            machine.check().expect("what is accepted is sound");
            let config = RunConfig {
                block: machine.block.clone(),
                redcap: machine.redcap.clone(),
                host: machine.host.clone(),
                rotational: machine.is_rotational(),
                ..RunConfig::default()
            };
            for scheduler in ["bfq", "cfq"] {
                let all = requests(machine.capacity());
                served(Open::new(all), machine.device(), &under(scheduler), &config);
            }
            "ok".to_owned()
        }
    }
}

/// A cache, below which a disk then serves some requests.
pub(crate) fn redcap(text: &str) -> String {
    match RedcapSpec::parse(text) {
        Err(e) => refused(&e),
        Ok(spec) => {
            assert_eq!(RedcapSpec::parse(&spec.to_string()).ok().as_ref(), Some(&spec), "what is written is read");
            let config = RunConfig { redcap: Some(spec), ..RunConfig::default() };
            let disk = any_disk();
            served(Open::new(requests(disk.capacity())), disk, &under("mq-deadline"), &config);
            "ok".to_owned()
        }
    }
}

/// A job file, whose jobs then run for a while.
pub(crate) fn fio_job(text: &str) -> String {
    // An included file may be anything, a terminal too.
    if text.contains("include") {
        return "include".to_owned();
    }
    let jobs = match FioJobs::parse(text, "fuzz.fio") {
        Ok(jobs) => jobs,
        Err(e) => return refused(&e),
    };
    match FioSource::new(&jobs, any_disk().capacity(), 1) {
        Err(e) => refused(&e),
        Ok(source) => {
            served(source, any_disk(), &under("none"), &RunConfig::default());
            format!("ok {:?}", jobs.notes())
        }
    }
}

/// The description of generators, which then run for a while.
pub(crate) fn ganger(text: &str) -> String {
    match GangerSpec::from_toml(text, "fuzz.toml").and_then(|spec| on_own_cpus(&spec, any_disk().capacity(), 1)) {
        Err(e) => refused(&e),
        Ok(source) => {
            served(source, any_disk(), &under("none"), &RunConfig::default());
            "ok".to_owned()
        }
    }
}

/// A list of schedulers, which then serve some requests.
pub(crate) fn scheduler(text: &str) -> String {
    match SchedulerSpec::parse_list(text) {
        Err(e) => refused(&e),
        Ok(list) => {
            for scheduler in &list {
                served(Closed::new(requests(any_disk().capacity()), 16), any_disk(), scheduler, &RunConfig::default());
            }
            format!("ok {}", list.len())
        }
    }
}

/// A description of programs, which then run for a while; or the name of built-in programs, with keys. The printed name parses
/// again.
pub(crate) fn programs(text: &str) -> String {
    if UserProgramsSpec::is_in(text) || text.contains("[[") {
        let spec = UserProgramsSpec::from_toml(text, "fuzz.toml");
        return match spec.and_then(|spec| spec.check_disk(SMALL).and_then(|()| spec.source(None, SMALL, 1))) {
            Err(e) => refused(&e),
            Ok(source) => {
                served(source, any_disk(), &under("none"), &RunConfig::default());
                "ok".to_owned()
            }
        };
    }
    match BuiltinProgramsSpec::parse(text) {
        Err(e) => refused(&e),
        Ok(spec) => {
            let said = spec.to_string();
            assert_eq!(BuiltinProgramsSpec::parse(&said).ok(), Some(spec), "{said} is read as it is written");
            format!("ok {said}")
        }
    }
}

/// A parameter file of DiskSim, with a parameter overridden; its disks then serve some requests.
pub(crate) fn disksim_parameters(text: &str) -> String {
    let mut spec = match Spec::parse(text, "fuzz.parv", None) {
        Ok(spec) => spec,
        Err(e) => return refused(&e),
    };
    let overridden = match spec.override_parameter("disk*", "Max queue length", "4") {
        Ok(()) => "ok".to_owned(),
        Err(e) => format!("ok {}", refused(&e)),
    };
    match System::read(&spec) {
        Err(e) => format!("{overridden}, {}", refused(&e)),
        Ok(system) => {
            for device in system.devices().take(2) {
                let ComponentKind::Disk(disk) = &device.params else { continue };
                match drive_model(&system.files, &device.block, disk) {
                    Err(e) => return format!("{overridden}, {}", refused(&e)),
                    Ok(model) => {
                        let drive = AnyDevice::from(SingleDrive::new(model));
                        let all = requests(drive.capacity());
                        served(Closed::new(all, 4), drive, &under("none"), &RunConfig::default());
                    }
                }
            }
            format!("{overridden}, read")
        }
    }
}
