//! [`QueueSettings`]: how the kernel has set the queue of a disk.

use crate::{BlockQueue, LiveError};
use iopilot_sched::NO_SCHEDULER;
use iopilot_sim::BlockConfig;
use std::fs;
use std::path::Path;

/// The settings of a disk's queue, as sysfs shows them. What a kernel or driver does not show is `None`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueSettings {
    /// The scheduler in use.
    pub scheduler: String,
    /// Hardware queues: folders of `mq`.
    pub nr_hw_queues: u32,
    /// `queue/nr_requests`: under a scheduler the requests that it may hold, under `none` the driver's tags.
    pub nr_requests: u32,
    /// `mq/0/nr_tags`: the driver's tags of a hardware queue.
    pub host_tags: Option<u32>,
    /// Requests that the disk takes at once from a hardware queue: `device/queue_depth` of SCSI, else the tags.
    pub depth: u32,
    /// `queue/max_sectors_kb`.
    pub max_sectors_kb: Option<u32>,
    /// `queue/nomerges`.
    pub nomerges: Option<u32>,
    /// Whether there is a volatile write cache: `queue/write_cache` says `write back`.
    pub write_back: bool,
    /// `queue/fua`: whether the disk can write past its cache.
    pub fua: bool,
    /// `queue/wbt_lat_usec`: the target of write-back throttling; 0 where it is off.
    pub wbt_lat_usec: Option<u32>,
    /// `queue/rotational`.
    pub rotational: bool,
    /// CPUs that are online.
    pub cpus: u32,
}

impl QueueSettings {
    /// Those of `queue`.
    ///
    /// # Errors
    /// Where the disk is gone, or shows no `nr_requests`.
    pub fn of(queue: &BlockQueue) -> Result<Self, LiveError> {
        let number = |attribute: &str| queue.read(attribute).ok()?.parse::<u32>().ok();
        let file = |path: &str| fs::read_to_string(queue.sysfs().join(path)).ok();
        let text = queue.read("nr_requests")?;
        let nr_requests = text
            .parse()
            .map_err(|_| LiveError::Failed(format!("{}: nr_requests is {text}, not a number", queue.name())))?;
        let scheduler = queue.scheduler()?;
        let host_tags = file("mq/0/nr_tags").and_then(|text| text.trim().parse().ok());
        let scsi = file("device/queue_depth").and_then(|text| text.trim().parse().ok());
        let own_tags = if scheduler == NO_SCHEDULER { Some(nr_requests) } else { None };
        Ok(Self {
            nr_hw_queues: hardware_queues(&queue.sysfs().join("mq")),
            nr_requests,
            host_tags,
            depth: scsi.or(own_tags).or(host_tags).unwrap_or(nr_requests),
            max_sectors_kb: number("max_sectors_kb"),
            nomerges: number("nomerges"),
            write_back: queue.read("write_cache").is_ok_and(|text| text == "write back"),
            fua: number("fua") == Some(1),
            wbt_lat_usec: number("wbt_lat_usec"),
            rotational: number("rotational") == Some(1),
            cpus: online(&fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default()),
            scheduler,
        })
    }

    /// The tags that a request takes when it is submitted, over all hardware queues.
    pub(crate) fn tags(&self) -> u32 {
        self.nr_requests.saturating_mul(self.nr_hw_queues)
    }

    /// The limits of the queue, for a simulation of it.
    pub(crate) fn limits(&self) -> BlockConfig {
        let own_tags = self.scheduler == NO_SCHEDULER;
        BlockConfig {
            nr_requests: Some(self.nr_requests).filter(|_| !own_tags),
            host_tags: if own_tags { Some(self.nr_requests) } else { self.host_tags },
            queue_depth: Some(self.depth),
            max_sectors_kb: self.max_sectors_kb,
            nomerges: self.nomerges.map_or(0, |nomerges| nomerges.min(2) as u8),
            nr_hw_queues: u16::try_from(self.nr_hw_queues).ok(),
            wbt_lat_usec: self.wbt_lat_usec,
            ..BlockConfig::default()
        }
    }
}

/// The folders of hardware queues in `mq`.
fn hardware_queues(mq: &Path) -> u32 {
    let entries = fs::read_dir(mq).into_iter().flatten().flatten();
    let count = entries.filter(|entry| entry.file_name().to_string_lossy().parse::<u32>().is_ok()).count();
    u32::try_from(count).unwrap_or(u32::MAX).max(1)
}

/// The CPUs in a list such as `0-3,6`; at least 1.
fn online(list: &str) -> u32 {
    let ranges = list.trim().split(',').filter_map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last) = (first.parse::<u32>().ok()?, last.parse::<u32>().ok()?);
        Some(last.checked_sub(first)? + 1)
    });
    ranges.sum::<u32>().max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cpus_are_counted() {
        assert_eq!(["0-3\n", "0", "0-1,4,6-7\n", "", "x"].map(online), [4, 1, 5, 1, 1]);
    }

    #[test]
    fn a_simulated_queue_takes_as_many_requests() {
        let settings = |scheduler: &str, nr_requests| QueueSettings {
            scheduler: scheduler.to_owned(),
            nr_hw_queues: 1,
            nr_requests,
            host_tags: Some(62),
            depth: 4,
            max_sectors_kb: Some(512),
            nomerges: Some(0),
            write_back: false,
            fua: false,
            wbt_lat_usec: None,
            rotational: true,
            cpus: 2,
        };
        let limits = |block: BlockConfig| (block.nr_requests, block.host_tags, block.queue_depth);
        // Under `none` a request takes one of the driver's tags.
        assert_eq!(limits(settings("none", 4).limits()), (None, Some(4), Some(4)));
        assert_eq!(limits(settings("mq-deadline", 64).limits()), (Some(64), Some(62), Some(4)));
        assert!(settings("bfq", 64).limits().check().is_ok());
    }

    #[test]
    fn folders_with_numbers_are_hardware_queues() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(hardware_queues(&folder.path().join("mq")), 1, "a kernel that shows none");
        for name in ["0", "1", "cpu0"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        assert_eq!(hardware_queues(folder.path()), 2);
    }
}
