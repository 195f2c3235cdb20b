//! Tests of job files and their requests.

mod files;
mod parsing;
mod patterns;
mod real_fio;
mod shipped;
mod timing;

use super::{FioJobs, FioSource};
use crate::testing::{SourceLog, TestDevice};

/// Sectors of the device most tests run on: 1 GiB.
const CAPACITY: u64 = 2 << 20;

fn parse(text: &str) -> FioJobs {
    FioJobs::parse(text, "test.fio").unwrap_or_else(|e| panic!("{e}"))
}

fn source(text: &str) -> FioSource {
    FioSource::new(&parse(text), CAPACITY, 1).unwrap_or_else(|e| panic!("{e}"))
}

/// Runs a job file on a device that completes in random order.
fn run(text: &str) -> SourceLog {
    TestDevice::default().run(&mut source(text))
}

/// The error of a job file, or of running it on the device.
fn complaint(text: &str) -> String {
    match FioJobs::parse(text, "test.fio").and_then(|jobs| FioSource::new(&jobs, CAPACITY, 1)) {
        Ok(_) => panic!("nothing is wrong"),
        Err(e) => e.to_string(),
    }
}

/// (Byte address, length) of all requests, in order.
fn extents(log: &SourceLog) -> Vec<(u64, u64)> {
    log.requests.iter().map(|s| (s.arrival.lba.0 * 512, s.arrival.sectors.bytes())).collect()
}

fn offsets(log: &SourceLog) -> Vec<u64> {
    extents(log).into_iter().map(|(at, _)| at).collect()
}
