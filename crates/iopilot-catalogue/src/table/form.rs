//! [`three_tables`]: measures the cache parameters that three tables need before training.

use super::probe::{CacheProbe, ProbedCache, probe_cache};
use super::simulated_cache::SimulatedCacheModel;
use super::tables::{HitLimit, TableForm};
use super::train::further_sector_time;
use iopilot_block::Nanos;
use iopilot_device::TimedDevice;

/// Tests of each cache value.
const TESTS: u32 = 5;
/// Long enough for a disk to complete its read-ahead.
const PAUSE: Nanos = Nanos::from_millis(50);
/// A tenth: no hit may exceed its limit because of the error of an average over some thousand reads.
const MARGIN: u64 = 10;
/// Segments for writes: GF 4.3.1 has some but gives no number.
const WRITE_SEGMENTS: u32 = 1;

/// The form with three tables for `device`, and the cache to simulate. The cache has `cache_kib` by its data sheet and
/// is probed (GF 4.3.6). With 0 every read misses, as on an SSD (GF 4.3.1). A read of 4 kB that takes longer than
/// `limit` misses. The device is left restarted.
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
