//! [`VirtualDisk`]: an attached virtual disk, served by another process.

use anyhow::{Context as _, bail};
use iopilot_block::Nanos;
use iopilot_live::vdisk::{self, Attachment, VDISK_STATE, VdiskReset};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// A virtual disk that is detached when dropped.
///
/// Its server is a separate process, because a process must not read a disk that it serves.
pub(super) struct VirtualDisk {
    attachment: Attachment,
    folder: TempDir,
}

impl VirtualDisk {
    /// Attaches a disk of `size` bytes with its data in memory. It logs when requests arrive and leave.
    pub(super) fn attach(disk: &str, size: u64, depth: u32) -> anyhow::Result<Self> {
        let memory = Path::new("/dev/shm");
        let folder =
            if memory.is_dir() { TempDir::new_in(memory) } else { TempDir::new() }.context("making a folder")?;
        let at = |name: &str| folder.path().join(name).into_os_string();
        let mut command = program()?;
        command.args(["--quiet", "vdisk", "attach", "--json", "--disk", disk, "--scheduler", "none"]);
        command.arg("--size").arg(size.to_string()).arg("--depth").arg(depth.to_string());
        command.arg("--backing").arg(at("disk.img")).arg("--requests-out").arg(at("requests.csv"));
        let out = command.stdin(Stdio::null()).output().context("attaching a virtual disk")?;
        if !out.status.success() {
            bail!("no virtual disk: {}", String::from_utf8_lossy(&out.stderr).trim_end());
        }
        let attachment = serde_json::from_slice(&out.stdout).context("reading what was attached")?;
        Ok(Self { attachment, folder })
    }

    /// A folder that is removed with the disk.
    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The file that holds its data.
    pub(super) fn backing(&self) -> &Path {
        &self.attachment.backing
    }

    /// Its block device.
    pub(super) fn device(&self) -> &Path {
        &self.attachment.device
    }

    /// The process id of its server.
    pub(super) fn pid(&self) -> u32 {
        self.attachment.pid
    }

    /// Resets its model to the initial state.
    pub(super) fn reset(&self) -> anyhow::Result<VdiskReset> {
        let reset = vdisk::reset(Path::new(VDISK_STATE), &self.attachment.name);
        Ok(reset.context("resetting a virtual disk")?.1)
    }

    /// Detaches it. Returns the requests that it served, in order of departure.
    pub(super) fn requests(self) -> anyhow::Result<Vec<ServerLogEntry>> {
        self.detach()?;
        let path: PathBuf = self.folder.path().join("requests.csv");
        let text = std::fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
        text.lines()
            .skip(1)
            .map(|line| ServerLogEntry::parse(line).with_context(|| format!("reading `{line}`")))
            .collect()
    }

    fn detach(&self) -> anyhow::Result<()> {
        let out = program()?.args(["--quiet", "vdisk", "detach", &self.attachment.name]).output();
        let out = out.context("detaching a virtual disk")?;
        if !out.status.success() {
            bail!("{} stays attached: {}", self.device().display(), String::from_utf8_lossy(&out.stderr).trim_end());
        }
        Ok(())
    }
}

impl Drop for VirtualDisk {
    fn drop(&mut self) {
        // If it is detached already, this does nothing.
        let _ = self.detach();
    }
}

/// A command that runs this program again.
pub(super) fn program() -> anyhow::Result<Command> {
    Ok(Command::new(std::env::current_exe().context("finding this program")?))
}

/// A request as the server saw it, on the monotonic clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ServerLogEntry {
    pub(super) lba: u64,
    pub(super) arrived: Nanos,
    pub(super) due: Nanos,
    pub(super) left: Nanos,
    /// The time on the clock of the disk's model at its arrival.
    pub(super) model: Nanos,
}

impl ServerLogEntry {
    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split(',').skip(1).map(|word| word.parse::<u64>().ok());
        let mut next = || words.next().flatten();
        let (lba, _, arrived, due, left, model) = (next()?, next()?, next()?, next()?, next()?, next()?);
        Some(Self { lba, arrived: Nanos(arrived), due: Nanos(due), left: Nanos(left), model: Nanos(model) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_log_is_read_as_documented() {
        let served = ServerLogEntry::parse("read,2048,8,100,4100,4125,60");
        let (arrived, due, left, model) = (Nanos(100), Nanos(4100), Nanos(4125), Nanos(60));
        assert_eq!(served, Some(ServerLogEntry { lba: 2048, arrived, due, left, model }));
        assert_eq!(ServerLogEntry::parse("read,2048,8,100"), None);
    }
}
