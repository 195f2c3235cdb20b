//! Checks of a layout g1.

use super::lay::G1Frame;
use super::layout::{G1Layout, G1Zone, Sparing};
use super::piece::G1Piece;
use crate::disk::geometry::track::beyond;
use iopilot_block::InputError;
use std::fmt::Display;

/// The most blocks and sectors.
pub(super) const MOST: u64 = 1 << 48;

/// Checks the parameters by themselves.
pub(super) fn layout(g1: &G1Layout) -> Result<(), InputError> {
    if g1.zones.is_empty() {
        return Err(InputError::new("Zones", "none", "at least one zone"));
    }
    if g1.sparing == Sparing::PerRange && g1.range_cylinders == 0 {
        return Err(InputError::new("Rangesize for sparing", "0", "the cylinders of a range"));
    }
    let mut used: Vec<(u32, u32, usize)> = Vec::with_capacity(g1.zones.len());
    for (i, z) in g1.zones.iter().enumerate() {
        zone(g1, i, z)?;
        used.push((z.first_cylinder, z.last_cylinder, i));
    }
    used.sort_unstable();
    for pair in used.windows(2) {
        if pair[1].0 <= pair[0].1 {
            let expected = format!("a cylinder behind those of zone {}, which ends with {}", pair[0].2, pair[0].1);
            return Err(wrong(pair[1].2, "First cylinder number", &pair[1].0, expected));
        }
    }
    Ok(())
}

fn zone(g1: &G1Layout, i: usize, z: &G1Zone) -> Result<(), InputError> {
    if z.last_cylinder < z.first_cylinder {
        let expected = format!("at least the first cylinder, {}", z.first_cylinder);
        return Err(wrong(i, "Last cylinder number", &z.last_cylinder, expected));
    }
    if z.last_cylinder >= g1.cylinders + beyond(g1.cylinders) {
        let expected = format!("a cylinder below {}", g1.cylinders);
        return Err(wrong(i, "Last cylinder number", &z.last_cylinder, expected));
    }
    if !(1..=1 << 30).contains(&z.blocks_per_track) {
        return Err(wrong(i, "Blocks per track", &z.blocks_per_track, "at least 1 and at most 2^30"));
    }
    let angles = [
        ("Offset of first block", z.offset),
        ("Skew for track switch", z.track_skew),
        ("Skew for cylinder switch", z.cylinder_skew),
        ("Skew for range switch", z.range_skew),
    ];
    if let Some((name, value)) = angles.into_iter().find(|(_, value)| !value.is_finite() || value.abs() > 1e6) {
        return Err(wrong(i, name, &value, "a number up to a million"));
    }
    let frame = g1.frame(z);
    let sectors = u128::from(frame.cylinders) * u128::from(frame.heads) * u128::from(frame.per_track);
    if sectors > u128::from(MOST) {
        return Err(wrong(i, "Last cylinder number", &z.last_cylinder, format!("a zone of at most {MOST} sectors")));
    }
    if g1.sparing == Sparing::None && !(z.slips.is_empty() && z.defects.is_empty()) {
        let (name, n) = if z.slips.is_empty() { ("defects", z.defects.len()) } else { ("slips", z.slips.len()) };
        return Err(wrong(i, name, &format!("{n} places"), "none without a sparing scheme"));
    }
    let places = frame.places() / frame.grain();
    let what = if g1.sparing == Sparing::Tracks { "tracks" } else { "sectors" };
    if let Some(pair) = z.slips.windows(2).find(|pair| pair[0] >= pair[1]) {
        return Err(wrong(i, "slips", &pair[1], format!("more than the slip before it, {}", pair[0])));
    }
    if let Some(&slip) = z.slips.iter().find(|&&slip| slip >= places) {
        return Err(wrong(i, "slips", &slip, format!("a place below the zone's {places} {what}")));
    }
    if let Some(&(bad, to)) = z.defects.iter().find(|&&(bad, to)| bad.max(to) >= places) {
        return Err(wrong(i, "defects", &bad.max(to), format!("a place below the zone's {places} {what}")));
    }
    if frame.blocks(z).is_none() {
        let expected = format!("less than the zone's {} sectors", frame.places());
        let got = format!("{} spares, {} empty, {} slips", z.spares, z.empty, z.slips.len());
        return Err(wrong(i, "Number of spares", &got, expected));
    }
    Ok(())
}

/// Checks that all blocks were laid out.
pub(super) fn room(i: usize, z: &G1Zone, frame: &G1Frame, pieces: &[G1Piece]) -> Result<(), InputError> {
    let (found, wanted) = (pieces.last().map_or(0, G1Piece::end), frame.blocks(z).unwrap_or(0));
    if found == wanted {
        return Ok(());
    }
    let got = format!("{} places", z.slips.len());
    Err(wrong(i, "slips", &got, format!("no more than there are spares for: {} blocks find no place", wanted - found)))
}

/// Checks that the blocks of the whole disk can be numbered.
pub(super) fn total(blocks: u64, stretches: usize) -> Result<(), InputError> {
    if blocks == 0 {
        return Err(InputError::new("Zones", "no blocks", "zones with blocks"));
    }
    if blocks > MOST || stretches > i32::MAX as usize {
        return Err(InputError::new("Zones", format!("{blocks} blocks"), format!("at most {MOST}")));
    }
    Ok(())
}

/// The remapped places of a zone.
pub(super) struct Defects {
    /// Bad places and their replacements, sorted.
    pairs: Vec<(u64, u64)>,
    grain: u64,
}

impl Defects {
    pub(super) fn new(i: usize, z: &G1Zone, frame: &G1Frame, pieces: &[G1Piece]) -> Result<Self, InputError> {
        let grain = frame.grain();
        let mut pairs: Vec<(u64, u64)> = z.defects.iter().copied().filter(|(bad, to)| bad != to).collect();
        pairs.sort_unstable();
        if let Some(pair) = pairs.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(wrong(i, "defects", &pair[0].0, "each bad place once"));
        }
        let mut stand_ins: Vec<u64> = pairs.iter().map(|pair| pair.1).collect();
        stand_ins.sort_unstable();
        if let Some(pair) = stand_ins.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(wrong(i, "defects", &pair[0], "each replacement once"));
        }
        for &to in &stand_ins {
            let before = |end: u64| {
                let at = pieces.partition_point(|p| p.place < end);
                at.checked_sub(1).map_or(0, |at| pieces[at].first + pieces[at].blocks_before(end))
            };
            let slipped = z.slips.binary_search(&to).is_ok();
            let bad = pairs.binary_search_by_key(&to, |pair| pair.0).is_ok();
            if slipped || bad || before((to + 1) * grain) > before(to * grain) {
                return Err(wrong(i, "defects", &to, "a replacement that holds no block and is not bad itself"));
            }
        }
        Ok(Self { pairs, grain })
    }

    /// The place of the blocks that belong at sector `place`, if that is bad.
    pub(super) fn stand_in(&self, place: u64) -> Option<u64> {
        let bad = place / self.grain;
        let at = self.pairs.binary_search_by_key(&bad, |pair| pair.0).ok()?;
        Some(self.pairs[at].1 * self.grain + place % self.grain)
    }
}

fn wrong(zone: usize, parameter: &str, got: &dyn Display, expected: impl Into<String>) -> InputError {
    InputError::new(format!("zone {zone}: {parameter}"), got.to_string(), expected)
}
