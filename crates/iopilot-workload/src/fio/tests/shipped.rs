//! Tests of the shipped example job files and of the table of options.

use super::super::{FioJobs, FioSource, options};
use crate::ganger::{GangerSpec, on_own_cpus};
use crate::testing::TestDevice;
use std::fs;
use std::path::{Path, PathBuf};

/// 120 GB in sectors: what the smallest disk of the laboratory's experiments with these jobs has.
const DISK: u64 = 234_375_000;

fn shipped(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

#[test]
fn the_example_jobs_run() {
    let device = TestDevice { most: 2000, ..TestDevice::default() };
    let mut seen = 0;
    let folders = ["examples/jobs", "examples/jobs/changing", "examples/jobs/steady"];
    for entry in folders.iter().flat_map(|folder| fs::read_dir(shipped(folder)).unwrap()) {
        let path = entry.unwrap().path();
        let log = match path.extension().and_then(|e| e.to_str()) {
            Some("fio") => {
                let jobs = FioJobs::load(&path).unwrap_or_else(|e| panic!("{e}"));
                assert!(jobs.notes().is_empty(), "{:?}", jobs.notes());
                device.run(&mut FioSource::new(&jobs, DISK, 1).unwrap_or_else(|e| panic!("{e}")))
            }
            Some("toml") => {
                let spec = GangerSpec::load(&path).unwrap_or_else(|e| panic!("{e}"));
                device.run(&mut on_own_cpus(&spec, DISK, 1).unwrap_or_else(|e| panic!("{e}")))
            }
            _ => continue,
        };
        assert!(log.requests.len() > 1000, "{}", path.display());
        seen += 1;
    }
    assert_eq!(seen, 24);
}

#[test]
fn the_manual_names_every_supported_option() {
    let manual = fs::read_to_string(shipped("docs/reference/workloads.md")).unwrap();
    let missing: Vec<_> = options::SUPPORTED.iter().filter(|name| !manual.contains(&format!("`{name}`"))).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
