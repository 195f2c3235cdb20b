//! [`ControllerSpec`]: a controller with a cache above one drive, as a machine's `[controller]` describes it.

use crate::AnyDevice;
use iopilot_block::{InputError, Nanos};
use iopilot_sched::{IoQueueConfig, IoQueuePolicy};
use iopilot_scsi::{
    AllocationPolicy, ControlledDrive, ControllerCacheModel, FlushPolicy, MemoryCacheModel, Prefetch, SmartModel,
    WriteScheme,
};
use serde::Deserialize;

/// Sectors of a KiB.
const KIB: u32 = 2;
/// More lines than any controller had; each line takes memory of the simulator.
const MOST_LINES: u32 = 1 << 18;
/// The time to transfer a sector at 10^6 bytes per second, ns.
const SECTOR_NS_AT_1_MB_S: f64 = 512_000.0;

/// `[controller]`: a controller with a cache, above one drive.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ControllerSpec {
    /// The cache.
    pub cache_kib: u32,
    /// Its line, the unit of allocation.
    pub line_kib: u32,
    /// When a write completes, and when it goes to the drive.
    pub write: WritePolicySpec,
    /// Idle time after which dirty data are written, one run at a time until a request arrives.
    pub flush_idle_ms: Option<f64>,
    /// The period after which all dirty data are written.
    pub flush_period_ms: Option<f64>,
    /// The number of parts into which a periodic flush divides the cache; the parts follow each other within the
    /// period.
    pub flush_wakeups: u32,
    /// Whether clean lines are evicted before dirty ones. Dirty ones are then written in the background.
    pub clean_first: bool,
    /// Whether a read miss fetches whole lines.
    pub read_whole_lines: bool,
    /// Requests that it takes from the host at once.
    pub queue_depth: u32,
    /// Requests that the drive is given at once.
    pub drive_queue_depth: u32,
    /// The order in which the drive is given requests, a policy of [`IoQueue`](iopilot_sched::IoQueue).
    pub policy: String,
    /// Processing time of each step of a command.
    pub command_us: f64,
    /// Data rate between host and controller, 10^6 bytes per second; unlimited if left out.
    pub bus_mb_s: Option<f64>,
    /// How requests share that rate.
    pub bus: BusSharing,
}

/// How requests share the bus between host and controller (Ganger A.1.2.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BusSharing {
    /// One request owns the bus until its data have moved, in order of arrival (DiskSim's bus type 1).
    #[default]
    Owned,
    /// The data of all requests move at once, each with an equal share of the rate (DiskSim's bus type 2).
    Interleaved,
}

/// When a write completes, and when it goes to the drive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WritePolicySpec {
    /// Complete when it is in the cache; written to the drive when necessary.
    #[default]
    Back,
    /// Complete when it is in the cache; written to the drive at once.
    Through,
    /// Complete when it is on the drive.
    Synchronous,
}

impl Default for ControllerSpec {
    /// 1 MiB of write-back cache in lines of 8 KiB, flushed on demand.
    fn default() -> Self {
        Self {
            cache_kib: 1024,
            line_kib: 8,
            write: WritePolicySpec::default(),
            flush_idle_ms: None,
            flush_period_ms: None,
            flush_wakeups: 1,
            clean_first: false,
            read_whole_lines: false,
            queue_depth: 16,
            drive_queue_depth: 1,
            policy: IoQueuePolicy::Fcfs.name().to_owned(),
            command_us: 0.0,
            bus_mb_s: None,
            bus: BusSharing::default(),
        }
    }
}

impl ControllerSpec {
    /// A controller above a drive like `disk`.
    ///
    /// # Errors
    /// Names the wrong key under `controller.`, or reports a disk whose model has no bus.
    pub fn build(&self, disk: &AnyDevice) -> Result<ControlledDrive, InputError> {
        let AnyDevice::Drive(drive) = disk else {
            let expected = "a disk of type \"drive\", which describes its bus";
            return Err(InputError::new("controller", "another kind of disk", expected));
        };
        Ok(ControlledDrive::new(drive.drive().clone(), self.model()?))
    }

    fn model(&self) -> Result<SmartModel, InputError> {
        let wrong = |key: &str, got: &dyn std::fmt::Display, expected: &str| {
            Err(InputError::new(format!("controller.{key}"), got.to_string(), expected))
        };
        for (key, value, most) in [
            ("cache_kib", self.cache_kib, 1 << 22),
            ("line_kib", self.line_kib, 1 << 12),
            ("queue_depth", self.queue_depth, 1 << 16),
            ("drive_queue_depth", self.drive_queue_depth, 1 << 16),
            ("flush_wakeups", self.flush_wakeups, 1 << 16),
        ] {
            let least = u32::from(key != "cache_kib");
            if !(least..=most).contains(&value) {
                return wrong(key, &value, &format!("{least} to {most}"));
            }
        }
        for (key, value) in [("flush_idle_ms", self.flush_idle_ms), ("flush_period_ms", self.flush_period_ms)] {
            if let Some(value) = value.filter(|value| !(0.001..=1e9).contains(value)) {
                return wrong(key, &value, "0.001 to 1000000000");
            }
        }
        if self.flush_wakeups > 1 {
            let wakeups = &self.flush_wakeups;
            let Some(period) = self.flush_period_ms else {
                return wrong("flush_wakeups", wakeups, "1 without a flush_period_ms, of which they are parts");
            };
            if period < 0.001 * f64::from(self.flush_wakeups) {
                return wrong("flush_wakeups", wakeups, "parts of flush_period_ms of 0.001 ms at least");
            }
        }
        if self.bus == BusSharing::Interleaved && self.bus_mb_s.is_none() {
            return wrong("bus", &"interleaved", "a bus_mb_s, of which each transfer has a share");
        }
        if !(0.0..=1e6).contains(&self.command_us) {
            return wrong("command_us", &self.command_us, "0 to 1000000");
        }
        if let Some(rate) = self.bus_mb_s.filter(|rate| !(0.001..=1e6).contains(rate)) {
            return wrong("bus_mb_s", &rate, "0.001 to 1000000");
        }
        let policy = IoQueuePolicy::parse(&self.policy)
            .map_err(|e| InputError { field: "controller.policy".to_owned(), ..e })?;
        let lines = self.cache_kib / self.line_kib;
        if self.cache_kib > 0 && !(2..=MOST_LINES).contains(&lines) {
            return wrong("cache_kib", &self.cache_kib, &format!("0, or 2 to {MOST_LINES} lines of line_kib"));
        }
        let line = self.line_kib * KIB;
        let cache = MemoryCacheModel {
            size: u64::from(lines) * u64::from(line),
            line,
            lock_granularity: line,
            // The first and last block of a request may lie in lines of their own.
            max_request: (lines.saturating_sub(1)).saturating_mul(line),
            allocation: if self.clean_first { AllocationPolicy::SkipDirty } else { AllocationPolicy::Strict },
            write_scheme: match self.write {
                WritePolicySpec::Back => WriteScheme::WriteBack,
                WritePolicySpec::Through => WriteScheme::WriteThrough,
                WritePolicySpec::Synchronous => WriteScheme::Synchronous,
            },
            flush: self
                .flush_period_ms
                .map_or(FlushPolicy::OnDemand, |ms| FlushPolicy::Periodic(Nanos::from_millis_f64(ms))),
            flush_wakeups: self.flush_wakeups,
            idle_delay: self.flush_idle_ms.map(Nanos::from_millis_f64),
            idle_counts_host: true,
            read_prefetch: Prefetch { front: self.read_whole_lines, rest: self.read_whole_lines },
            ..MemoryCacheModel::default()
        };
        if let Some((parameter, got, expected)) = cache.fault() {
            return wrong(parameter, &got, &expected);
        }
        Ok(SmartModel {
            delay: Nanos::from_millis_f64(self.command_us / 1e3),
            block_time: self.bus_mb_s.map_or(0.0, |rate| SECTOR_NS_AT_1_MB_S / rate),
            interleaved: self.bus == BusSharing::Interleaved,
            queue_depth: self.queue_depth,
            per_device: self.drive_queue_depth,
            queue: IoQueueConfig { device_initiation: true, ..IoQueueConfig::with_policy(policy) },
            cache: ControllerCacheModel::Memory(cache),
        })
    }
}
