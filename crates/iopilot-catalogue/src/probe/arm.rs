//! The seek curve: the least time of accesses over many distances.

use super::access::{FoundTrack, step};
use super::least::{Least, SURE};
use super::measurement::Measurement;
use super::watch::ProbedDevice;
use iopilot_device::{Geometry, TimedDevice};
use rand::Rng;

/// Pairs of tracks for each distance, and the most accesses for each pair: without noise, and with it.
const PAIRS: usize = 6;
const ACCESSES: (usize, usize) = (9, 24);
/// Distances in each doubling.
const DISTANCES: i32 = 2;

/// The least access time over each distance in cylinders, overhead included.
pub(super) fn accesses<D: TimedDevice>(
    w: &mut ProbedDevice<D>,
    geometry: &Geometry,
) -> Result<Vec<(u32, Measurement)>, D::Error> {
    let distances = distances(geometry.cylinders());
    let pairs: Vec<[FoundTrack; 2]> = distances.iter().flat_map(|&d| pairs_apart(w, geometry, d)).collect();
    let starts: Vec<u64> = pairs.iter().flatten().map(|track| track.first).collect();
    let angles = w.angles(&starts)?;
    let mut least = vec![w.least().sure(SURE); distances.len()];
    for _ in 0..if w.is_noisy() { ACCESSES.1 } else { ACCESSES.0 } {
        if least.iter().all(Least::is_known) {
            break;
        }
        for pair in 0..PAIRS {
            for (i, least) in least.iter_mut().enumerate() {
                let at = i * PAIRS + pair;
                let [mut from, mut to] = pairs[at];
                if let (Some(a), Some(b)) = (angles[2 * at], angles[2 * at + 1]) {
                    (from.angle, to.angle) = (a, b);
                    step(w, from, to, least)?;
                }
            }
            if distances.len() < w.evicting / 2 {
                w.forget()?;
            }
        }
    }
    Ok(distances.iter().zip(least).filter_map(|(&d, least)| Some((d, least.measured()?))).collect())
}

/// One cylinder, then [`DISTANCES`] in each doubling, up to nearly all cylinders.
fn distances(cylinders: u32) -> Vec<u32> {
    let most = f64::from(cylinders.saturating_sub(1)) * 0.98;
    let steps = (0..).map(|i| 2f64.powf(f64::from(i) / f64::from(DISTANCES)));
    let mut distances: Vec<u32> = steps.take_while(|&d| d < most).map(|d| d.round() as u32).collect();
    distances.push(most.max(1.0) as u32);
    distances.dedup();
    distances
}

/// Random pairs of tracks on one head that are `distance` cylinders apart. The second is outside the first as often as
/// inside.
fn pairs_apart<D: TimedDevice>(w: &mut ProbedDevice<D>, geometry: &Geometry, distance: u32) -> Vec<[FoundTrack; 2]> {
    let mut pairs = Vec::with_capacity(PAIRS);
    while pairs.len() < PAIRS {
        let cylinder = w.random.random_range(0..geometry.cylinders() - distance);
        let head = w.random.random_range(0..geometry.heads());
        let track = |cylinder| {
            let track = geometry.track_of(geometry.block_at(cylinder, head, 0)?);
            Some(FoundTrack { first: track.first, sectors: track.sectors, angle: 0.0 })
        };
        // There are no tracks behind the last block.
        let (Some(outer), Some(inner)) = (track(cylinder), track(cylinder + distance)) else { continue };
        // Read-ahead must not move the arm toward the second track. So a short pair goes outward, because read-ahead
        // moves inward.
        let inward = distance > 64 && pairs.len() % 2 == 0;
        pairs.push(if inward { [outer, inner] } else { [inner, outer] });
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_rise_from_one_to_nearly_all() {
        for cylinders in [2, 3, 100, 100_000] {
            let found = distances(cylinders);
            assert_eq!(found[0], 1);
            assert!(found.windows(2).all(|d| d[0] < d[1]), "{found:?}");
            assert!(found[found.len() - 1] < cylinders);
        }
    }
}
