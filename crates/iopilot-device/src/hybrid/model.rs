//! The parameters of a [`crate::HybridDisk`], besides those of its devices.

use iopilot_block::Nanos;

/// Where writes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HybridWrite {
    /// To the disk; the cached copy is dropped.
    Around,
    /// To the disk, and to flash if the line is cached.
    Through,
    /// To flash, and later to the disk.
    Back,
}

/// The parameters of the cache.
#[derive(Clone, Debug, PartialEq)]
pub struct HybridModel {
    /// The unit of caching, sectors: a power of two, at least 8.
    pub line_sectors: u32,
    /// Lines in flash.
    pub lines: u32,
    /// The number of reads after which a line is copied to flash.
    pub promote_after: u32,
    /// The longest read that is copied, sectors.
    pub promote_max_sectors: u32,
    /// Lines whose reads are counted.
    pub remembered_lines: u32,
    /// Where writes go.
    pub write: HybridWrite,
    /// The number of dirty lines above which destaging does not wait for idle time.
    pub dirty_limit_lines: u32,
    /// How long the drive must be idle before dirty lines are destaged.
    pub destage_idle: Nanos,
    /// Pinned areas, each as first sector and length: they are in flash from the start and stay there.
    pub pinned: Vec<(u64, u64)>,
}
