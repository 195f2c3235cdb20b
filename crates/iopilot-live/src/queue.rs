//! [`BlockQueue`]: the request queue of a disk, as `/sys/block/*/queue` shows it.

use crate::LiveError;
use crate::block_server::before_all_others;
use iopilot_block::SECTOR_BYTES;
use iopilot_sched::NO_SCHEDULER;
use rustix::fs::{major, minor};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// The request queue of a disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockQueue {
    name: String,
    sysfs: PathBuf,
}

/// The settings that a change of scheduler may affect, so that they can be restored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueState {
    /// The scheduler in use.
    pub scheduler: String,
    /// Its tunables, by name, in the kernel's units.
    pub tunables: BTreeMap<String, String>,
    /// Attributes of the queue that a change of scheduler sets to defaults, by name.
    pub attributes: BTreeMap<String, String>,
}

/// The kernel's own counters of a disk's requests, since the disk appeared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Completed requests, counted before merging.
    pub requests: u64,
    /// Their bytes; flushes have none.
    pub bytes: u64,
}

impl Traffic {
    /// Parses `/sys/block/*/stat`; kernels before 4.18 count no discards, those before 5.5 no flushes.
    fn parse(text: &str) -> Option<Self> {
        /// Where requests, merged ones and sectors of reads, writes and discards are counted, and requests of flushes.
        const REQUESTS: [usize; 7] = [0, 1, 4, 5, 11, 12, 15];
        const SECTORS: [usize; 3] = [2, 6, 13];
        let fields: Vec<u64> = text.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
        let sum = |of: &[usize]| of.iter().filter_map(|&at| fields.get(at)).sum::<u64>();
        (fields.len() >= 11).then(|| Self { requests: sum(&REQUESTS), bytes: SECTOR_BYTES * sum(&SECTORS) })
    }
}

/// The attributes that a change of scheduler sets to the new one's defaults.
const RESET: [&str; 2] = ["nr_requests", "wbt_lat_usec"];

/// The directory in sysfs of the block device at `path`: a disk or a partition.
fn sysfs_of(path: &Path) -> Result<PathBuf, LiveError> {
    let wrong = |reason: &str| LiveError::Device { path: path.to_owned(), reason: reason.to_owned() };
    let metadata = fs::metadata(path).map_err(|e| wrong(&e.to_string()))?;
    if !metadata.file_type().is_block_device() {
        return Err(wrong("not a block device, expected a disk such as /dev/sda"));
    }
    let link = PathBuf::from(format!("/sys/dev/block/{}:{}", major(metadata.rdev()), minor(metadata.rdev())));
    fs::canonicalize(&link).map_err(|e| LiveError::io(&link, e))
}

/// The directory in sysfs of the disk at `path`, or of the disk that the partition at `path` is on.
///
/// # Errors
/// Where `path` is no block device.
pub(crate) fn disk_of(path: &Path) -> Result<PathBuf, LiveError> {
    let sysfs = sysfs_of(path)?;
    let disk = if sysfs.join("partition").exists() { sysfs.parent().map(Path::to_owned) } else { None };
    Ok(disk.unwrap_or(sysfs))
}

impl BlockQueue {
    /// The queue of the disk at `path`, such as `/dev/sda`.
    ///
    /// # Errors
    /// Where there is no such disk, or it is a partition or has no requests to schedule.
    pub fn open(path: &Path) -> Result<Self, LiveError> {
        let wrong = |reason: &str| LiveError::Device { path: path.to_owned(), reason: reason.to_owned() };
        let sysfs = sysfs_of(path)?;
        let name = |path: &Path| path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        if sysfs.join("partition").exists() {
            let disk = sysfs.parent().map(name).unwrap_or_default();
            return Err(wrong(&format!("a partition, expected its disk, /dev/{disk}")));
        }
        let queue = Self { name: name(&sysfs), sysfs };
        match queue.read("scheduler") {
            Ok(text) if text != NO_SCHEDULER => Ok(queue),
            _ if queue.sysfs.join("mq").exists() => Ok(queue),
            _ => Err(wrong("its driver has no request queue, so that there is nothing to schedule")),
        }
    }

    /// Its disk's directory in sysfs.
    pub(crate) fn sysfs(&self) -> &Path {
        &self.sysfs
    }

    /// The kernel's name of the disk, such as `sda`.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The disk's number in the kernel's encoding, `major << 20 | minor`, as trace events have it.
    ///
    /// # Errors
    /// Where the disk is gone.
    pub(crate) fn device_number(&self) -> Result<u32, LiveError> {
        let path = self.sysfs.join("dev");
        let text = fs::read_to_string(&path).map_err(|e| self.failed(path.clone(), e))?;
        let parts =
            text.trim().split_once(':').and_then(|(a, b)| Some((a.parse::<u32>().ok()?, b.parse::<u32>().ok()?)));
        let (major, minor) = parts.ok_or_else(|| LiveError::io(path, io::ErrorKind::InvalidData.into()))?;
        Ok(major << 20 | minor)
    }

    /// The kernel's sequence number of this disk, which no later disk of the same name has; since Linux 5.15.
    pub(crate) fn diskseq(&self) -> Option<u64> {
        fs::read_to_string(self.sysfs.join("diskseq")).ok()?.trim().parse().ok()
    }

    /// Its size in sectors of 512 bytes.
    ///
    /// # Errors
    /// Where the disk is gone.
    pub fn sectors(&self) -> Result<u64, LiveError> {
        let path = self.sysfs.join("size");
        let text = fs::read_to_string(&path).map_err(|e| self.failed(path.clone(), e))?;
        text.trim().parse().map_err(|_| LiveError::io(path, io::ErrorKind::InvalidData.into()))
    }

    /// The kernel's counters of its requests.
    ///
    /// # Errors
    /// Where the disk is gone.
    pub fn traffic(&self) -> Result<Traffic, LiveError> {
        let path = self.sysfs.join("stat");
        let text = fs::read_to_string(&path).map_err(|e| self.failed(path.clone(), e))?;
        Traffic::parse(&text).ok_or_else(|| LiveError::io(path, io::ErrorKind::InvalidData.into()))
    }

    /// Whether the disk is still there.
    pub(crate) fn is_present(&self) -> bool {
        self.sysfs.join("queue").exists()
    }

    /// Reads an attribute of the queue, such as `nr_requests` or `iosched/fifo_batch`, without its line end.
    ///
    /// # Errors
    /// Where the kernel has no such attribute, or the disk is gone.
    pub fn read(&self, attribute: &str) -> Result<String, LiveError> {
        let path = self.sysfs.join("queue").join(attribute);
        let text = fs::read_to_string(&path).map_err(|e| self.failed(path, e))?;
        Ok(text.trim_end().to_owned())
    }

    /// Writes an attribute of the queue.
    ///
    /// # Errors
    /// Where the kernel has no such attribute or does not take the value, the user may not, or the disk is gone.
    pub fn write(&self, attribute: &str, value: &str) -> Result<(), LiveError> {
        let path = self.sysfs.join("queue").join(attribute);
        // Opened without creating, and written in one call: sysfs takes each write as a value.
        let file = fs::OpenOptions::new().write(true).open(&path);
        file.and_then(|mut file| file.write_all(value.as_bytes())).map_err(|e| self.failed(path, e))
    }

    /// The schedulers that the kernel offers for the disk.
    ///
    /// # Errors
    /// Where the disk is gone.
    pub(crate) fn schedulers(&self) -> Result<Vec<String>, LiveError> {
        let text = self.read("scheduler")?;
        Ok(text.split_whitespace().map(|word| word.trim_matches(['[', ']']).to_owned()).collect())
    }

    /// The scheduler in use.
    ///
    /// # Errors
    /// Where the disk is gone.
    pub fn scheduler(&self) -> Result<String, LiveError> {
        Ok(Self::chosen(&self.read("scheduler")?).to_owned())
    }

    /// Of the schedulers that `line` of `queue/scheduler` lists, the one in use.
    pub(crate) fn chosen(line: &str) -> &str {
        line.split_whitespace().find_map(|word| word.strip_prefix('[')?.strip_suffix(']')).unwrap_or(line)
    }

    /// Installs `scheduler`, with the kernel's default tunables. Returns when all requests that were queued have
    /// completed.
    ///
    /// # Errors
    /// Where the kernel does not offer it, the user may not, or the disk is gone.
    pub fn set_scheduler(&self, scheduler: &str) -> Result<(), LiveError> {
        let offered = self.schedulers()?;
        if !offered.iter().any(|name| name == scheduler) {
            return Err(LiveError::Scheduler { device: self.name.clone(), scheduler: scheduler.to_owned(), offered });
        }
        self.write("scheduler", scheduler)
    }

    /// The tunables of the scheduler in use.
    ///
    /// # Errors
    /// Where the disk is gone.
    pub(crate) fn tunables(&self) -> Result<BTreeMap<String, String>, LiveError> {
        let folder = self.sysfs.join("queue/iosched");
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            // `none` has no tunables.
            Err(e) if e.kind() == io::ErrorKind::NotFound && self.is_present() => return Ok(BTreeMap::new()),
            Err(e) => return Err(self.failed(folder, e)),
        };
        let mut tunables = BTreeMap::new();
        for entry in entries {
            let name = entry.map_err(|e| self.failed(folder.clone(), e))?.file_name().to_string_lossy().into_owned();
            let value = self.read(&format!("iosched/{name}"))?;
            tunables.insert(name, value);
        }
        Ok(tunables)
    }

    /// Sets a tunable of the scheduler in use.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn set_tunable(&self, name: &str, value: &str) -> Result<(), LiveError> {
        match (name, value.trim()) {
            // If it is set under load, bfq treats its queues as raised ever after, and idles for none (`bfq_end_wr`,
            // Linux 6.18).
            ("low_latency", "0") => self.set_tunable_at_rest(name, value),
            _ => self.write(&format!("iosched/{name}"), value),
        }
    }

    /// Sets a tunable while nothing is queued, as far as possible. The kernel drains the queue to set one of its limits
    /// (Linux 6.18). This writes the limit's present value, and sets the tunable right after that, before the waiting
    /// tasks run again. Some tasks may still be faster, mostly if there are many.
    fn set_tunable_at_rest(&self, name: &str, value: &str) -> Result<(), LiveError> {
        const DRAINS: &str = "max_sectors_kb";
        let limit = self.read(DRAINS)?;
        let open = |attribute: &str| {
            let path = self.sysfs.join("queue").join(attribute);
            let file = fs::OpenOptions::new().write(true).open(&path);
            file.map(|file| (file, path.clone())).map_err(|e| self.failed(path, e))
        };
        let (mut drains, drained) = open(DRAINS)?;
        let (mut tunable, path) = open(&format!("iosched/{name}"))?;
        let (emptied, set) =
            before_all_others(|| (drains.write_all(limit.as_bytes()), tunable.write_all(value.as_bytes())));
        set.map_err(|e| self.failed(path, e))?;
        emptied.map_err(|e| self.failed(drained, e))
    }

    /// The state to restore later.
    ///
    /// # Errors
    /// Where the disk is gone.
    pub fn state(&self) -> Result<QueueState, LiveError> {
        let attributes = RESET.iter().filter_map(|&name| Some((name.to_owned(), self.read(name).ok()?)));
        Ok(QueueState { scheduler: self.scheduler()?, tunables: self.tunables()?, attributes: attributes.collect() })
    }

    /// Restores `state`. Settings that have their value already are not written.
    ///
    /// # Errors
    /// As [`set_scheduler`](Self::set_scheduler) and [`set_tunable`](Self::set_tunable).
    pub(crate) fn restore(&self, state: &QueueState) -> Result<(), LiveError> {
        if self.scheduler()? != state.scheduler {
            self.set_scheduler(&state.scheduler)?;
        }
        for (name, value) in &state.attributes {
            if self.read(name)? != *value {
                self.write(name, value)?;
            }
        }
        let present = self.tunables()?;
        for (name, value) in &state.tunables {
            // Another kernel may not have some of them, or may have statistics there.
            if present.get(name).is_some_and(|now| now != value) {
                self.set_tunable(name, value)?;
            }
        }
        Ok(())
    }

    fn failed(&self, path: PathBuf, source: io::Error) -> LiveError {
        if self.is_present() { LiveError::io(path, source) } else { LiveError::Unplugged(self.name.clone()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A queue whose attributes are plain files.
    fn plain(scheduler: &str, tunables: &[(&str, &str)]) -> (tempfile::TempDir, BlockQueue) {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("queue/iosched")).unwrap();
        fs::write(folder.path().join("queue/scheduler"), scheduler).unwrap();
        for (name, value) in tunables {
            fs::write(folder.path().join("queue/iosched").join(name), format!("{value}\n")).unwrap();
        }
        let queue = BlockQueue { name: "sda".to_owned(), sysfs: folder.path().to_owned() };
        (folder, queue)
    }

    #[test]
    fn the_scheduler_in_use_stands_in_brackets() {
        let (_folder, queue) = plain("none [mq-deadline] kyber bfq\n", &[("fifo_batch", "16")]);
        assert_eq!(queue.schedulers().unwrap(), ["none", "mq-deadline", "kyber", "bfq"]);
        assert_eq!(queue.scheduler().unwrap(), "mq-deadline");
        let state = queue.state().unwrap();
        assert_eq!(state.tunables, BTreeMap::from([("fifo_batch".to_owned(), "16".to_owned())]));
    }

    #[test]
    fn low_latency_is_switched_off_behind_a_limit_that_stays_what_it_is() {
        let (folder, queue) = plain("none mq-deadline [bfq]\n", &[("low_latency", "1")]);
        let missing = queue.set_tunable("low_latency", "0").unwrap_err().to_string();
        assert!(missing.contains("max_sectors_kb"), "{missing}");
        assert_eq!(queue.tunables().unwrap()["low_latency"], "1", "not set under load");
        fs::write(folder.path().join("queue/max_sectors_kb"), "1280\n").unwrap();
        queue.set_tunable("low_latency", "0").unwrap();
        assert_eq!(queue.tunables().unwrap()["low_latency"], "0");
        assert_eq!(queue.read("max_sectors_kb").unwrap(), "1280");
        fs::remove_file(folder.path().join("queue/max_sectors_kb")).unwrap();
        queue.set_tunable("low_latency", "1").unwrap();
    }

    #[test]
    fn the_kernel_counts_requests_as_they_came() {
        let text = " 10 1 160 9 20 2 480 9 0 9 9 30 3 800 9 40 9\n";
        let traffic = Traffic::parse(text).unwrap();
        assert_eq!(traffic, Traffic { requests: 10 + 1 + 20 + 2 + 30 + 3 + 40, bytes: 512 * (160 + 480 + 800) });
        assert_eq!(Traffic::parse("10 1 160 9 20 2 480 9 0 9 9\n").unwrap().requests, 33, "before Linux 4.18");
        assert_eq!((Traffic::parse("10 1 160\n"), Traffic::parse("")), (None, None));
    }

    #[test]
    fn what_is_not_offered_is_told_with_what_is() {
        let (_folder, queue) = plain("[none] kyber\n", &[]);
        let message = queue.set_scheduler("cfq").unwrap_err().to_string();
        assert_eq!(message, "sda: scheduler cfq is not offered, expected one of none, kyber");
    }

    #[test]
    fn only_what_differs_is_put_back() {
        let (folder, queue) = plain("[mq-deadline]\n", &[("fifo_batch", "16"), ("front_merges", "1")]);
        let state = queue.state().unwrap();
        queue.set_tunable("fifo_batch", "4").unwrap();
        fs::remove_file(folder.path().join("queue/iosched/front_merges")).unwrap();
        queue.restore(&state).unwrap();
        assert_eq!(queue.tunables().unwrap(), BTreeMap::from([("fifo_batch".to_owned(), "16".to_owned())]));
    }

    #[test]
    fn a_disk_that_is_gone_is_told_as_unplugged() {
        let (folder, queue) = plain("[none]\n", &[]);
        fs::remove_dir_all(folder.path().join("queue")).unwrap();
        assert_eq!(queue.scheduler().unwrap_err().to_string(), "sda was unplugged");
    }

    #[test]
    fn what_is_no_disk_is_refused_in_a_line() {
        let message = |path: &str| BlockQueue::open(Path::new(path)).unwrap_err().to_string();
        assert_eq!(message("/dev/null"), "/dev/null: not a block device, expected a disk such as /dev/sda");
        assert!(message("/dev/no-such").starts_with("/dev/no-such: No such file"));
    }
}
