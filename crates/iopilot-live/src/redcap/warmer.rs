//! [`Warmer`]: the thread that keeps the addresses of what a cache holds, and reads it again after a restart.

use super::body::now;
use super::cached_disk::CachedDisk;
use super::status::WarmStatus;
use super::warm_file::{Found, WarmFile};
use crate::LiveError;
use iopilot_block::Nanos;
use std::collections::HashSet;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// From one segment to the next, where nobody uses the disk.
const LOOK: Duration = Duration::from_millis(2);
/// The same where there is nothing to read, or the cache is off.
const REST: Duration = Duration::from_millis(250);
/// The disk has had nothing to do for so long: a reader who goes on at once is not to find a prefetch before it.
const QUIET: Nanos = Nanos::from_millis(20);
/// From one time that the file is written to the next.
const PERIOD: Nanos = Nanos::from_secs(60);

/// What the thread tells.
pub(super) type SharedWarmth = Arc<Mutex<WarmStatus>>;

/// Keeps the addresses of what a cache holds, and reads it again after a restart.
pub(super) struct Warmer {
    file: WarmFile,
    /// Segments of the cache.
    most: usize,
    /// What is left to be read, in descending order of the disk.
    left: Vec<u64>,
    /// What the file holds.
    written: Vec<u64>,
}

impl Warmer {
    /// Reads the file of a cache of `most` segments; and a line on what is wrong with it, where it is of no use.
    ///
    /// # Errors
    /// Where it cannot be read, or is of another kind.
    pub(super) fn new(file: WarmFile, most: usize) -> Result<(Self, Option<String>), LiveError> {
        let (written, useless) = match file.read()? {
            Found::Segments(segments) => (segments, None),
            Found::Useless(why) => (Vec::new(), Some(format!("the cache begins cold: {why}"))),
        };
        let mut left = written.clone();
        left.truncate(most);
        left.sort_unstable_by(|a, b| b.cmp(a));
        Ok((Self { file, most, left, written }, useless))
    }

    /// Reads what was held in order of the disk, a segment at a time, while the cache is on and the disk has nothing else to
    /// do; and writes the file now and then, until the sender of `stop` is dropped, and then once more.
    pub(super) fn run(mut self, disk: &CachedDisk, shared: &SharedWarmth, stop: &Receiver<()>) {
        let mut written = now();
        let mut active = false;
        while stop.recv_timeout(if active && !self.left.is_empty() { LOOK } else { REST })
            == Err(RecvTimeoutError::Timeout)
        {
            active = self.read_next(disk, shared);
            if now().since(written) >= PERIOD {
                written = now();
                self.write(disk, shared);
            }
        }
        self.write(disk, shared);
    }

    /// Reads the next segment, if this is the time for it. Whether the cache is on.
    fn read_next(&mut self, disk: &CachedDisk, shared: &SharedWarmth) -> bool {
        let left = &mut self.left;
        let (active, read) = disk.with(|body| {
            let (active, at) = (body.cache.state().is_active(), now());
            let mut read = false;
            if active && body.is_quiet(at, QUIET) {
                // Those that are in the cache already, or find no room, are done with.
                while !read {
                    let Some(segment) = left.pop() else { break };
                    read = body.warm(segment, at);
                }
            }
            (active, read)
        });
        let mut status = shared.lock().unwrap_or_else(PoisonError::into_inner);
        status.left = self.left.len() as u64;
        status.read += u64::from(read);
        active
    }

    /// Writes what the cache holds, and what is still to be read. An inactive cache holds nothing: then the file stays as it is.
    fn write(&mut self, disk: &CachedDisk, shared: &SharedWarmth) {
        let (active, held) = {
            let body = disk.lock();
            (body.cache.state().is_active(), body.cache.held())
        };
        if !active {
            return;
        }
        let mut seen = HashSet::new();
        let mut segments: Vec<u64> = held.into_iter().chain(self.left.iter().copied()).collect();
        segments.retain(|segment| seen.insert(*segment));
        segments.truncate(self.most);
        if segments != self.written {
            if let Err(e) = self.file.write(&segments) {
                eprintln!("{e}");
                return;
            }
            self.written = segments;
        }
        shared.lock().unwrap_or_else(PoisonError::into_inner).kept = self.written.len() as u64;
    }
}
