//! [`FileSystem`]: ext4 on the virtual disk, with what the benchmarks read.

use super::Plan;
use super::benchmark::{LARGE, TREE, folder};
use crate::virtual_disk::VirtualDisk;
use anyhow::{Context as _, bail};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// Of the large files, in the whole experiment.
const LARGE_BYTES: f64 = 64e6;
/// Directories in a tree, and files in each.
const DIRECTORIES: f64 = 36.0;
const FILES: u32 = 10;

/// A file system that is not mounted.
pub(super) struct FileSystem {
    mount_point: PathBuf,
}

/// A file system that is; unmounted when dropped.
pub(super) struct Mounted<'a>(&'a Path);

impl Mounted<'_> {
    pub(super) fn path(&self) -> &Path {
        self.0
    }
}

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        // Whoever looks at it for a moment, such as a disk manager, goes away again.
        for _ in 0..50 {
            if Command::new("umount").arg(self.0).stderr(Stdio::null()).status().is_ok_and(|status| status.success()) {
                return;
            }
            sleep(Duration::from_millis(100));
        }
    }
}

impl FileSystem {
    /// Makes it, and all files. What is in them does not matter.
    pub(super) fn make(disk: &VirtualDisk, plan: &Plan, seed: u64) -> anyhow::Result<Self> {
        let mount_point = disk.folder().join("mnt");
        fs::create_dir(&mount_point).context("making a mount point")?;
        tool(
            Command::new("mkfs.ext4")
                .args(["-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0"])
                .arg(disk.device()),
        )?;
        let files = Self { mount_point };
        let mounted = files.mount(disk)?;
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        for n in 0..plan.load.processes {
            let folder = folder(mounted.path(), n);
            let tree = folder.join(TREE);
            for d in 0..(DIRECTORIES * plan.load.share).ceil() as u32 {
                let directory = tree.join(format!("d{d:02}"));
                fs::create_dir_all(&directory).with_context(|| format!("making {}", directory.display()))?;
                for f in 0..FILES {
                    // Half are a block or less, a quarter two: most of a source tree is small.
                    let blocks = (1 + random.random::<u16>().leading_zeros()).min(16);
                    write(&directory.join(format!("f{f:02}")), 4096 * blocks as usize - random.random_range(0..4096))?;
                }
            }
            write(&folder.join(LARGE), (plan.load.share * LARGE_BYTES) as usize)?;
        }
        drop(mounted);
        Ok(files)
    }

    /// Mounts it.
    pub(super) fn mount(&self, disk: &VirtualDisk) -> anyhow::Result<Mounted<'_>> {
        tool(Command::new("mount").args(["-o", "noatime"]).arg(disk.device()).arg(&self.mount_point))?;
        Ok(Mounted(&self.mount_point))
    }

    /// Whether it is sound.
    pub(super) fn check(&self, disk: &VirtualDisk) -> anyhow::Result<()> {
        tool(Command::new("e2fsck").args(["-f", "-n"]).arg(disk.device()))
    }
}

fn write(path: &Path, bytes: usize) -> anyhow::Result<()> {
    let written =
        fs::File::create(path).and_then(|mut file| file.write_all(&vec![1; bytes]).and_then(|()| file.sync_all()));
    written.with_context(|| format!("writing {}", path.display()))
}

fn tool(command: &mut Command) -> anyhow::Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    let out =
        command.stdin(Stdio::null()).output().with_context(|| format!("running {name} (of e2fsprogs or mount)"))?;
    if !out.status.success() {
        bail!("{name}: {}", String::from_utf8_lossy(&out.stderr).trim_end());
    }
    Ok(())
}
