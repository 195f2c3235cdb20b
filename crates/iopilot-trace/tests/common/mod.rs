//! The samples that every format has, and helpers for tests.
#![allow(clippy::unwrap_used, dead_code)]

use iopilot_block::{Lba, Nanos, Op, Sectors};
use iopilot_trace::{Format, TraceRecord};
use proptest::prelude::ProptestConfig;
use std::path::Path;

/// All samples in order of their names, `FORMAT` or `FORMAT.VARIANT`: format, name and content.
///
/// # Panics
/// Where a file is not named for a format.
pub(crate) fn samples() -> Vec<(Format, String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("samples");
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let sample = |path: &std::path::PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let format = name.split('.').next().unwrap_or_default().parse();
        let format = format.unwrap_or_else(|e| panic!("samples/{name}: its name begins with no format: {e}"));
        (format, name, std::fs::read(path).unwrap())
    };
    let specs = Format::ALL.iter().filter(|format| !format.spec().sample.is_empty());
    let in_code = specs.map(|f| (*f, f.name().to_owned(), f.spec().sample.as_bytes().to_vec()));
    let mut all: Vec<_> = paths.iter().map(sample).chain(in_code).collect();
    all.sort_by(|a, b| a.1.cmp(&b.1));
    all
}

/// Reads of 4 KiB, a millisecond apart.
pub(crate) fn some_records() -> Vec<TraceRecord> {
    (0..20).map(|i| TraceRecord::new(Nanos::from_millis(i), Op::Read, Lba(i * 8), Sectors(8))).collect()
}

/// 64 cases, or as many as `PROPTEST_CASES` says for a longer fuzz.
pub(crate) fn config() -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(64);
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}
