//! Sectors per track on a noisy disk, from the ends of tracks that lie many tracks apart.
//!
//! With noise of some µs, the sectors per track that follow from angles are wrong by a few. But the end of a track is
//! visible: the angle jumps there by the skew, which is a hundred times the noise. The distance between two ends that
//! are 64 tracks apart gives the sectors per track 64 times as exactly.

use super::angle::wrap;
use super::watch::{BLOCK, ProbedDevice};
use iopilot_device::TimedDevice;
use rand::Rng;

/// A place on a track, and the length of the track.
#[derive(Clone, Copy, Debug)]
pub(super) struct TrackPosition {
    /// A sector.
    pub(super) at: u64,
    /// A sector beyond it that is on the same track.
    pub(super) on: u64,
    /// An estimate of the sectors per track.
    pub(super) sectors: f64,
    /// Its uncertainty, sectors.
    pub(super) off: f64,
    /// Where the track ends, once known.
    pub(super) end: Option<u64>,
}

/// The least jump of the angle that counts as the end of a track, revolutions.
const JUMP: f64 = 0.02;
/// The most halvings of a range, including those without a result.
const STEPS: usize = 24;

/// Finds where the track of each place ends.
pub(super) fn end<D: TimedDevice>(w: &mut ProbedDevice<D>, places: &mut [TrackPosition]) -> Result<(), D::Error> {
    let range = |place: &TrackPosition| Range {
        low: place.on,
        high: place.at + (place.sectors + place.off).ceil() as u64 + BLOCK,
        sectors: place.sectors,
    };
    let ranges: Vec<Range> = places.iter().map(range).collect();
    for (place, end) in places.iter_mut().zip(ends(w, &ranges)?) {
        place.end = end;
    }
    Ok(())
}

/// Refines the sectors per track of each place from the end of the track `apart` tracks further on.
pub(super) fn sharpen<D: TimedDevice>(
    w: &mut ProbedDevice<D>,
    places: &mut [TrackPosition],
    apart: u64,
) -> Result<(), D::Error> {
    let mut asked = Vec::new();
    for (i, place) in places.iter().enumerate() {
        let Some(first) = place.end else { continue };
        let expected = first as f64 + apart as f64 * place.sectors;
        let around = apart as f64 * place.off + 3.0 * BLOCK as f64;
        let (low, high) = ((expected - around) as u64, (expected + around) as u64);
        if around < 0.45 * place.sectors && high + BLOCK < w.capacity() {
            asked.push((i, first, Range { low, high, sectors: place.sectors }));
        }
    }
    let ranges: Vec<Range> = asked.iter().map(|a| a.2).collect();
    for ((i, first, _), end) in asked.into_iter().zip(ends(w, &ranges)?) {
        let Some(end) = end else { continue };
        places[i].sectors = (end - first) as f64 / apart as f64;
        // Rarely is more than one sector skipped within so short a distance.
        places[i].off = 1.0 / apart as f64;
    }
    Ok(())
}

/// A range of sectors in which one track ends.
#[derive(Clone, Copy, Debug)]
struct Range {
    low: u64,
    high: u64,
    /// An estimate of the sectors per track.
    sectors: f64,
}

/// The first sector after the track's end in each range; `None` where the angle does not jump.
fn ends<D: TimedDevice>(w: &mut ProbedDevice<D>, ranges: &[Range]) -> Result<Vec<Option<u64>>, D::Error> {
    let outer: Vec<u64> = ranges.iter().flat_map(|range| [range.low, range.high]).collect();
    let outer = w.angles(&outer)?;
    let mut found: Vec<Option<(Range, f64, f64)>> = Vec::with_capacity(ranges.len());
    for (range, angles) in ranges.iter().zip(outer.chunks(2)) {
        let known = angles[0].zip(angles[1]).filter(|&(low, high)| {
            // If the machine was delayed during an earlier measurement, the two ends may be in the wrong order.
            if range.high <= range.low {
                return false;
            }
            let straight = (range.high - range.low) as f64 / range.sectors;
            wrap(high - low - straight).abs() > JUMP
        });
        found.push(known.map(|(low, high)| (*range, low, high)));
    }
    let (starts, mut now): (Vec<u64>, Vec<Range>) = (ranges.iter().map(|r| r.low).collect(), ranges.to_vec());
    let tops: Vec<u64> = ranges.iter().map(|r| r.high).collect();
    for _ in 0..STEPS {
        let open: Vec<usize> = (0..now.len()).filter(|&i| found[i].is_some() && now[i].high - now[i].low > 1).collect();
        if open.is_empty() {
            break;
        }
        // Not the exact middle, so that a place that yielded nothing is not tried again.
        let part = w.random.random_range(0.4..0.6);
        let middle = |range: Range| range.low + 1 + ((range.high - range.low - 2) as f64 * part) as u64;
        let middles: Vec<u64> = open.iter().map(|&i| middle(now[i])).collect();
        let angles = w.rough_angles(&middles)?;
        for ((&i, &middle), angle) in open.iter().zip(&middles).zip(angles) {
            let (Some((_, low, high)), Some(angle)) = (found[i], angle) else { continue };
            // The angle fits the line through the lower end or that through the upper end; otherwise the read was late.
            let before = wrap(angle - low - (middle - starts[i]) as f64 / now[i].sectors).abs();
            let behind = wrap(high - angle - (tops[i] - middle) as f64 / now[i].sectors).abs();
            if before.min(behind) > JUMP {
                continue;
            }
            if before < behind {
                now[i].low = middle;
            } else {
                now[i].high = middle;
            }
        }
    }
    // A block ends on the next track if at least one of its sectors lies there.
    let narrow = |range: &Range| (range.high - range.low <= 1).then_some(range.high + BLOCK - 1);
    Ok(found.iter().zip(&now).map(|(found, range)| found.and_then(|_| narrow(range))).collect())
}

/// Where zones begin, from the ends of tracks. Each change has two places, one in the outer zone and one in the inner
/// zone. Tracks of either zone end at whole numbers of tracks from the end known for its place. If skipped sectors
/// spoil this, the range that remains is returned.
pub(super) fn zone_starts<D: TimedDevice>(
    w: &mut ProbedDevice<D>,
    changes: &[[TrackPosition; 2]],
) -> Result<Vec<(u64, u64)>, D::Error> {
    let mut ranges: Vec<(u64, u64)> =
        changes.iter().map(|[outer, inner]| (outer.end.unwrap_or(outer.at), inner.end.unwrap_or(inner.at))).collect();
    let mut solved = vec![None; changes.len()];
    for _ in 0..2 * STEPS {
        let open: Vec<usize> = (0..ranges.len())
            .filter(|&i| solved[i].is_none() && changes[i].iter().all(|place| place.end.is_some()))
            .collect();
        if open.is_empty() {
            break;
        }
        let part = w.random.random_range(0.35..0.65);
        // Near the middle: an end of one of the outer zone's tracks and one of the inner zone's.
        let ends = |i: usize| {
            let ([outer, inner], (low, high)) = (changes[i].map(|place| whole(&place)), ranges[i]);
            let middle = low + ((high - low) as f64 * part) as u64;
            [low + (middle - low) / outer * outer, high - (high - middle) / inner * inner]
        };
        let tried: Vec<[u64; 2]> = open.iter().map(|&i| ends(i)).collect();
        let blocks: Vec<u64> = tried.iter().flatten().flat_map(|end| [end - BLOCK - 1, end + 1]).collect();
        let angles = w.rough_angles(&blocks)?;
        for ((&i, tried), angles) in open.iter().zip(&tried).zip(angles.chunks(4)) {
            let jumps = |of: usize| {
                let (before, behind) = (angles[2 * of]?, angles[2 * of + 1]?);
                let straight = (BLOCK + 2) as f64 / changes[i][of].sectors;
                Some(wrap(behind - before - straight).abs() > JUMP)
            };
            match (jumps(0), jumps(1)) {
                (Some(true), Some(false)) => ranges[i].0 = tried[0],
                (Some(false), Some(true)) => ranges[i].1 = tried[1],
                // Either both jump by chance, or one read was late.
                _ => {}
            }
            solved[i] = solve(ranges[i], changes[i].map(|place| whole(&place)));
        }
    }
    Ok(solved.iter().zip(ranges).map(|(solved, range)| solved.map_or(range, |start| (start, start))).collect())
}

fn whole(place: &TrackPosition) -> u64 {
    (place.sectors.round() as u64).max(1)
}

/// Where the outer tracks end and the inner ones begin, if whole numbers of both fill the range in exactly one way.
fn solve((low, high): (u64, u64), [outer, inner]: [u64; 2]) -> Option<u64> {
    const MOST: u64 = 8;
    let length = high.checked_sub(low)?;
    let mut ways =
        (0..=MOST).map(|tracks| tracks * outer).filter(|&part| part <= length && (length - part) % inner == 0);
    let start = ways.next()?;
    (length <= MOST * outer && ways.next().is_none()).then_some(low + start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zone_begins_where_whole_tracks_of_both_meet() {
        assert_eq!(solve((1000, 1000 + 3 * 1630 + 2 * 1602), [1630, 1602]), Some(1000 + 3 * 1630));
        assert_eq!(solve((1000, 1000 + 2 * 1602), [1630, 1602]), Some(1000));
        assert_eq!(solve((1000, 1000 + 3 * 1630 + 2 * 1602 + 1), [1630, 1602]), None);
        // Over a long range there are many ways.
        assert_eq!(solve((0, 5000 * 1630 + 7000 * 1602), [1630, 1602]), None);
        assert_eq!(solve((0, 6), [3, 2]), None);
    }
}
