//! [`Track`]: the unit of sequential access; [`BlockPlace`]: the place of one block.

/// A run of blocks that pass under one head one after another: a track, or a part of one if slipped or remapped
/// sectors interrupt it. The parts of a track have the same cylinder and head, so moving to the next takes only the
/// time in which the sectors between them pass.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Track {
    /// Its zone; for a g4 layout the entry of the root.
    pub zone: u32,
    /// Its position in the order of its map, from which the map finds the next track.
    pub ordinal: u32,
    /// Its cylinder.
    pub cylinder: u32,
    /// Its head.
    pub head: u32,
    /// Blocks on it.
    pub sectors: u32,
    /// Sectors in a whole revolution: more than `sectors` if some are spares or this is a part.
    pub per_turn: u32,
    /// The number of its first sector on the physical track.
    pub sector: u32,
    /// Its first block.
    pub first: u64,
    /// Where its first block starts, in revolutions from the index mark, 0 to 1.
    pub angle: f64,
}

impl Track {
    /// The first block behind this track.
    pub fn end(&self) -> u64 {
        self.first + u64::from(self.sectors)
    }

    /// Where block `lba` of this track starts, in revolutions; may exceed 1.
    pub fn angle_of(&self, lba: u64) -> f64 {
        self.angle + (lba - self.first) as f64 / f64::from(self.per_turn)
    }
}

/// The place of a block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlockPlace {
    /// Its cylinder.
    pub cylinder: u32,
    /// Its head.
    pub head: u32,
    /// Its sector, counted from the first of the track.
    pub sector: u32,
    /// Where it starts, in revolutions from the index mark, 0 to 1.
    pub angle: f64,
}

/// A zone, for pictures and tables.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ZoneSpan {
    /// Its first cylinder.
    pub first_cylinder: u32,
    /// Its last cylinder.
    pub last_cylinder: u32,
    /// Its first block.
    pub first_block: u64,
    /// Blocks in it.
    pub blocks: u64,
    /// Sectors in a revolution; for a zone with several kinds of track those of the first.
    pub per_turn: u32,
}

/// The fractional part of `x`, 0 to 1, also for negative `x`.
pub(in crate::disk) fn fraction(x: f64) -> f64 {
    let f = x - (x as i64) as f64;
    if f < 0.0 { f + 1.0 } else { f }
}

/// By how many cylinders a layout may exceed its drive: published files do so by one.
pub(super) fn beyond(cylinders: u32) -> u32 {
    (cylinders / 100).max(1)
}
