//! `[drive.queue]`: the order in which a drive serves its commands.

use iopilot_block::{InputError, Nanos};
use iopilot_sched::{CylinderMapping, IoQueueConfig, IoQueuePolicy, OverlapScheme, StreamScheme, TimeoutScheme};
use serde::{Deserialize, Serialize};

/// `[drive.queue]`. Schemes are given by DiskSim's numbers, policies by number or name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DriveQueueSpec {
    /// The policy.
    pub policy: String,
    /// The layout information that cylinder-based policies use: 0 none, 1 and 2 zones, 3 also slips, 4 everything, 6
    /// the mean number of sectors in a cylinder.
    pub cylinder_mapping: u32,
    /// The mean for `cylinder_mapping` 6.
    pub sectors_per_cylinder: u64,
    /// The time from the choice of a read to the start of the arm.
    pub read_initiation_ms: f64,
    /// The same for a write.
    pub write_initiation_ms: f64,
    /// The weight of age, for the policies that use it. This is DiskSim's `Timeout time/weight`: milliseconds for the
    /// weighted policies, thousandths for the aged ones.
    pub age_weight: f64,
    /// The treatment of requests that have waited long: 0 none, 1 and 2 the queue's timeout schemes.
    pub timeout_scheme: u32,
    /// The wait after which that applies.
    pub timeout_s: f64,
    /// The policy among those requests.
    pub timeout_policy: String,
    /// The treatment of overlapping requests: 0 none, 1 and 2 the queue's overlap schemes.
    pub overlap: u32,
    /// The sum of the bits of the sequential stream scheme. In a drive, requests are never merged.
    pub streams: u32,
    /// Blocks that a read may skip and still continue a stream.
    pub stream_gap_sectors: u32,
}

impl Default for DriveQueueSpec {
    fn default() -> Self {
        Self {
            policy: IoQueuePolicy::Fcfs.name().to_owned(),
            cylinder_mapping: 4,
            sectors_per_cylinder: 1,
            read_initiation_ms: 0.0,
            write_initiation_ms: 0.0,
            age_weight: 0.0,
            timeout_scheme: 0,
            timeout_s: 0.0,
            timeout_policy: IoQueuePolicy::Fcfs.name().to_owned(),
            overlap: 0,
            streams: 0,
            stream_gap_sectors: 0,
        }
    }
}

impl DriveQueueSpec {
    /// Whether all values are the defaults: commands are served in order of arrival.
    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }

    pub(super) fn config(&self) -> Result<IoQueueConfig, InputError> {
        let wrong = |key: &str, got: &dyn std::fmt::Display, expected: &str| {
            InputError::new(format!("drive.queue.{key}"), got.to_string(), expected)
        };
        let policy = |key: &str, text: &str| {
            IoQueuePolicy::parse(text).map_err(|e| InputError { field: format!("drive.queue.{key}"), ..e })
        };
        for (key, value) in [
            ("read_initiation_ms", self.read_initiation_ms),
            ("write_initiation_ms", self.write_initiation_ms),
            ("age_weight", self.age_weight),
            ("timeout_s", self.timeout_s),
        ] {
            if !(0.0..=1e9).contains(&value) {
                return Err(wrong(key, &value, "0 to 1e9"));
            }
        }
        let mapping = CylinderMapping::from_number(self.cylinder_mapping, self.sectors_per_cylinder, false)
            .filter(|mapping| *mapping != CylinderMapping::FromRequest)
            .ok_or_else(|| wrong("cylinder_mapping", &self.cylinder_mapping, "0, 1, 2, 3, 4 or 6"))?;
        Ok(IoQueueConfig {
            policy: policy("policy", &self.policy)?,
            mapping,
            read_initiation: self.read_initiation_ms * 1e6,
            write_initiation: self.write_initiation_ms * 1e6,
            age_weight: self.age_weight,
            max_wait: self.age_weight,
            timeout_scheme: match self.timeout_scheme {
                0 => TimeoutScheme::Off,
                1 => TimeoutScheme::Full,
                2 => TimeoutScheme::HalfAndFull,
                other => return Err(wrong("timeout_scheme", &other, "0, 1 or 2")),
            },
            timeout: Nanos::from_secs_f64(self.timeout_s),
            timeout_policy: policy("timeout_policy", &self.timeout_policy)?,
            overlap: match self.overlap {
                0 => OverlapScheme::Off,
                1 => OverlapScheme::AtCompletion,
                2 => OverlapScheme::AtStart,
                other => return Err(wrong("overlap", &other, "0, 1 or 2")),
            },
            streams: StreamScheme::from_bits(self.streams)
                .ok_or_else(|| wrong("streams", &self.streams, "a sum of 1, 2, 4, 8 and 16"))?,
            stream_gap: self.stream_gap_sectors,
            ..IoQueueConfig::default()
        })
    }
}
