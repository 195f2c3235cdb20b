//! [`three_tables`]: what three tables need to know of a disk's cache before they are trained.

use super::probe::{CacheProbe, ProbedCache, probe_cache};
use super::simulated_cache::SimulatedCacheModel;
use super::tables::{HitLimit, TableForm};
use super::train::further_sector_time;
use iopilot_block::Nanos;
use iopilot_device::TimedDevice;

/// Tests of each of the cache's values.
const TESTS: u32 = 5;
/// Long enough for a disk to read ahead all it wants to.
const PAUSE: Nanos = Nanos::from_millis(50);
/// A tenth more: no hit shall miss its limit by what the average of some thousand reads is off.
const MARGIN: u64 = 10;
/// Segments for writes: GF 4.3.1 has some and does not say how many.
const WRITE_SEGMENTS: u32 = 1;

/// The form with three tables for `device`, and the cache to simulate, found by probing one of `cache_kib`, the size
/// that its maker tells (GF 4.3.6). Without a cache every read misses, as an SSD's do (GF 4.3.1). A read of 4 kB that
/// takes longer than `limit` misses. The device is left as after a restart.
///
/// # Errors
/// Those of the device.
pub fn three_tables<D: TimedDevice>(
    device: &mut D,
    cache_kib: u64,
    limit: Nanos,
    seed: u64,
) -> Result<(TableForm, Option<ProbedCache>, SimulatedCacheModel), D::Error> {
    if cache_kib == 0 {
        let never = HitLimit { base: Nanos::ZERO, per_sector: Nanos::ZERO };
        return Ok((TableForm::Three(never), None, SimulatedCacheModel::NONE));
    }
    let found = probe_cache(device, &CacheProbe { limit, tests: TESTS, pause: PAUSE, seed })?;
    let segment_sectors = cache_kib * 2 / u64::from(found.segments + WRITE_SEGMENTS);
    let within = |sectors: u32| sectors.min(u32::try_from(segment_sectors).unwrap_or(u32::MAX));
    let sequential = within(found.read_ahead_sequential.max(found.read_ahead_random));
    let mut cache = SimulatedCacheModel {
        read_segments: found.segments,
        write_segments: WRITE_SEGMENTS,
        segment_sectors,
        read_ahead_sequential: sequential,
        read_ahead_random: found.read_ahead_random.min(sequential),
        read_ahead_on_hit: found.read_ahead_on_hit,
        sector_time: Nanos::ZERO,
    };
    device.restart()?;
    let per_sector = further_sector_time(device, seed)?;
    cache.sector_time = per_sector;
    let limit = HitLimit { base: limit, per_sector: per_sector + Nanos(per_sector.0 / MARGIN) };
    device.restart()?;
    Ok((TableForm::Three(limit), Some(found), cache))
}
