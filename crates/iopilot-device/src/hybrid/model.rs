//! The parameters of a [`crate::HybridDisk`] beside those of its parts.

use iopilot_block::Nanos;

/// What happens to writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HybridWrite {
    /// To the disk; what the cache has of it is dropped.
    Around,
    /// To the disk, and to flash where the cache has the line.
    Through,
    /// To flash, and later to the disk.
    Back,
}

/// How the cache works.
#[derive(Clone, Debug, PartialEq)]
pub struct HybridModel {
    /// What is cached together, sectors: a power of two, at least 8.
    pub line_sectors: u32,
    /// Lines in flash.
    pub lines: u32,
    /// A line is copied to flash when it is read for the so many-th time.
    pub promote_after: u32,
    /// Longer reads are not copied, sectors.
    pub promote_max_sectors: u32,
    /// Lines whose reads are remembered.
    pub remembered_lines: u32,
    /// What happens to writes.
    pub write: HybridWrite,
    /// With more dirty lines destaging does not wait until the disk is idle.
    pub dirty_limit_lines: u32,
    /// How long no request is in the drive before dirty lines are written to the disk.
    pub destage_idle: Nanos,
    /// First sector and sectors of what is in flash from the start and stays there.
    pub pinned: Vec<(u64, u64)>,
}
