//! From a description to a device. What the data sheet leaves out is derived here.

use super::disk::{DeviceSpec, DiskSpec};
use super::hybrid::HybridFlashSpec;
use super::sections::{
    CacheSpec, FlashSpec, GeometrySpec, InterfaceSpec, LayoutSpec, MechanicalSpec, MechanicsSpec, PolicySpec,
    ProtocolSpec, SeekSpec, ZoneSpec,
};
use crate::{AnyDevice, DeviceError, TableDisk};
use iopilot_block::{Nanos, SECTOR_BYTES};
use iopilot_device::{
    CacheModel, ConstantDevice, ConstantModel, DiskModel, FlashDrive, Geometry, HybridDisk, InterfaceModel,
    MechanicalDisk, Mechanics, QueuePolicy, SeekCurve, TrackLayout, Zone,
};
use iopilot_scsi::SingleDrive;

const MS: f64 = 1e6;

impl DiskSpec {
    /// Makes the device.
    ///
    /// # Errors
    /// [`DeviceError::Spec`] where the values contradict each other. A description that was read from TOML is valid.
    pub fn build(&self) -> Result<AnyDevice, DeviceError> {
        self.check_before_build()?;
        Ok(match &self.device {
            DeviceSpec::Flash(flash) => ConstantDevice::new(constant(flash)).into(),
            DeviceSpec::Mechanical(m) => MechanicalDisk::new(m.model()).into(),
            DeviceSpec::Drive(drive) => SingleDrive::new(drive.model()?).into(),
            DeviceSpec::Table(table) => TableDisk::new(table.model()?).with_queue(table.queue_factors.clone()).into(),
            DeviceSpec::Ssd(ssd) => FlashDrive::new(&ssd.model()).into(),
            DeviceSpec::Hybrid(h) => {
                let flash: AnyDevice = match &h.flash {
                    HybridFlashSpec::Simple(flash) => ConstantDevice::new(constant(flash)).into(),
                    HybridFlashSpec::Ssd(ssd) => FlashDrive::new(&ssd.model()).into(),
                };
                HybridDisk::new(MechanicalDisk::new(h.disk.model()).into(), flash, h.model()).into()
            }
        })
    }

    /// Size in sectors, without building the device.
    ///
    /// # Errors
    /// As [`DiskSpec::build`].
    pub fn capacity(&self) -> Result<u64, DeviceError> {
        self.check_before_build()?;
        Ok(match &self.device {
            DeviceSpec::Flash(flash) => flash.capacity_sectors,
            DeviceSpec::Mechanical(m) => m.model().mechanics.geometry.capacity(),
            DeviceSpec::Drive(drive) => drive.model()?.mechanics.geometry.capacity(),
            DeviceSpec::Table(table) => table.capacity_sectors,
            DeviceSpec::Ssd(ssd) => ssd.capacity_sectors,
            DeviceSpec::Hybrid(h) => h.disk.model().mechanics.geometry.capacity(),
        })
    }

    /// Checks the description, except a complete drive's: building it includes the check, which takes long for a large
    /// layout.
    fn check_before_build(&self) -> Result<(), DeviceError> {
        match &self.device {
            DeviceSpec::Drive(_) => Ok(self.check_marks()?),
            _ => Ok(self.check()?),
        }
    }
}

fn constant(f: &FlashSpec) -> ConstantModel {
    ConstantModel {
        capacity: f.capacity_sectors,
        queue_depth: f.queue_depth,
        parallelism: f.parallelism,
        read_latency: Nanos((f.read_latency_us * 1e3).round() as u64),
        write_latency: Nanos((f.write_latency_us * 1e3).round() as u64),
        read_ns_per_byte: 1e3 / f.read_rate_mb_s,
        write_ns_per_byte: 1e3 / f.write_rate_mb_s,
    }
}

impl MechanicalSpec {
    /// The constants of the model; the values have been checked.
    pub(super) fn model(&self) -> DiskModel {
        DiskModel {
            mechanics: mechanics(&self.geometry, &self.mechanics),
            interface: interface(&self.interface, self.cache.write_back),
            cache: cache(&self.cache),
        }
    }
}

fn interface(i: &InterfaceSpec, write_back: bool) -> InterfaceModel {
    InterfaceModel {
        bus_sector: SECTOR_BYTES as f64 * 1e3 / i.rate_mb_s,
        queue_depth: i.queue_depth,
        cache_control: i.protocol.unwrap_or(ProtocolSpec::of_depth(i.queue_depth)).cache_control(write_back),
        policy: match i.queue_policy {
            PolicySpec::Fifo => QueuePolicy::Fifo,
            PolicySpec::Sptf => QueuePolicy::Sptf,
        },
        age_limit: i.age_limit_ms.map(|ms| ms * MS),
        read_overhead: i.read_overhead_ms * MS,
        hit_overhead: i.hit_overhead_ms * MS,
        write_overhead: i.write_overhead_ms * MS,
    }
}

fn cache(c: &CacheSpec) -> CacheModel {
    let write_segments = if c.write_back { c.write_segments } else { 0 };
    CacheModel {
        // Both are at most 65,000 (see the checks).
        segments: c.segments as u16,
        write_segments: write_segments as u16,
        segment_sectors: if c.segments == 0 { 0 } else { c.size_kib * 2 / u64::from(c.segments) },
        read_ahead_sequential: c.read_ahead_sequential_sectors,
        read_ahead_random: c.read_ahead_random_sectors,
        read_ahead_on_hit: c.read_ahead_on_hit,
        read_on_arrival: c.read_on_arrival,
        destage_idle: c.destage_idle_ms * MS,
    }
}

fn mechanics(g: &GeometrySpec, m: &MechanicsSpec) -> Mechanics {
    let period = 60e9 / m.rotation_rpm;
    let head_switch = m.head_switch_ms * MS;
    let write_settle = m.write_settle_ms * MS;
    let zones = if g.zone.is_empty() { derive_zones(g, m) } else { g.zone.clone() };
    let cylinders = zones.last().map_or(1, |z| z.last_cylinder + 1);
    let seek = seek_curve(&m.seek, cylinders);
    let layout = match g.layout {
        LayoutSpec::Cylinder => TrackLayout::Cylinder,
        LayoutSpec::Serpentine => TrackLayout::Serpentine,
        LayoutSpec::Banded => TrackLayout::Banded(g.band_cylinders.unwrap_or(1)),
    };

    // The moves from a track to the next in block order, settling for a write.
    let neighbour = match layout {
        TrackLayout::Cylinder if g.heads > 1 => seek.time(1).max(head_switch),
        _ => seek.time(1),
    };
    let band = match layout {
        TrackLayout::Banded(width) => seek.time(if g.heads % 2 == 0 { width } else { 1 }),
        _ => 0.0,
    };
    let skew = |time: f64, sectors: u32| {
        // Whole sectors, as in real drives (Ganger B.1.2). The tolerance keeps a rounding error from adding a sector.
        ((time + write_settle) / period * f64::from(sectors) - 1e-6).ceil() / f64::from(sectors)
    };
    let mut built: Vec<Zone> = Vec::with_capacity(zones.len());
    for z in &zones {
        let n = z.sectors_per_track;
        let cylinder_skew =
            z.cylinder_skew_revolutions.or(g.cylinder_skew_revolutions).unwrap_or_else(|| skew(neighbour, n));
        let mut zone = Zone {
            first_cylinder: z.first_cylinder,
            cylinders: z.last_cylinder - z.first_cylinder + 1,
            sectors_per_track: n,
            offset: 0.0,
            track_skew: z.track_skew_revolutions.or(g.track_skew_revolutions).unwrap_or_else(|| skew(head_switch, n)),
            cylinder_skew,
            band_skew: skew(band, n),
        };
        zone.offset = z.offset_revolutions.unwrap_or_else(|| {
            follow(&built, layout, g.heads, &zone, |from, to| {
                let seek = seek.time(to.cylinder.abs_diff(from.cylinder));
                let moved = if from.head == to.head { seek } else { seek.max(head_switch) };
                skew(moved, n).max(cylinder_skew)
            })
        });
        built.push(zone);
    }
    Mechanics {
        geometry: Geometry::new(g.heads, layout, built, g.capacity_sectors),
        seek,
        period,
        initial_angle: m.initial_angle_revolutions,
        head_switch,
        write_settle,
    }
}

/// The offset at which `zone` continues from the last track before it without losing a revolution.
fn follow(
    before: &[Zone],
    layout: TrackLayout,
    heads: u32,
    zone: &Zone,
    skew: impl Fn(&iopilot_device::Track, &iopilot_device::Track) -> f64,
) -> f64 {
    if before.is_empty() {
        return 0.0;
    }
    let mut zones = before.to_vec();
    zones.push(zone.clone());
    let geometry = Geometry::new(heads, layout, zones, None);
    let first_block = geometry.zones()[before.len()].first_block;
    let (last, first) = (geometry.track_of(first_block - 1), geometry.track_of(first_block));
    (last.angle + skew(&last, &first)).fract()
}

fn seek_curve(s: &SeekSpec, cylinders: u32) -> SeekCurve {
    if let Some(two) = &s.sqrt_linear {
        return SeekCurve::TwoPart {
            measured: Vec::new(),
            boundary: two.boundary_cylinders,
            short: [two.a_ms * MS, two.b_ms * MS],
            long: [two.c_ms * MS, two.e_ms * MS],
        };
    }
    match (s.single_cylinder_ms, s.average_ms, s.full_stroke_ms) {
        (Some(single), Some(average), Some(full)) => {
            SeekCurve::from_data_sheet(single * MS, average * MS, full * MS, cylinders)
        }
        _ => SeekCurve::Table(s.table_ms.iter().map(|&(d, ms)| (d, ms * MS)).collect()),
    }
}

/// Zones of equal width whose sectors per track fall evenly from the outer to the inner rate, together just large
/// enough for the capacity.
///
/// A sustained rate includes the switches between tracks: over one cylinder of `heads` tracks,
/// `rate = heads * sectors * 512 / (heads * period + (heads - 1) * switch + cylinder switch)`.
fn derive_zones(g: &GeometrySpec, m: &MechanicsSpec) -> Vec<ZoneSpec> {
    let period = 60e9 / m.rotation_rpm;
    let heads = f64::from(g.heads);
    let settle = m.write_settle_ms * MS;
    let single = seek_curve(&m.seek, 2).time(1);
    let head_switch = m.head_switch_ms * MS;
    // A given skew is the cost of the switch.
    let cost = |given: Option<f64>, time: f64| given.map_or(time + settle, |revolutions| revolutions * period);
    let track = cost(g.track_skew_revolutions, head_switch);
    let cylinder = |time| cost(g.cylinder_skew_revolutions, time);
    let switches = match g.layout {
        LayoutSpec::Cylinder => (heads - 1.0) * track + cylinder(single.max(head_switch)),
        LayoutSpec::Serpentine => (heads - 1.0) * track + cylinder(single),
        // Nearly all moves are to the neighbouring cylinder.
        LayoutSpec::Banded => heads * cylinder(single),
    };
    let per_track = period + switches / heads;
    let sectors = |rate_mb_s: f64| rate_mb_s * per_track / 1e3 / SECTOR_BYTES as f64;
    let (outer, inner) = (sectors(g.outer_rate_mb_s.unwrap_or(1.0)), sectors(g.inner_rate_mb_s.unwrap_or(1.0)));
    let count = g.zones.unwrap_or(1);
    let steps = f64::from(count.max(2) - 1);
    let per_zone: Vec<u32> =
        (0..count).map(|i| (outer + (inner - outer) * f64::from(i) / steps).round().max(1.0) as u32).collect();
    let per_cylinder: u64 = per_zone.iter().map(|&n| u64::from(n) * u64::from(g.heads)).sum();
    let width = g.capacity_sectors.unwrap_or(1).div_ceil(per_cylinder).max(1) as u32;
    per_zone
        .iter()
        .zip(0u32..)
        .map(|(&sectors_per_track, i)| ZoneSpec {
            first_cylinder: i * width,
            last_cylinder: (i + 1) * width - 1,
            sectors_per_track,
            ..ZoneSpec::default()
        })
        .collect()
}
