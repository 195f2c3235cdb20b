//! [`CacheSetting`]: how a REDCAP cache is used.

use crate::disk_regions::DiskRegions;
use iopilot_redcap::{CacheGeometry, Miss};
use iopilot_sim::RedcapUse;

/// How a REDCAP cache is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheSetting {
    /// Whether it is in use.
    pub active: bool,
    /// Its segments.
    pub geometry: CacheGeometry,
    /// How it reads a segment that is absent.
    pub miss: Miss,
    /// The parts of the disk that it is for, while it is in use.
    pub regions: DiskRegions,
}

impl CacheSetting {
    /// The setting as a body carries it out.
    pub fn to_use(&self) -> RedcapUse {
        RedcapUse { active: self.active, geometry: self.geometry, miss: self.miss, off: self.regions.off() }
    }
}
