//! The `iopilot` binary, run as a user runs it.

// The lint exempts `#[test]` functions only, not their helpers.
#![allow(clippy::unwrap_used)]

mod calibration;
mod carroll;
mod convert;
mod dads;
mod damaged;
mod demo;
mod disksim;
mod errors;
mod experiments;
mod flying;
mod generated;
mod host;
mod listings;
mod live_disk;
mod loop_device;
mod own_programs;
mod perils;
mod pipes;
mod plot;
mod predictions;
mod probing;
mod programs;
mod recording;
mod redcap;
mod redcap_live;
mod report;
mod results;
mod service;
mod traces;
mod training;
mod tune;
mod validation;
mod vdisks;
mod warm_up;

use std::fmt::Write;
use std::path::Path;
use std::process::{Command, Output};

/// A drive that does not exist.
const DRIVE: &str = r#"
name = "made-up"
model = "a drive that does not exist"
type = "drive"
sources = ["made up"]
[drive.mechanics]
rotation_rpm = 10000.0
head_switch_ms = 0.8
[drive.mechanics.seek]
table_ms = [[1, 1.2], [100, 3.0], [399, 5.0]]
[drive.layout_g1]
heads = 4
cylinders = 400
[[drive.layout_g1.zone]]
first_cylinder = 0
last_cylinder = 399
sectors_per_track = 200
track_skew_sectors = 30.0
cylinder_skew_sectors = 40.0
"#;

/// A folder of its own for each test, with a small trace in it.
struct Sandbox {
    folder: tempfile::TempDir,
}

/// The result of a command.
struct Done {
    code: i32,
    stdout: String,
    stderr: String,
}

impl Sandbox {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("small.trace"), small_trace()).unwrap();
        Self { folder }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.path().join(name), content).unwrap();
    }

    fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_iopilot"));
        command.current_dir(self.path()).env_remove("COLUMNS").env_remove("NO_COLOR");
        command
    }

    /// No other file is there, not even a hidden one.
    fn holds_nothing_but(&self, names: &[&str]) {
        let found = std::fs::read_dir(self.path()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
        let others: Vec<String> = found.filter(|f| !names.contains(&f.as_str())).collect();
        assert!(others.is_empty(), "{others:?}");
    }

    /// Runs `iopilot` with the words of `line`.
    fn run(&self, line: &str) -> Done {
        let Output { status, stdout, stderr } = self.command().args(line.split_whitespace()).output().unwrap();
        Done {
            code: status.code().expect("it was not killed by a signal"),
            stdout: String::from_utf8(stdout).unwrap(),
            stderr: String::from_utf8(stderr).unwrap(),
        }
    }

    /// Runs `iopilot`, which must succeed; returns its output.
    fn ok(&self, line: &str) -> String {
        let done = self.run(line);
        assert_eq!(done.code, 0, "iopilot {line}: {}", done.stderr);
        done.stdout
    }

    /// Runs `iopilot`, which must refuse its input; returns the error line.
    fn refused(&self, line: &str) -> String {
        let done = self.run(line);
        assert_eq!(done.code, 2, "iopilot {line}: {}{}", done.stdout, done.stderr);
        assert_eq!(done.stderr.lines().count(), 1, "iopilot {line}: {}", done.stderr);
        assert!(done.stderr.starts_with("iopilot: "), "{}", done.stderr);
        assert!(done.stdout.is_empty(), "iopilot {line}: {}", done.stdout);
        done.stderr
    }
}

/// 400 requests in DiskSim's ascii format: time in ms, device, sector, sectors, 1 for a read. Random over 100 GB, with
/// a sequential run in between, faster than a disk can serve them.
fn small_trace() -> String {
    let mut state = 12345u64;
    let mut random = move |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut trace = String::new();
    for i in 0..400u64 {
        let sector = if i % 4 == 0 { 5_000_000 + i * 2 } else { random(195_000_000) };
        let read = u8::from(random(4) != 0);
        writeln!(trace, "{}.{:03} 0 {sector} 8 {read}", i * 4, random(1000)).unwrap();
    }
    trace
}
