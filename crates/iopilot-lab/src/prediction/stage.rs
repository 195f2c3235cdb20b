//! [`PredictionStage`]: a file system on a virtual disk that is restored before each run.

use super::figures::PredictionFigures;
use super::load::{RecordedLoad, RequiredFiles};
use super::{Cell, Part, Plan, Row};
use crate::mounts::{keep_mounts_private, mount, write};
use crate::virtual_disk::{VirtualDisk, program};
use anyhow::{Context as _, bail};
use iopilot_live::{BlockQueue, Signals};
use iopilot_sched::SchedulerSpec;
use iopilot_workload::{Workload, WorkloadOptions};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use serde_json::Value;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Bytes of the disk.
const SIZE: u64 = 1 << 30;
/// The directories of a tree, and the files in each.
const DIRECTORIES: u32 = 40;
const FILES: u32 = 16;
/// The size of a large file, in bytes.
const LARGE: usize = 24 << 20;
/// A file system is quiet this long after it was mounted.
const REST: Duration = Duration::from_secs(10);
/// The longest time of a run.
const LONGEST: Duration = Duration::from_secs(120);

/// A file system on a virtual disk.
pub(super) struct PredictionStage {
    disk: VirtualDisk,
    part_disk: &'static str,
    /// The image with which each run begins.
    pristine: PathBuf,
    mount_point: PathBuf,
}

impl PredictionStage {
    /// Makes the file system with all files that `loads` need, and attaches the disk.
    pub(super) fn set(part: &Part, loads: &[&RecordedLoad], seed: u64) -> anyhow::Result<Self> {
        keep_mounts_private()?;
        let disk = VirtualDisk::attach(part.disk, SIZE, part.depth)?;
        let pristine = disk.folder().join("pristine.img");
        File::create(&pristine).and_then(|file| file.set_len(SIZE)).context("making an image")?;
        part.file_system.make(&pristine)?;
        let mount_point = disk.folder().join("mnt");
        fs::create_dir(&mount_point).context("making a mount point")?;
        {
            let mounted = mount(&pristine, &mount_point, "noatime")?;
            let needs = |what| loads.iter().any(|load| load.needs == what);
            fill(mounted.0, &needs, seed).context("filling the file system")?;
        }
        Ok(Self { disk, part_disk: part.disk, pristine, mount_point })
    }

    /// Records, predicts and runs `load`.
    pub(super) fn cell(
        &self,
        load: &RecordedLoad,
        under: &'static str,
        plan: &Plan,
        signals: &Signals,
    ) -> anyhow::Result<Cell> {
        let recording = self.record(load, under)?;
        let mut command = program()?;
        command.args(["--quiet", "compare", "--json", "--disk", self.part_disk]).arg(&recording);
        command.arg("--scheduler").arg(plan.schedulers.join(","));
        let out = command.stdin(Stdio::null()).output().context("predicting")?;
        if !out.status.success() {
            bail!("{}: compare: {}", load.name, String::from_utf8_lossy(&out.stderr).trim_end());
        }
        let predicted: Value = serde_json::from_slice(&out.stdout).context("reading what was predicted")?;
        let missing = || anyhow::anyhow!("{}: a figure is missing in what was predicted", load.name);
        let mut rows = Vec::new();
        for (&scheduler, run) in plan.schedulers.iter().zip(predicted["runs"].as_array().into_iter().flatten()) {
            let figures = PredictionFigures::of(run).ok_or_else(missing)?;
            let spread = &run["spread"]["elapsed_s"];
            let spread = spread["min"].as_f64().zip(spread["max"].as_f64());
            let spread = spread.unwrap_or((figures.elapsed_s, figures.elapsed_s));
            rows.push(Row { scheduler, predicted: figures, spread, real: Vec::new() });
        }
        for _ in 0..plan.runs {
            for row in &mut rows {
                let run = self.record(load, row.scheduler)?;
                let workload = Workload::load(&run, &WorkloadOptions::default(), SIZE / 512)
                    .with_context(|| format!("reading {} under {}", load.name, row.scheduler))?;
                let observed = workload.recording().and_then(|recording| recording.observed);
                let observed = observed.with_context(|| format!("{}: nothing reached the disk", load.name))?;
                row.real.push(PredictionFigures { elapsed_s: observed.elapsed_s, wait_ms: observed.wait_ms_mean });
                if let Some(signal) = signals.caught() {
                    bail!("ended by signal {signal}");
                }
            }
        }
        let verdict = &predicted["verdict"];
        let equals = verdict["equals"].as_array().into_iter().flatten();
        Ok(Cell {
            disk: self.part_disk,
            load: load.name,
            recorded_under: under.to_owned(),
            self_replay_percent: predicted["self_replays"][0]["elapsed_error_percent"].as_f64(),
            verdict: verdict["best"].as_str().unwrap_or_default().to_owned(),
            equals: equals.filter_map(|name| Some(name.as_str()?.to_owned())).collect(),
            rows,
        })
    }

    /// Runs `load` under `scheduler` from the initial state and records it. Returns the recording.
    fn record(&self, load: &RecordedLoad, scheduler: &str) -> anyhow::Result<PathBuf> {
        self.restore()?;
        let queue = BlockQueue::open(self.disk.device())?;
        let spec = SchedulerSpec::parse(scheduler)?;
        // A scheduler that is already set would keep what it has learnt.
        queue.set_scheduler("none")?;
        queue.set_scheduler(spec.name)?;
        for (name, value) in &spec.settings {
            queue.set_tunable(name, &value.to_string())?;
        }
        let mounted = mount(self.disk.device(), &self.mount_point, "noatime")?;
        self.reset()?;
        let recording = self.disk.folder().join("recording.parquet");
        let mut command = program()?;
        command.args(["--quiet", "trace", "record"]).arg(self.disk.device()).arg("-o").arg(&recording);
        command.args(["--duration", &LONGEST.as_secs().to_string(), "--", "sh", "-c"]).arg(load.script);
        command.current_dir(mounted.0).stdin(Stdio::null()).stdout(Stdio::null());
        let out = command.stderr(Stdio::piped()).spawn().and_then(std::process::Child::wait_with_output);
        let out = out.context("recording")?;
        if !out.status.success() {
            bail!("{}: {}", load.name, String::from_utf8_lossy(&out.stderr).trim_end());
        }
        Ok(recording)
    }

    /// Resets the disk's model to its initial state, when the file system is quiet.
    fn reset(&self) -> anyhow::Result<()> {
        let began = Instant::now();
        loop {
            match self.disk.reset() {
                Ok(_) => return Ok(()),
                Err(e) if began.elapsed() > REST => return Err(e),
                Err(_) => sleep(Duration::from_millis(100)),
            }
        }
    }

    /// Writes the initial image over the disk's data. The disk must not be mounted.
    fn restore(&self) -> anyhow::Result<()> {
        let mut from = File::open(&self.pristine).context("opening an image")?;
        let mut to = OpenOptions::new().write(true).open(self.disk.backing()).context("opening the disk's data")?;
        io::copy(&mut from, &mut to).context("writing the disk's data")?;
        Ok(())
    }
}

/// Makes the files that loads need. Their contents do not matter.
fn fill(folder: &Path, needs: &dyn Fn(RequiredFiles) -> bool, seed: u64) -> io::Result<()> {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    if needs(RequiredFiles::Trees) {
        for tree in ["tree", "other"] {
            for d in 0..DIRECTORIES {
                let directory = folder.join(tree).join(format!("d{d:02}"));
                fs::create_dir_all(&directory)?;
                for f in 0..FILES {
                    // Half are a block or less, a quarter two: most of a source tree is small.
                    let blocks = (1 + random.random::<u16>().leading_zeros()).min(16);
                    let bytes = 4096 * blocks as usize - random.random_range(0..4096);
                    write(&directory.join(format!("f{f:02}")), bytes)?;
                }
            }
        }
    }
    if needs(RequiredFiles::Large) {
        (0..12).try_for_each(|n| write(&folder.join(format!("large{n}")), LARGE))?;
    }
    if needs(RequiredFiles::Data) {
        write(&folder.join("data"), SIZE as usize / 3)?;
    }
    Ok(())
}
