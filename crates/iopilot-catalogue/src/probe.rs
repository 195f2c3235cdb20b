//! [`probe_disk`]: infers a disk's parameters from the times of reads.
//!
//! After Worthington, Ganger, Patt and Wilkes (1995) and Schindler and Ganger (1999); the cache is probed as in GF
//! 4.3.6. They take the minimum of many accesses. This probe follows the spindle instead: a read ends when its last
//! sector has passed the head. So each read yields an angle, and angles yield nearly everything else. Nothing is
//! written.
//!
//! The [`TimedDevice`](iopilot_device::TimedDevice) must have a clock, and no cache above the disk may serve the reads.
//! The scatter of times is measured together with the rotation. If times scatter, angles are medians, and the tolerance
//! for equal angles follows from the scatter.

mod access;
mod angle;
mod arm;
mod error;
mod frequency;
mod least;
mod lengths;
mod limited;
mod measurement;
mod result;
mod rotation;
mod tracks;
mod watch;
mod zones;

pub use error::ProbeError;
pub use measurement::Measurement;

use crate::table::{CacheProbe, probe_cache, probe_queue};
use crate::{ProbedCache, ProbedQueue};
use access::overhead;
use iopilot_block::Nanos;
use iopilot_device::{Geometry, TimedDevice, TrackLayout, Zone};
use limited::Limited;
use watch::{BLOCK, ProbedDevice};

/// How to probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// A read that takes no longer than this is a cache hit.
    pub limit: Nanos,
    /// Tests of each cache size, each at another place.
    pub tests: u32,
    /// Seed of the places that are read.
    pub seed: u64,
    /// The most device time that the probe may take.
    pub time: Option<Nanos>,
}

impl Default for Probe {
    fn default() -> Self {
        Self { limit: Nanos::from_millis(1), tests: 5, seed: 0, time: None }
    }
}

/// The result of a probe. Times are in ns.
#[derive(Clone, Debug, PartialEq)]
pub struct Probed {
    /// Size in sectors.
    pub capacity: u64,
    /// The cache (GF 4.3.6).
    pub cache: ProbedCache,
    /// The queue.
    pub queue: ProbedQueue,
    /// The time of a revolution.
    pub period: Measurement,
    /// The zones: first sector, sectors per track.
    pub zones: Vec<(u64, u32)>,
    /// Recording surfaces; 1 where they cannot be told apart.
    pub heads: u32,
    /// Cylinders of a band, which is filled on one head before the next head's turn; 1 where each cylinder is filled
    /// first.
    pub band_cylinders: u32,
    /// The skew to the next track on the same head, revolutions.
    pub cylinder_skew: f64,
    /// The skew to the next head, revolutions.
    pub head_skew: Option<f64>,
    /// The time to change the head within a cylinder.
    pub head_switch: Option<Measurement>,
    /// What a read from the medium takes besides movement, rotation and transfer. Where that cannot be told it is
    /// `None`, and the times of movements include it.
    pub overhead: Option<Measurement>,
    /// The seek curve: distance in cylinders, time.
    pub seek: Vec<(u32, Measurement)>,
    /// A cache hit, without its transfer.
    pub hit: Measurement,
    /// The transfer rate of hits, 10^6 bytes per second.
    pub rate: Option<Measurement>,
    /// The standard deviation of the moments at which reads of one block end.
    pub noise: f64,
    /// Reads issued, without those for the sizes of the cache and for the queue.
    pub requests: u64,
    /// The device time of the whole probe, s.
    pub seconds: f64,
}

/// Infers a disk's cache, queue, time of a revolution, zones, heads, skews and seek curve.
///
/// # Errors
/// Where the device fails, does not rotate, has no tracks of equal length, or where the time limit is reached.
pub fn probe_disk<D: TimedDevice>(device: &mut D, probe: &Probe) -> Result<Probed, ProbeError<D::Error>> {
    let mut limited = Limited::new(device, probe.time);
    let found = probe_all(&mut limited, probe);
    let seconds = limited.spent.as_secs_f64();
    match found {
        Ok(found) => Ok(Probed { seconds, ..found }),
        Err(ProbeError::Device(error)) => Err(error),
        Err(ProbeError::NoRotation(coherence)) => Err(ProbeError::NoRotation(coherence)),
        Err(ProbeError::NoMisses) => Err(ProbeError::NoMisses),
        Err(ProbeError::NoTracks(why)) => Err(ProbeError::NoTracks(why)),
        Err(ProbeError::TimeLimit(limit)) => Err(ProbeError::TimeLimit(limit)),
    }
}

fn probe_all<D: TimedDevice>(device: &mut D, probe: &Probe) -> Result<Probed, ProbeError<D::Error>> {
    let mut w = ProbedDevice::new(device, probe.limit, 0, probe.seed)?;
    let (hit, rate) = hits(&mut w)?;
    // A short seek on a fast disk may be as short as the given limit, which allows for any hit. So a tighter limit is
    // derived.
    let usual = hit.value + BLOCK as f64 * 512e3 / rate.map_or(100.0, |rate| rate.value);
    let limit = probe.limit.min(Nanos((2.0 * usual).max(usual + 6.0 * hit.uncertainty) as u64));
    check_misses(&mut w, limit)?;
    // The cache is probed after pauses. On a live disk (times scatter) a request takes longer to arrive after a pause.
    const ASLEEP: Nanos = Nanos::from_micros(400);
    let asleep = if hit.uncertainty > 1e3 { ASLEEP } else { Nanos::ZERO };
    let after_pauses = probe.limit.min(limit + asleep);
    let sizes = CacheProbe { limit: after_pauses, tests: probe.tests, pause: Nanos::from_millis(20), seed: probe.seed };
    let requests = w.requests;
    let cache = probe_cache(device, &sizes)?;
    let queue = probe_queue(device, probe.seed)?;
    device.restart()?;
    let evicting = 2 * cache.segments as usize + 16;
    let mut w = ProbedDevice::new(device, limit, evicting, probe.seed)?;
    let period = rotation::period(&mut w)?.map_err(ProbeError::NoRotation)?;

    let zones = zones::find(&mut w)?;
    let first = zones.first().copied().ok_or(ProbeError::NoTracks("the angle does not advance with the blocks"))?;
    let end = zones.get(1).map_or(w.capacity(), |zone| zone.first);
    let order = tracks::order(&mut w, first, end)?.ok_or(ProbeError::NoTracks("too few blocks"))?;
    let ahead = u64::from(cache.read_ahead_random.max(cache.read_ahead_sequential));
    let overhead = overhead(&mut w, &order.tracks, ahead)?;

    let zones: Vec<(u64, u32)> = zones.iter().map(|zone| (zone.first, zone.per_track)).collect();
    let geometry = geometry(&zones, order.heads, order.run, w.capacity());
    let least = overhead.map_or(Measurement { value: 0.0, uncertainty: 0.0 }, |o| o);
    let moved = |m: Measurement| Measurement {
        value: (m.value - least.value).max(0.0),
        uncertainty: m.uncertainty + least.uncertainty,
    };
    let seek = arm::accesses(&mut w, &geometry)?.into_iter().map(|(d, m)| (d, moved(m))).collect();
    Ok(Probed {
        capacity: w.capacity(),
        cache,
        queue,
        period,
        zones,
        heads: order.heads,
        band_cylinders: order.run,
        cylinder_skew: order.cylinder_skew,
        head_skew: order.head_skew,
        head_switch: order.head_switch.map(moved),
        overhead,
        seek,
        hit,
        rate,
        noise: w.noise(),
        requests: requests + w.requests,
        seconds: 0.0,
    })
}

/// Where cylinders and heads lie, without any angles.
fn geometry(zones: &[(u64, u32)], heads: u32, run: u32, capacity: u64) -> Geometry {
    let mut first_cylinder = 0;
    let mut built = Vec::with_capacity(zones.len());
    for ((_, per_track), cylinders) in zones.iter().zip(result::zone_cylinders(zones, heads, capacity)) {
        built.push(Zone {
            first_cylinder,
            cylinders,
            sectors_per_track: *per_track,
            offset: 0.0,
            track_skew: 0.0,
            cylinder_skew: 0.0,
            band_skew: 0.0,
        });
        first_cylinder += cylinders;
    }
    let layout = if run > 1 { TrackLayout::Banded(run) } else { TrackLayout::Cylinder };
    Geometry::new(heads, layout, built, Some(capacity))
}

/// Fails early on a device where most random places are as fast as hits. Searching for the sizes of its cache would
/// take hours.
fn check_misses<D: TimedDevice>(w: &mut ProbedDevice<D>, limit: Nanos) -> Result<(), ProbeError<D::Error>> {
    const PLACES: usize = 32;
    // Even on a disk of 15,000 rpm, seven in eight reads take longer.
    const FAST: Nanos = Nanos::from_micros(500);
    let limit = limit.max(FAST);
    let mut missed = 0;
    for _ in 0..PLACES {
        let lba = w.random_block();
        missed += usize::from(w.read(lba, BLOCK)? > limit.0 as f64);
    }
    if missed > PLACES / 4 { Ok(()) } else { Err(ProbeError::NoMisses) }
}

/// The time of a hit without its transfer, and the transfer rate, 10^6 bytes per second.
fn hits<D: TimedDevice>(w: &mut ProbedDevice<D>) -> Result<(Measurement, Option<Measurement>), D::Error> {
    const TIMES: usize = 15;
    let mut of_size = |sectors: u64| -> Result<Option<Measurement>, D::Error> {
        let mut times = Vec::with_capacity(TIMES);
        for _ in 0..TIMES {
            let lba = w.random_block().min(w.capacity().saturating_sub(sectors));
            w.read(lba, sectors)?;
            let again = w.read(lba, sectors)?;
            if again <= w.limit {
                times.push(again);
            }
        }
        times.sort_by(f64::total_cmp);
        let Some(&value) = times.get(times.len() / 2) else { return Ok(None) };
        let quarter = times.len() / 4;
        let apart = times[times.len() - 1 - quarter] - times[quarter];
        Ok(Some(Measurement { value, uncertainty: apart / 2.0 }))
    };
    const LARGE: u64 = 8 * BLOCK;
    let small = of_size(BLOCK)?;
    let large = of_size(LARGE)?;
    let (Some(small), Some(large)) = (small, large) else {
        return Ok((small.unwrap_or(Measurement { value: 0.0, uncertainty: 0.0 }), None));
    };
    let sector = (large.value - small.value) / (LARGE - BLOCK) as f64;
    if sector <= 0.0 {
        return Ok((small, None));
    }
    let off = (large.uncertainty + small.uncertainty) / (LARGE - BLOCK) as f64;
    let rate = 512e3 / sector;
    let hit = Measurement { value: (small.value - BLOCK as f64 * sector).max(0.0), ..small };
    Ok((hit, Some(Measurement { value: rate, uncertainty: rate * off / sector })))
}
