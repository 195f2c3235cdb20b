//! `type = "hybrid"`: the sections of a mechanical drive, `[ssd]` or `[flash]` for its flash, and `[hybrid]`.

use super::bounds::{SpecCheck, within};
use super::sections::{FlashSpec, MechanicalSpec, is_zero};
use super::ssd::SsdSpec;
use iopilot_block::{InputError, Nanos};
use iopilot_device::{HybridModel, HybridWrite};
use serde::{Deserialize, Serialize};

/// The most lines that can be pinned.
const PINNED: u64 = 1 << 20;

/// A hard disk drive with a flash cache.
#[derive(Clone, Debug, PartialEq)]
pub struct HybridSpec {
    /// The disk.
    pub disk: MechanicalSpec,
    /// The flash.
    pub flash: HybridFlashSpec,
    /// The cache.
    pub hybrid: HybridCacheSpec,
}

/// The flash of a hybrid drive.
#[derive(Clone, Debug, PartialEq)]
pub enum HybridFlashSpec {
    /// `[flash]`
    Simple(FlashSpec),
    /// `[ssd]`
    Ssd(Box<SsdSpec>),
}

/// What happens to writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HybridWriteSpec {
    /// To the disk; the cache drops its copy of the line.
    #[default]
    Around,
    /// To the disk, and to flash if the line is cached.
    Through,
    /// To flash, and later to the disk.
    Back,
}

/// `[hybrid]`: how the flash serves as a cache.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HybridCacheSpec {
    /// The size of a cache line, 1024 bytes: a power of two, 4 to 4096.
    pub line_kib: u32,
    /// A line is copied to flash when it has been read this many times.
    pub promote_after: u32,
    /// Longer reads are not copied, 1024 bytes.
    pub promote_max_kib: u32,
    /// Lines not in flash whose reads are counted.
    pub remembered_lines: u32,
    /// What happens to writes.
    pub write: HybridWriteSpec,
    /// Above this share of dirty lines, destaging does not wait until the disk is idle.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub dirty_limit_percent: f64,
    /// Idle time of the drive after which dirty lines are written to the disk.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub destage_idle_ms: f64,
    /// `[first sector, sectors]` of ranges that are in flash from the start and stay there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pinned: Vec<(u64, u64)>,
}

impl HybridSpec {
    /// Lines in flash.
    fn lines(&self) -> u64 {
        let sectors = match &self.flash {
            HybridFlashSpec::Simple(flash) => flash.capacity_sectors,
            HybridFlashSpec::Ssd(ssd) => ssd.capacity_sectors,
        };
        sectors / (u64::from(self.hybrid.line_kib) * 2)
    }

    /// The constants of the model; the values have been checked.
    pub(super) fn model(&self) -> HybridModel {
        let h = &self.hybrid;
        let lines = self.lines() as u32;
        HybridModel {
            line_sectors: h.line_kib * 2,
            lines,
            promote_after: h.promote_after,
            promote_max_sectors: h.promote_max_kib * 2,
            remembered_lines: h.remembered_lines,
            write: match h.write {
                HybridWriteSpec::Around => HybridWrite::Around,
                HybridWriteSpec::Through => HybridWrite::Through,
                HybridWriteSpec::Back => HybridWrite::Back,
            },
            dirty_limit_lines: (f64::from(lines) * h.dirty_limit_percent / 100.0) as u32,
            destage_idle: Nanos((h.destage_idle_ms * 1e6).round() as u64),
            pinned: h.pinned.clone(),
        }
    }

    pub(super) fn check(&self) -> SpecCheck {
        let h = &self.hybrid;
        if !h.line_kib.is_power_of_two() || !(4..=4096).contains(&h.line_kib) {
            let want = "KiB, a power of two, 4 to 4096";
            return Err(InputError::new("hybrid.line_kib", h.line_kib.to_string(), want));
        }
        let lines = self.lines();
        if !(1..=1 << 26).contains(&lines) {
            let want = "KiB, so that flash has 1 to 67108864 lines";
            return Err(InputError::new("hybrid.line_kib", h.line_kib.to_string(), want));
        }
        within("hybrid.promote_after", h.promote_after.into(), 1.0, 1e6, "reads")?;
        within("hybrid.promote_max_kib", h.promote_max_kib.into(), 4.0, 1e6, "KiB")?;
        within("hybrid.remembered_lines", h.remembered_lines.into(), 1.0, 1e8, "lines")?;
        within("hybrid.dirty_limit_percent", h.dirty_limit_percent, 0.0, 100.0, "percent")?;
        within("hybrid.destage_idle_ms", h.destage_idle_ms, 0.0, 1e7, "milliseconds")?;
        let capacity = self.disk.model().mechanics.geometry.capacity();
        let line = u64::from(h.line_kib) * 2;
        let mut pinned = 0;
        for &(first, sectors) in &h.pinned {
            let end = first.checked_add(sectors).filter(|&end| end <= capacity && sectors > 0);
            let Some(end) = end else {
                let want = format!("pairs [first sector, sectors] within the {capacity} sectors of the disk");
                return Err(InputError::new("hybrid.pinned", format!("[{first}, {sectors}]"), want));
            };
            pinned += end.div_ceil(line) - first / line;
        }
        let most = (lines / 2).min(PINNED);
        if pinned > most {
            let want = format!("at most {most}, half of those in flash");
            return Err(InputError::new("hybrid.pinned", format!("{pinned} lines"), want));
        }
        Ok(())
    }
}
