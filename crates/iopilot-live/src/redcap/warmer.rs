//! [`Warmer`]: the thread that keeps the addresses of what a cache holds, and reads it again after a restart.

use super::body::now;
use super::cached_disk::CachedDisk;
use super::status::WarmStatus;
use super::warm_file::{Found, WarmFile};
use crate::LiveError;
use iopilot_block::{Lba, Nanos};
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
/// From one look at what the cache holds to the next: it is forgotten when the cache is turned off.
const NOTED: Nanos = Nanos::from_secs(5);
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
    /// What the cache held when it was last on, and looked at.
    held: Vec<u64>,
    /// What the file holds.
    written: Vec<u64>,
}

/// Segments of `sectors` each as those of the file, of `unit` sectors: `adaptive` may have given the cache others meanwhile.
fn in_units(segments: &[u64], sectors: u64, unit: u64) -> Vec<u64> {
    let mut units = Vec::with_capacity(segments.len());
    for segment in segments {
        let (from, to) = (segment * sectors / unit, ((segment + 1) * sectors).div_ceil(unit));
        units.extend((from..to).filter(|unit| units.last() != Some(unit)).collect::<Vec<_>>());
    }
    units
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
        Ok((Self { file, most, left, held: Vec::new(), written }, useless))
    }

    /// What there is to tell before anything is done.
    pub(super) fn status(&self) -> WarmStatus {
        WarmStatus { read: 0, left: self.left.len() as u64, kept: self.written.len() as u64 }
    }

    /// Reads what was held in order of the disk, a segment at a time, while the cache is on and the disk has nothing else to
    /// do; and writes the file now and then, until the sender of `stop` is dropped, and then once more.
    pub(super) fn run(mut self, disk: &CachedDisk, shared: &SharedWarmth, stop: &Receiver<()>) {
        let (mut noted, mut written) = (now(), now());
        let mut active = false;
        while stop.recv_timeout(if active && !self.left.is_empty() { LOOK } else { REST })
            == Err(RecvTimeoutError::Timeout)
        {
            active = self.read_next(disk, shared);
            let at = now();
            if at.since(noted) >= NOTED {
                noted = at;
                self.note(disk);
            }
            if at.since(written) >= PERIOD {
                written = at;
                self.write(shared);
            }
        }
        self.note(disk);
        self.write(shared);
    }

    /// Reads the next segment, if this is the time for it. Whether the cache is on.
    fn read_next(&mut self, disk: &CachedDisk, shared: &SharedWarmth) -> bool {
        let unit = self.file.segment_sectors();
        let left = &mut self.left;
        let (active, read) = disk.with(|body| {
            let (active, at) = (body.cache.state().is_active(), now());
            let mut read = false;
            if active && body.is_quiet(at, QUIET) {
                // Those that are in the cache already, or find no room, are done with.
                while !read {
                    let Some(segment) = left.pop() else { break };
                    read = body.warm(Lba(segment.saturating_mul(unit)), at);
                }
            }
            (active, read)
        });
        let mut status = shared.lock().unwrap_or_else(PoisonError::into_inner);
        status.left = self.left.len() as u64;
        status.read += u64::from(read);
        active
    }

    /// Notes what the cache holds. One that is off holds nothing: then what is noted stays.
    fn note(&mut self, disk: &CachedDisk) {
        let body = disk.lock();
        if body.cache.state().is_active() {
            self.held = in_units(&body.cache.held(), body.segment_sectors(), self.file.segment_sectors());
        }
    }

    /// Writes what the cache held, and what is still to be read, where that has changed.
    fn write(&mut self, shared: &SharedWarmth) {
        let mut seen = HashSet::new();
        let mut segments: Vec<u64> = self.held.iter().chain(&self.left).copied().collect();
        segments.retain(|segment| seen.insert(*segment));
        segments.truncate(self.most);
        // One that was never on leaves the file as it is.
        if !segments.is_empty() && !self.is_written(&segments) {
            if let Err(e) = self.file.write(&segments) {
                eprintln!("{e}");
                return;
            }
            self.written = segments;
        }
        shared.lock().unwrap_or_else(PoisonError::into_inner).kept = self.written.len() as u64;
    }

    /// Whether the file has these segments already, in whatever order: while nothing else is held, they were not used since.
    fn is_written(&self, segments: &[u64]) -> bool {
        let sorted = |segments: &[u64]| {
            let mut sorted = segments.to_vec();
            sorted.sort_unstable();
            sorted
        };
        segments == self.written || (self.held.is_empty() && sorted(segments) == sorted(&self.written))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_of_another_size_are_those_of_the_file_in_the_same_place() {
        assert_eq!(in_units(&[3, 0], 256, 256), [3, 0]);
        assert_eq!(in_units(&[3, 0], 512, 256), [6, 7, 0, 1]);
        assert_eq!(in_units(&[7, 6, 1], 128, 256), [3, 0], "two halves are one");
    }
}
