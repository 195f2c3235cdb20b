//! [`Rules`]: the sparing schemes one block at a time, slow and plain.

use crate::disk::geometry::g1::{G1Zone, HeadOrder, SkewUnit, Sparing};

pub(super) struct Rules<'a> {
    heads: u64,
    order: HeadOrder,
    sparing: Sparing,
    range: u64,
    zone: &'a G1Zone,
}

impl<'a> Rules<'a> {
    pub(super) fn new(heads: u32, order: HeadOrder, sparing: Sparing, range: u32, zone: &'a G1Zone) -> Self {
        Self { heads: heads.into(), order, sparing, range: range.into(), zone }
    }

    fn per_track(&self) -> u64 {
        self.zone.blocks_per_track.into()
    }

    fn per_cylinder(&self) -> u64 {
        self.heads * self.per_track()
    }

    fn width(&self) -> u64 {
        u64::from(self.zone.last_cylinder - self.zone.first_cylinder) + 1
    }

    /// Blocks in the zone; may be negative.
    pub(super) fn blocks(&self) -> i64 {
        let (w, k) = (self.width() as i64, i64::from(self.zone.spares));
        let slips = self.zone.slips.len() as i64;
        let taken = match self.sparing {
            Sparing::None => 0,
            Sparing::Tracks => k * self.per_track() as i64,
            Sparing::PerTrack => k * w * self.heads as i64,
            Sparing::PerCylinder | Sparing::CylinderFront => k * w,
            Sparing::PerCylinderSlipToEnd | Sparing::CylinderFrontSlipToEnd => k * w + slips,
            Sparing::AtEnd => slips,
            Sparing::PerRange => k * (w / self.range as i64),
            Sparing::PerZone => k,
            Sparing::PerZoneSlipToEnd => k + slips,
        };
        w * self.per_cylinder() as i64 - self.zone.empty as i64 - taken
    }

    /// Where block `lba` of the zone belongs, without defects.
    pub(super) fn belongs(&self, lba: u64) -> u64 {
        let x = lba + self.zone.empty;
        let (s, n, k) = (self.per_track(), self.per_cylinder(), u64::from(self.zone.spares));
        // `per` of every `of` places are used, from `skip` on: past the slips of the same unit.
        let in_unit = |per: u64, of: u64| {
            let (unit, mut o) = (x / per, x % per);
            for slip in self.zone.slips.iter().filter(|&&slip| slip / of == unit) {
                o += u64::from(slip % of <= o);
            }
            unit * of + o
        };
        // The same past all slips among the used places.
        let to_end = |per: u64, of: u64, skip: u64| {
            let mut x = x;
            for slip in &self.zone.slips {
                if let Some(o) = (slip % of).checked_sub(skip).filter(|&o| o < per) {
                    x += u64::from(slip / of * per + o <= x);
                }
            }
            x / per * of + skip + x % per
        };
        match self.sparing {
            Sparing::None => x,
            Sparing::Tracks => {
                let mut track = x / s;
                for &slip in &self.zone.slips {
                    track += u64::from(slip <= track);
                }
                track * s + x % s
            }
            Sparing::PerTrack => in_unit(s - k, s),
            Sparing::PerCylinder => in_unit(n - k, n),
            Sparing::PerRange => in_unit(self.range * n - k, self.range * n),
            Sparing::CylinderFront => {
                // From the end of the cylinder towards the front.
                let (cylinder, mut back) = (x / (n - k), n - k - 1 - x % (n - k));
                for slip in self.zone.slips.iter().rev().filter(|&&slip| slip / n == cylinder) {
                    back += u64::from(n - 1 - slip % n <= back);
                }
                cylinder * n + n - 1 - back
            }
            Sparing::PerCylinderSlipToEnd => to_end(n - k, n, 0),
            Sparing::CylinderFrontSlipToEnd => to_end(n - k, n, k),
            Sparing::AtEnd | Sparing::PerZone | Sparing::PerZoneSlipToEnd => to_end(u64::MAX, u64::MAX, 0),
        }
    }

    fn grain(&self) -> u64 {
        if self.sparing == Sparing::Tracks { self.per_track() } else { 1 }
    }

    /// Where block `lba` of the zone is.
    pub(super) fn place(&self, lba: u64) -> u64 {
        let (place, grain) = (self.belongs(lba), self.grain());
        match self.zone.defects.iter().find(|defect| defect.0 == place / grain) {
            Some(defect) => defect.1 * grain + place % grain,
            None => place,
        }
    }

    /// Cylinder, head, sector and angle of a place of the zone.
    pub(super) fn physical(&self, place: u64) -> (u32, u32, u32, f64) {
        let zone = self.zone;
        let (s, n, heads) = (self.per_track(), self.per_cylinder(), self.heads);
        let (c, h, sector) = (place / n, place % n / s, place % s);
        let cylinder = u64::from(zone.first_cylinder) + c;
        let falls = match self.order {
            HeadOrder::Rising => false,
            HeadOrder::AlternatingInZone => c % 2 == 1,
            HeadOrder::AlternatingOnDisk => cylinder % 2 == 1,
        };
        let head = if falls { heads - 1 - h } else { h };
        let pushing = match self.sparing {
            Sparing::PerTrack => c * n + head * s,
            Sparing::PerCylinder
            | Sparing::PerCylinderSlipToEnd
            | Sparing::CylinderFront
            | Sparing::CylinderFrontSlipToEnd => c * n,
            _ => 0,
        };
        let q = zone.slips.iter().filter(|&&slip| slip < pushing).count() as f64;
        let turns = |skew: f64| match zone.skew_unit {
            SkewUnit::Sectors => skew.trunc() / s as f64,
            SkewUnit::Revolutions => skew,
        };
        let t = (h + (heads - 1) * c) as f64;
        let angle = turns(zone.offset)
            + t * turns(zone.track_skew)
            + c as f64 * turns(zone.cylinder_skew)
            + (sector as f64 + q) / s as f64;
        (cylinder as u32, head as u32, sector as u32, angle.rem_euclid(1.0))
    }

    /// The zone with a slip at the wished place, or with a defect there and a replacement; unchanged if the scheme
    /// does not allow it.
    pub(super) fn grant(&self, wish: u64, slip: bool) -> G1Zone {
        let before = || self.zone.clone();
        let mut zone = before();
        let places = self.width() * self.per_cylinder() / self.grain();
        let (place, k) = (wish % places, u64::from(zone.spares));
        let blocks = self.blocks() as u64;
        let taken: Vec<u64> = (0..blocks).map(|lba| self.belongs(lba) / self.grain()).collect();
        let known = |p: u64| self.zone.slips.contains(&p) || self.zone.defects.iter().any(|d| d.0 == p || d.1 == p);
        if self.sparing == Sparing::None || known(place) {
            return zone;
        }
        if !slip {
            if let Some(free) = (0..places).find(|&p| !taken.contains(&p) && !known(p) && p != place) {
                if taken.contains(&place) {
                    zone.defects.push((place, free));
                }
            }
            return zone;
        }
        zone.slips.push(place);
        zone.slips.sort_unstable();
        let unit = match self.sparing {
            Sparing::PerTrack => self.per_track(),
            Sparing::PerCylinder | Sparing::CylinderFront => self.per_cylinder(),
            Sparing::PerRange => self.range * self.per_cylinder(),
            _ => u64::MAX,
        };
        let none = self.sparing == Sparing::PerRange && place / unit == self.width() / self.range;
        let used = zone.slips.iter().filter(|&&other| other / unit == place / unit).count() as u64;
        let fits = used <= if none { 0 } else { k } || self.sparing.slips_to_end();
        // The defects were chosen for the previous slips.
        let left = Rules { zone: &zone, ..*self }.blocks();
        if fits && self.zone.defects.is_empty() && left > 0 { zone } else { before() }
    }
}
