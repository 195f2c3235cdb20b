//! The catalogue's marks are true: values of a rule follow that rule, and every rule is explained in
//! `docs/reference/disks.md`.

use iopilot_catalogue::{Catalogue, DeviceSpec, DiskSpec, LayoutSpec, MechanicalSpec};
use std::collections::BTreeSet;
use std::path::Path;

fn specs() -> impl Iterator<Item = DiskSpec> {
    Catalogue::names().map(|name| Catalogue::get(name).expect("in the catalogue"))
}

/// The mechanical drives of the catalogue.
fn mechanical() -> impl Iterator<Item = (DiskSpec, Box<MechanicalSpec>)> {
    specs().filter_map(|spec| match &spec.device {
        DeviceSpec::Mechanical(m) => Some((spec.clone(), m.clone())),
        DeviceSpec::Flash(_)
        | DeviceSpec::Drive(_)
        | DeviceSpec::Table(_)
        | DeviceSpec::Ssd(_)
        | DeviceSpec::Hybrid(_) => None,
    })
}

fn follows(spec: &DiskSpec, key: &str, rule: &str) -> bool {
    spec.provenance.get(key).is_some_and(|mark| mark == &format!("derived: rule {rule}"))
}

fn gb_of_a_surface(m: &MechanicalSpec) -> f64 {
    m.geometry.capacity_sectors.unwrap_or(0) as f64 * 512.0 / 1e9 / f64::from(m.geometry.heads)
}

#[test]
fn capacities_are_the_count_that_makers_agreed_on() {
    let mut checked = 0;
    for spec in specs() {
        let given = |key: &&str| spec.provenance.contains_key(&format!("{key}.capacity_sectors"));
        let key = ["flash", "ssd"].into_iter().find(given).unwrap_or("geometry");
        if follows(&spec, &format!("{key}.capacity_sectors"), "capacity") {
            let capacity = spec.capacity().unwrap();
            let expected = |gb: u64| match gb {
                0..=8000 => 97_696_368 + 1_953_504 * (gb - 50),
                _ => (gb * 1_000_000_000 / 512).next_multiple_of(1 << 21),
            };
            // The label gives the largest round number below the capacity.
            let gb = (capacity as f64 * 512.0 / 1e9).floor() as u64;
            let label = match gb {
                0..=1000 => gb,
                1001..=8000 => gb / 100 * 100,
                _ => gb / 1000 * 1000,
            };
            assert_eq!(capacity, expected(label), "{}", spec.name);
            checked += 1;
        }
    }
    assert!(checked > 10, "{checked}");
}

#[test]
fn rates_grow_with_the_root_of_a_surface_s_capacity() {
    let mut checked = 0;
    for (spec, m) in mechanical() {
        if follows(&spec, "geometry.outer_rate_mb_s", "surface-rate") {
            let expected = 175.0 * (gb_of_a_surface(&m) / 400.0).sqrt();
            assert!((m.geometry.outer_rate_mb_s.unwrap() - expected).abs() < 0.06, "{}: {expected}", spec.name);
            checked += 1;
        }
    }
    assert!(checked > 4, "{checked}");
    // The sheets that the rule was derived from, and the measured layout of a 4-TB drive.
    for (gb, rate) in [(50.0, 64.8), (250.0, 138.0), (400.0, 175.0), (1000.0, 270.0), (395.6, 165.3)] {
        let rule = 175.0_f64 * (f64::sqrt(gb / 400.0));
        assert!((rule / rate - 1.0).abs() < 0.06, "{rule} for {rate}");
    }
}

#[test]
fn changing_the_track_costs_the_time_of_sheets_and_measured_skews() {
    for (spec, m) in mechanical() {
        if follows(&spec, "mechanics.head_switch_ms", "track-change") {
            let change = m.mechanics.head_switch_ms + m.mechanics.write_settle_ms;
            let expected = if spec.model.contains("2.5 inch") { 0.55 } else { 1.4 };
            assert!((change - expected).abs() < 1e-9, "{}: {change}", spec.name);
        }
        if let Some(skew) = m.geometry.cylinder_skew_revolutions {
            assert!((skew * 60e3 / m.mechanics.rotation_rpm - 1.4).abs() < 1e-9, "{}", spec.name);
        }
    }
}

#[test]
fn no_request_waits_longer_than_a_full_queue_first_come_first_served() {
    for (spec, m) in mechanical() {
        let Some(limit) = m.interface.age_limit_ms else { continue };
        let seek = m.mechanics.seek.average_ms.unwrap();
        let each = seek + 30e3 / m.mechanics.rotation_rpm + m.interface.read_overhead_ms;
        assert_eq!(limit, (f64::from(m.interface.queue_depth) * each).round(), "{}", spec.name);
    }
}

#[test]
fn caches_are_divided_and_filled_ahead_by_rule() {
    for (spec, m) in mechanical() {
        let c = &m.cache;
        if follows(&spec, "cache.segments", "segments") {
            let each = if c.size_kib < 16_384 { 128 } else { 512 };
            assert_eq!(u64::from(c.segments) * each, c.size_kib, "{}", spec.name);
        }
        if follows(&spec, "cache.write_segments", "segments") {
            assert_eq!(c.write_segments, c.segments / 4, "{}", spec.name);
        }
        if follows(&spec, "cache.read_ahead_sequential_sectors", "read-ahead") {
            let track = m.geometry.outer_rate_mb_s.unwrap() * 60e6 / m.mechanics.rotation_rpm / 512.0;
            let segment = c.size_kib * 2 / u64::from(c.segments);
            assert_eq!(u64::from(c.read_ahead_sequential_sectors), segment.min(track as u64), "{}", spec.name);
            assert_eq!(c.read_ahead_random_sectors, 96, "{}", spec.name);
        }
    }
}

#[test]
fn bands_came_with_the_drives_of_2004() {
    for (spec, m) in mechanical() {
        // Surfaces of 2001 held 20 GB, those of 2004 at least 36 GB.
        let expected = if gb_of_a_surface(&m) < 30.0 { LayoutSpec::Cylinder } else { LayoutSpec::Banded };
        assert_eq!(m.geometry.layout, expected, "{}", spec.name);
    }
}

/// The names that follow `derived: rule ` in all marks.
fn cited() -> BTreeSet<String> {
    let marks = specs().flat_map(|spec| spec.provenance.into_values());
    let name = |mark: String| Some(mark.strip_prefix("derived: rule ")?.split([',', ' ']).next()?.to_owned());
    marks.filter_map(name).collect()
}

#[test]
fn every_rule_stands_in_the_documentation_and_is_used() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/disks.md");
    let text = std::fs::read_to_string(path).unwrap();
    let (_, rest) = text.split_once("<!-- rules -->\n").unwrap();
    let (table, _) = rest.split_once("<!-- /rules -->").unwrap();
    let documented: BTreeSet<String> =
        table.lines().filter_map(|line| Some(line.strip_prefix("| `")?.split_once('`')?.0.to_owned())).collect();
    assert_eq!(documented, cited());
}
