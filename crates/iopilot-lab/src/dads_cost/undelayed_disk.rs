//! [`Rival`]: a virtual disk without delays, fio on it, and the daemon beside them, each a process of its own.

use anyhow::{Context as _, bail};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

/// A disk for the experiment alone; it goes when this is dropped.
pub(super) struct Rival {
    folder: tempfile::TempDir,
    program: PathBuf,
    device: String,
}

impl Rival {
    /// Attaches it; or tells what is missing for that.
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
        // In memory, where there is such a place.
        let memory = Path::new("/dev/shm");
        let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }?;
        let mut rival = Self { folder, program: env::current_exe()?, device: String::new() };
        let out = rival
            .command(&["vdisk", "attach", "--disk", "none", "--size", "1G", "--backing", "disk.img", "--json"])
            .args(["--state-dir", "state"])
            .output()?;
        let told: Value = serde_json::from_slice(&out.stdout).context("attaching a virtual disk")?;
        rival.device = told["device"].as_str().context("attaching a virtual disk")?.to_owned();
        // Nothing of it is to be a hole.
        let device = format!("of={}", rival.device);
        let _ =
            Command::new("dd").args(["if=/dev/zero", &device, "bs=1M", "oflag=direct"]).stderr(Stdio::null()).status();
        Ok(Ok(rival))
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(words).current_dir(self.folder.path());
        command
    }

    /// Reads at random for `time`, `depth` requests in flight; how many a second.
    pub(super) fn fio(&self, depth: u64, time: Duration) -> anyhow::Result<f64> {
        let out = Command::new("fio")
            .args(["--name=r", "--rw=randread", "--bs=4k", "--ioengine=libaio", "--direct=1", "--time_based"])
            .arg(format!("--filename={}", self.device))
            .arg(format!("--iodepth={depth}"))
            .arg(format!("--runtime={}", time.as_secs()))
            .arg("--output-format=json")
            .output()?;
        let told: Value = serde_json::from_slice(&out.stdout).context("what fio tells")?;
        told["jobs"][0]["read"]["iops"].as_f64().context("what fio tells")
    }

    /// Starts the daemon, in a dry run, and waits until it answers.
    pub(super) fn fly(&self) -> anyhow::Result<Flying> {
        const PATIENCE: Duration = Duration::from_secs(30);
        let child = self
            .command(&["dads", "run", &self.device, "--disk", "ssd-160-simple", "--dry-run", "--runtime-dir", "run"])
            .stderr(Stdio::null())
            .spawn()?;
        let flying = Flying(child);
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
        Ok(flying)
    }
}

impl Drop for Rival {
    fn drop(&mut self) {
        let mut detach = self.command(&["vdisk", "detach", "--all", "--force", "--state-dir", "state"]);
        let _ = detach.stdout(Stdio::null()).stderr(Stdio::null()).status();
    }
}

/// A daemon; killed where it is not landed.
pub(super) struct Flying(Child);

impl Flying {
    /// The most memory that was resident, KiB.
    pub(super) fn peak_kib(&self) -> anyhow::Result<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.0.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("VmHWM in /proc")?;
        Ok(line.trim().trim_end_matches(" kB").parse()?)
    }

    /// The CPU time that its threads have had.
    pub(super) fn cpu(&self) -> anyhow::Result<Duration> {
        let mut all = 0;
        for task in fs::read_dir(format!("/proc/{}/task", self.0.id()))? {
            let told = fs::read_to_string(task?.path().join("schedstat"))?;
            all += told.split_whitespace().next().context("schedstat in /proc")?.parse::<u64>()?;
        }
        Ok(Duration::from_nanos(all))
    }

    /// Ends it as a user would.
    pub(super) fn land(mut self) -> anyhow::Result<()> {
        Command::new("kill").arg("-TERM").arg(self.0.id().to_string()).status()?;
        self.0.wait()?;
        Ok(())
    }
}

impl Drop for Flying {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
