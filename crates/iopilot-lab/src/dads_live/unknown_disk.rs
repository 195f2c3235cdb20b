//! The autopilot with its defaults, without a model of the disk: from `none` under a load that saturates the disk, and
//! from each scheduler under a load that changes.

use super::flight::{AutopilotDaemon, SchedulerChange};
use crate::outcome::Cell;
use crate::virtual_disk::VirtualDisk;
use crate::{Claim, Experiment, Outcome, ResultTable, Setup};
use anyhow::{Context as _, bail, ensure};
use iopilot_live::{BlockQueue, Signals};
use serde_json::Value;
use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "dads-live-no-model",
    source: "",
    title: "the autopilot without a model: a saturated start, and a load that changes (needs root and fio)",
    run,
};

/// The kernel's schedulers with default tunables.
const SCHEDULERS: [&str; 4] = ["none", "mq-deadline", "kyber", "bfq"];
/// How much slower than the best single scheduler a flight over a changing load may be, in percent.
const NEAR: f64 = 5.0;
/// The autopilot must have changed to the best scheduler this soon after a saturating load begins.
const SOON: Duration = Duration::from_secs(30);

/// How much is measured.
#[derive(Clone, Copy, Debug)]
struct Extent {
    disk: &'static str,
    size: u64,
    depth: u32,
    /// How long random reads run under each scheduler alone, and at the end of a flight.
    measured: Duration,
    /// How long random reads run in a flight before the measurement.
    before: Duration,
    /// The share of the changing load's full amounts.
    share: f64,
    /// The schedulers that flights over the changing load start from.
    from: &'static [&'static str],
}

impl Extent {
    fn new(quick: bool) -> Self {
        let full = Self {
            disk: "hd-500-16",
            size: 4 << 30,
            depth: 4,
            measured: Duration::from_secs(15),
            before: SOON,
            share: 1.0,
            from: &SCHEDULERS,
        };
        if !quick {
            return full;
        }
        let (measured, before) = (Duration::from_secs(2), Duration::from_secs(3));
        Self { size: 1 << 30, measured, before, share: 0.02, from: &["none"], ..full }
    }
}

/// What was measured.
struct Measured {
    /// Random reads a second under each scheduler alone.
    alone: Vec<f64>,
    /// The same at the end of a flight from `none`, and the changes of that flight.
    flown: f64,
    changes: Vec<SchedulerChange>,
    /// Seconds that the changing load took under each scheduler alone, and in a flight from each start.
    load_alone: Vec<f64>,
    load_flown: Vec<(&'static str, f64, usize)>,
    /// The audits of all flights.
    audit: String,
}

fn run(setup: &Setup<'_>) -> anyhow::Result<Outcome> {
    let found = Command::new("fio").arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).status();
    ensure!(found.is_ok(), "fio is missing, which makes the loads: install it from your distribution");
    let extent = Extent::new(setup.quick);
    let signals = Signals::catch()?;
    let disk = VirtualDisk::attach(extent.disk, extent.size, extent.depth)?;
    let measured = measure(&disk, &extent, &signals)?;
    let note =
        format!("On {} with {} requests in the disk; the autopilot has no model of it.", extent.disk, extent.depth);
    let (tables, claims) = (measured.tables(), measured.claims());
    let files = vec![("dads-live-no-model-audit.jsonl".to_owned(), measured.audit)];
    Ok(Outcome { tables, claims, notes: vec![note], files })
}

fn measure(disk: &VirtualDisk, extent: &Extent, signals: &Signals) -> anyhow::Result<Measured> {
    let queue = BlockQueue::open(disk.device())?;
    let set = |scheduler: &str| -> anyhow::Result<()> {
        if let Some(signal) = signals.caught() {
            bail!("ended by signal {signal}");
        }
        queue.set_scheduler("none")?;
        Ok(queue.set_scheduler(scheduler)?)
    };
    let mut alone = Vec::new();
    for scheduler in SCHEDULERS {
        set(scheduler)?;
        alone.push(random_reads(disk, extent.measured)?);
    }
    set("none")?;
    let flight = AutopilotDaemon::without_a_model(disk)?;
    random_reads(disk, extent.before)?;
    let flown = random_reads(disk, extent.measured)?;
    let (changes, mut audit) = flight.end()?;
    let jobs = jobs(extent.share, extent.size);
    let (mut load_alone, mut load_flown) = (Vec::new(), Vec::new());
    for scheduler in SCHEDULERS {
        set(scheduler)?;
        load_alone.push(load(disk, &jobs)?);
    }
    for &scheduler in extent.from {
        set(scheduler)?;
        let flight = AutopilotDaemon::without_a_model(disk)?;
        let seconds = load(disk, &jobs)?;
        let (changes, more) = flight.end()?;
        audit += &more;
        load_flown.push((scheduler, seconds, changes.len()));
    }
    Ok(Measured { alone, flown, changes, load_alone, load_flown, audit })
}

/// Random reads per second, with 64 in flight.
fn random_reads(disk: &VirtualDisk, time: Duration) -> anyhow::Result<f64> {
    let mut command = Command::new("fio");
    command.args(["--name=r", "--rw=randread", "--bs=4k", "--ioengine=libaio", "--iodepth=64", "--direct=1"]);
    command.args(["--time_based", "--randrepeat=0", "--norandommap", "--output-format=json"]);
    command.arg(format!("--filename={}", disk.device().display())).arg(format!("--runtime={}", time.as_secs()));
    let out = command.stdin(Stdio::null()).output().context("running fio")?;
    let reply: Value = serde_json::from_slice(&out.stdout).context("reading fio's output")?;
    reply["jobs"][0]["read"]["iops"].as_f64().context("reading fio's output")
}

/// A fio job file for a disk of `bytes`: streams, random reads, both together, small pieces, and random readers, one
/// after the other.
fn jobs(share: f64, bytes: u64) -> String {
    // Eight regions at equal distances.
    let apart = (bytes / 8) >> 20;
    let (half, twice) = (apart / 2, 2 * apart);
    let kib = |all: f64| (all * share).ceil().max(1.0) * 64.0;
    let count = |all: f64| (all * share).ceil().max(16.0);
    format!(
        "[global]\ndirect=1\n\
         [streams]\nioengine=psync\nrw=read\nbs=64k\nnumjobs=4\noffset_increment={apart}m\nio_size={}k\n\
         [random]\nstonewall\nioengine=libaio\niodepth=64\nrw=randread\nbs=4k\nnumber_ios={}\n\
         [stream]\nstonewall\nioengine=psync\nrw=read\nbs=64k\nnumjobs=2\noffset={half}m\noffset_increment={twice}m\nio_size={}k\n\
         [beside]\nioengine=libaio\niodepth=16\nrw=randread\nbs=4k\nnumber_ios={}\n\
         [pieces]\nstonewall\nioengine=psync\nrw=read:8k\nbs=4k\nnumjobs=8\noffset_increment={apart}m\nio_size={}k\n\
         [readers]\nstonewall\nioengine=psync\nrw=randread\nbs=4k\nnumjobs=16\nnumber_ios={}\n",
        kib(960.0),
        count(4500.0),
        kib(640.0),
        count(1500.0),
        kib(48.0),
        count(200.0),
    )
}

/// Runs `jobs`, and returns the seconds they took.
fn load(disk: &VirtualDisk, jobs: &str) -> anyhow::Result<f64> {
    let path = disk.folder().join("changing.fio");
    fs::write(&path, jobs).context("writing fio's jobs")?;
    disk.reset()?;
    let began = Instant::now();
    let mut command = Command::new("fio");
    command.arg(format!("--filename={}", disk.device().display())).arg(&path);
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).status().context("running fio")?;
    ensure!(status.success(), "fio ended with {status}");
    Ok(began.elapsed().as_secs_f64())
}

impl Measured {
    fn tables(&self) -> Vec<ResultTable> {
        let title = "random reads a second, 64 in flight, on a disk of depth 4";
        let mut saturated = ResultTable::new("saturated", title, &["run", "iops", "changes"]);
        for (scheduler, iops) in SCHEDULERS.iter().zip(&self.alone) {
            saturated.row(vec![(*scheduler).into(), (*iops).into(), "".into()]);
        }
        saturated.row(vec!["DADS from none".into(), self.flown.into(), self.changes.len().into()]);
        let title = "seconds that a changing load took";
        let mut changing = ResultTable::new("changing", title, &["run", "total_s", "changes"]);
        for (scheduler, seconds) in SCHEDULERS.iter().zip(&self.load_alone) {
            changing.row(vec![(*scheduler).into(), (*seconds).into(), "".into()]);
        }
        for (scheduler, seconds, changes) in &self.load_flown {
            let name = format!("DADS from {scheduler}");
            changing.row(vec![Cell::from(name), (*seconds).into(), (*changes).into()]);
        }
        vec![saturated, changing]
    }

    fn claims(&self) -> Vec<Claim> {
        let best = self.alone.iter().copied().fold(0.0, f64::max);
        let first = self
            .changes
            .first()
            .map_or("it never changed".to_owned(), |c| format!("to {} after {:.0} s", c.to, c.at_s));
        let soon = self.changes.first().is_some_and(|c| c.at_s <= SOON.as_secs_f64());
        let saturated = Claim::new(
            "goal",
            "from none, under a load that saturates the disk, the autopilot soon changes to the best scheduler, \
             without a model",
            format!("within {} s; then within {NEAR} % of the {best:.0} reads a second of the best", SOON.as_secs()),
            format!("{first}; then {:.0} reads a second", self.flown),
            soon && self.flown >= (1.0 - NEAR / 100.0) * best,
            "the table `saturated` shows what there is to gain",
        );
        let best = self.load_alone.iter().copied().fold(f64::MAX, f64::min);
        let off: Vec<f64> = self.load_flown.iter().map(|(_, seconds, _)| 100.0 * (seconds / best - 1.0)).collect();
        let each = self.load_flown.iter().zip(&off).map(|((from, ..), off)| format!("{off:+.1} % from {from}"));
        let changing = Claim::new(
            "goal",
            "a changing load takes no longer than under the best single scheduler, from any start, without a model",
            format!("{NEAR} % at most"),
            each.collect::<Vec<_>>().join(", "),
            off.iter().all(|&off| off <= NEAR),
            "the table `changing` shows how long each run took",
        );
        vec![saturated, changing]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_changing_load_is_one_that_fio_takes() {
        let all = jobs(1.0, 4 << 30);
        assert!(all.contains("offset_increment=512m\nio_size=61440k") && all.contains("number_ios=4500"), "{all}");
        assert_eq!(all.matches("stonewall").count(), 4);
        let least = jobs(0.001, 1 << 30);
        assert!(least.contains("io_size=64k") && least.contains("number_ios=16"), "{least}");
    }
}
