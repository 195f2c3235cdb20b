//! [`BlockConfig`]: the block layer's settings, and how they resolve for a scheduler and a device.

use crate::cpu_overheads::CpuOverheads;
use crate::plug::Plugging;
use crate::tags::TagRule;
use crate::writeback_throttle::WritebackThrottle;
use iopilot_block::{InputError, Nanos, SECTOR_BYTES};
use iopilot_device::{CacheControl, Device};
use iopilot_sched::{Lineage, QueueMap, SchedulerInfo};
use serde::Deserialize;

/// `wbt_default_latency_nsec`, in microseconds.
const WBT_ROTATIONAL: u32 = 75_000;
const WBT_OTHERS: u32 = 2_000;
/// `ATA_MAX_QUEUE`.
const SATA_TAGS: u32 = 32;

/// The block layer's settings, named as in `/sys/block/*/queue`. A setting that is not given has the kernel's default for
/// the scheduler's lineage: 2.6.24 for the classic and 2.6 schedulers, 6.x for the others.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BlockConfig {
    /// The number of hardware queues, among which the CPUs are divided. Default: as many as the device has, and at most one
    /// for each CPU: 1 for SATA and SAS, one for each CPU for NVMe. Linux 2.6 has one.
    pub nr_hw_queues: Option<u16>,
    /// The number of requests that may be queued for each hardware queue. 2.6: 128 reads and 128 writes. 6.x: twice the
    /// adapter's tags, 256 at most. `none` ignores it and has the adapter's tags.
    pub nr_requests: Option<u32>,
    /// The tags of the disk's adapter (`can_queue`) for each hardware queue, which may be more than the disk accepts. Default:
    /// the disk's depth, and at least the 32 of SATA.
    pub host_tags: Option<u32>,
    /// Largest request in KiB; larger ones are split. 512 for 2.6, 1280 for 6.x.
    pub max_sectors_kb: Option<u32>,
    /// 0 merges, 1 merges only with the request that merged last, 2 never merges.
    pub nomerges: u8,
    /// The number of requests that the device has at once from each of its queues. Default: the device's own depth; 1 for
    /// positional schedulers.
    pub queue_depth: Option<u32>,
    /// Whether requests are plugged; true for 2.6 and 6.x, false for the classic schedulers.
    pub plug: Option<bool>,
    /// Whether the next request leaves the scheduler while the device is still full. True for 2.6 and 6.x (drivers
    /// without a dispatch budget: virtio, NVMe, loop), false for the classic schedulers.
    pub lookahead: Option<bool>,
    /// `queue/write_cache`: whether the device has a volatile cache, so that flushes reach it. Default: the device's own
    /// setting. Linux 6.x only.
    pub write_cache: Option<bool>,
    /// `queue/fua`: whether the device can write past its cache. If not, such a write is followed by a flush. Default: the
    /// device's own setting; false for SATA, because libata turns it off. Linux 6.x only.
    pub fua: Option<bool>,
    /// Whether the driver returns requests while the disk flushes, if flushes are not queued commands (SATA, libata). They
    /// then wait in the scheduler. Default: true. Behind a hypervisor or a loop device they wait below it. Linux 6.x only.
    pub flush_defers: Option<bool>,
    /// `queue/wbt_lat_usec`: the target latency of reads for write-back throttling, in microseconds; 0 turns it off. 75000 for
    /// rotating disks, 2000 for others, 0 under `bfq`. Linux 6.x only.
    pub wbt_lat_usec: Option<u32>,
}

/// The settings of a queue under one scheduler, with all defaults filled in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ResolvedQueue {
    pub(crate) tag_rule: TagRule,
    pub(crate) nr_requests: u32,
    pub(crate) max_sectors: u32,
    pub(crate) nomerges: u8,
    /// The number of requests in the device from each hardware queue.
    pub(crate) queue_depth: u32,
    /// The same from all hardware queues together.
    pub(crate) device_depth: u32,
    pub(crate) map: QueueMap,
    pub(crate) plugging: Plugging,
    pub(crate) lookahead: bool,
    /// Whether the queue is run only on an event, and some ticks after a scheduler that holds requests dispatched none.
    pub(crate) retries: bool,
    pub(crate) cpus: u16,
    /// Whether the kernel sequences flushes (Linux 6.x). In older kernels the device obeys the request's flags.
    pub(crate) flush_machinery: bool,
    pub(crate) write_cache: bool,
    pub(crate) fua: bool,
    /// Whether the device accepts no request during a flush, and requests wait in the scheduler.
    pub(crate) flush_drains: bool,
    /// The same, but requests wait below the driver.
    pub(crate) flush_drains_below: bool,
    /// The target of write-back throttling; 0 if it is off.
    pub(crate) wbt_target: Nanos,
    /// The queue depth that sets the limits of write-back throttling.
    pub(crate) wbt_depth: u32,
}

/// The properties of a device on which the block layer's settings depend.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeviceTraits {
    pub(crate) hardware_queues: u16,
    /// The depth of each hardware queue.
    pub(crate) queue_depth: u32,
    pub(crate) cache: CacheControl,
    pub(crate) rotational: bool,
}

impl DeviceTraits {
    pub(crate) fn of(device: &impl Device, rotational: bool) -> Self {
        Self {
            hardware_queues: device.hardware_queues(),
            queue_depth: device.queue_depth(),
            cache: device.cache_control(),
            rotational,
        }
    }
}

impl ResolvedQueue {
    /// The most requests that are queued before a task sleeps, over all hardware queues.
    pub(crate) fn requests(&self) -> u32 {
        let directions = match self.tag_rule {
            TagRule::PerDirection => 2,
            TagRule::Shared => 1,
        };
        self.nr_requests.saturating_mul(directions).saturating_mul(u32::try_from(self.map.queues()).unwrap_or(u32::MAX))
    }

    /// A new, idle write-back throttle.
    pub(crate) fn throttle(&self) -> WritebackThrottle {
        WritebackThrottle::new(self.wbt_target, self.wbt_depth)
    }
}

impl BlockConfig {
    /// Checks that all values are within their ranges.
    ///
    /// # Errors
    /// Names the one that is not.
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
        if let Some(us) = self.wbt_lat_usec.filter(|&us| us > 60_000_000) {
            return Err(InputError::new("block.wbt_lat_usec", us.to_string(), "0 to 60000000 microseconds"));
        }
        if self.nomerges > 2 {
            return Err(InputError::new("block.nomerges", self.nomerges.to_string(), "0, 1 or 2"));
        }
        Ok(())
    }

    /// The settings for `scheduler` on `device`.
    pub(crate) fn resolve(
        &self,
        scheduler: &SchedulerInfo,
        device: &DeviceTraits,
        host: &CpuOverheads,
    ) -> ResolvedQueue {
        let (device_queues, device_depth) = (device.hardware_queues, device.queue_depth);
        let lineage = scheduler.lineage;
        // A positional scheduler decides at each dispatch. A queue in the disk would reorder its requests.
        let depth = if lineage == Lineage::Positional { 1 } else { device_depth };
        let queue_depth = self.queue_depth.unwrap_or(depth).clamp(1, device_depth);
        let modern = lineage == Lineage::Linux6;
        // A device with several queues limits their number. A device with one queue may be behind an adapter with several.
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
        let wbt_lat_usec = match (modern, scheduler.features.no_wbt) {
            (true, false) => self.wbt_lat_usec.unwrap_or(if device.rotational { WBT_ROTATIONAL } else { WBT_OTHERS }),
            (true, true) => self.wbt_lat_usec.unwrap_or(0),
            (false, _) => 0,
        };
        let defers = self.flush_defers.unwrap_or(true);
        let plugging = match (self.plug.unwrap_or(!classic), modern) {
            (false, _) => Plugging::Off,
            (true, true) => Plugging::Task,
            (true, false) => Plugging::Device,
        };
        ResolvedQueue {
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
            flush_machinery: modern,
            write_cache: self.write_cache.unwrap_or(device.cache.volatile),
            fua: self.fua.unwrap_or(device.cache.fua),
            flush_drains: modern && device.cache.flush_drains && defers,
            flush_drains_below: modern && device.cache.flush_drains && !defers,
            wbt_target: Nanos::from_micros(wbt_lat_usec.into()),
            // SCSI reports the depth of its disk to the block layer, about as many as it has tags. For other drivers, the number
            // of requests that may be queued counts (`blk_queue_depth`).
            wbt_depth: queue_depth.max(nr_requests.min(tags)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(scheduler: &str) -> &'static SchedulerInfo {
        SchedulerInfo::of(scheduler).unwrap()
    }

    fn device(hardware_queues: u16, queue_depth: u32) -> DeviceTraits {
        DeviceTraits { hardware_queues, queue_depth, cache: CacheControl::default(), rotational: true }
    }

    #[test]
    fn write_back_is_throttled_by_default_but_not_under_bfq() {
        let (config, host) = (BlockConfig::default(), CpuOverheads::default());
        let target = |config: &BlockConfig, scheduler, rotational| {
            let device = DeviceTraits { rotational, ..device(1, 32) };
            config.resolve(named(scheduler), &device, &host).wbt_target
        };
        assert_eq!(target(&config, "mq-deadline", true), Nanos::from_millis(75));
        assert_eq!(target(&config, "none", false), Nanos::from_millis(2));
        assert_eq!([target(&config, "bfq", true), target(&config, "cfq", true)], [Nanos::ZERO; 2]);
        let off = BlockConfig { wbt_lat_usec: Some(0), ..config };
        assert_eq!(target(&off, "none", false), Nanos::ZERO);
    }

    #[test]
    fn defaults_are_those_of_the_lineage() {
        let (config, host) = (BlockConfig::default(), CpuOverheads::default());
        let old = config.resolve(named("cfq"), &device(1, 32), &host);
        assert_eq!((old.nr_requests, old.max_sectors, old.plugging), (128, 1024, Plugging::Device));
        let new = config.resolve(named("bfq"), &device(1, 32), &host);
        assert_eq!((new.nr_requests, new.max_sectors, new.plugging), (64, 2560, Plugging::Task));
        let none = config.resolve(named("none"), &device(1, 32), &host);
        assert_eq!((none.nr_requests, none.lookahead), (32, false));
        let ide = config.resolve(named("mq-deadline"), &device(1, 1), &host);
        assert_eq!((ide.nr_requests, ide.queue_depth), (64, 1), "a disk without a queue on a SATA adapter");
        let classic = config.resolve(named("sstf"), &device(1, 1), &host);
        assert_eq!((classic.lookahead, classic.plugging), (false, Plugging::Off));
        let positional = config.resolve(named("sptf"), &device(1, 32), &host);
        assert_eq!((positional.lookahead, positional.plugging, positional.queue_depth), (false, Plugging::Off, 1));
        let set = BlockConfig { queue_depth: Some(8), ..BlockConfig::default() };
        assert_eq!(set.resolve(named("sptf"), &device(1, 32), &host).queue_depth, 8);
    }
    #[test]
    fn a_drive_with_queues_has_one_for_each_cpu() {
        let host = CpuOverheads { cpus: 4, ..CpuOverheads::default() };
        let queue = |config: &BlockConfig, scheduler| config.resolve(named(scheduler), &device(128, 1023), &host);
        let none = queue(&BlockConfig::default(), "none");
        assert_eq!((none.map.queues(), none.nr_requests, none.queue_depth), (4, 1023, 1023));
        let bfq = queue(&BlockConfig::default(), "bfq");
        assert_eq!((bfq.map.queues(), bfq.nr_requests), (4, 256));
        assert_eq!(queue(&BlockConfig::default(), "cfq").map.queues(), 1, "Linux 2.6 has one queue");
        let two = BlockConfig { nr_hw_queues: Some(2), ..BlockConfig::default() };
        assert_eq!(queue(&two, "none").map.queues(), 2);
        let sas = two.resolve(named("none"), &device(1, 64), &host);
        assert_eq!((sas.map.queues(), sas.queue_depth, sas.device_depth), (2, 64, 64));
    }
}
