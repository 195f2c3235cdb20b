//! Sectors per track, and where they change: the angle advances by `sectors / sectors per track` along a track.

use super::watch::{BLOCK, Watch, wrap};
use crate::TimedDevice;
use rand::Rng;

/// Places at which the tracks are measured at first, at least.
const PLACES: usize = 160;
/// How often a place is tried again where a track ended too near.
const AGAIN: u64 = 3;
/// Halvings of the distance between two places in which a zone begins.
const HALVINGS: usize = 24;
/// Angles agree that are so near, revolutions.
const AGREE: f64 = 0.03;

/// A zone as it was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FoundZone {
    /// Its first sector.
    pub(super) first: u64,
    /// Sectors on its tracks.
    pub(super) per_track: u32,
}

/// The zones, outermost first.
pub(super) fn find<D: TimedDevice>(w: &mut Watch<D>) -> Result<Vec<FoundZone>, D::Error> {
    let places = PLACES.max(2 * w.evicting) as u64;
    let capacity = w.capacity();
    let at: Vec<u64> = (0..places).map(|i| capacity / places * i / BLOCK * BLOCK).collect();
    let mut per_track = tracks(w, &at)?;
    for again in 1..=AGAIN {
        // A little further on, where tracks end elsewhere.
        let unknown: Vec<usize> = (0..at.len()).filter(|&i| per_track[i].is_none()).collect();
        let there: Vec<u64> =
            unknown.iter().map(|&i| (at[i] + again * 89 * BLOCK).min(capacity.saturating_sub(2048))).collect();
        for (&i, found) in unknown.iter().zip(tracks(w, &there)?) {
            per_track[i] = found;
        }
    }
    let place = |(&first, per_track): (&u64, Option<u32>)| Some(FoundZone { first, per_track: per_track? });
    let known: Vec<FoundZone> = at.iter().zip(per_track).filter_map(place).collect();
    let Some(outermost) = known.first() else { return Ok(Vec::new()) };
    let mut zones = vec![FoundZone { first: 0, ..*outermost }];
    let differ = known.windows(2).filter(|pair| pair[0].per_track != pair[1].per_track);
    let changes: Vec<_> = differ.map(|pair| [pair[0], pair[1]]).collect();
    for (first, per_track) in starts(w, &changes)? {
        zones.push(FoundZone { first, per_track });
    }
    Ok(zones)
}

/// The sectors of the tracks at some places; `None` where a track ended too near.
///
/// The distance over which the angle is taken is doubled as long as it fits what half of it said.
fn tracks<D: TimedDevice>(w: &mut Watch<D>, at: &[u64]) -> Result<Vec<Option<u32>>, D::Error> {
    let starts = w.angles(at)?;
    // Sectors per track as they are known, the part of a track that says so, and whether it can be more. The first advance
    // may be over the end of a track: it takes others to confirm it.
    let mut found: Vec<(f64, f64, bool)> = vec![(0.0, 0.0, true); at.len()];
    let mut confirmed = vec![0u32; at.len()];
    let mut distance = BLOCK;
    while found.iter().any(|f| f.2) {
        let open: Vec<usize> = (0..at.len()).filter(|&i| found[i].2).collect();
        let there: Vec<u64> = open.iter().map(|&i| (at[i] + distance).min(w.capacity() - BLOCK)).collect();
        let ends = w.angles(&there)?;
        for (&i, end) in open.iter().zip(ends) {
            let (Some(start), Some(end)) = (starts[i], end) else {
                found[i].2 = false;
                continue;
            };
            let sectors = distance as f64;
            let advance = (end - start).rem_euclid(1.0);
            let (before, _, _) = found[i];
            let turns = if before == 0.0 { advance } else { sectors / before + wrap(advance - sectors / before) };
            let fits = before == 0.0 || (turns - sectors / before).abs() < AGREE;
            if !fits || turns <= 0.0 {
                found[i].2 = false;
                continue;
            }
            confirmed[i] += 1;
            found[i] = (sectors / turns, turns, turns < 0.45);
        }
        distance *= 2;
    }
    let certain =
        |(&(n, part, _), &times): (&(f64, f64, bool), &u32)| (times >= 3 && part > 0.1).then_some(n.round() as u32);
    Ok(found.iter().zip(&confirmed).map(certain).collect())
}

/// Where zones begin that lie between two places each: the first sector, and the sectors of its tracks.
fn starts<D: TimedDevice>(w: &mut Watch<D>, changes: &[[FoundZone; 2]]) -> Result<Vec<(u64, u32)>, D::Error> {
    let mut ranges: Vec<(u64, u64)> = changes.iter().map(|c| (c[0].first, c[1].first)).collect();
    for _ in 0..HALVINGS {
        let open: Vec<usize> = (0..ranges.len()).filter(|&i| ranges[i].1 - ranges[i].0 > 2 * BLOCK).collect();
        if open.is_empty() {
            break;
        }
        // A quarter of a track on, and one back, in case the track ends within the first.
        let quarter = |i: usize| u64::from(changes[i][1].per_track) / 4;
        // Not the middle itself, so that a place that tells nothing is not tried again.
        let part = w.random.random_range(0.35..0.65);
        let middle = |r: (u64, u64)| r.0 + ((r.1 - r.0) as f64 * part) as u64;
        let places = |i: usize, r| [middle(r), middle(r) + quarter(i), middle(r).saturating_sub(quarter(i))];
        let blocks: Vec<u64> = open.iter().flat_map(|&i| places(i, ranges[i])).collect();
        let angles = w.angles(&blocks)?;
        for (k, &i) in open.iter().enumerate() {
            let (here, on, back) = (angles[3 * k], angles[3 * k + 1], angles[3 * k + 2]);
            let [outer, inner] = changes[i].map(|zone| zone.per_track);
            // 0 where the angle is that of the outer zone, 1 for the inner, none where a track ends between.
            let which = |from: Option<f64>, to: Option<f64>| {
                let advance = (to? - from?).rem_euclid(1.0);
                let expected = [outer, inner].map(|n| quarter(i) as f64 / f64::from(n));
                let off = expected.map(|e| wrap(advance - e).abs());
                let apart = (expected[0] - expected[1]).abs();
                let nearest = usize::from(off[1] < off[0]);
                (off[nearest] < 0.45 * apart).then_some(nearest)
            };
            let middle = middle(ranges[i]);
            match which(here, on).or_else(|| which(back, here)) {
                Some(0) => ranges[i].0 = middle,
                Some(_) => ranges[i].1 = middle,
                None => {}
            }
        }
    }
    Ok(changes.iter().zip(ranges).map(|(c, r)| (r.1, c[1].per_track)).collect())
}
