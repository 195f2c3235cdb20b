//! [`BlockConfig`]: the block layer's settings, and what they become for a scheduler's lineage.

use crate::cpu_overheads::CpuOverheads;
use crate::plug::Plugging;
use crate::tags::TagRule;
use iopilot_block::{InputError, SECTOR_BYTES};
use iopilot_sched::{Lineage, QueueMap, SchedulerInfo};
use serde::Deserialize;

/// `ATA_MAX_QUEUE`.
const SATA_TAGS: u32 = 32;

/// The block layer's settings, named as in `/sys/block/*/queue`. What is not set takes the kernel's default for the
/// scheduler's lineage: 2.6.24 for the classic and 2.6 schedulers, 6.x for the others.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BlockConfig {
    /// Hardware queues, among which the CPUs are divided. As many as the device has and there are CPUs for: 1 for SATA and
    /// SAS, one for each CPU for NVMe. Linux 2.6 has one.
    pub nr_hw_queues: Option<u16>,
    /// Requests that may be queued, for each hardware queue. 2.6: 128 reads and 128 writes. 6.x: twice the adapter's tags, 256 at most. `none`
    /// ignores it and has the adapter's tags.
    pub nr_requests: Option<u32>,
    /// The tags of the disk's adapter (`can_queue`) for each hardware queue, which may be more than the disk takes. Default: the disk's depth, and
    /// at least the 32 of SATA.
    pub host_tags: Option<u32>,
    /// Largest request in KiB; larger ones are split. 512 for 2.6, 1280 for 6.x.
    pub max_sectors_kb: Option<u32>,
    /// 0 merges, 1 merges only with the request that merged last, 2 never merges.
    pub nomerges: u8,
    /// Requests the device is given at once, from each of its queues; where not set the device's own depth, for positional schedulers 1.
    pub queue_depth: Option<u32>,
    /// Whether requests are plugged; true for 2.6 and 6.x, false for the classic schedulers.
    pub plug: Option<bool>,
    /// Whether the next request leaves the scheduler while the device is still full. True for 2.6 and 6.x (drivers
    /// without a dispatch budget: virtio, NVMe, loop), false for the classic schedulers.
    pub lookahead: Option<bool>,
}

/// The settings in force for one run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Queue {
    pub(crate) tag_rule: TagRule,
    pub(crate) nr_requests: u32,
    pub(crate) max_sectors: u32,
    pub(crate) nomerges: u8,
    /// For each hardware queue.
    pub(crate) queue_depth: u32,
    /// For all together.
    pub(crate) device_depth: u32,
    pub(crate) map: QueueMap,
    pub(crate) plugging: Plugging,
    pub(crate) lookahead: bool,
    /// Whether the queue is run only on an event, and some ticks after a scheduler held requests but gave none.
    pub(crate) retries: bool,
    pub(crate) cpus: u16,
}

impl BlockConfig {
    /// Whether the values make sense.
    ///
    /// # Errors
    /// Names the one that does not.
    pub fn check(&self) -> Result<(), InputError> {
        let settings = [
            ("nr_hw_queues", self.nr_hw_queues.map(u32::from), 1, u32::from(u16::MAX)),
            ("nr_requests", self.nr_requests, 1, 1 << 20),
            ("host_tags", self.host_tags, 1, 1 << 16),
            ("max_sectors_kb", self.max_sectors_kb, 4, 1 << 20),
            ("queue_depth", self.queue_depth, 1, 1 << 16),
        ];
        for (key, value, min, max) in settings {
            if let Some(value) = value.filter(|v| !(min..=max).contains(v)) {
                return Err(InputError::new(format!("block.{key}"), value.to_string(), format!("{min} to {max}")));
            }
        }
        if self.nomerges > 2 {
            return Err(InputError::new("block.nomerges", self.nomerges.to_string(), "0, 1 or 2"));
        }
        Ok(())
    }

    /// The settings for `scheduler` on a device of so many queues, each of which takes so many requests at once.
    pub(crate) fn resolve(
        &self,
        scheduler: &SchedulerInfo,
        (device_queues, device_depth): (u16, u32),
        host: &CpuOverheads,
    ) -> Queue {
        let lineage = scheduler.lineage;
        // A positional scheduler decides at each dispatch; a queue in the disk would reorder its choice.
        let depth = if lineage == Lineage::Positional { 1 } else { device_depth };
        let queue_depth = self.queue_depth.unwrap_or(depth).clamp(1, device_depth);
        let modern = lineage == Lineage::Linux6;
        // A device with queues of its own has no more of them; what has one queue may be behind an adapter with several.
        let most = if device_queues > 1 { device_queues } else { u16::MAX };
        let hardware_queues = if modern { self.nr_hw_queues.unwrap_or(device_queues).min(most) } else { 1 };
        let map = QueueMap::new(host.cpus, hardware_queues);
        let classic = matches!(lineage, Lineage::Classic | Lineage::Positional);
        let tags = self.host_tags.unwrap_or(queue_depth.max(SATA_TAGS));
        let scheduler_tags = scheduler.features.scheduler_tags;
        let nr_requests = match (modern, scheduler_tags) {
            (true, false) => tags,
            (true, true) => self.nr_requests.unwrap_or(2 * tags.min(128)),
            (false, _) => self.nr_requests.unwrap_or(128),
        };
        let kib = self.max_sectors_kb.unwrap_or(if modern { 1280 } else { 512 });
        let plugging = match (self.plug.unwrap_or(!classic), modern) {
            (false, _) => Plugging::Off,
            (true, true) => Plugging::Task,
            (true, false) => Plugging::Device,
        };
        Queue {
            tag_rule: if modern { TagRule::Shared } else { TagRule::PerDirection },
            nr_requests,
            max_sectors: kib * (1024 / SECTOR_BYTES as u32),
            nomerges: self.nomerges,
            queue_depth,
            device_depth: queue_depth.saturating_mul(device_queues.into()),
            map,
            plugging,
            lookahead: self.lookahead.unwrap_or(!classic) && (scheduler_tags || !modern),
            retries: scheduler_tags,
            cpus: host.cpus.max(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(scheduler: &str) -> &'static SchedulerInfo {
        SchedulerInfo::of(scheduler).unwrap()
    }

    #[test]
    fn defaults_are_those_of_the_lineage() {
        let (config, host) = (BlockConfig::default(), CpuOverheads::default());
        let old = config.resolve(named("cfq"), (1, 32), &host);
        assert_eq!((old.nr_requests, old.max_sectors, old.plugging), (128, 1024, Plugging::Device));
        let new = config.resolve(named("bfq"), (1, 32), &host);
        assert_eq!((new.nr_requests, new.max_sectors, new.plugging), (64, 2560, Plugging::Task));
        let none = config.resolve(named("none"), (1, 32), &host);
        assert_eq!((none.nr_requests, none.lookahead), (32, false));
        let ide = config.resolve(named("mq-deadline"), (1, 1), &host);
        assert_eq!((ide.nr_requests, ide.queue_depth), (64, 1), "a disk without a queue on a SATA adapter");
        let classic = config.resolve(named("sstf"), (1, 1), &host);
        assert_eq!((classic.lookahead, classic.plugging), (false, Plugging::Off));
        let positional = config.resolve(named("sptf"), (1, 32), &host);
        assert_eq!((positional.lookahead, positional.plugging, positional.queue_depth), (false, Plugging::Off, 1));
        let set = BlockConfig { queue_depth: Some(8), ..BlockConfig::default() };
        assert_eq!(set.resolve(named("sptf"), (1, 32), &host).queue_depth, 8);
    }
    #[test]
    fn a_drive_with_queues_has_one_for_each_cpu() {
        let host = CpuOverheads { cpus: 4, ..CpuOverheads::default() };
        let queue = |config: &BlockConfig, scheduler| config.resolve(named(scheduler), (128, 1023), &host);
        let none = queue(&BlockConfig::default(), "none");
        assert_eq!((none.map.queues(), none.nr_requests, none.queue_depth), (4, 1023, 1023));
        let bfq = queue(&BlockConfig::default(), "bfq");
        assert_eq!((bfq.map.queues(), bfq.nr_requests), (4, 256));
        assert_eq!(queue(&BlockConfig::default(), "cfq").map.queues(), 1, "Linux 2.6 has one queue");
        let two = BlockConfig { nr_hw_queues: Some(2), ..BlockConfig::default() };
        assert_eq!(queue(&two, "none").map.queues(), 2);
        let sas = two.resolve(named("none"), (1, 64), &host);
        assert_eq!((sas.map.queues(), sas.queue_depth, sas.device_depth), (2, 64, 64));
    }
}
