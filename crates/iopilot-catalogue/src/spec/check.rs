//! Checks the values of a description against each other.

use super::bounds::{SpecCheck, within};
use super::disk::{DeviceSpec, DiskSpec};
use super::hybrid::HybridFlashSpec;
use super::sections::{
    CacheSpec, FlashSpec, GeometrySpec, InterfaceSpec, LayoutSpec, MechanicalSpec, MechanicsSpec, PolicySpec, SeekSpec,
    ZoneSpec,
};
use iopilot_block::InputError;
use iopilot_device::SeekCurve;

impl DiskSpec {
    /// Checks the values against each other.
    pub(super) fn check(&self) -> SpecCheck {
        self.check_marks()?;
        match &self.device {
            DeviceSpec::Flash(flash) => check_flash(flash),
            DeviceSpec::Mechanical(m) => check_mechanical(m),
            DeviceSpec::Hybrid(h) => {
                check_mechanical(&h.disk)?;
                match &h.flash {
                    HybridFlashSpec::Simple(flash) => check_flash(flash)?,
                    HybridFlashSpec::Ssd(ssd) => ssd.check()?,
                }
                h.check()
            }
            DeviceSpec::Drive(drive) => drive.model().map(drop),
            DeviceSpec::Table(table) => table.model().map(drop),
            DeviceSpec::Ssd(ssd) => ssd.check(),
        }
    }
}

fn check_mechanical(m: &MechanicalSpec) -> SpecCheck {
    check_mechanics(&m.mechanics)?;
    check_geometry(&m.geometry)?;
    check_interface(&m.interface)?;
    check_cache(&m.cache)
}

fn ms(key: &str, value: f64) -> SpecCheck {
    within(key, value, 0.0, 10_000.0, "milliseconds")
}

fn rate(key: &str, value: f64) -> SpecCheck {
    within(key, value, 0.001, 100_000.0, "megabytes per second")
}

fn check_flash(f: &FlashSpec) -> SpecCheck {
    within("flash.capacity_sectors", f.capacity_sectors as f64, 1.0, 1e15, "sectors")?;
    within("flash.queue_depth", f.queue_depth.into(), 1.0, 65_536.0, "requests")?;
    within("flash.parallelism", f.parallelism.into(), 1.0, 65_536.0, "requests")?;
    within("flash.read_latency_us", f.read_latency_us, 0.0, 1e7, "microseconds")?;
    within("flash.write_latency_us", f.write_latency_us, 0.0, 1e7, "microseconds")?;
    rate("flash.read_rate_mb_s", f.read_rate_mb_s)?;
    rate("flash.write_rate_mb_s", f.write_rate_mb_s)
}

fn check_mechanics(m: &MechanicsSpec) -> SpecCheck {
    within("mechanics.rotation_rpm", m.rotation_rpm, 100.0, 100_000.0, "revolutions per minute")?;
    within("mechanics.initial_angle_revolutions", m.initial_angle_revolutions, 0.0, 1.0, "revolutions")?;
    ms("mechanics.head_switch_ms", m.head_switch_ms)?;
    ms("mechanics.write_settle_ms", m.write_settle_ms)?;
    check_seek(&m.seek)
}

fn check_seek(s: &SeekSpec) -> SpecCheck {
    let sheet = [s.single_cylinder_ms, s.average_ms, s.full_stroke_ms];
    let forms = usize::from(sheet.iter().any(Option::is_some))
        + usize::from(!s.table_ms.is_empty())
        + usize::from(s.sqrt_linear.is_some());
    if forms != 1 {
        return Err(InputError::new(
            "mechanics.seek",
            format!("{forms} seek curves"),
            "one: single_cylinder_ms, average_ms and full_stroke_ms, or table_ms, or sqrt_linear",
        ));
    }
    if let Some(two) = &s.sqrt_linear {
        for (key, value) in [("a_ms", two.a_ms), ("b_ms", two.b_ms), ("c_ms", two.c_ms), ("e_ms", two.e_ms)] {
            ms(&format!("mechanics.seek.sqrt_linear.{key}"), value)?;
        }
        return Ok(());
    }
    if !s.table_ms.is_empty() {
        let rising = s.table_ms.windows(2).all(|w| w[0].0 < w[1].0);
        if s.table_ms[0].0 == 0 || !rising || s.table_ms.iter().any(|p| !(0.0..=10_000.0).contains(&p.1)) {
            let want = "pairs [cylinders, ms], cylinders rising from at least 1, ms 0 to 10000";
            return Err(InputError::new("mechanics.seek.table_ms", "other pairs", want));
        }
        return Ok(());
    }
    let [Some(single), Some(average), Some(full)] = sheet else {
        let want = "single_cylinder_ms, average_ms and full_stroke_ms together";
        return Err(InputError::new("mechanics.seek", "some of the three numbers", want));
    };
    ms("mechanics.seek.single_cylinder_ms", single)?;
    within("mechanics.seek.full_stroke_ms", full, single, 10_000.0, "milliseconds, not below the single cylinder")?;
    let (low, high) = SeekCurve::average_range(single, full);
    within("mechanics.seek.average_ms", average, low, high, "milliseconds that a rising curve can have")
}

fn check_geometry(g: &GeometrySpec) -> SpecCheck {
    within("geometry.heads", g.heads.into(), 1.0, 256.0, "recording surfaces")?;
    match (g.layout, g.band_cylinders) {
        (LayoutSpec::Banded, None) => {
            return Err(InputError::new("geometry.band_cylinders", "", "the width of a band for layout banded"));
        }
        (LayoutSpec::Banded, Some(width)) => {
            within("geometry.band_cylinders", width.into(), 1.0, 1_000_000.0, "cylinders")?;
        }
        (_, Some(_)) => {
            return Err(InputError::new("geometry.band_cylinders", "a width", "no width unless layout is banded"));
        }
        _ => {}
    }
    skew("geometry.track_skew_revolutions", g.track_skew_revolutions)?;
    skew("geometry.cylinder_skew_revolutions", g.cylinder_skew_revolutions)?;
    if g.zone.is_empty() { check_derived_zones(g) } else { check_zones(g) }
}

fn skew(key: &str, value: Option<f64>) -> SpecCheck {
    value.map_or(Ok(()), |v| within(key, v, 0.0, 1.0, "revolutions"))
}

fn check_derived_zones(g: &GeometrySpec) -> SpecCheck {
    let missing =
        |key: &str| InputError::new(format!("geometry.{key}"), "", "this key, or a list of [[geometry.zone]]");
    let capacity = g.capacity_sectors.ok_or_else(|| missing("capacity_sectors"))?;
    let zones = g.zones.ok_or_else(|| missing("zones"))?;
    let outer = g.outer_rate_mb_s.ok_or_else(|| missing("outer_rate_mb_s"))?;
    let inner = g.inner_rate_mb_s.ok_or_else(|| missing("inner_rate_mb_s"))?;
    within("geometry.capacity_sectors", capacity as f64, 1000.0, 1e12, "sectors")?;
    within("geometry.zones", zones.into(), 1.0, 1000.0, "zones")?;
    rate("geometry.outer_rate_mb_s", outer)?;
    within("geometry.inner_rate_mb_s", inner, 0.001, outer, "megabytes per second, not above the outer rate")
}

fn check_zones(g: &GeometrySpec) -> SpecCheck {
    for (key, given) in [
        ("zones", g.zones.is_some()),
        ("outer_rate_mb_s", g.outer_rate_mb_s.is_some()),
        ("inner_rate_mb_s", g.inner_rate_mb_s.is_some()),
    ] {
        if given {
            let field = format!("geometry.{key}");
            return Err(InputError::new(field, "a value", "no value beside a list of [[geometry.zone]]"));
        }
    }
    let (mut next, mut sectors) = (0, 0u64);
    for (i, zone) in g.zone.iter().enumerate() {
        check_zone(i, zone, next)?;
        next = zone.last_cylinder + 1;
        let tracks = u64::from(zone.last_cylinder - zone.first_cylinder + 1) * u64::from(g.heads);
        within(&format!("geometry.zone[{i}].last_cylinder"), tracks as f64, 1.0, 4e9, "tracks in a zone")?;
        sectors += tracks * u64::from(zone.sectors_per_track);
    }
    match g.capacity_sectors {
        Some(capacity) if capacity == 0 || capacity > sectors => Err(InputError::new(
            "geometry.capacity_sectors",
            capacity.to_string(),
            format!("1 to {sectors}, the sectors of all zones"),
        )),
        _ => Ok(()),
    }
}

fn check_zone(i: usize, zone: &ZoneSpec, next: u32) -> SpecCheck {
    let key = |name: &str| format!("geometry.zone[{i}].{name}");
    if zone.first_cylinder != next {
        let got = zone.first_cylinder.to_string();
        let want = if zone.first_cylinder < next {
            format!("{next}: zones must not overlap")
        } else {
            format!("{next}: zones must follow each other")
        };
        return Err(InputError::new(key("first_cylinder"), got, want));
    }
    if zone.last_cylinder < zone.first_cylinder || zone.last_cylinder > 100_000_000 {
        let want = format!("{} to 100000000", zone.first_cylinder);
        return Err(InputError::new(key("last_cylinder"), zone.last_cylinder.to_string(), want));
    }
    within(&key("sectors_per_track"), zone.sectors_per_track.into(), 1.0, 1e6, "sectors")?;
    skew(&key("offset_revolutions"), zone.offset_revolutions)?;
    skew(&key("track_skew_revolutions"), zone.track_skew_revolutions)?;
    skew(&key("cylinder_skew_revolutions"), zone.cylinder_skew_revolutions)
}

fn check_interface(i: &InterfaceSpec) -> SpecCheck {
    rate("interface.rate_mb_s", i.rate_mb_s)?;
    within("interface.queue_depth", i.queue_depth.into(), 1.0, 65_536.0, "requests")?;
    if let Some(limit) = i.age_limit_ms {
        within("interface.age_limit_ms", limit, 0.0, 1e6, "milliseconds")?;
        if i.queue_policy == PolicySpec::Fifo {
            return Err(InputError::new(
                "interface.age_limit_ms",
                limit.to_string(),
                "no limit with queue_policy fifo",
            ));
        }
    }
    ms("interface.read_overhead_ms", i.read_overhead_ms)?;
    ms("interface.hit_overhead_ms", i.hit_overhead_ms)?;
    ms("interface.write_overhead_ms", i.write_overhead_ms)
}

fn check_cache(c: &CacheSpec) -> SpecCheck {
    within("cache.size_kib", c.size_kib as f64, 0.0, 1e8, "KiB")?;
    within("cache.segments", c.segments.into(), 0.0, 65_000.0, "segments")?;
    ms("cache.destage_idle_ms", c.destage_idle_ms)?;
    if c.segments > 0 && c.size_kib * 2 < u64::from(c.segments) {
        return Err(InputError::new("cache.segments", c.segments.to_string(), "segments of at least one sector"));
    }
    if c.write_segments > c.segments {
        let want = format!("at most the {} segments there are", c.segments);
        return Err(InputError::new("cache.write_segments", c.write_segments.to_string(), want));
    }
    if c.write_back != (c.write_segments > 0) {
        let want = if c.write_back { "at least 1 with write_back" } else { "0 without write_back" };
        return Err(InputError::new("cache.write_segments", c.write_segments.to_string(), want));
    }
    let segment = if c.segments == 0 { 0 } else { c.size_kib * 2 / u64::from(c.segments) };
    for (key, value) in [
        ("read_ahead_sequential_sectors", c.read_ahead_sequential_sectors),
        ("read_ahead_random_sectors", c.read_ahead_random_sectors),
    ] {
        if u64::from(value) > segment {
            let want = format!("at most {segment}, the sectors of a segment");
            return Err(InputError::new(format!("cache.{key}"), value.to_string(), want));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Catalogue, DiskSpec};

    fn refused(name: &str, change: impl Fn(&mut MechanicalSpec)) -> String {
        let sheet = include_str!("../../tests/drives/hp-c2247-sheet.toml");
        let mut spec = if name == "sheet" { DiskSpec::from_toml(sheet, name) } else { Catalogue::get(name) }.unwrap();
        let DeviceSpec::Mechanical(m) = &mut spec.device else { panic!("{name} is mechanical") };
        change(m);
        spec.provenance.clear();
        let e = spec.check().unwrap_err().to_string();
        assert_eq!(
            DiskSpec::from_toml(&spec.to_toml(), "f")
                .unwrap_err()
                .to_string()
                .split(": ")
                .skip(1)
                .collect::<Vec<_>>()
                .join(": "),
            e
        );
        e
    }

    #[test]
    fn contradictions_are_refused_by_name() {
        let e = refused("sheet", |m| m.geometry.zone[1].first_cylinder = 500);
        assert_eq!(e, "geometry.zone[1].first_cylinder: got 500, expected 559: zones must not overlap");
        let e = refused("sheet", |m| m.geometry.heads = 0);
        assert_eq!(e, "geometry.heads: got 0, expected recording surfaces, 1 to 256");
        let e = refused("sheet", |m| m.geometry.zones = Some(3));
        assert_eq!(e, "geometry.zones: got a value, expected no value beside a list of [[geometry.zone]]");
        let e = refused("wd1200bb", |m| m.geometry.capacity_sectors = None);
        assert!(e.starts_with("geometry.capacity_sectors: got nothing"), "{e}");
        let e = refused("wd1200bb", |m| m.mechanics.seek.average_ms = Some(25.0));
        assert!(
            e.starts_with("mechanics.seek.average_ms: got 25, expected milliseconds that a rising curve can have"),
            "{e}"
        );
        let e = refused("wd1200bb", |m| m.cache.read_ahead_sequential_sectors = 100_000);
        assert!(e.starts_with("cache.read_ahead_sequential_sectors: got 100000, expected at most"), "{e}");
        let e = refused("wd1200bb", |m| m.cache.write_segments = 0);
        assert_eq!(e, "cache.write_segments: got 0, expected at least 1 with write_back");
        let e = refused("wd1200bb", |m| m.mechanics.rotation_rpm = f64::NAN);
        assert!(e.starts_with("mechanics.rotation_rpm: got NaN"), "{e}");
    }
}
