//! Probing the catalogue's drives, whose parameters are known.

use iopilot_block::{Lba, Nanos, Op, Sectors};
use iopilot_catalogue::{AnyDevice, Catalogue, DiskSpec, Probe, ProbeError, Probed, probe_disk};
use iopilot_device::{Device, DiskModel, Synchronous, TimedDevice, ZoneSpan};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::convert::Infallible;

fn model(device: &AnyDevice) -> &DiskModel {
    let AnyDevice::Mechanical(disk) = device else { panic!("it is mechanical") };
    disk.model()
}

fn probed(name: &str) -> (Probed, AnyDevice) {
    let device = Catalogue::get(name).and_then(|spec| spec.build()).unwrap_or_else(|e| panic!("{e}"));
    let found = probe_disk(&mut Synchronous::new(device.clone()), &Probe::default());
    (found.unwrap_or_else(|e| panic!("{name}: {e}")), device)
}

/// Segments exactly, read-ahead within a step, rotation within 0.1 %, zones and heads exactly, seeks within 5 %.
fn comes_near(name: &str) {
    let (found, device) = probed(name);
    let DiskModel { mechanics, cache, interface } = model(&device);
    let off = |&(d, time): &(u32, iopilot_catalogue::Measurement)| (time.value / mechanics.seek.time(d) - 1.0).abs();
    let worst = found.seek.iter().map(off).fold(0.0, f64::max);
    eprintln!(
        "{name}: {} reads, {:.0} s of the disk's; revolution off by {:.0e}, {} seeks by up to {:.2} %",
        found.requests,
        found.seconds,
        (found.period.value / mechanics.period - 1.0).abs(),
        found.seek.len(),
        100.0 * worst,
    );
    assert_eq!(found.cache.segments, u32::from(cache.segments), "{name}");
    assert!(found.cache.read_ahead_sequential.abs_diff(cache.read_ahead_sequential) <= 8, "{name}: {:?}", found.cache);
    assert!(found.cache.read_ahead_random.abs_diff(cache.read_ahead_random) <= 8, "{name}: {:?}", found.cache);
    assert_eq!(found.cache.read_ahead_on_hit, cache.read_ahead_on_hit, "{name}");
    assert!((found.period.value / mechanics.period - 1.0).abs() < 1e-3, "{name}: {:?}", found.period);
    assert_eq!(found.heads, mechanics.geometry.heads(), "{name}");
    zones_are(name, &found, &mechanics.geometry.zones());
    assert!(found.seek.len() > 20 && worst < 0.05, "{name}: {:?}", found.seek);
    let near = |ns: f64, expected: f64| (ns - expected).abs() < 0.02e6;
    assert!(near(found.hit.value, interface.hit_overhead), "{name}: {:?}", found.hit);
    assert!(found.overhead.is_some_and(|o| near(o.value, interface.read_overhead)), "{name}: {:?}", found.overhead);
    assert!(found.head_switch.is_some_and(|h| near(h.value, mechanics.head_switch)), "{name}: {:?}", found.head_switch);
    // The result is a valid disk of that size, which can be written to a file and read back.
    let spec = found.spec("probed");
    assert_eq!(spec.build().map(|d| d.capacity()).unwrap_or_else(|e| panic!("{name}: {e}")), device.capacity());
    let read = DiskSpec::from_toml(&spec.to_toml(), "probed.toml").unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(read, spec, "{name}");
}

fn zones_are(name: &str, found: &Probed, real: &[ZoneSpan]) {
    let per_turn: Vec<_> = real.iter().map(|zone| zone.per_turn).collect();
    let tracks: Vec<_> = found.zones.iter().map(|zone| zone.1).collect();
    assert_eq!(tracks, per_turn, "{name}");
    for (&(first, _), zone) in found.zones.iter().zip(real) {
        assert!(first.abs_diff(zone.first_block) < u64::from(zone.per_turn) / 2, "{name}: {first}, {zone:?}");
    }
}

#[test]
fn the_drives_of_gf_are_recognised() {
    ["hd-250-32", "hd-320-16", "hd-500-16", "hd-500-32"].into_iter().for_each(comes_near);
}

#[test]
fn cylinders_odd_heads_and_wide_bands_are_distinguished() {
    // Six heads in cylinders, five in bands of 32, eight in bands of 128; and 10,000 revolutions a minute.
    ["wd1200bb", "st3400620as", "constellation2-1t", "dg072a4951"].into_iter().for_each(comes_near);
}

#[test]
fn a_probed_description_is_probed_as_the_same_again() {
    let (found, _) = probed("dg072a4951");
    let device = found.spec("probed").build().unwrap_or_else(|e| panic!("{e}"));
    let again = probe_disk(&mut Synchronous::new(device), &Probe::default()).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!((again.heads, again.band_cylinders, again.cache), (found.heads, found.band_cylinders, found.cache));
    assert_eq!(again.zones.len(), found.zones.len());
    assert!((again.period.value / found.period.value - 1.0).abs() < 1e-6);
    for ((d, first), (_, second)) in found.seek.iter().zip(&again.seek) {
        assert!((second.value / first.value - 1.0).abs() < 0.05, "{d}: {first:?} {second:?}");
    }
}

#[test]
fn a_device_without_rotation_is_refused() {
    let device = Catalogue::get("ssd-64-simple").and_then(|spec| spec.build()).unwrap_or_else(|e| panic!("{e}"));
    let refused = probe_disk(&mut Synchronous::new(device), &Probe::default()).map(|_| ());
    assert!(refused.is_err_and(|e| e.to_string().contains("no rotation")));
}

/// A disk behind a path such as a loop device, FUSE and a busy machine. The path adds tens of µs before and behind each
/// request, which scatter. Some requests are late by up to some ms.
struct Path {
    disk: Synchronous<AnyDevice>,
    random: Pcg64Mcg,
    /// One request of this many is late.
    late: u32,
}

impl Path {
    fn to(device: AnyDevice, late: u32) -> Self {
        Self { disk: Synchronous::new(device), random: Pcg64Mcg::seed_from_u64(7), late }
    }

    /// Lets time pass, in µs.
    fn takes(&mut self, least: f64, scatter: f64) -> Result<(), Infallible> {
        // The sum of a few uniform numbers is nearly normal.
        let off: f64 = (0..4).map(|_| self.random.random_range(0.0..0.5)).sum();
        let late =
            if self.random.random_ratio(1, 2 * self.late) { self.random.random_range(100.0..4000.0) } else { 0.0 };
        self.disk.pause(Nanos(((least + scatter * off + late) * 1e3) as u64))
    }
}

impl TimedDevice for Path {
    type Error = Infallible;

    fn capacity(&self) -> u64 {
        self.disk.capacity()
    }

    fn serve(&mut self, op: Op, lba: Lba, sectors: Sectors) -> Result<Nanos, Infallible> {
        let issued = self.now();
        self.takes(40.0, 60.0)?;
        self.disk.serve(op, lba, sectors)?;
        self.takes(20.0, 40.0)?;
        let took = self.now().since(issued);
        // The time of the caller between two requests.
        self.disk.pause(Nanos(3_000))?;
        Ok(took)
    }

    fn restart(&mut self) -> Result<(), Infallible> {
        self.disk.restart()
    }

    fn pause(&mut self, time: Nanos) -> Result<(), Infallible> {
        self.disk.pause(time)
    }

    fn now(&self) -> Nanos {
        self.disk.now()
    }
}

/// As [`comes_near`], with the accuracy that a noisy path allows.
fn comes_near_through_noise(name: &str, late: u32) {
    let device = Catalogue::get(name).and_then(|spec| spec.build()).unwrap_or_else(|e| panic!("{e}"));
    let found =
        probe_disk(&mut Path::to(device.clone(), late), &Probe::default()).unwrap_or_else(|e| panic!("{name}: {e}"));
    let DiskModel { mechanics, cache, .. } = model(&device);
    let off = |&(d, time): &(u32, iopilot_catalogue::Measurement)| (time.value / mechanics.seek.time(d) - 1.0).abs();
    let worst = found.seek.iter().map(off).fold(0.0, f64::max);
    let real = mechanics.geometry.zones();
    eprintln!(
        "{name}, noise of {:.0} us: {} reads, {:.0} s of the disk's; revolution off by {:.0e}, {} seeks by up to {:.2} %; \
         {} zones of {}, {} heads, bands of {}, overhead {:?}, head switch {:?}",
        found.noise / 1e3,
        found.requests,
        found.seconds,
        (found.period.value / mechanics.period - 1.0).abs(),
        found.seek.len(),
        100.0 * worst,
        found.zones.len(),
        real.len(),
        found.heads,
        found.band_cylinders,
        found.overhead.map(|o| o.value / 1e6),
        found.head_switch.map(|h| h.value / 1e6),
    );
    assert_eq!(found.cache.segments, u32::from(cache.segments), "{name}");
    assert!(found.cache.read_ahead_sequential.abs_diff(cache.read_ahead_sequential) <= 8, "{name}: {:?}", found.cache);
    assert!(found.cache.read_ahead_random.abs_diff(cache.read_ahead_random) <= 8, "{name}: {:?}", found.cache);
    assert_eq!(found.cache.read_ahead_on_hit, cache.read_ahead_on_hit, "{name}");
    assert!((found.period.value / mechanics.period - 1.0).abs() < 1e-3, "{name}: {:?}", found.period);
    assert_eq!(found.heads, mechanics.geometry.heads(), "{name}");
    zones_are(name, &found, &real);
    assert!(found.seek.len() > 20 && worst < 0.05, "{name}: {:?}", found.seek);
}

#[test]
fn noise_hides_little() {
    for name in ["hd-250-32", "hd-320-16", "wd1200bb", "hd-500-16"] {
        comes_near_through_noise(name, 100);
    }
}

#[test]
fn one_answer_in_25_that_is_late_hides_little() {
    comes_near_through_noise("hd-250-32", 25);
}

#[test]
fn a_probe_keeps_to_its_time_limit() {
    let device = Catalogue::get("hd-320-16").and_then(|spec| spec.build()).unwrap_or_else(|e| panic!("{e}"));
    let mut disk = Synchronous::new(device);
    let probe = Probe { time: Some(Nanos::from_secs(2)), ..Probe::default() };
    let refused = probe_disk(&mut disk, &probe);
    assert!(matches!(refused, Err(ProbeError::TimeLimit(limit)) if limit == 2.0), "{refused:?}");
}
