//! `redcap-cost`: the costs of REDCAP over a live disk, beside the same server without it.

mod busy_loops;
mod fio;

use super::virtual_disk::{VirtualDisk, program};
use super::{Claim, Experiment, Outcome, ResultTable, Setup};
use anyhow::{Context as _, bail};
use busy_loops::BusyLoops;
use fio::{Fio, FioPattern, FioResult};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "redcap-cost",
    source: "the project's goals",
    title: "what REDCAP over a live disk costs: hits, misses, CPU, memory (needs root and fio)",
    run,
};

/// The most that a hit may add to a read at depth 1, µs.
const HIT_US: f64 = 3.0;
/// The most that a miss may add to a read of a disk, in percent.
const MISS_PERCENT: f64 = 3.0;
/// The least share of the server's own rate that hits at depth 32 must reach.
const SHARE: f64 = 0.8;
/// The most memory that a cache may take beyond its data, in percent of them.
const MEMORY_PERCENT: f64 = 2.0;

/// How much is measured.
struct Extent {
    pairs: usize,
    hits: u32,
    disk: &'static str,
    misses: u32,
    /// The size of the cache whose memory is measured, in bytes.
    large: u64,
}

impl Extent {
    fn new(quick: bool) -> Self {
        match quick {
            false => Self { pairs: 9, hits: 150_000, disk: "hd-500-16", misses: 400, large: 1 << 30 },
            true => Self { pairs: 1, hits: 10_000, disk: "ssd-160", misses: 50, large: 1 << 26 },
        }
    }
}

fn run(setup: &Setup<'_>) -> anyhow::Result<Outcome> {
    let extent = Extent::new(setup.quick);
    let mut outcome = Outcome::default();
    hits(&extent, &mut outcome)?;
    misses(&extent, &mut outcome)?;
    memory(&extent, &mut outcome)?;
    Ok(outcome)
}

/// Compares hits with reads from the server of a virtual disk without delays, which serves from memory.
fn hits(extent: &Extent, outcome: &mut Outcome) -> anyhow::Result<()> {
    let server = VirtualDisk::attach("none", 1 << 30, 128)?;
    let below = VirtualDisk::attach("none", 1 << 30, 128)?;
    let cache = Cache::attach(&below, 64 << 20, "always")?;
    let fio = Fio { folder: below.folder() };
    // Reads one block of each segment, which brings all other blocks into the cache.
    fio.touch(&cache.device, 32 << 20)?;
    let title = "random hits of 4 KiB, beside the server of a virtual disk without delays, runs in turns";
    let columns =
        ["cpus", "iodepth", "pair", "server_us", "hits_us", "server_iops", "hits_iops", "server_cpu_us", "hits_cpu_us"];
    let mut table = ResultTable::new("hits", title, &columns);
    let mut medians = Vec::new();
    for (depth, awake) in [(1, false), (1, true), (32, false)] {
        // A virtual CPU that sleeps takes longer to wake than a hit takes.
        let _awake = if awake { Some(BusyLoops::keep()?) } else { None };
        let (mut added, mut shares) = (Vec::new(), Vec::new());
        for pair in 0..extent.pairs {
            let mut both = [FioResult::default(); 2];
            // The order changes with each pair.
            for which in [pair % 2, 1 - pair % 2] {
                let (device, pid) = [(server.device(), server.pid()), (&cache.device, cache.pid)][which];
                let before = cpu_us(pid)?;
                let mut measured = fio.run(device, depth, FioPattern::Hits { number: extent.hits })?;
                measured.cpu_us = (cpu_us(pid)? - before) / measured.requests.max(1.0);
                both[which] = measured;
            }
            let [plain, cached] = both;
            added.push(cached.mean_us - plain.mean_us);
            shares.push(cached.iops / plain.iops);
            table.row(vec![
                if awake { "kept awake" } else { "as they are" }.into(),
                u64::from(depth).into(),
                pair.into(),
                plain.mean_us.into(),
                cached.mean_us.into(),
                plain.iops.into(),
                cached.iops.into(),
                plain.cpu_us.into(),
                cached.cpu_us.into(),
            ]);
        }
        medians.push((median(added), median(shares)));
    }
    let hits = cache.hit_percent()?;
    outcome.notes.push(format!("{hits:.1} % of the blocks that were asked for came from the cache."));
    let (added, added_awake, share) = (medians[0].0, medians[1].0, medians[2].1);
    outcome.tables.push(table);
    for (added, on) in [(added, ""), (added_awake, ", on CPUs that are kept awake")] {
        outcome.claims.push(Claim::new(
            "goal",
            format!("a hit at depth 1 takes hardly longer than a read from the server without a cache{on}"),
            format!("{HIT_US} us more at most, the median of pairs"),
            format!("{added:+.1} us"),
            added <= HIT_US,
            WHY,
        ));
    }
    outcome.claims.push(Claim::new(
        "goal",
        "hits at depth 32 reach the server's own rate",
        format!("{SHARE} times its rate at least, the median of pairs"),
        format!("{share:.2} times"),
        share >= SHARE,
        WHY,
    ));
    Ok(())
}

/// Random reads of a slow disk, with a cache that is off and without one.
fn misses(extent: &Extent, outcome: &mut Outcome) -> anyhow::Result<()> {
    let disk = VirtualDisk::attach(extent.disk, 8 << 30, 32)?;
    let fio = Fio { folder: disk.folder() };
    let mut table = ResultTable::new(
        "misses",
        format!("{} random reads of 4 KiB of {}, ms each", extent.misses, extent.disk),
        &["pair", "bare_ms", "cached_ms", "added_percent"],
    );
    let mut added = Vec::new();
    for pair in 0..extent.pairs {
        let mut both = [0.0; 2];
        for which in [pair % 2, 1 - pair % 2] {
            disk.reset()?;
            let cache = (which == 1).then(|| Cache::attach(&disk, 64 << 20, "never")).transpose()?;
            let device = cache.as_ref().map_or_else(|| disk.device(), |cache| &cache.device);
            both[which] = fio.run(device, 1, FioPattern::Random { number: extent.misses, seed: pair })?.mean_us / 1e3;
        }
        let percent = 100.0 * (both[1] / both[0] - 1.0);
        added.push(percent);
        table.row(vec![pair.into(), both[0].into(), both[1].into(), percent.into()]);
    }
    let added = median(added);
    outcome.tables.push(table);
    outcome.claims.push(Claim::new(
        "goal",
        "a read that does not involve the cache takes hardly longer than on the bare disk",
        format!("{MISS_PERCENT} % more at most, the median of pairs"),
        format!("{added:+.2} %"),
        added <= MISS_PERCENT,
        WHY,
    ));
    Ok(())
}

/// The memory of a full cache over a disk of 16 TB.
fn memory(extent: &Extent, outcome: &mut Outcome) -> anyhow::Result<()> {
    let below = VirtualDisk::attach("none", 16_000_000_000_000 / 4096 * 4096, 128)?;
    let cache = Cache::attach(&below, extent.large, "always")?;
    let before = resident(cache.pid)?;
    Fio { folder: below.folder() }.touch(&cache.device, extent.large)?;
    let status = cache.status()?;
    // A block that a reader asked for is not kept.
    let blocks = status["cache"]["prefetched_blocks"].as_f64().context("reading the counters of a cache")?;
    let used = 4096.0 * blocks;
    let taken = resident(cache.pid)? - before;
    let beside = 100.0 * (taken / used - 1.0);
    let mut table = ResultTable::new("memory", "a full cache over a disk of 16 TB", &["what", "bytes"]);
    for (what, bytes) in
        [("data", used), ("resident memory of the server before", before), ("and more when full", taken)]
    {
        table.row(vec![what.into(), bytes.into()]);
    }
    outcome.tables.push(table);
    outcome.claims.push(Claim::new(
        "goal",
        "a cache takes hardly more memory than its data",
        format!("{MEMORY_PERCENT} % more at most, beside what the server takes when it is empty"),
        format!("{beside:.2} %"),
        beside <= MEMORY_PERCENT,
        WHY,
    ));
    Ok(())
}

const WHY: &str = "see the tables";

/// A cache over a virtual disk; detached when dropped.
struct Cache {
    device: PathBuf,
    pid: u32,
    state: PathBuf,
}

impl Cache {
    fn attach(disk: &VirtualDisk, bytes: u64, algorithm: &str) -> anyhow::Result<Self> {
        let state = disk.folder().join("redcap");
        let mut command = program()?;
        command.args(["--quiet", "redcap", "attach", "--json", "--name", "lab", "--algorithm", algorithm]);
        command.arg("--size").arg(bytes.to_string()).arg("--state-dir").arg(&state).arg(disk.device());
        let told = output(&mut command)?;
        let device = told["device"].as_str().context("reading what was attached")?.into();
        let pid = told["pid"].as_u64().and_then(|pid| u32::try_from(pid).ok()).context("reading what was attached")?;
        Ok(Self { device, pid, state })
    }

    fn status(&self) -> anyhow::Result<Value> {
        output(program()?.args(["redcap", "status", "lab", "--json", "--state-dir"]).arg(&self.state))
    }

    /// The share of the requested blocks that came from the cache.
    fn hit_percent(&self) -> anyhow::Result<f64> {
        let status = self.status()?;
        let of = |key: &str| status["cache"][key].as_f64().context("reading the counters of a cache");
        Ok(100.0 * of("hit_blocks")? / of("requested_blocks")?.max(1.0))
    }
}

impl Drop for Cache {
    fn drop(&mut self) {
        let detach = || -> anyhow::Result<bool> {
            let mut command = program()?;
            command.args(["--quiet", "redcap", "detach", "lab", "--force", "--state-dir"]).arg(&self.state);
            Ok(command.stdin(Stdio::null()).status()?.success())
        };
        if !matches!(detach(), Ok(true)) {
            eprintln!("{} stays attached", self.device.display());
        }
    }
}

fn output(command: &mut std::process::Command) -> anyhow::Result<Value> {
    let out = command.stdin(Stdio::null()).output().context("running this program")?;
    if !out.status.success() {
        bail!("{}", String::from_utf8_lossy(&out.stderr).trim_end());
    }
    serde_json::from_slice(&out.stdout).context("reading what it prints")
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[(values.len() - 1) / 2].midpoint(values[values.len() / 2])
}

/// The CPU time of a process, µs.
fn cpu_us(pid: u32) -> anyhow::Result<f64> {
    let mut sum = 0.0;
    for thread in fs::read_dir(format!("/proc/{pid}/task")).context("reading the threads of a server")? {
        let text = fs::read_to_string(thread?.path().join("schedstat")).unwrap_or_default();
        sum += text.split_whitespace().next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or_default();
    }
    Ok(sum / 1e3)
}

/// The resident memory of a process, bytes.
fn resident(pid: u32) -> anyhow::Result<f64> {
    let path = format!("/proc/{pid}/status");
    let text = fs::read_to_string(Path::new(&path)).context("reading the memory of a server")?;
    let kib = text.lines().find_map(|line| line.strip_prefix("VmRSS:")?.split_whitespace().next()?.parse::<f64>().ok());
    Ok(1024.0 * kib.context("reading the memory of a server")?)
}
