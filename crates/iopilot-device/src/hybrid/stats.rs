//! The counters of a [`crate::HybridDisk`].

use serde::Serialize;

/// What a hybrid drive's cache did since time 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HybridStats {
    /// Sectors read from flash.
    pub read_hit_sectors: u64,
    /// Sectors read from the disk.
    pub read_miss_sectors: u64,
    /// Sectors written to flash by the host.
    pub written_to_flash_sectors: u64,
    /// Sectors written to the disk by the host.
    pub written_to_disk_sectors: u64,
    /// Sectors copied to flash because they were read often.
    pub promoted_sectors: u64,
    /// Sectors written from flash to the disk.
    pub destaged_sectors: u64,
    /// Lines that were evicted.
    pub evicted_lines: u64,
    /// Lines that found no victim.
    pub refused_lines: u64,
    /// Lines in use.
    pub lines_used: u32,
    /// Lines with data that the disk does not have.
    pub lines_dirty: u32,
}
