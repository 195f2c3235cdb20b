//! What the fuzz targets do: read a trace to its end or its first error, or a description and use it.

use iopilot_device::DiskSpec;
use iopilot_sched::{Environment, SchedulerSpec};
use iopilot_sim::Machine;
use iopilot_sim::workload::{FioJobs, FioSource, GangerSource, GangerSpec};
use iopilot_trace::{ReadOptions, TraceReader};
use std::fmt::Display;
use std::io::Cursor;
use std::path::Path;

/// Sectors of the disk that workloads run on.
const CAPACITY: u64 = 1 << 21;

/// Reads `bytes` as a trace of the format called `format`, or of whichever they look like.
///
/// # Panics
/// Where a parser does, or hands out records that are not in order: what fuzzing looks for.
pub fn parse(bytes: &[u8], format: Option<&str>) {
    let format = format.map(|name| name.parse().expect("the name of a format"));
    let options = ReadOptions { format, ..ReadOptions::default() };
    let Ok(reader) = TraceReader::from_reader("fuzz", Cursor::new(bytes.to_vec()), &options) else { return };
    let mut last = None;
    for record in reader.map_while(Result::ok) {
        assert!(last.is_none_or(|time| time <= record.arrival), "records come in arrival order");
        last = Some(record.arrival);
    }
}

/// What is refused is refused in one line.
fn one_line<T, E: Display>(result: Result<T, E>) -> Option<T> {
    result.map_err(|e| assert!(!e.to_string().contains('\n'), "one line: {e}")).ok()
}

/// Reads the description of a disk, and builds it.
///
/// # Panics
/// Where the parser does, and where what was accepted cannot be built.
pub fn disk(text: &str) {
    if let Some(spec) = one_line(DiskSpec::from_toml(text, "fuzz.toml")) {
        spec.build().expect("what is accepted can be built");
    }
}

/// Reads the description of a machine.
///
/// # Panics
/// Where the parser does.
pub fn machine(text: &str) {
    one_line(Machine::from_toml(text, Path::new("fuzz.toml")));
}

/// Reads a job file, and starts its jobs.
///
/// # Panics
/// Where the parser does.
pub fn fio_job(text: &str) {
    // An included file may be anything, a terminal too.
    if !text.contains("include") {
        one_line(FioJobs::parse(text, "fuzz.fio").and_then(|jobs| FioSource::new(&jobs, CAPACITY, 1)));
    }
}

/// Reads the description of generators, and starts them.
///
/// # Panics
/// Where the parser does.
pub fn ganger(text: &str) {
    one_line(GangerSpec::from_toml(text, "fuzz.toml").and_then(|spec| GangerSource::new(&spec, CAPACITY, 1)));
}

/// Reads a list of schedulers, and makes them.
///
/// # Panics
/// Where the parser does, and where what was accepted cannot be made.
pub fn scheduler(text: &str) {
    for spec in one_line(SchedulerSpec::parse_list(text)).into_iter().flatten() {
        spec.build(&Environment::default()).expect("what is accepted can be made");
    }
}
