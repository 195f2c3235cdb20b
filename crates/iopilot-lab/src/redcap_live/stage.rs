//! [`ReadOnlyStage`]: a virtual disk with a read-only file system.

use super::load::ShellLoad;
use super::memory_limit::MemoryLimit;
use super::plan::{DiskUnderTest, READ_AHEAD, ReadPath};
use super::rival::CACHE;
use crate::mounts::{keep_mounts_private, mount, tool, write};
use crate::virtual_disk::{VirtualDisk, program};
use anyhow::{Context as _, bail};
use iopilot_live::{BlockQueue, Signals};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use serde_json::Value;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Bytes of the disk.
const SIZE: u64 = 1 << 30;
/// The number of trees, the directories in each, and the files in each directory.
const TREES: u32 = 32;
const DIRECTORIES: f64 = 20.0;
const FILES: u32 = 8;
/// The number of large files, and the bytes of each.
const LARGE: u32 = 4;
const LARGE_BYTES: f64 = 24e6;
/// Bytes of the file that is read at random.
const DATA_BYTES: f64 = 300e6;
/// The number of files to compile, and of the headers that each includes.
const SOURCES: u32 = 40;
const HEADERS: u32 = 30;
/// How long a run waits until no other process uses the disk.
const PATIENCE: Duration = Duration::from_secs(10);

/// A virtual disk with a file system.
pub(super) struct ReadOnlyStage {
    disk: VirtualDisk,
    model: &'static str,
    mount_point: PathBuf,
}

impl ReadOnlyStage {
    /// Makes the disk and the file system with all files that loads need.
    pub(super) fn set(part: &DiskUnderTest, share: f64, seed: u64) -> anyhow::Result<Self> {
        keep_mounts_private()?;
        let disk = VirtualDisk::attach(part.disk, SIZE, part.depth)?;
        part.file_system.make(disk.backing())?;
        let mount_point = disk.folder().join("mnt");
        fs::create_dir(&mount_point).context("making a mount point")?;
        {
            let mounted = mount(disk.backing(), &mount_point, "noatime")?;
            fill(mounted.0, share, seed).context("filling the file system")?;
        }
        Ok(Self { disk, model: part.disk, mount_point })
    }

    /// Runs `load` with cold caches. With `limited`, its memory is that of `path`. Returns its time in seconds.
    ///
    /// # Errors
    /// If a signal was caught, something cannot be set up, or the load fails.
    pub(super) fn run(
        &self,
        load: &ShellLoad,
        path: ReadPath,
        limited: bool,
        signals: &Signals,
    ) -> anyhow::Result<f64> {
        if let Some(signal) = signals.caught() {
            bail!("ended by signal {signal}");
        }
        let queue = BlockQueue::open(self.disk.device())?;
        queue.set_scheduler("mq-deadline")?;
        let read_ahead_kb = if let ReadPath::Bare { read_ahead_kb } = path { read_ahead_kb } else { READ_AHEAD };
        queue.write("read_ahead_kb", &read_ahead_kb.to_string())?;
        let memory = limited.then(|| MemoryLimit::new("load", path.memory())).transpose()?;
        let cache = if let ReadPath::Cached(algorithm) = path { Some(Cache::attach(self, algorithm)?) } else { None };
        let rival = match path {
            ReadPath::Rival(rival) => Some(rival.attach(self.disk.device(), SIZE / 512, self.disk.folder())?),
            _ => None,
        };
        let over = cache.as_ref().map(|cache| &*cache.device).or(rival.as_ref().map(|rival| &*rival.device));
        let device = over.unwrap_or(self.disk.device());
        // The file system is not written, so its journal need not be replayed.
        let mounted = mount(device, &self.mount_point, "ro,noatime,norecovery")
            .or_else(|_| mount(device, &self.mount_point, "ro,noatime"))?;
        self.reset()?;
        let began = Instant::now();
        let mut command = memory.as_ref().map_or_else(|| Command::new("sh"), |memory| memory.command("sh"));
        command.args(["-c", &load.script()]).current_dir(mounted.0).stdin(Stdio::null()).stdout(Stdio::null());
        let out = command.stderr(Stdio::piped()).spawn().and_then(std::process::Child::wait_with_output);
        let seconds = began.elapsed().as_secs_f64();
        let out = out.with_context(|| format!("running {}", load.name))?;
        if !out.status.success() {
            bail!("{}: {}", load.name, String::from_utf8_lossy(&out.stderr).trim_end());
        }
        drop(mounted);
        drop((cache, rival));
        Ok(seconds)
    }

    /// Resets the disk's model to its initial state, when the disk is idle.
    fn reset(&self) -> anyhow::Result<()> {
        let began = Instant::now();
        loop {
            match self.disk.reset() {
                Ok(_) => return Ok(()),
                Err(e) if began.elapsed() > PATIENCE => return Err(e),
                Err(_) => thread::sleep(Duration::from_millis(50)),
            }
        }
    }
}

/// A cache over the disk of a stage; detached when dropped.
struct Cache<'a> {
    stage: &'a ReadOnlyStage,
    device: PathBuf,
}

impl<'a> Cache<'a> {
    fn attach(stage: &'a ReadOnlyStage, algorithm: &str) -> anyhow::Result<Self> {
        let mut command = program()?;
        command.args(["--quiet", "redcap", "attach"]).arg(stage.disk.device()).args([
            "--json",
            "--algorithm",
            algorithm,
        ]);
        command
            .arg("--size")
            .arg(CACHE.to_string())
            .args(["--disk", stage.model, "--name", "lab"])
            .arg("--state-dir")
            .arg(stage.state());
        let out = command.stdin(Stdio::null()).output().context("attaching a cache")?;
        if !out.status.success() {
            bail!("no cache: {}", String::from_utf8_lossy(&out.stderr).trim_end());
        }
        let attachment: Value = serde_json::from_slice(&out.stdout).context("reading what was attached")?;
        let device = attachment["device"].as_str().context("reading what was attached")?;
        Ok(Self { stage, device: device.into() })
    }
}

impl Drop for Cache<'_> {
    fn drop(&mut self) {
        let detach = || -> anyhow::Result<()> {
            let mut command = program()?;
            command.args(["--quiet", "redcap", "detach", "lab", "--force", "--state-dir"]).arg(self.stage.state());
            tool(&mut command)
        };
        if let Err(e) = detach() {
            eprintln!("{e}");
        }
    }
}

impl ReadOnlyStage {
    fn state(&self) -> PathBuf {
        self.disk.folder().join("redcap")
    }
}

/// Makes the files that loads need. The contents of most do not matter.
fn fill(folder: &Path, share: f64, seed: u64) -> io::Result<()> {
    // All trees at once, so that the file system places them as for many writers.
    thread::scope(|scope| {
        let trees: Vec<_> = (0..TREES)
            .map(|tree| {
                scope.spawn(move || fill_tree(&folder.join(format!("tree{tree:02}")), share, seed + u64::from(tree)))
            })
            .collect();
        trees.into_iter().try_for_each(|tree| tree.join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into())))
    })?;
    for n in 0..LARGE {
        write(&folder.join(format!("large{n}")), (share * LARGE_BYTES) as usize)?;
    }
    write(&folder.join("data"), (share * DATA_BYTES) as usize)?;
    let source = folder.join("source");
    fs::create_dir(&source)?;
    for n in 0..(f64::from(SOURCES) * share).ceil() as u32 {
        let mut text = String::new();
        for h in 0..HEADERS {
            let header = format!("h{n}_{h}.h");
            let declared: String =
                (0..40).map(|d| format!("extern int declared_{n}_{h}_{d}(int, long, char *);\n")).collect();
            fs::write(source.join(&header), declared)?;
            text += &format!("#include \"{header}\"\n");
        }
        text += &format!("int function_{n}(int a) {{ return a + declared_{n}_0_0(a, a, 0); }}\n");
        fs::write(source.join(format!("s{n}.c")), text)?;
    }
    Ok(())
}

fn fill_tree(tree: &Path, share: f64, seed: u64) -> io::Result<()> {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    for d in 0..(DIRECTORIES * share).ceil() as u32 {
        let directory = tree.join(format!("d{d:02}"));
        fs::create_dir_all(&directory)?;
        for f in 0..FILES {
            // Half are a block or less, a quarter two: most of a source tree is small.
            let blocks = (1 + random.random::<u16>().leading_zeros()).min(16);
            fs::write(
                directory.join(format!("f{f:02}")),
                vec![1; 4096 * blocks as usize - random.random_range(0..4096)],
            )?;
        }
    }
    Ok(())
}
