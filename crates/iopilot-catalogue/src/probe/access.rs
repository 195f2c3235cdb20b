//! The least time of an access between two tracks, found by a search over the angle of the spindle.
//!
//! An access ends when its sector has passed under the head, in the first revolution for which the arm was in time. If
//! an access took `t`, the arm was not in time one revolution earlier. So the least time over all sectors of the track
//! lies between `t` minus a revolution and `t`. The next sector is chosen to pass in the middle of this interval, so
//! each access halves it (Worthington et al. 1995 take the minimum of many accesses).

use super::angle::{median, wrap};
use super::least::{Least, SUREST};
use super::measurement::Measurement;
use super::watch::{BLOCK, ProbedDevice};
use iopilot_device::TimedDevice;
use rand::Rng;

/// A track whose angle was measured.
#[derive(Clone, Copy, Debug)]
pub(super) struct FoundTrack {
    /// Its first sector.
    pub(super) first: u64,
    /// Its sectors.
    pub(super) sectors: u32,
    /// The angle at which the block at its first sector ends.
    pub(super) angle: f64,
}

/// One access from a track to another.
pub(super) fn step<D: TimedDevice>(
    w: &mut ProbedDevice<D>,
    from: FoundTrack,
    to: FoundTrack,
    least: &mut Least,
) -> Result<(), D::Error> {
    if least.is_known() {
        return Ok(());
    }
    let last = |track: FoundTrack| u64::from(track.sectors).saturating_sub(BLOCK);
    let angle = |track: FoundTrack, sector: u64| track.angle + sector as f64 / f64::from(track.sectors);
    // The start is not near the end of the track: there, read-ahead would move the arm to the next track.
    let start = w.random.random_range(0..=last(from) * 4 / 5);
    let sector = match least.goal() {
        None => w.random.random_range(0..=last(to)),
        Some(goal) => {
            let turns = (goal + transfer(w.period, to)) / w.period;
            let apart = (angle(from, start) + turns - to.angle).rem_euclid(1.0);
            (apart * f64::from(to.sectors)) as u64
        }
    };
    if sector > last(to) || w.miss(from.first + start)?.is_none() {
        return Ok(());
    }
    let Some(time) = w.miss(to.first + sector)? else { return Ok(()) };
    let turns = angle(to, sector) - angle(from, start);
    learn(w, least, time, turns, to);
    Ok(())
}

/// Learns from an access to `track` that took `time`, between two angles that are `turns` apart modulo whole
/// revolutions. If the time does not fit the angles, the access was a hit or did not end at its sector, and it is
/// ignored. The exact duration follows from the angles, not from `time`. On a live disk a completion arrives later
/// after a long wait, and all angles were measured after long waits.
fn learn<D: TimedDevice>(w: &ProbedDevice<D>, least: &mut Least, time: f64, turns: f64, track: FoundTrack) {
    const FAR: f64 = 0.02;
    let off = wrap(time / w.period - turns);
    if off.abs() < FAR {
        least.learn(time - off * w.period - transfer(w.period, track));
    }
}

/// The time in which a block passes the head, ns.
pub(super) fn transfer(period: f64, track: FoundTrack) -> f64 {
    period * BLOCK as f64 / f64::from(track.sectors)
}

/// The time of an access besides movement and transfer. It is measured on the arm's present track, after read-ahead has
/// ended. `ahead` sectors are read ahead; `None` where read-ahead covers the tracks.
pub(super) fn overhead<D: TimedDevice>(
    w: &mut ProbedDevice<D>,
    tracks: &[FoundTrack],
    ahead: u64,
) -> Result<Option<Measurement>, D::Error> {
    const ACCESSES: usize = 500;
    let mut least = w.least().sure(SUREST);
    for _ in 0..ACCESSES {
        if least.is_known() {
            break;
        }
        let track = tracks[w.random.random_range(0..tracks.len())];
        let free = BLOCK + ahead + BLOCK..u64::from(track.sectors).saturating_sub(BLOCK);
        if free.is_empty() {
            return Ok(None);
        }
        let mut sector = w.random.random_range(free.clone());
        if w.miss(track.first)?.is_none() {
            continue;
        }
        // The angle of the spindle follows from the read that has just ended.
        let (ended, period) = (w.now, w.period);
        let turned = |now: f64| track.angle + (now - ended) / period;
        // Read-ahead ends within two revolutions. After that the read is issued when its sector is `turns` away.
        let turns = (least.goal().unwrap_or(period / 2.0) + transfer(period, track)) / period;
        let issue = track.angle + sector as f64 / f64::from(track.sectors) - turns;
        let wait = (3.0 + (issue - turned(w.now)).rem_euclid(1.0)) * period;
        if w.is_noisy() {
            // After a pause the path to a live disk is longer, because CPUs sleep. A cache hit wakes them without
            // moving the arm. The read of the sector that is then due follows at once.
            w.pause(wait - w.limit)?;
            if w.miss(track.first)?.is_some() {
                continue;
            }
            let apart = (turned(w.now) + turns - track.angle).rem_euclid(1.0);
            sector = (apart * f64::from(track.sectors)) as u64;
            if !free.contains(&sector) {
                continue;
            }
        } else {
            w.pause(wait)?;
        }
        let end = track.angle + sector as f64 / f64::from(track.sectors);
        let issued = turned(w.now);
        let time = w.read(track.first + sector, BLOCK)?;
        learn(w, &mut least, time, end - issued, track);
        // With many tracks, the same track is not read again before the cache has evicted it.
        if tracks.len() < 8 * w.evicting {
            w.forget()?;
        }
    }
    let Some(found) = least.measured().filter(|_| w.is_noisy()) else { return Ok(least.measured()) };
    Ok(after_a_miss(w)?.map(|longer| Measurement { value: found.value + longer, ..found }))
}

/// How much longer the path to a live disk is after a miss than after a hit: the threads on the path have slept
/// meanwhile. The other times, from which the overhead is subtracted, follow misses. Measured by two hits of one block,
/// the first right after the miss; `None` if nothing missed.
fn after_a_miss<D: TimedDevice>(w: &mut ProbedDevice<D>) -> Result<Option<f64>, D::Error> {
    const TIMES: usize = 200;
    let mut times = [Vec::with_capacity(TIMES), Vec::with_capacity(TIMES)];
    for _ in 0..TIMES {
        let lba = w.random_block();
        if w.miss(lba)?.is_some() {
            for times in &mut times {
                times.push(w.read(lba, BLOCK)?);
            }
        }
    }
    let [after_miss, after_hit] = times.map(median);
    Ok(after_miss.zip(after_hit).map(|(miss, hit)| miss - hit))
}
