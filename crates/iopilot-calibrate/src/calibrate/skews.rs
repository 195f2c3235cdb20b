//! Fits the angles at which tracks start: the skews of a drive, its rotation period and the side of the think times,
//! from the times at which reads ended.
//!
//! A read from the medium ends at a known angle. Consider two reads of one zone shortly after each other. The
//! revolutions between their ends, modulo whole ones, are a sum of a few unknowns times whole numbers: the heads
//! between them times the track skew, and the cylinders between them times the advance per cylinder. Unit vectors at
//! that angle are summed over a lattice of those numbers. Their Fourier transform peaks at the skews, whatever the
//! drive's file says. The height of the peak (the *coherence*, 0 to 1) identifies the right period, the right side of
//! the think times, and whether there is a phase at all.

use super::media::{BareLayout, MediaRead};
use super::spectrum::{Spectrum, Vector, wrap};
use super::sync::{self, Residuals};
use iopilot_catalogue::G1Spec;

/// The angles of a zone in revolutions.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct ZoneAngles {
    pub(super) offset: f64,
    /// From a track to the next in its cylinder.
    pub(super) track: f64,
    /// From a cylinder to the next in its range; unused where ranges are single cylinders.
    pub(super) cylinder: f64,
    /// From a range to the next.
    pub(super) range: f64,
    pub(super) origin: SkewOrigin,
}

/// Where the skews of a zone come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum SkewOrigin {
    /// The file.
    #[default]
    File,
    /// Angles that are the same in all zones.
    Common,
    /// Common angles, except for the step from range to range.
    CommonTrack,
    /// Angles of this zone alone.
    Own,
}

/// The result of the fit to the reads from the medium.
#[derive(Clone, Debug)]
pub(super) struct SkewFit {
    /// One revolution, ns.
    pub(super) period: f64,
    pub(super) zones: Vec<ZoneAngles>,
    /// The coherence of pairs of reads in the same zone.
    pub(super) coherence: f64,
    /// The same with the angles of the file.
    pub(super) file_coherence: f64,
    /// The time that each sector of a read adds to its end, ns.
    pub(super) per_sector: f64,
    /// The median error, revolutions.
    pub(super) spread: f64,
    pub(super) reads: usize,
    /// Whether ranges are longer than one cylinder.
    pub(super) ranged: bool,
}

/// Pairs of reads of one zone, `(earlier, later)`, at most `lags` reads of the zone and `gap` ns apart.
fn pairs(reads: &[MediaRead], zones: usize, lags: usize, gap: f64) -> Vec<(usize, usize)> {
    let mut recent: Vec<Vec<usize>> = vec![Vec::new(); zones];
    let mut out = Vec::new();
    for (i, read) in reads.iter().enumerate() {
        let of_zone = &mut recent[read.zone];
        let near = of_zone.iter().rev().take(lags).filter(|&&j| read.end - reads[j].end < gap);
        out.extend(near.map(|&j| (j, i)));
        of_zone.push(i);
    }
    out
}

/// A set of reads, and fixed parameters.
struct Search<'a> {
    reads: &'a [MediaRead],
    shape: [usize; 3],
    per_sector: f64,
}

impl Search<'_> {
    /// The revolutions between a pair, without skews.
    fn turns(&self, (i, j): (usize, usize), period: f64) -> f64 {
        let (a, b) = (&self.reads[i], &self.reads[j]);
        (b.end - a.end - self.per_sector * (b.sectors - a.sectors)) / period - (b.turns - a.turns)
    }

    fn steps(&self, (i, j): (usize, usize)) -> [i64; 3] {
        let (a, b) = (&self.reads[i], &self.reads[j]);
        [b.head - a.head, b.within - a.within, b.range - a.range]
    }

    /// The length of the mean vector of pairs, after subtraction of the skews of their zone.
    fn coherence(&self, pairs: &[(usize, usize)], period: f64, zones: &[ZoneAngles]) -> f64 {
        let mut sum = Vector::default();
        for &pair in pairs {
            let z = &zones[self.reads[pair.0].zone];
            let [h, c, r] = self.steps(pair).map(|s| s as f64);
            sum.add(Vector::at(self.turns(pair, period) - h * z.track - c * z.cylinder - r * z.range));
        }
        sum.length() / pairs.len().max(1) as f64
    }

    /// The skews at which pairs agree best: coherence and frequencies.
    fn peak(&self, spectrum: &mut Spectrum, pairs: &[(usize, usize)], period: f64) -> (f64, [f64; 3]) {
        spectrum.clear();
        let mut count = 0;
        for &pair in pairs {
            let steps = self.steps(pair);
            // A larger distance than the lattice would be aliased.
            if steps[2].unsigned_abs() as usize * 2 < self.shape[2] {
                spectrum.add(steps, Vector::at(self.turns(pair, period)));
                count += 1;
            }
        }
        let peak = spectrum.peak();
        (peak.power / f64::from(count.max(1)), peak.frequency)
    }

    /// Refines skews between the points of the lattice, by small steps as long as they help.
    fn climb(&self, pairs: &[(usize, usize)], period: f64, from: ZoneAngles) -> (f64, ZoneAngles) {
        let ranged = self.shape[1] > 1;
        let score = |a: &ZoneAngles| {
            let mut sum = Vector::default();
            for &pair in pairs {
                let [h, c, r] = self.steps(pair).map(|s| s as f64);
                sum.add(Vector::at(self.turns(pair, period) - h * a.track - c * a.cylinder - r * a.range));
            }
            sum.length() / pairs.len().max(1) as f64
        };
        let (mut best, mut at) = (score(&from), from);
        let mut steps = self.shape.map(|cells| 0.5 / cells as f64);
        for _ in 0..6 {
            for d in 0..3 {
                for sign in [1.0, -1.0] {
                    let mut next = at;
                    match d {
                        0 => next.track += sign * steps[0],
                        1 if ranged => next.cylinder += sign * steps[1],
                        2 => next.range += sign * steps[2],
                        _ => continue,
                    }
                    if !ranged {
                        next.cylinder = next.range;
                    }
                    let value = score(&next);
                    if value > best {
                        (best, at) = (value, next);
                    }
                }
                steps[d] *= 0.6;
            }
        }
        (best, at)
    }

    /// The step from range to range of one zone, given the other skews.
    fn range_peak(&self, pairs: &[(usize, usize)], period: f64, common: &ZoneAngles) -> (f64, f64) {
        let mut spectrum = Spectrum::new([1, 1, self.shape[2]]);
        for &pair in pairs {
            let [h, c, r] = self.steps(pair);
            let turns = self.turns(pair, period) - h as f64 * common.track - c as f64 * common.cylinder;
            spectrum.add([0, 0, r], Vector::at(turns));
        }
        let peak = spectrum.peak();
        (peak.power / pairs.len().max(1) as f64, peak.frequency[2])
    }
}

/// Whether a peak among `cells` cells of a spectrum of `count` independent vectors exceeds chance (1 in 100).
fn beyond_chance(coherence: f64, count: usize, cells: usize) -> bool {
    (cells as f64).ln() - count as f64 * coherence * coherence < 0.01_f64.ln()
}

/// The angles in the file.
fn file_angles(layout: &G1Spec, range: u32) -> Vec<ZoneAngles> {
    let angles = |zone: &iopilot_catalogue::G1ZoneSpec| {
        let turns = |revolutions: Option<f64>, sectors: Option<f64>| {
            let sectors = sectors.unwrap_or(0.0).trunc() / f64::from(zone.sectors_per_track.max(1));
            revolutions.unwrap_or(sectors)
        };
        let track = turns(zone.track_skew_revolutions, zone.track_skew_sectors);
        let advance =
            f64::from(layout.heads - 1) * track + turns(zone.cylinder_skew_revolutions, zone.cylinder_skew_sectors);
        let step = turns(zone.range_skew_revolutions, zone.range_skew_sectors);
        ZoneAngles {
            offset: turns(zone.offset_revolutions, zone.offset_sectors),
            track,
            cylinder: advance,
            range: f64::from(range) * advance + step,
            origin: SkewOrigin::File,
        }
    };
    layout.zone.iter().map(angles).collect()
}

/// Pairs further apart than this many revolutions are useless while the period is known to a percent.
const NEAR: f64 = 150.0;
const LAGS: usize = 8;
/// The fewest reads from which anything is concluded.
const FEWEST: usize = 30;

/// Fits all parameters. `None` if no phase is visible.
pub(super) fn fit(
    bare: &BareLayout,
    layout: &G1Spec,
    reads: &[MediaRead],
    nominal: f64,
    per_sector: f64,
) -> Option<SkewFit> {
    if reads.len() < FEWEST {
        return None;
    }
    let zones = layout.zone.len();
    let near = pairs(reads, zones, LAGS, NEAR * nominal);
    let cells = |steps: u32| if steps <= 1 { 1 } else { (2 * steps as usize).next_power_of_two() };
    let ranges = bare.widest.div_ceil(bare.range) as usize;
    let shape = [cells(bare.heads()), cells(bare.range), (2 * ranges).next_power_of_two().min(8192)];
    let search = Search { reads, shape, per_sector };
    let file = file_angles(layout, bare.range);

    // The period and the common skews, by a search over periods.
    let mut spectrum = Spectrum::new(shape);
    let step = 0.2 / NEAR;
    let steps = (0.012 / step) as i32;
    let (mut best, mut file_best) = ((0.0, nominal, [0.0; 3]), (0.0, nominal));
    for k in -steps..=steps {
        let period = nominal * (1.0 + f64::from(k) * step);
        let (coherence, skews) = search.peak(&mut spectrum, &near, period);
        if coherence > best.0 {
            best = (coherence, period, skews);
        }
        let coherence = search.coherence(&near, period, &file);
        if coherence > file_best.0 {
            file_best = (coherence, period);
        }
    }
    let count = near.len().min(reads.len());
    let found = beyond_chance(best.0, count, shape.iter().product::<usize>() * (2 * steps as usize + 1));
    if !found && !beyond_chance(file_best.0, count, 2 * steps as usize + 1) {
        return None;
    }
    let mut period = if best.0 > file_best.0 { best.1 } else { file_best.1 };
    let [track, cylinder, range] = best.2;
    let cylinder = if bare.range == 1 { range } else { cylinder };
    let common = ZoneAngles { offset: 0.0, track, cylinder, range, origin: SkewOrigin::Common };
    let common = search.climb(&near, best.1, common).1;

    // Zone by zone, choose the simplest explanation that is about as good as the best.
    let mut angles: Vec<ZoneAngles> = Vec::with_capacity(zones);
    for (z, &of_file) in file.iter().enumerate() {
        let own: Vec<_> = near.iter().copied().filter(|&(i, _)| reads[i].zone == z).collect();
        let count = own.len().min(reads.iter().filter(|r| r.zone == z).count());
        let score = |a: ZoneAngles| {
            let mut all = file.clone();
            all[z] = a;
            search.coherence(&own, period, &all)
        };
        let mut choice = (score(of_file), of_file);
        let mut offer = |coherence: f64, a: ZoneAngles, cells: usize| {
            if coherence > choice.0 + 0.06 && beyond_chance(coherence, count, cells) {
                choice = (coherence, a);
            }
        };
        if found {
            offer(score(common), common, 3);
        }
        if bare.range > 1 && found {
            let (coherence, range) = search.range_peak(&own, period, &common);
            offer(coherence, ZoneAngles { range, origin: SkewOrigin::CommonTrack, ..common }, shape[2]);
        }
        let (coherence, [track, cylinder, range]) = search.peak(&mut spectrum, &own, period);
        let cylinder = if bare.range == 1 { range } else { cylinder };
        let a = ZoneAngles { offset: 0.0, track, cylinder, range, origin: SkewOrigin::Own };
        let (coherence, a) = if coherence > 0.0 { search.climb(&own, period, a) } else { (coherence, a) };
        offer(coherence, a, shape.iter().product());
        if choice.1.origin == SkewOrigin::File && count < 3 && found && best.0 > file_best.0 + 0.06 {
            choice.1 = common;
        }
        angles.push(choice.1);
    }

    // Refine the period from ever longer gaps, as long as they agree.
    let mut reach = NEAR;
    let mut coherence = search.coherence(&near, period, &angles);
    for _ in 0..5 {
        let far = pairs(reads, zones, (LAGS as f64 * reach / NEAR) as usize, reach * nominal);
        let at = |k: i32| period * (1.0 + f64::from(k) * 0.02 / reach);
        let scored = (-20..=20).map(|k| (search.coherence(&far, at(k), &angles), at(k)));
        let (best, refined) = scored.max_by(|a, b| a.0.total_cmp(&b.0))?;
        if best < 0.7 * coherence {
            break;
        }
        (period, coherence) = (refined, best);
        reach *= 3.0;
        if far.len() > 60_000 {
            break;
        }
    }

    let mut residuals = Residuals { reads, period, per_sector, ranged: bare.range > 1 };
    let spread = sync::refine(&mut residuals, &mut angles);
    let search = Search { per_sector: residuals.per_sector, ..search };
    let coherence = search.coherence(&near, residuals.period, &angles);
    let (per_sector, period) = (residuals.per_sector, residuals.period);
    for a in &mut angles {
        (a.offset, a.track) = (wrap(a.offset), wrap(a.track));
    }
    let file_coherence = file_best.0;
    let ranged = bare.range > 1;
    Some(SkewFit { ranged, period, zones: angles, coherence, file_coherence, per_sector, spread, reads: reads.len() })
}
