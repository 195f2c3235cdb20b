//! [`G1`]: DiskSim's layout g1: zones with spares, slips, defects and empty space.
//!
//! With any sparing scheme, long runs of blocks are placed regularly. A zone is a list of [`G1Piece`]s, most of them
//! of thousands of tracks, interrupted only by slips and defects. A search finds a block's piece and does some
//! divisions.

mod check;
mod lay;
mod layout;
mod piece;
#[cfg(test)]
mod tests;

pub use layout::{G1Layout, G1Zone, HeadOrder, SkewUnit, Sparing};

use super::divisor::Divisor;
use super::starts::Starts;
use super::track::{Track, ZoneSpan, fraction};
use iopilot_block::InputError;
use lay::G1Frame;
use piece::G1Piece;
use std::ops::Range;

/// The map of [`G1Layout`]: see the module.
#[derive(Clone, Debug)]
pub(super) struct G1 {
    heads: u32,
    per_cylinder: Divisor,
    order: HeadOrder,
    zones: Box<[ZoneMap]>,
    starts: Starts,
    stretches: Box<[Stretch]>,
    /// Zone, place and block of each remapped block; sorted.
    remapped: Box<[(u32, u64, u64)]>,
    capacity: u64,
}

/// A piece and the properties that its tracks share.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    /// Its blocks; `first` counts from the start of the disk, `place` is where they belong.
    piece: G1Piece,
    /// The divisor `piece.per_unit`.
    per_unit: Divisor,
    /// Where they are: a different place if they were remapped.
    place: u64,
    zone: u32,
    /// By how many sectors slips have moved the angle.
    push: u32,
}

#[derive(Clone, Debug)]
struct ZoneMap {
    first_cylinder: u32,
    last_cylinder: u32,
    per_track: u32,
    sectors: Divisor,
    /// The width of a sector, revolutions.
    width: f64,
    range: u32,
    /// Revolutions.
    offset: f64,
    track_skew: f64,
    cylinder_skew: f64,
    range_skew: f64,
    /// Its stretches.
    stretches: Range<usize>,
    blocks: Range<u64>,
}

impl G1 {
    pub(super) fn new(layout: &G1Layout) -> Result<Self, InputError> {
        check::layout(layout)?;
        let mut stretches = Vec::new();
        let mut zones = Vec::with_capacity(layout.zones.len());
        let mut remapped = Vec::new();
        let mut end = 0;
        for (index, zone) in layout.zones.iter().enumerate() {
            let frame = layout.frame(zone);
            let pieces = frame.lay_out(zone);
            check::room(index, zone, &frame, &pieces)?;
            let defects = check::Defects::new(index, zone, &frame, &pieces)?;
            let from = stretches.len();
            for mut piece in pieces {
                let belongs = piece.place;
                let place = defects.stand_in(belongs).unwrap_or(belongs);
                piece.first += end;
                if place != belongs {
                    remapped.push((index as u32, place, piece.first));
                }
                let push = layout.push(zone, &frame, place);
                let per_unit = Divisor::new(piece.per_unit, piece.count);
                stretches.push(Stretch { piece, per_unit, place, zone: index as u32, push });
            }
            let blocks = frame.blocks(zone).unwrap_or(0);
            let turns = |skew: f64| match zone.skew_unit {
                SkewUnit::Sectors => skew.trunc() / f64::from(zone.blocks_per_track),
                SkewUnit::Revolutions => skew,
            };
            zones.push(ZoneMap {
                first_cylinder: zone.first_cylinder,
                last_cylinder: zone.last_cylinder,
                per_track: zone.blocks_per_track,
                sectors: Divisor::new(frame.per_track, frame.places()),
                width: 1.0 / f64::from(zone.blocks_per_track),
                range: layout.range_cylinders.max(1),
                offset: turns(zone.offset),
                track_skew: turns(zone.track_skew),
                cylinder_skew: turns(zone.cylinder_skew),
                range_skew: turns(zone.range_skew),
                stretches: from..stretches.len(),
                blocks: end..end + blocks,
            });
            end += blocks;
        }
        check::total(end, stretches.len())?;
        remapped.sort_unstable();
        let starts = Starts::new(stretches.iter().map(|s| s.piece.first).collect(), end);
        Ok(Self {
            heads: layout.heads,
            per_cylinder: Divisor::new(u64::from(layout.heads), check::MOST),
            order: layout.order,
            zones: zones.into(),
            starts,
            stretches: stretches.into(),
            remapped: remapped.into(),
            capacity: end,
        })
    }

    pub(super) fn capacity(&self) -> u64 {
        self.capacity
    }

    pub(super) fn cylinders(&self) -> u32 {
        self.zones.iter().map(|zone| zone.last_cylinder + 1).max().unwrap_or(0)
    }

    pub(super) fn zones(&self) -> Vec<ZoneSpan> {
        let span = |zone: &ZoneMap| ZoneSpan {
            first_cylinder: zone.first_cylinder,
            last_cylinder: zone.last_cylinder,
            first_block: zone.blocks.start,
            blocks: zone.blocks.end - zone.blocks.start,
            per_turn: zone.per_track,
        };
        self.zones.iter().map(span).collect()
    }

    #[inline]
    pub(super) fn track_of(&self, lba: u64) -> Track {
        self.track(self.starts.find(lba), lba)
    }

    #[inline]
    pub(super) fn next_track(&self, track: &Track) -> Track {
        let i = track.ordinal as usize;
        self.track(i + usize::from(track.end() >= self.stretches[i].piece.end()), track.end())
    }

    /// The track of block `lba`, which is in stretch `index`.
    #[inline]
    fn track(&self, index: usize, lba: u64) -> Track {
        let stretch = &self.stretches[index];
        let piece = &stretch.piece;
        let zone = &self.zones[stretch.zone as usize];
        let i = lba - piece.first;
        // From the first place of the unit, and how many of its blocks follow from there.
        let (unit_place, within, in_unit) = if i < piece.per_unit {
            (stretch.place, i, piece.per_unit.min(piece.count))
        } else {
            let (unit, within) = stretch.per_unit.divide(i);
            (stretch.place + unit * piece.stride, within, piece.per_unit.min(piece.count - (i - within)))
        };
        let place = unit_place + within;
        let (track, sector) = zone.sectors.divide(place);
        let sector = sector as u32;
        let before = within.min(u64::from(sector));
        let after = (in_unit - within).min(u64::from(zone.per_track - sector));
        let (cylinder, head) = self.per_cylinder.divide(track);
        let (cylinder, head) = (cylinder as u32, head as u32);
        let first_sector = sector - before as u32;
        let angle = zone.angle(cylinder, head, self.heads) + f64::from(first_sector + stretch.push) * zone.width;
        let cylinder = zone.first_cylinder + cylinder;
        Track {
            zone: stretch.zone,
            ordinal: index as u32,
            cylinder,
            head: if self.falls(zone, cylinder) { self.heads - 1 - head } else { head },
            sectors: (before + after) as u32,
            per_turn: zone.per_track,
            sector: first_sector,
            first: lba - before,
            angle: fraction(angle),
        }
    }

    pub(super) fn bounds(&self, track: &Track) -> Range<u64> {
        let stretch = &self.stretches[track.ordinal as usize];
        let piece = &stretch.piece;
        let inside = piece.first < track.first && track.end() < piece.end();
        if inside || stretch.place != piece.place {
            return track.first..track.end();
        }
        let zone = &self.zones[track.zone as usize];
        let start = self.place(zone, track.cylinder, track.head, 0);
        self.first_at(zone, start)..self.first_at(zone, start + u64::from(zone.per_track))
    }

    pub(super) fn block_at(&self, cylinder: u32, head: u32, sector: u32) -> Option<u64> {
        let index = self.zones.iter().position(|z| (z.first_cylinder..=z.last_cylinder).contains(&cylinder))?;
        let zone = &self.zones[index];
        if sector >= zone.per_track {
            return None;
        }
        let place = self.place(zone, cylinder, head, sector);
        let remapped = self.remapped.partition_point(|&(z, p, _)| (z, p) <= (index as u32, place));
        if let Some(&(z, p, first)) = remapped.checked_sub(1).map(|i| &self.remapped[i]) {
            let piece = &self.stretches[self.starts.find(first)].piece;
            if z == index as u32 && place < p + piece.count {
                return Some(first + (place - p));
            }
        }
        let stretch = self.stretch_at(zone, place)?;
        let i = stretch.piece.block_at(place)?;
        (stretch.place == stretch.piece.place).then_some(stretch.piece.first + i)
    }

    /// The last stretch of `zone` that begins at or before `place`.
    fn stretch_at(&self, zone: &ZoneMap, place: u64) -> Option<&Stretch> {
        let stretches = &self.stretches[zone.stretches.clone()];
        stretches[..stretches.partition_point(|s| s.piece.place <= place)].last()
    }

    /// The first block that belongs at or behind `place`.
    fn first_at(&self, zone: &ZoneMap, place: u64) -> u64 {
        match self.stretch_at(zone, place) {
            Some(stretch) => stretch.piece.first + stretch.piece.blocks_before(place),
            None => zone.blocks.start,
        }
    }

    /// The number of a place in its zone.
    fn place(&self, zone: &ZoneMap, cylinder: u32, head: u32, sector: u32) -> u64 {
        let head = if self.falls(zone, cylinder) { self.heads - 1 - head } else { head };
        let track = u64::from(cylinder - zone.first_cylinder) * u64::from(self.heads) + u64::from(head);
        track * u64::from(zone.per_track) + u64::from(sector)
    }

    /// Whether the heads are filled in falling order.
    #[inline]
    fn falls(&self, zone: &ZoneMap, cylinder: u32) -> bool {
        match self.order {
            HeadOrder::Rising => false,
            HeadOrder::AlternatingInZone => (cylinder - zone.first_cylinder) % 2 == 1,
            HeadOrder::AlternatingOnDisk => cylinder % 2 == 1,
        }
    }
}

impl ZoneMap {
    /// The start angle of a track, in revolutions: skews add up over all switches since the start of the zone.
    /// `cylinder` counts from there, `head` in the order in which heads are filled.
    #[inline]
    fn angle(&self, cylinder: u32, head: u32, heads: u32) -> f64 {
        let track_switches = f64::from(head) + f64::from(heads - 1) * f64::from(cylinder);
        let mut angle = self.offset + track_switches * self.track_skew + f64::from(cylinder) * self.cylinder_skew;
        if self.range_skew != 0.0 {
            angle += f64::from(cylinder / self.range) * self.range_skew;
        }
        angle
    }
}

impl G1Layout {
    fn frame(&self, zone: &G1Zone) -> G1Frame {
        G1Frame {
            heads: u64::from(self.heads),
            cylinders: u64::from(zone.last_cylinder - zone.first_cylinder) + 1,
            per_track: u64::from(zone.blocks_per_track),
            sparing: self.sparing,
            range: u64::from(self.range_cylinders.max(1)),
        }
    }

    /// By how many sectors the slips of `zone` move the angle of the track of `place`. All slips in earlier cylinders
    /// count; with spares on each track, those on earlier tracks, by the number of the head.
    fn push(&self, zone: &G1Zone, frame: &G1Frame, place: u64) -> u32 {
        let cylinder = place / frame.per_cylinder();
        let mut cutoff = cylinder * frame.per_cylinder();
        if self.sparing == Sparing::PerTrack {
            let head = place % frame.per_cylinder() / frame.per_track;
            let odd = match self.order {
                HeadOrder::Rising => false,
                HeadOrder::AlternatingInZone => cylinder % 2 == 1,
                HeadOrder::AlternatingOnDisk => (u64::from(zone.first_cylinder) + cylinder) % 2 == 1,
            };
            cutoff += frame.per_track * if odd { frame.heads - 1 - head } else { head };
        } else if !self.sparing.slips_push_cylinders() {
            return 0;
        }
        zone.slips.partition_point(|&slip| slip < cutoff) as u32
    }
}
