//! System calls: entering the kernel, copying from the page cache, and looking a path up.

use super::{Extent, median};
use anyhow::Context as _;
use std::fs::{self, File};
use std::hint::black_box;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::time::Instant;

/// KiB that a call copies.
const COPY_KIB: usize = 64;
/// Components of the deep path beyond those of the short one.
const DEPTH: usize = 16;

/// The time of each of `calls` in a batch, us: the median of all batches.
fn each(extent: &Extent, calls: u32, mut call: impl FnMut()) -> f64 {
    median(extent.batches, || {
        let began = Instant::now();
        (0..calls).for_each(|_| call());
        began.elapsed().as_secs_f64() * 1e6 / f64::from(calls)
    })
}

/// The time to enter and leave the kernel, us.
pub(super) fn syscall(extent: &Extent) -> f64 {
    each(extent, 10 * extent.calls, || {
        black_box(rustix::process::getppid());
    })
}

/// The time to copy a KiB from the page cache, us.
pub(super) fn copy_per_kib(extent: &Extent, syscall: f64) -> anyhow::Result<f64> {
    let mut buffer = vec![1; COPY_KIB << 10];
    let file: File = tempfile::tempfile().context("making a file")?;
    file.write_all_at(&buffer, 0).context("writing a file")?;
    let mut wrong = Ok(());
    let us = each(extent, extent.calls.div_ceil(10), || {
        if let Err(error) = file.read_exact_at(&mut buffer, 0) {
            wrong = Err(error);
        }
    });
    wrong.context("reading a file")?;
    Ok((us - syscall).max(0.0) / COPY_KIB as f64)
}

/// The time to look up a cached component of a path, us.
pub(super) fn lookup(extent: &Extent) -> anyhow::Result<f64> {
    let folder = tempfile::tempdir().context("making a folder")?;
    let short: PathBuf = folder.path().to_owned();
    let deep: PathBuf = (0..DEPTH).fold(short.clone(), |path, _| path.join("d"));
    fs::create_dir_all(&deep).context("making a folder")?;
    let stat = |path: &PathBuf| {
        each(extent, extent.calls, || {
            black_box(rustix::fs::stat(path).is_ok());
        })
    };
    Ok((stat(&deep) - stat(&short)).max(0.0) / DEPTH as f64)
}
