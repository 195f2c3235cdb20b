//! [`Fio`]: reads of a device by fio.

use anyhow::{Context as _, bail};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use serde_json::Value;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// Bytes of a segment of the cache, and of a block.
const SEGMENT: u64 = 128 << 10;
const BLOCK: u64 = 4096;

/// Runs fio, with a folder for its files.
pub(super) struct Fio<'a> {
    pub(super) folder: &'a Path,
}

/// The blocks that are read.
#[derive(Clone, Copy, Debug)]
pub(super) enum FioPattern {
    /// Random blocks of the first 32 MiB, without the first block of each segment.
    Hits { number: u32 },
    /// Random blocks of the whole device.
    Random { number: u32, seed: usize },
}

/// The figures of a run.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FioResult {
    pub(super) iops: f64,
    /// From submission to completion, µs.
    pub(super) mean_us: f64,
    pub(super) requests: f64,
    /// CPU time of the server for each request, µs.
    pub(super) cpu_us: f64,
}

impl Fio<'_> {
    /// Reads `device` with `depth` requests in flight.
    pub(super) fn run(&self, device: &Path, depth: u32, pattern: FioPattern) -> anyhow::Result<FioResult> {
        let mut command = Self::command(device);
        command.args(["--rw=randread", "--bs=4k", "--norandommap", "--output-format=json"]);
        match depth {
            1 => command.arg("--ioengine=psync"),
            _ => command.arg("--ioengine=libaio").arg(format!("--iodepth={depth}")),
        };
        match pattern {
            FioPattern::Hits { number } => {
                let log = self.folder.join("hits.iolog");
                fs::write(&log, hits(device, number)).context("writing what fio is to read")?;
                command.arg(format!("--read_iolog={}", log.display())).arg("--replay_no_stall=1");
            }
            FioPattern::Random { number, seed } => {
                command.arg(format!("--number_ios={number}")).arg(format!("--randseed={}", seed + 1));
                command.arg("--allrandrepeat=1");
            }
        }
        let reply = Self::output(&mut command)?;
        let read = &reply["jobs"][0]["read"];
        let of = |value: &Value| value.as_f64().context("reading fio's output");
        Ok(FioResult {
            iops: of(&read["iops"])?,
            mean_us: of(&read["clat_ns"]["mean"])? / 1e3,
            requests: of(&read["total_ios"])?,
            cpu_us: 0.0,
        })
    }

    /// Reads the first block of each segment of the first `bytes`, which brings all other blocks into a cache.
    pub(super) fn touch(&self, device: &Path, bytes: u64) -> anyhow::Result<()> {
        let mut command = Self::command(device);
        command.arg(format!("--rw=read:{}k", (SEGMENT - BLOCK) >> 10)).args(["--bs=4k", "--ioengine=psync"]);
        command.arg(format!("--io_size={}", bytes / SEGMENT * BLOCK)).arg(format!("--size={bytes}"));
        command.arg("--output-format=json");
        Self::output(&mut command).map(drop)
    }

    fn command(device: &Path) -> Command {
        let mut command = Command::new("fio");
        command.args(["--name=r", "--direct=1", "--readonly"]).arg(format!("--filename={}", device.display()));
        command
    }

    fn output(command: &mut Command) -> anyhow::Result<Value> {
        let out = command.stdin(Stdio::null()).output().context("running fio, which this needs")?;
        if !out.status.success() {
            bail!("fio: {}", String::from_utf8_lossy(&out.stderr).trim_end());
        }
        serde_json::from_slice(&out.stdout).context("reading fio's output")
    }
}

/// An fio iolog: reads of the first 32 MiB, without the first block of each segment.
fn hits(device: &Path, number: u32) -> String {
    const SEGMENTS: u64 = (32 << 20) / SEGMENT;
    let mut random = Pcg64Mcg::seed_from_u64(1);
    let device = device.display();
    let mut log = format!("fio version 2 iolog\n{device} add\n{device} open\n");
    for _ in 0..number {
        let block = random.random_range(1..SEGMENT / BLOCK);
        let offset = random.random_range(0..SEGMENTS) * SEGMENT + block * BLOCK;
        // Writing to a string cannot fail.
        let _ = writeln!(log, "{device} read {offset} {BLOCK}");
    }
    log
}
