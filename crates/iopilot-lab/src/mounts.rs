//! File systems for an experiment: made, mounted in a private mount namespace, and unmounted when dropped.

use anyhow::{Context as _, bail};
use rustix::mount::{MountPropagationFlags, mount_change};
use rustix::thread::{UnshareFlags, unshare_unsafe};
use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// A kind of file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileSystemKind {
    Ext4,
    Xfs,
}

impl FileSystemKind {
    /// Makes a file system of this kind on a device or in an image.
    pub(crate) fn make(self, image: &Path) -> anyhow::Result<()> {
        // The kernel writes the rest of a lazily made ext4 later, during the measurement.
        let (program, options) = match self {
            Self::Ext4 => ("mkfs.ext4", ["-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0"].as_slice()),
            Self::Xfs => ("mkfs.xfs", ["-q", "-f"].as_slice()),
        };
        tool(Command::new(program).args(options).arg(image))
    }
}

/// Gives this thread and its children a mount namespace of their own. Another process that makes a mount namespace
/// while a file system is mounted here would otherwise copy the mount. The file system and its page cache would then
/// stay after it is unmounted here.
pub(crate) fn keep_mounts_private() -> anyhow::Result<()> {
    // SAFETY: mounts are no memory; only a change of the table of files would be unsafe.
    unsafe { unshare_unsafe(UnshareFlags::NEWNS) }.context("making a mount namespace")?;
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC).context("making mounts private")
}

/// A mounted file system; unmounted when dropped.
pub(crate) struct Mounted<'a>(pub(crate) &'a Path);

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        // Another process, such as a disk manager, may hold the mount for a moment.
        for _ in 0..50 {
            if Command::new("umount").arg(self.0).stderr(Stdio::null()).status().is_ok_and(|status| status.success()) {
                return;
            }
            sleep(Duration::from_millis(100));
        }
    }
}

/// Mounts `what` with `options`.
pub(crate) fn mount<'a>(what: &Path, place: &'a Path, options: &str) -> anyhow::Result<Mounted<'a>> {
    tool(Command::new("mount").args(["-o", options]).arg(what).arg(place))?;
    Ok(Mounted(place))
}

/// Writes a file of `bytes` bytes.
pub(crate) fn write(path: &Path, bytes: usize) -> io::Result<()> {
    let mut file = File::create(path)?;
    let block = vec![1; 1 << 20];
    let mut left = bytes;
    while left > 0 {
        let now = left.min(block.len());
        file.write_all(&block[..now])?;
        left -= now;
    }
    file.sync_all()
}

/// Runs a program. It must succeed.
pub(crate) fn tool(command: &mut Command) -> anyhow::Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    let out = command.stdin(Stdio::null()).output().with_context(|| format!("running {name}"))?;
    if !out.status.success() {
        bail!("{name}: {}", String::from_utf8_lossy(&out.stderr).trim_end());
    }
    Ok(())
}
