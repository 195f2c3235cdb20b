//! Sectors per track, and where they change: along a track the angle advances by `sectors / sectors per track`.

use super::angle::{median, wrap};
use super::lengths::{TrackPosition, end, sharpen, zone_starts};
use super::watch::{BLOCK, ProbedDevice};
use iopilot_device::TimedDevice;
use rand::Rng;

/// The least number of places at which tracks are first measured.
const PLACES: usize = 160;
/// Retries at a place where a track ended too close.
const AGAIN: u64 = 3;
/// Halvings of the range between two places in which a zone begins.
const HALVINGS: usize = 24;
/// Angles closer than this agree, revolutions.
const AGREE: f64 = 0.03;

/// How many tracks further on another end is looked for.
const NEAR: [u64; 2] = [3, 12];

/// Sectors per track with less uncertainty than this count as known.
const SHARP: f64 = 0.5;

/// A zone, as found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FoundZone {
    /// Its first sector.
    pub(super) first: u64,
    /// Sectors on its tracks.
    pub(super) per_track: u32,
}

/// The zones, outermost first.
pub(super) fn find<D: TimedDevice>(w: &mut ProbedDevice<D>) -> Result<Vec<FoundZone>, D::Error> {
    let places = PLACES.max(2 * w.evicting) as u64;
    let capacity = w.capacity();
    let at: Vec<u64> = (0..places).map(|i| capacity / places * i / BLOCK * BLOCK).collect();
    let mut per_track = tracks(w, &at)?;
    for again in 1..=AGAIN {
        // A little further on, where tracks end at other distances.
        let unknown: Vec<usize> = (0..at.len()).filter(|&i| per_track[i].is_none()).collect();
        let there: Vec<u64> =
            unknown.iter().map(|&i| (at[i] + again * 89 * BLOCK).min(capacity.saturating_sub(2048))).collect();
        for (&i, found) in unknown.iter().zip(tracks(w, &there)?) {
            per_track[i] = found;
        }
    }
    let mut known: Vec<TrackPosition> = per_track.into_iter().flatten().collect();
    if w.is_noisy() {
        // First use the ends of tracks near each place, then make all places of a zone equal.
        near(w, &mut known)?;
        known = alike(w, &known)?;
    }
    let per_track = |place: &TrackPosition| place.sectors.round() as u32;
    let Some(outermost) = known.first() else { return Ok(Vec::new()) };
    let mut zones = vec![FoundZone { first: 0, per_track: per_track(outermost) }];
    let differ = known.windows(2).filter(|pair| per_track(&pair[0]) != per_track(&pair[1]));
    let changes: Vec<_> = differ.map(|pair| [pair[0], pair[1]]).collect();
    let ranges = match w.is_noisy() {
        true => zone_starts(w, &changes)?,
        false => changes.iter().map(|change| (change[0].at, change[1].at)).collect(),
    };
    let inner = changes.iter().map(|change| per_track(&change[1]));
    for (per_track, first) in inner.zip(starts(w, &changes, ranges)?) {
        zones.push(FoundZone { first, per_track });
    }
    Ok(zones)
}

/// Refines places by the ends of tracks near them.
fn near<D: TimedDevice>(w: &mut ProbedDevice<D>, places: &mut [TrackPosition]) -> Result<(), D::Error> {
    end(w, places)?;
    for apart in NEAR {
        sharpen(w, places, apart)?;
    }
    Ok(())
}

fn differ(a: &TrackPosition, b: &TrackPosition) -> bool {
    (a.sectors - b.sectors).abs() > a.off + b.off + 0.5
}

/// Drops places that differ from both neighbours, unless other tracks near them confirm the value. A value measured
/// across the start of a zone belongs to neither zone.
fn confirmed<D: TimedDevice>(w: &mut ProbedDevice<D>, known: &[TrackPosition]) -> Result<Vec<TrackPosition>, D::Error> {
    const TRACKS: [f64; 4] = [-75.0, -24.0, 24.0, 75.0];
    let odd = |i: usize| {
        let before = i.checked_sub(1).and_then(|before| known.get(before));
        [before, known.get(i + 1)].into_iter().flatten().all(|beside| differ(beside, &known[i]))
    };
    let odd: Vec<usize> = (0..known.len()).filter(|&i| odd(i)).collect();
    let last = (w.capacity() - BLOCK) as f64;
    let beside =
        |&i: &usize| TRACKS.map(|tracks| (known[i].at as f64 + tracks * known[i].sectors).clamp(0.0, last) as u64);
    let there: Vec<u64> = odd.iter().flat_map(beside).collect();
    let (mut of, mut others) = (Vec::new(), Vec::new());
    for (k, place) in tracks(w, &there)?.into_iter().enumerate() {
        if let Some(place) = place {
            of.push(odd[k / TRACKS.len()]);
            others.push(place);
        }
    }
    near(w, &mut others)?;
    let holds =
        |i: &usize| !odd.contains(i) || of.iter().zip(&others).any(|(at, other)| at == i && !differ(&known[*i], other));
    Ok((0..known.len()).filter(holds).map(|i| known[i]).collect())
}

/// The places, with one number of sectors for all places of a zone.
fn alike<D: TimedDevice>(w: &mut ProbedDevice<D>, known: &[TrackPosition]) -> Result<Vec<TrackPosition>, D::Error> {
    // The ends of tracks are visible nearly everywhere or, without skews, nowhere.
    let sharp: Vec<TrackPosition> = known.iter().filter(|place| place.off < SHARP).copied().collect();
    let sane = confirmed(w, if 2 * sharp.len() > known.len() { &sharp } else { known })?;
    let alike = |zone: &[TrackPosition]| {
        let sectors = median(zone.iter().map(|place| place.sectors).collect()).unwrap_or(0.0).round();
        // Where the end of a place's track is unknown, it follows from that of another place in the zone.
        let known = zone.iter().find_map(|place| place.end);
        let next = |end: u64, at: u64| at + (end as i64 - at as i64).rem_euclid(sectors.max(1.0) as i64) as u64;
        let end = |place: &TrackPosition| place.end.or(known.map(|known| next(known, place.at)));
        zone.iter().map(|place| TrackPosition { sectors, end: end(place), ..*place }).collect::<Vec<_>>()
    };
    Ok(sane.chunk_by(|a, b| !differ(a, b)).flat_map(alike).collect())
}

/// The sectors per track at some places; `None` where a track ended too close.
///
/// The distance over which the angle is taken doubles as long as the result agrees with that of half the distance.
fn tracks<D: TimedDevice>(w: &mut ProbedDevice<D>, at: &[u64]) -> Result<Vec<Option<TrackPosition>>, D::Error> {
    let starts = w.angles(at)?;
    // For each place: sectors per track so far, the part of a track over which they were measured, and whether to go
    // on. The first advance may cross the end of a track, so further ones must confirm it.
    let mut found: Vec<(f64, f64, bool)> = vec![(0.0, 0.0, true); at.len()];
    let mut confirmed = vec![0u32; at.len()];
    let mut distance = first_distance(w);
    // The least number of agreeing advances, so that the part of a track is long enough.
    let needed = if w.is_noisy() { 2 } else { 3 };
    let blur = 2f64.sqrt() * w.blur();
    // On a disturbed disk some places never finish.
    while found.iter().any(|f| f.2) && distance < w.capacity() {
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
            let (before, part, _) = found[i];
            let turns = if before == 0.0 { advance } else { sectors / before + wrap(advance - sectors / before) };
            // The prediction inherits the noise of its angle, which grows with the distance.
            let agree = AGREE.max(5.0 * blur * (1.0 + turns / part.max(1e-9)).min(4.0));
            let fits = before == 0.0 || (turns - sectors / before).abs() < agree;
            if !fits || turns <= 0.0 {
                found[i].2 = false;
                continue;
            }
            confirmed[i] += 1;
            found[i] = (sectors / turns, turns, turns < 0.45);
        }
        distance *= 2;
    }
    let certain = |((&at, &(sectors, part, _)), &times): ((&u64, &(f64, f64, bool)), &u32)| {
        let on = at + (part * sectors).round() as u64;
        // Nearly all values are within four standard deviations.
        (times >= needed && part > 0.1).then_some(TrackPosition {
            at,
            on,
            sectors,
            off: 4.0 * sectors * blur / part,
            end: None,
        })
    };
    Ok(at.iter().zip(&found).zip(&confirmed).map(certain).collect())
}

/// The first distance. The angle over it exceeds the noise, since a track rarely has more than some thousand sectors.
fn first_distance<D: TimedDevice>(w: &ProbedDevice<D>) -> u64 {
    const MOST: f64 = 4096.0;
    let distance = (12.0 * w.blur() * MOST) as u64;
    distance.max(BLOCK).next_power_of_two().min(64)
}

/// The first sector of each zone that begins within a range between two places.
fn starts<D: TimedDevice>(
    w: &mut ProbedDevice<D>,
    changes: &[[TrackPosition; 2]],
    mut ranges: Vec<(u64, u64)>,
) -> Result<Vec<u64>, D::Error> {
    let noisy = w.is_noisy();
    for _ in 0..HALVINGS {
        let open: Vec<usize> = (0..ranges.len()).filter(|&i| ranges[i].1 - ranges[i].0 > 2 * BLOCK).collect();
        if open.is_empty() {
            break;
        }
        // A part of a track forward, and one backward in case the track ends within the first. A longer part is more
        // exact.
        let percent = if noisy { 40 } else { 25 };
        let part_on = |i: usize| changes[i][1].sectors as u64 * percent / 100;
        // Not the exact middle, so that a place that yielded nothing is not tried again.
        let part = w.random.random_range(0.35..0.65);
        let middle = |r: (u64, u64)| r.0 + ((r.1 - r.0) as f64 * part) as u64;
        let places = |i: usize, r| [middle(r), middle(r) + part_on(i), middle(r).saturating_sub(part_on(i))];
        let blocks: Vec<u64> = open.iter().flat_map(|&i| places(i, ranges[i])).collect();
        let angles = w.angles(&blocks)?;
        for (k, &i) in open.iter().enumerate() {
            let (here, on, back) = (angles[3 * k], angles[3 * k + 1], angles[3 * k + 2]);
            let [outer, inner] = changes[i].map(|place| place.sectors);
            // 0 where the angle fits the outer zone, 1 where it fits the inner one, none where a track ends between.
            let which = |from: Option<f64>, to: Option<f64>| {
                let advance = (to? - from?).rem_euclid(1.0);
                let expected = [outer, inner].map(|n| part_on(i) as f64 / n);
                let off = expected.map(|e| wrap(advance - e).abs());
                let apart = (expected[0] - expected[1]).abs();
                let nearest = usize::from(off[1] < off[0]);
                let near = if noisy { 0.35 } else { 0.45 };
                (off[nearest] < near * apart).then_some(nearest)
            };
            let middle = middle(ranges[i]);
            match which(here, on).or_else(|| which(back, here)) {
                Some(0) => ranges[i].0 = middle,
                Some(_) => ranges[i].1 = middle,
                None => {}
            }
        }
    }
    Ok(ranges.into_iter().map(|range| range.1).collect())
}
