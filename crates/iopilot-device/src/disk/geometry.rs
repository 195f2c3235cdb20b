//! [`Geometry`]: the place of each logical block on the platters.
//!
//! Drives lay out blocks in zones of equal tracks ([`TrackLayout`]), with slips, spares and remapped sectors
//! ([`G1Layout`]), by a list of extents ([`G2Layout`]) or by nested repetitions ([`G4Layout`]). The questions are
//! always the same: which blocks follow one another under the head, where is the arm for them, and at which angle do
//! they start? The answer is a [`Track`], and the next one. Angles are in revolutions from the index mark.

mod divisor;
mod g1;
mod g2;
mod g4;
mod starts;
mod track;
mod zoned;

pub use g1::{G1Layout, G1Zone, HeadOrder, SkewUnit, Sparing};
pub use g2::{G2Extent, G2Layout, G2Zone};
pub use g4::{G4Child, G4Entry, G4Layout, G4Remap, TrackPattern};
pub use track::{BlockPlace, Track, ZoneSpan};
pub use zoned::{TrackLayout, Zone};

pub(super) use track::fraction;

use g1::G1;
use g2::G2;
use g4::G4;
use iopilot_block::InputError;
use std::ops::Range;
use zoned::Zoned;

/// The map from blocks to places and back.
#[derive(Clone, Debug)]
pub struct Geometry {
    map: Map,
    heads: u32,
    cylinders: u32,
    capacity: u64,
}

#[derive(Clone, Debug)]
enum Map {
    Zoned(Zoned),
    G1(G1),
    G2(G2),
    G4(G4),
}

macro_rules! mapped {
    ($self:ident, $map:ident => $call:expr) => {
        match &$self.map {
            Map::Zoned($map) => $call,
            Map::G1($map) => $call,
            Map::G2($map) => $call,
            Map::G4($map) => $call,
        }
    };
}

/// The most heads and cylinders of a drive: far beyond any real drive, and low enough to prevent overflows.
const MOST_HEADS: u32 = 1024;
const MOST_CYLINDERS: u32 = 1 << 27;

fn check_size(heads: u32, cylinders: u32) -> Result<(), InputError> {
    if !(1..=MOST_HEADS).contains(&heads) {
        return Err(InputError::new("Number of data surfaces", heads.to_string(), format!("1 to {MOST_HEADS}")));
    }
    if !(1..=MOST_CYLINDERS).contains(&cylinders) {
        return Err(InputError::new("Number of cylinders", cylinders.to_string(), format!("1 to {MOST_CYLINDERS}")));
    }
    Ok(())
}

impl Geometry {
    /// `zones` are in the order of their blocks. The first `capacity` of their sectors are used, or all if `None`.
    pub fn new(heads: u32, layout: TrackLayout, zones: Vec<Zone>, capacity: Option<u64>) -> Self {
        let map = Zoned::new(heads, layout, zones, capacity);
        let cylinders = map.cylinders();
        Self { heads, cylinders, capacity: map.capacity(), map: Map::Zoned(map) }
    }

    /// The map of DiskSim's layout g1.
    ///
    /// # Errors
    /// If the layout is inconsistent; names the zone and the parameter.
    pub fn g1(layout: &G1Layout) -> Result<Self, InputError> {
        check_size(layout.heads, layout.cylinders)?;
        let map = G1::new(layout)?;
        let cylinders = layout.cylinders.max(map.cylinders());
        Ok(Self { heads: layout.heads, cylinders, capacity: map.capacity(), map: Map::G1(map) })
    }

    /// The map of DiskSim's layout g2.
    ///
    /// # Errors
    /// As for [`Geometry::g1`].
    pub fn g2(layout: &G2Layout) -> Result<Self, InputError> {
        check_size(layout.heads, layout.cylinders)?;
        let map = G2::new(layout)?;
        let cylinders = layout.cylinders.max(map.cylinders());
        Ok(Self { heads: layout.heads, cylinders, capacity: map.capacity(), map: Map::G2(map) })
    }

    /// The map of DiskSim's layout g4.
    ///
    /// # Errors
    /// As for [`Geometry::g1`].
    pub fn g4(layout: &G4Layout) -> Result<Self, InputError> {
        check_size(layout.heads, layout.cylinders)?;
        let map = G4::new(layout)?;
        let cylinders = layout.cylinders.max(map.cylinders());
        Ok(Self { heads: layout.heads, cylinders, capacity: map.capacity(), map: Map::G4(map) })
    }

    /// Blocks in use.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Recording surfaces.
    pub fn heads(&self) -> u32 {
        self.heads
    }

    /// Number of cylinders from the outermost to the innermost. Includes those by which a layout exceeds its drive.
    pub fn cylinders(&self) -> u32 {
        self.cylinders
    }

    /// The zones in the order of their blocks; for a g4 layout the entries of its root.
    pub fn zones(&self) -> Vec<ZoneSpan> {
        mapped!(self, map => map.zones())
    }

    /// The track that holds block `lba`, which is below [`Geometry::capacity`].
    ///
    /// O(log zones), or O(1) on average with slips; for g4 times the depth of its index.
    #[inline]
    pub fn track_of(&self, lba: u64) -> Track {
        mapped!(self, map => map.track_of(lba))
    }

    /// The track whose blocks follow those of `track`; `None` at the end of the disk.
    #[inline]
    pub fn next_track(&self, track: &Track) -> Option<Track> {
        if track.end() >= self.capacity {
            return None;
        }
        Some(mapped!(self, map => map.next_track(track)))
    }

    /// The place of block `lba`.
    pub fn place_of(&self, lba: u64) -> BlockPlace {
        let track = self.track_of(lba);
        let sector = track.sector + (lba - track.first) as u32;
        BlockPlace { cylinder: track.cylinder, head: track.head, sector, angle: fraction(track.angle_of(lba)) }
    }

    /// The range of blocks on the physical track of which `track` is all or a part. Slips cut a track into parts that
    /// follow each other. Remapped blocks that belong here are included, and blocks that were remapped to here are
    /// not. The blocks of a remapped part have a range of their own. O(1), except next to a slip or defect.
    pub fn bounds(&self, track: &Track) -> Range<u64> {
        let bounds = mapped!(self, map => map.bounds(track));
        bounds.start..bounds.end.min(self.capacity)
    }

    /// The block at a place; `None` for a spare, a slipped or a bad sector.
    pub fn block_at(&self, cylinder: u32, head: u32, sector: u32) -> Option<u64> {
        if head >= self.heads {
            return None;
        }
        mapped!(self, map => map.block_at(cylinder, head, sector)).filter(|&lba| lba < self.capacity)
    }
}
