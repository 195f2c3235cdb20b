//! [`Readers`]: tasks that read at random, each without a pause.

use crate::LiveError;
use iopilot_block::SECTOR_BYTES;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use rustix::fs::OFlags;
use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle};

/// Bytes of a read, and its alignment.
const BLOCK: usize = 4096;
/// The stack of a task.
const STACK: usize = 128 << 10;

/// Tasks that read blocks at random past the page cache, one at a time each. Dropping it stops them.
#[derive(Debug)]
pub(super) struct Readers {
    path: PathBuf,
    over: Arc<AtomicBool>,
    /// Each returns its number in the kernel when it ends.
    tasks: Vec<JoinHandle<io::Result<u32>>>,
}

impl Readers {
    /// Starts `count` tasks on the disk of `sectors` at `path`.
    pub(super) fn start(path: &Path, sectors: u64, count: u32) -> Result<Self, LiveError> {
        let blocks = sectors * SECTOR_BYTES / BLOCK as u64;
        if blocks == 0 {
            let reason = format!("{sectors} sectors, expected a disk of at least one block of 4 KiB");
            return Err(LiveError::Device { path: path.to_owned(), reason });
        }
        let file = OpenOptions::new().read(true).custom_flags(OFlags::DIRECT.bits() as i32).open(path);
        let file = Arc::new(file.map_err(|e| LiveError::io(path, e))?);
        let mut readers = Self { path: path.to_owned(), over: Arc::default(), tasks: Vec::new() };
        for number in 0..count {
            let (file, over) = (Arc::clone(&file), Arc::clone(&readers.over));
            let task = move || read(&file, blocks, number.into(), &over);
            let started = Builder::new().name("reader".to_owned()).stack_size(STACK).spawn(task);
            readers.tasks.push(started.map_err(|e| LiveError::Failed(format!("starting a reader: {e}")))?);
        }
        Ok(readers)
    }

    /// Stops all. Returns their numbers in the kernel.
    ///
    /// # Errors
    /// Where one could not read.
    pub(super) fn stop(mut self) -> Result<BTreeSet<u32>, LiveError> {
        self.over.store(true, Ordering::Relaxed);
        let mut ids = BTreeSet::new();
        for task in std::mem::take(&mut self.tasks) {
            let ended = task.join().map_err(|_| LiveError::Failed("a reader died".to_owned()))?;
            ids.insert(ended.map_err(|e| LiveError::io(&self.path, e))?);
        }
        Ok(ids)
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        for task in self.tasks.drain(..) {
            // Its error is not reported: another one is.
            let _ = task.join();
        }
    }
}

/// Reads one block after the other until `over`.
fn read(file: &File, blocks: u64, seed: u64, over: &AtomicBool) -> io::Result<u32> {
    let mut memory = vec![0; 2 * BLOCK];
    let start = memory.as_ptr().align_offset(BLOCK);
    let buffer = &mut memory[start..start + BLOCK];
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    while !over.load(Ordering::Relaxed) {
        file.read_exact_at(buffer, random.random_range(0..blocks) * BLOCK as u64)?;
    }
    Ok(rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs())
}
