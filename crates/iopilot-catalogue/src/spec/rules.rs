//! Rules for values that no sheet gives. Each has a name, which marks in `[provenance]` cite. `docs/reference/disks.md`
//! explains the rules and their sources. Three keys are filled in by rule if a description leaves them out.

use super::disk::{DeviceSpec, DiskSpec};
use super::sections::{GeometrySpec, MechanicalSpec};
use iopilot_block::SECTOR_BYTES;

/// The names of the rules, sorted.
pub(super) const RULES: [&str; 21] = [
    "age-limit",
    "cache-size",
    "capacity",
    "command-overhead",
    "full-stroke",
    "heads",
    "hit-overhead",
    "inner-rate",
    "layout",
    "link-rate",
    "peer",
    "queue-depth",
    "queue-policy",
    "read-ahead",
    "segments",
    "spare-blocks",
    "surface-rate",
    "track-change",
    "write-cache",
    "write-settle",
    "zones",
];

/// The name of the rule that a mark cites: `derived: rule NAME`, optionally followed by more text.
pub(super) fn cited(mark: &str) -> Option<&str> {
    let rest = mark.strip_prefix("derived: rule ")?;
    Some(rest.split(|c: char| !c.is_ascii_lowercase() && c != '-').next().unwrap_or(rest))
}

/// Rule `full-stroke`: in sheets that give both, the full stroke is 1.7 to 2.4 times the average; the median is 2.
fn full_stroke_ms(average: f64) -> f64 {
    2.0 * average
}

/// Rule `inner-rate`: faster drives have smaller platters, whose inner tracks differ less from the outer ones.
fn inner_rate(outer: f64, rpm: f64) -> f64 {
    let share = match rpm {
        r if r < 8_500.0 => 0.5,
        r if r < 12_500.0 => 0.61,
        _ => 0.68,
    };
    outer * share
}

/// Rule `zones`: denser surfaces are divided more finely.
fn zones(capacity_sectors: u64, heads: u32) -> u32 {
    let gb = (capacity_sectors * SECTOR_BYTES) as f64 / 1e9 / f64::from(heads.max(1));
    match gb {
        g if g < 20.0 => 15,
        g if g < 140.0 => 30,
        _ => 60,
    }
}

impl DiskSpec {
    /// Fills in by rule the keys that were left out. Each gets its mark if the description has marks at all.
    pub(super) fn fill(&mut self) {
        let m = match &mut self.device {
            DeviceSpec::Mechanical(m) => &mut **m,
            DeviceSpec::Hybrid(h) => &mut h.disk,
            _ => return,
        };
        for (key, rule) in m.fill() {
            if !self.provenance.is_empty() {
                self.provenance.insert(key.to_owned(), format!("derived: rule {rule}"));
            }
        }
    }
}

impl MechanicalSpec {
    /// The keys filled in, each with its rule.
    fn fill(&mut self) -> Vec<(&'static str, &'static str)> {
        let mut filled = self.geometry.fill(self.mechanics.rotation_rpm);
        let seek = &mut self.mechanics.seek;
        if let (Some(_), Some(average), None) = (seek.single_cylinder_ms, seek.average_ms, seek.full_stroke_ms) {
            seek.full_stroke_ms = Some(full_stroke_ms(average));
            filled.push(("mechanics.seek.full_stroke_ms", "full-stroke"));
        }
        filled
    }
}

impl GeometrySpec {
    fn fill(&mut self, rpm: f64) -> Vec<(&'static str, &'static str)> {
        let mut filled = Vec::new();
        if !self.zone.is_empty() {
            return filled;
        }
        if let (Some(outer), None) = (self.outer_rate_mb_s, self.inner_rate_mb_s) {
            self.inner_rate_mb_s = Some(inner_rate(outer, rpm));
            filled.push(("geometry.inner_rate_mb_s", "inner-rate"));
        }
        // An impossible size is left to the checks.
        if let (Some(capacity @ 1..=1_000_000_000_000_000), None) = (self.capacity_sectors, self.zones) {
            self.zones = Some(zones(capacity, self.heads));
            filled.push(("geometry.zones", "zones"));
        }
        filled
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Catalogue;

    #[test]
    fn what_is_left_out_is_filled_in_by_its_rule_and_marked() {
        // 6 surfaces of 83 GB at 7200 rpm, 79.9 MB/s outside, 8.5 ms on average.
        let spec = Catalogue::get("hd-500-16").unwrap();
        let DeviceSpec::Mechanical(m) = &spec.device else { panic!("it is mechanical") };
        assert_eq!(m.geometry.zones, Some(30));
        assert_eq!(m.geometry.inner_rate_mb_s, m.geometry.outer_rate_mb_s.map(|r| r * 0.5));
        assert_eq!(m.mechanics.seek.full_stroke_ms, Some(17.0));
        assert_eq!(spec.provenance["mechanics.seek.full_stroke_ms"], "derived: rule full-stroke");
        assert_eq!(spec.provenance["geometry.inner_rate_mb_s"], "derived: rule inner-rate");
    }

    #[test]
    fn what_is_given_stays() {
        let spec = Catalogue::get("savvio-10k4-600g").unwrap();
        let DeviceSpec::Mechanical(m) = &spec.device else { panic!("it is mechanical") };
        assert_eq!((m.geometry.inner_rate_mb_s, m.mechanics.seek.full_stroke_ms), (Some(72.0), Some(7.81)));
    }

    #[test]
    fn rules_are_sorted_and_found_in_marks() {
        assert!(RULES.windows(2).all(|w| w[0] < w[1]));
        assert_eq!(cited("derived: rule full-stroke"), Some("full-stroke"));
        assert_eq!(cited("derived: rule peer, HC310"), Some("peer"));
        assert_eq!(cited("derived: of the sister drive"), None);
        assert_eq!(cited("paper: rule peer"), None);
    }
}
