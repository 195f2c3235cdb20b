//! [`BenchmarkFileSystem`]: ext4 on the virtual disk, with the files of the benchmarks.

use super::benchmark::{LARGE, TREE, folder};
use super::plan::DadsLivePlan;
use crate::mounts::{FileSystemKind, Mounted, mount, tool, write};
use crate::virtual_disk::VirtualDisk;
use anyhow::Context as _;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// Bytes of a large file, for the full amount.
const LARGE_BYTES: f64 = 64e6;
/// Directories in a tree, and files in each.
const DIRECTORIES: f64 = 36.0;
const FILES: u32 = 10;

/// A file system that is not mounted.
pub(super) struct BenchmarkFileSystem {
    mount_point: PathBuf,
}

impl BenchmarkFileSystem {
    /// Makes the file system and all files. Their contents do not matter.
    pub(super) fn make(disk: &VirtualDisk, plan: &DadsLivePlan, seed: u64) -> anyhow::Result<Self> {
        let mount_point = disk.folder().join("mnt");
        fs::create_dir(&mount_point).context("making a mount point")?;
        FileSystemKind::Ext4.make(disk.device())?;
        let files = Self { mount_point };
        let mounted = files.mount(disk)?;
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        for n in 0..plan.load.processes {
            let folder = folder(mounted.0, n);
            let tree = folder.join(TREE);
            for d in 0..(DIRECTORIES * plan.load.share).ceil() as u32 {
                let directory = tree.join(format!("d{d:02}"));
                fs::create_dir_all(&directory).with_context(|| format!("making {}", directory.display()))?;
                for f in 0..FILES {
                    // Half are a block or less, a quarter two: most of a source tree is small.
                    let blocks = (1 + random.random::<u16>().leading_zeros()).min(16);
                    let bytes = 4096 * blocks as usize - random.random_range(0..4096);
                    write(&directory.join(format!("f{f:02}")), bytes).context("writing a tree")?;
                }
            }
            write(&folder.join(LARGE), (plan.load.share * LARGE_BYTES) as usize).context("writing a large file")?;
        }
        drop(mounted);
        Ok(files)
    }

    /// Mounts the file system.
    pub(super) fn mount(&self, disk: &VirtualDisk) -> anyhow::Result<Mounted<'_>> {
        mount(disk.device(), &self.mount_point, "noatime")
    }

    /// Checks the file system for errors.
    pub(super) fn check(&self, disk: &VirtualDisk) -> anyhow::Result<()> {
        tool(Command::new("e2fsck").args(["-f", "-n"]).arg(disk.device()))
    }
}
