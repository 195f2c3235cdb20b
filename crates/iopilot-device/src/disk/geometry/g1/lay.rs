//! Lays out the blocks of one zone, by sparing scheme, slips and empty space.

use super::layout::{G1Zone, Sparing};
use super::piece::{G1Piece, cut, select};
use std::ops::Range;

/// The properties of a drive's layout that a zone needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct G1Frame {
    pub(super) heads: u64,
    pub(super) cylinders: u64,
    pub(super) per_track: u64,
    pub(super) sparing: Sparing,
    /// Cylinders in a range.
    pub(super) range: u64,
}

impl G1Frame {
    /// Sectors of a cylinder.
    pub(super) fn per_cylinder(&self) -> u64 {
        self.heads * self.per_track
    }

    /// Sectors of the zone.
    pub(super) fn places(&self) -> u64 {
        self.cylinders * self.per_cylinder()
    }

    /// The unit of slips and defects, in sectors: a track or one sector.
    pub(super) fn grain(&self) -> u64 {
        if self.sparing == Sparing::Tracks { self.per_track } else { 1 }
    }

    /// Blocks in the zone; `None` if more is subtracted than there is.
    pub(super) fn blocks(&self, zone: &G1Zone) -> Option<u64> {
        let k = u64::from(zone.spares);
        let spares = match self.sparing {
            Sparing::None | Sparing::AtEnd => 0,
            Sparing::Tracks => k * self.per_track,
            Sparing::PerTrack => k * self.cylinders * self.heads,
            Sparing::PerCylinder
            | Sparing::PerCylinderSlipToEnd
            | Sparing::CylinderFront
            | Sparing::CylinderFrontSlipToEnd => k * self.cylinders,
            Sparing::PerRange => k * (self.cylinders / self.range),
            Sparing::PerZone | Sparing::PerZoneSlipToEnd => k,
        };
        let slipped = if self.sparing.slips_to_end() { zone.slips.len() as u64 } else { 0 };
        self.places().checked_sub(spares)?.checked_sub(slipped)?.checked_sub(zone.empty)
    }

    /// The number of places within which spares make up for slips; the last unit may be smaller.
    fn unit(&self) -> u64 {
        match self.sparing {
            Sparing::PerTrack => self.per_track,
            Sparing::PerCylinder
            | Sparing::PerCylinderSlipToEnd
            | Sparing::CylinderFront
            | Sparing::CylinderFrontSlipToEnd => self.per_cylinder(),
            Sparing::PerRange => (self.range * self.per_cylinder()).min(self.places()),
            Sparing::None | Sparing::Tracks | Sparing::AtEnd | Sparing::PerZone | Sparing::PerZoneSlipToEnd => {
                self.places()
            }
        }
    }

    /// For a unit with this many places: the places that may hold blocks, and the most blocks it has. With spares at
    /// the front, the blocks fill the last of them, otherwise the first that are not slipped.
    fn room(&self, spares: u64, places: u64) -> (Range<u64>, u64) {
        let left = places.saturating_sub(spares);
        match self.sparing {
            Sparing::None | Sparing::AtEnd => (0..places, places),
            Sparing::Tracks => (0..places, places.saturating_sub(spares * self.per_track)),
            Sparing::PerCylinder | Sparing::PerTrack | Sparing::PerZone | Sparing::CylinderFront => (0..places, left),
            Sparing::PerRange if places < self.range * self.per_cylinder() => (0..places, places),
            Sparing::PerRange => (0..places, left),
            Sparing::PerCylinderSlipToEnd | Sparing::PerZoneSlipToEnd => (0..left, left),
            Sparing::CylinderFrontSlipToEnd => (spares.min(places)..places, left),
        }
    }

    /// All blocks, numbered from 0, in order; fewer than [`G1Frame::blocks`] if slips exceed the spares.
    pub(super) fn lay_out(&self, zone: &G1Zone) -> Vec<G1Piece> {
        let (unit, grain, spares) = (self.unit(), self.grain(), u64::from(zone.spares));
        let all = self.places();
        let mut pieces = Vec::new();
        let (mut first, mut at) = (0, 0);
        let mut slips = zone.slips.iter().map(|&s| s * grain).peekable();
        while at < all {
            let size = unit.min(all - at);
            let next_slip = slips.peek().copied().unwrap_or(all);
            // Units without slips, together; a smaller last unit by itself.
            let clean =
                if size < unit { u64::from(next_slip >= all) } else { (next_slip.min(all / unit * unit) - at) / unit };
            let (room, most) = self.room(spares, size);
            let within = |most: u64| if self.sparing == Sparing::CylinderFront { size - most } else { room.start };
            if clean > 0 {
                let per_unit = most.min(room.end - room.start);
                if per_unit > 0 {
                    let count = clean * per_unit;
                    pieces.push(G1Piece { first, place: at + within(per_unit), count, per_unit, stride: size });
                    first += count;
                }
                at += clean * size;
                continue;
            }
            let mut in_unit = Vec::new();
            while let Some(slip) = slips.next_if(|&s| s < at + size) {
                in_unit.push(slip);
            }
            for gap in self.past_slips(at + room.start..at + room.end, most, &in_unit) {
                pieces.push(G1Piece::run(first, gap.start, gap.end - gap.start));
                first += gap.end - gap.start;
            }
            at += size;
        }
        let end = zone.empty + self.blocks(zone).unwrap_or(0);
        let pieces = select(pieces, zone.empty.min(first), end.min(first));
        cut(pieces, &self.cuts(zone))
    }

    /// The places of a unit that hold blocks: those of `room` that are not slipped, at most `most`.
    fn past_slips(&self, room: Range<u64>, most: u64, slips: &[u64]) -> Vec<Range<u64>> {
        let mut gaps = Vec::with_capacity(slips.len() + 1);
        let mut from = room.start;
        for &slip in slips {
            gaps.push(from..from.max(slip.min(room.end)));
            from = from.max(slip + self.grain());
        }
        gaps.push(from..from.max(room.end));
        let mut excess = gaps.iter().map(|gap| gap.end - gap.start).sum::<u64>().saturating_sub(most);
        let mut take = |gap: &Range<u64>| {
            let taken = excess.min(gap.end - gap.start);
            excess -= taken;
            taken
        };
        if self.sparing == Sparing::CylinderFront {
            gaps.iter_mut().for_each(|gap| gap.start += take(gap));
        } else {
            gaps.iter_mut().rev().for_each(|gap| gap.end -= take(gap));
        }
        gaps.retain(|gap| gap.start < gap.end);
        gaps
    }

    /// The places at which a piece must end: bad places, and where slips move the angle.
    fn cuts(&self, zone: &G1Zone) -> Vec<u64> {
        let (grain, n) = (self.grain(), self.per_cylinder());
        let mut cuts: Vec<u64> = zone.defects.iter().flat_map(|d| [d.0 * grain, (d.0 + 1) * grain]).collect();
        if self.sparing.slips_push_cylinders() {
            cuts.extend(zone.slips.iter().map(|slip| (slip / n + 1) * n));
        } else if self.sparing == Sparing::PerTrack {
            let mut cylinders: Vec<u64> = zone.slips.iter().map(|slip| slip / n).collect();
            cylinders.dedup();
            cuts.extend(cylinders.iter().flat_map(|c| (0..=self.heads).map(move |h| c * n + h * self.per_track)));
        }
        cuts.sort_unstable();
        cuts.dedup();
        cuts
    }
}
