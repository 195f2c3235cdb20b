//! [`UndelayedDisk`]: a virtual disk without delays. fio and the daemon use it, each in its own process.

use anyhow::{Context as _, bail};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

/// A virtual disk of the experiment's own; detached when dropped.
pub(super) struct UndelayedDisk {
    folder: tempfile::TempDir,
    program: PathBuf,
    device: String,
}

impl UndelayedDisk {
    /// Attaches the disk. The inner error names what this machine does not have.
    pub(super) fn attach() -> anyhow::Result<Result<Self, &'static str>> {
        if fs::File::options().write(true).open("/dev/loop-control").is_err() {
            return Ok(Err("it needs root and loop devices"));
        }
        if fs::File::options().write(true).open("/dev/fuse").is_err() {
            return Ok(Err("it needs FUSE"));
        }
        if Command::new("fio").arg("--version").stdout(Stdio::null()).status().is_err() {
            return Ok(Err("it needs fio"));
        }
        // In memory, if possible.
        let memory = Path::new("/dev/shm");
        let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }?;
        let mut disk = Self { folder, program: env::current_exe()?, device: String::new() };
        let out = disk
            .command(&["vdisk", "attach", "--disk", "none", "--size", "1G", "--backing", "disk.img", "--json"])
            .args(["--state-dir", "state"])
            .output()?;
        let reply: Value = serde_json::from_slice(&out.stdout).context("attaching a virtual disk")?;
        disk.device = reply["device"].as_str().context("attaching a virtual disk")?.to_owned();
        // Every block is written once, so that the backing file has no holes.
        let device = format!("of={}", disk.device);
        let _ =
            Command::new("dd").args(["if=/dev/zero", &device, "bs=1M", "oflag=direct"]).stderr(Stdio::null()).status();
        Ok(Ok(disk))
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(words).current_dir(self.folder.path());
        command
    }

    /// Random reads a second, measured over `time` with `depth` requests in flight.
    pub(super) fn fio(&self, depth: u64, time: Duration) -> anyhow::Result<f64> {
        let out = Command::new("fio")
            .args(["--name=r", "--rw=randread", "--bs=4k", "--ioengine=libaio", "--direct=1", "--time_based"])
            .arg(format!("--filename={}", self.device))
            .arg(format!("--iodepth={depth}"))
            .arg(format!("--runtime={}", time.as_secs()))
            .arg("--output-format=json")
            .output()?;
        let reply: Value = serde_json::from_slice(&out.stdout).context("reading fio's output")?;
        reply["jobs"][0]["read"]["iops"].as_f64().context("reading fio's output")
    }

    /// Starts the daemon in a dry run and waits until it answers.
    pub(super) fn start_daemon(&self) -> anyhow::Result<RunningDaemon> {
        const PATIENCE: Duration = Duration::from_secs(30);
        let child = self
            .command(&["dads", "run", &self.device, "--disk", "ssd-160-simple", "--dry-run", "--runtime-dir", "run"])
            .stderr(Stdio::null())
            .spawn()?;
        let daemon = RunningDaemon(child);
        let began = Instant::now();
        let answers = || {
            let status = self
                .command(&["dads", "status", "--runtime-dir", "run"])
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status();
            status.is_ok_and(|status| status.success())
        };
        while !answers() {
            if began.elapsed() > PATIENCE {
                bail!("the daemon does not answer");
            }
            thread::sleep(Duration::from_millis(50));
        }
        Ok(daemon)
    }
}

impl Drop for UndelayedDisk {
    fn drop(&mut self) {
        let mut detach = self.command(&["vdisk", "detach", "--all", "--force", "--state-dir", "state"]);
        let _ = detach.stdout(Stdio::null()).stderr(Stdio::null()).status();
    }
}

/// A running daemon; killed when dropped without [`RunningDaemon::stop`].
pub(super) struct RunningDaemon(Child);

impl RunningDaemon {
    /// The peak of its resident memory, KiB.
    pub(super) fn peak_kib(&self) -> anyhow::Result<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.0.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("VmHWM in /proc")?;
        Ok(line.trim().trim_end_matches(" kB").parse()?)
    }

    /// The CPU time of all its threads.
    pub(super) fn cpu(&self) -> anyhow::Result<Duration> {
        let mut all = 0;
        for task in fs::read_dir(format!("/proc/{}/task", self.0.id()))? {
            let schedstat = fs::read_to_string(task?.path().join("schedstat"))?;
            all += schedstat.split_whitespace().next().context("schedstat in /proc")?.parse::<u64>()?;
        }
        Ok(Duration::from_nanos(all))
    }

    /// Ends it with SIGTERM, as a user would.
    pub(super) fn stop(mut self) -> anyhow::Result<()> {
        Command::new("kill").arg("-TERM").arg(self.0.id().to_string()).status()?;
        self.0.wait()?;
        Ok(())
    }
}

impl Drop for RunningDaemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
