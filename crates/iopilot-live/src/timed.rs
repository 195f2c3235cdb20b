//! [`TimedDisk`]: a real disk as a [`TimedDevice`], for training (GF 3.2.5, 4.3.5) and probing (GF 4.3.6).

use crate::block_server::become_real_time;
use crate::dads::{Journal, recover};
use crate::{BlockQueue, LiveError, QueueState};
use iopilot_block::{Lba, Nanos, Op, SECTOR_BYTES, Sectors};
use iopilot_device::TimedDevice;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use rustix::fs::{Advice, OFlags, fadvise};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

/// The alignment of buffers for direct I/O; no device needs more.
const ALIGNMENT: usize = 4096;
/// Reads of 4 kB that a restart scatters, each of which takes a segment of the disk's cache; disks have fewer.
const SCATTERED: u32 = 256;
/// Sectors in a block of 4 kB.
const BLOCK: u64 = 8;
/// The last part of a pause, in which the thread spins.
const SPUN: Duration = Duration::from_micros(200);
/// The most that a restart reads in one piece, in sectors: 256 MiB.
const MOST_DISPLACED: u64 = 1 << 19;

/// A disk that one process uses directly, past the page cache, one request at a time.
#[derive(Debug)]
pub struct TimedDisk {
    path: PathBuf,
    name: String,
    file: File,
    capacity: u64,
    /// The buffers for reads and for writes.
    buffers: [Buffer; 2],
    /// Sectors in the disk's own cache, as far as is known.
    cache: u64,
    random: Pcg64Mcg,
    /// Where its clock begins, and when the last call ended.
    origin: Instant,
    now: Nanos,
    /// While it is open, CPUs stay out of deep idle states.
    awake: Option<File>,
}

impl TimedDisk {
    /// The disk at `path`. Unless `destroy_data`, it is opened for reading and cannot be written to. With it, the disk
    /// is claimed for this process alone. `cache_kib` is the size of the disk's cache, which a restart displaces.
    ///
    /// # Errors
    /// Where `path` is no disk, without permission, and, with `destroy_data`, for a disk in use: mounted, or held by
    /// another driver or process, as a whole or a partition of it.
    pub fn open(path: &Path, destroy_data: bool, cache_kib: u64) -> Result<Self, LiveError> {
        let wrong = |reason: String| LiveError::Device { path: path.to_owned(), reason };
        // A killed process may have left a disk without a scheduler.
        recover(Path::new(TIMED))?;
        let queue = BlockQueue::open(path)?;
        let mut flags = OFlags::DIRECT;
        if destroy_data {
            if let Some(holder) = fs::read_dir(queue.sysfs().join("holders")).ok().and_then(|mut found| found.next()) {
                let holder = holder.map(|h| h.file_name().to_string_lossy().into_owned()).unwrap_or_default();
                return Err(wrong(format!("in use by {holder}, expected a disk whose content nobody needs")));
            }
            flags |= OFlags::EXCL;
        }
        let file = OpenOptions::new().read(true).write(destroy_data).custom_flags(flags.bits() as i32).open(path);
        let file = file.map_err(|e| match e.kind() {
            io::ErrorKind::ResourceBusy => wrong(
                "in use (mounted, or held by another program), expected a disk whose content nobody needs".to_owned(),
            ),
            _ => LiveError::io(path, e),
        })?;
        let size = fs::read_to_string(queue.sysfs().join("size"));
        let capacity: u64 = size.ok().and_then(|text| text.trim().parse().ok()).unwrap_or_default();
        if capacity < 2 * BLOCK {
            return Err(wrong(format!("{capacity} sectors, expected a disk of at least {}", 2 * BLOCK)));
        }
        Ok(Self {
            path: path.to_owned(),
            name: queue.name().to_owned(),
            file,
            capacity,
            buffers: Default::default(),
            cache: cache_kib.saturating_mul(2),
            random: Pcg64Mcg::seed_from_u64(0),
            origin: Instant::now(),
            now: Nanos::ZERO,
            awake: None,
        })
    }

    /// Gives the calling thread real-time priority, so that it measures the disk and not the load of the CPU. Returns
    /// whether the kernel allowed it.
    pub fn run_first(&self) -> bool {
        // Below the threads that serve a virtual disk.
        become_real_time(1)
    }

    /// Keeps CPUs out of deep idle states for as long as this exists. A request then takes the same time after a long
    /// one as after a short one. Returns whether the kernel allowed it.
    pub fn keep_awake(&mut self) -> bool {
        let hold = || -> io::Result<File> {
            let mut file = OpenOptions::new().write(true).open("/dev/cpu_dma_latency")?;
            // A latency of 0 us; the kernel forgets it when the file is closed
            // (Documentation/power/pm_qos_interface.rst).
            file.write_all(&0i32.to_ne_bytes())?;
            Ok(file)
        };
        self.awake = hold().ok();
        self.awake.is_some()
    }

    fn failed(&self, error: io::Error) -> LiveError {
        // An unplugged disk has no path any more, only this open file.
        if self.path.exists() { LiveError::io(&self.path, error) } else { LiveError::Unplugged(self.name.clone()) }
    }

    /// A random block.
    fn anywhere(&mut self, sectors: u64) -> Lba {
        Lba(self.random.random_range(0..=self.capacity.saturating_sub(sectors) / BLOCK) * BLOCK)
    }
}

impl TimedDevice for TimedDisk {
    type Error = LiveError;

    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn serve(&mut self, op: Op, lba: Lba, sectors: Sectors) -> Result<Nanos, LiveError> {
        let (bytes, offset) = (sectors.0 as usize * SECTOR_BYTES as usize, lba.0 * SECTOR_BYTES);
        let data = self.buffers[usize::from(op != Op::Read)].of(bytes);
        let began = Instant::now();
        let done = match op {
            Op::Read => self.file.read_at(data, offset),
            Op::Write => self.file.write_at(data, offset),
            Op::Flush | Op::Discard => self.file.sync_data().map(|()| bytes),
        };
        let ended = Instant::now();
        self.now = nanos(ended - self.origin);
        match done {
            Ok(n) if n == bytes => Ok(nanos(ended - began)),
            Ok(_) => Err(self.failed(io::ErrorKind::UnexpectedEof.into())),
            Err(e) => Err(self.failed(e)),
        }
    }

    /// Each read has a thread of its own. There is no I/O scheduler, which would order them before the disk does.
    fn serve_together(
        &mut self,
        reads: &[Lba],
        sectors: Sectors,
        in_flight: usize,
        ended: &mut Vec<Nanos>,
    ) -> Result<(), LiveError> {
        let _scheduler = Unscheduled::new(&self.path)?;
        let bytes = sectors.0 as usize * SECTOR_BYTES as usize;
        let (file, next) = (&self.file, AtomicUsize::new(0));
        let begun = Instant::now();
        let served = thread::scope(|scope| {
            let serve = || -> io::Result<Vec<(usize, Nanos)>> {
                let (mut buffer, mut own) = (Buffer::default(), Vec::new());
                let data = buffer.of(bytes);
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    let Some(lba) = reads.get(i) else { return Ok(own) };
                    file.read_exact_at(data, lba.0 * SECTOR_BYTES)?;
                    own.push((i, nanos(begun.elapsed())));
                }
            };
            let threads: Vec<_> = (0..in_flight.clamp(1, reads.len().max(1))).map(|_| scope.spawn(serve)).collect();
            let joined = threads.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
            joined.collect::<io::Result<Vec<_>>>()
        });
        self.now = nanos(self.origin.elapsed());
        let served = served.map_err(|e| self.failed(e))?;
        ended.clear();
        ended.resize(reads.len(), Nanos::ZERO);
        for (i, at) in served.into_iter().flatten() {
            ended[i] = at;
        }
        Ok(())
    }

    /// A disk cannot be restarted from here, and GF 4.3.6 reboots the computer. Instead, all that its cache may hold is
    /// displaced: each of many scattered reads takes a segment, and as much as twice the cache is read in one go.
    fn restart(&mut self) -> Result<(), LiveError> {
        fadvise(&self.file, 0, None, Advice::DontNeed).map_err(|e| self.failed(e.into()))?;
        if self.cache == 0 {
            return Ok(());
        }
        let piece = 256.min(self.capacity / BLOCK * BLOCK);
        let all = (2 * self.cache).min(MOST_DISPLACED).min(self.capacity / 2);
        let mut at = self.anywhere(all + piece);
        let end = at.0 + all;
        while at.0 < end {
            self.serve(Op::Read, at, Sectors(piece as u32))?;
            at.0 += piece;
        }
        for _ in 0..SCATTERED {
            let at = self.anywhere(BLOCK);
            self.serve(Op::Read, at, Sectors(BLOCK as u32))?;
        }
        Ok(())
    }

    /// Ends exactly on time, by spinning: waking up late could miss the sector.
    fn pause(&mut self, time: Nanos) -> Result<(), LiveError> {
        let until = Instant::now() + Duration::from_nanos(time.0);
        sleep(Duration::from_nanos(time.0).saturating_sub(SPUN));
        while Instant::now() < until {
            std::hint::spin_loop();
        }
        self.now = nanos(self.origin.elapsed());
        Ok(())
    }

    fn now(&self) -> Nanos {
        self.now
    }
}

/// The folder with the schedulers of disks that are read without one, so that they can be restored after a killed
/// process.
const TIMED: &str = "/run/iopilot/timed";

/// A disk without an I/O scheduler. Dropping this restores the former scheduler.
struct Unscheduled {
    queue: BlockQueue,
    /// `None` where there was no scheduler to begin with.
    found: Option<(QueueState, Journal)>,
}

impl Unscheduled {
    const NONE: &str = "none";

    fn new(path: &Path) -> Result<Self, LiveError> {
        let queue = BlockQueue::open(path)?;
        let state = queue.state()?;
        if state.scheduler == Self::NONE {
            return Ok(Self { queue, found: None });
        }
        let journal = Journal::begin(Path::new(TIMED), path, &queue, &state)?;
        let unscheduled = Self { queue, found: Some((state, journal)) };
        unscheduled.queue.set_scheduler(Self::NONE)?;
        Ok(unscheduled)
    }
}

impl Drop for Unscheduled {
    fn drop(&mut self) {
        if let Some((state, journal)) = self.found.take() {
            // A disk that is gone has no scheduler.
            let _ = self.queue.restore(&state);
            let _ = journal.end();
        }
    }
}

fn nanos(time: Duration) -> Nanos {
    Nanos(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}

/// Memory for direct I/O, aligned to [`ALIGNMENT`]. It starts with random content, which no disk can compress.
#[derive(Debug, Default)]
struct Buffer {
    memory: Vec<u8>,
}

impl Buffer {
    fn of(&mut self, bytes: usize) -> &mut [u8] {
        if self.memory.len() < bytes + ALIGNMENT {
            self.memory = vec![0; bytes + ALIGNMENT];
            Pcg64Mcg::seed_from_u64(0).fill(&mut self.memory[..]);
        }
        let start = self.memory.as_ptr().align_offset(ALIGNMENT);
        &mut self.memory[start..start + bytes]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_aligned_and_incompressible() {
        let mut buffer = Buffer::default();
        for bytes in [512, 131_072, 4096] {
            let data = buffer.of(bytes);
            assert_eq!((data.len(), data.as_ptr() as usize % ALIGNMENT), (bytes, 0));
            assert!(data.iter().filter(|&&b| b == 0).count() < bytes / 64);
        }
    }

    #[test]
    fn what_is_no_disk_is_refused() {
        let error = TimedDisk::open(Path::new("/dev/null"), false, 0).unwrap_err();
        assert_eq!(error.to_string(), "/dev/null: not a block device, expected a disk such as /dev/sda");
    }
}
