//! [`CacheSetting`]: how a REDCAP cache is used.

use crate::disk_regions::DiskRegions;
use iopilot_redcap::CacheGeometry;

/// How a REDCAP cache is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheSetting {
    /// Whether it is in use.
    pub active: bool,
    /// Its segments.
    pub geometry: CacheGeometry,
    /// The parts of the disk that it is for, while it is in use.
    pub regions: DiskRegions,
}
