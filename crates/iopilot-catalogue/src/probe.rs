//! [`probe_disk`]: finds out what a disk is, from outside, by the times of reads.
//!
//! After Worthington, Ganger, Patt and Wilkes (1995) and Schindler and Ganger (1999), with the caches as in GF 4.3.6. Where
//! they take the least of many accesses, this follows the spindle: a read ends when its last sector has passed, so
//! that each read tells an angle, and angles tell nearly everything else. Nothing is written.
//!
//! What it needs of a [`TimedDevice`](iopilot_device::TimedDevice) is a clock, and that reads are not served by any cache above the disk. How
//! far times scatter is measured with the rotation; where they do, angles are medians, and what counts as equal follows from
//! it.

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

use crate::{CacheProbe, ProbedCache, ProbedQueue, probe_cache, probe_queue};
use access::overhead;
use iopilot_block::Nanos;
use iopilot_device::{Geometry, TimedDevice, TrackLayout, Zone};
use limited::Limited;
use watch::{BLOCK, ProbedDevice};

/// How to probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// A read that takes no longer is a hit in the cache.
    pub limit: Nanos,
    /// How often each size of the cache is tried ([`CacheProbe::tests`]).
    pub tests: u32,
    /// Seed of the places that are read.
    pub seed: u64,
    /// The most that may be taken of the device's time.
    pub time: Option<Nanos>,
}

impl Default for Probe {
    fn default() -> Self {
        Self { limit: Nanos::from_millis(1), tests: 5, seed: 0, time: None }
    }
}

/// What was found. Times are in ns.
#[derive(Clone, Debug, PartialEq)]
pub struct Probed {
    /// Size in sectors.
    pub capacity: u64,
    /// The cache, as [`probe_cache`] finds it.
    pub cache: ProbedCache,
    /// Its queue, as [`probe_queue`] finds it.
    pub queue: ProbedQueue,
    /// A revolution.
    pub period: Measurement,
    /// The zones: first sector, sectors per track.
    pub zones: Vec<(u64, u32)>,
    /// Recording surfaces; 1 where they cannot be told.
    pub heads: u32,
    /// Cylinders that are filled with one head before the next one's turn; 1 where all of a cylinder is filled first.
    pub band_cylinders: u32,
    /// How much later the next track on the same head starts, revolutions.
    pub cylinder_skew: f64,
    /// The same for the next head.
    pub head_skew: Option<f64>,
    /// Changing the head within a cylinder.
    pub head_switch: Option<Measurement>,
    /// What a read from the medium takes beside movement, rotation and transfer; `None` where it cannot be told, and
    /// then movements include it.
    pub overhead: Option<Measurement>,
    /// The seek curve: cylinders, time.
    pub seek: Vec<(u32, Measurement)>,
    /// A hit, without its transfer.
    pub hit: Measurement,
    /// The rate of hits, 10^6 bytes per second.
    pub rate: Option<Measurement>,
    /// By how much the ends of reads scatter: the standard deviation.
    pub noise: f64,
    /// Reads that it took, but for those of the cache's sizes and of the queue.
    pub requests: u64,
    /// The time that all took, s.
    pub seconds: f64,
}

/// Finds out what a disk is: its cache, the time of a revolution, zones, heads, skews, and the seek curve.
///
/// # Errors
/// Where the device fails, does not turn, or has no tracks of like sectors; or where the time is up.
pub fn probe_disk<D: TimedDevice>(device: &mut D, probe: &Probe) -> Result<Probed, ProbeError<D::Error>> {
    let mut limited = Limited::new(device, probe.time);
    let found = find_out(&mut limited, probe);
    let seconds = limited.spent.as_secs_f64();
    match found {
        Ok(found) => Ok(Probed { seconds, ..found }),
        Err(ProbeError::Device(error)) => Err(error),
        Err(ProbeError::StandsStill(coherence)) => Err(ProbeError::StandsStill(coherence)),
        Err(ProbeError::NothingMissed) => Err(ProbeError::NothingMissed),
        Err(ProbeError::NoTracks(why)) => Err(ProbeError::NoTracks(why)),
        Err(ProbeError::TimeIsUp(limit)) => Err(ProbeError::TimeIsUp(limit)),
    }
}

fn find_out<D: TimedDevice>(device: &mut D, probe: &Probe) -> Result<Probed, ProbeError<D::Error>> {
    let mut w = ProbedDevice::new(device, probe.limit, 0, probe.seed)?;
    let (hit, rate) = hits(&mut w)?;
    // A short seek on a fast disk takes no longer than the limit, which allowed for any hit.
    let usual = hit.value + BLOCK as f64 * 512e3 / rate.map_or(100.0, |rate| rate.value);
    let limit = probe.limit.min(Nanos((2.0 * usual).max(usual + 6.0 * hit.uncertainty) as u64));
    nothing_missed(&mut w, limit)?;
    // The cache is asked after pauses, when the way to a live disk, the times of which scatter, is longer.
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
    let period = rotation::period(&mut w)?.map_err(ProbeError::StandsStill)?;

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

/// Where cylinders and heads lie, without angles.
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

/// Refuses a disk on which most places are as fast as hits at once, before the sizes of its cache are looked for, which would
/// take hours.
fn nothing_missed<D: TimedDevice>(w: &mut ProbedDevice<D>, limit: Nanos) -> Result<(), ProbeError<D::Error>> {
    const PLACES: usize = 32;
    // Of a disk that turns at 15,000 a minute still seven in eight take longer.
    const FAST: Nanos = Nanos::from_micros(500);
    let limit = limit.max(FAST);
    let mut missed = 0;
    for _ in 0..PLACES {
        let lba = w.anywhere();
        missed += usize::from(w.read(lba, BLOCK)? > limit.0 as f64);
    }
    if missed > PLACES / 4 { Ok(()) } else { Err(ProbeError::NothingMissed) }
}

/// What a hit takes beside its transfer, and the rate of that, 10^6 bytes per second.
fn hits<D: TimedDevice>(w: &mut ProbedDevice<D>) -> Result<(Measurement, Option<Measurement>), D::Error> {
    const TIMES: usize = 15;
    let mut of_size = |sectors: u64| -> Result<Option<Measurement>, D::Error> {
        let mut times = Vec::with_capacity(TIMES);
        for _ in 0..TIMES {
            let lba = w.anywhere().min(w.capacity().saturating_sub(sectors));
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
