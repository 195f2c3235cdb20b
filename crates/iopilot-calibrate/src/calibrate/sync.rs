//! Refines approximate skews: the zones' offsets by synchronising angles, the spindle's drift, and trimmed least
//! squares.

use super::media::MediaRead;
use super::skews::{SkewOrigin, ZoneAngles};
use super::spectrum::{Vector, wrap};

/// The reads, and the parameters of their comparison.
pub(super) struct Residuals<'a> {
    pub(super) reads: &'a [MediaRead],
    pub(super) period: f64,
    pub(super) per_sector: f64,
    pub(super) ranged: bool,
}

impl Residuals<'_> {
    /// The angle of the spindle at the end of each read, minus the angle of its last sector without the zone's offset.
    fn turns(&self, zones: &[ZoneAngles]) -> Vec<f64> {
        let turns = |r: &MediaRead| {
            let z = &zones[r.zone];
            let skews = r.head as f64 * z.track + r.within as f64 * z.cylinder + r.range as f64 * z.range;
            ((r.end - self.per_sector * r.sectors) / self.period - r.turns - skews).rem_euclid(1.0)
        };
        self.reads.iter().map(turns).collect()
    }
}

/// Offsets of the zones for which consecutive reads agree: the phases of the leading eigenvector of the matrix of their
/// differences.
fn offsets(residuals: &Residuals, turns: &[f64], zones: usize) -> Vec<f64> {
    const NEIGHBOURS: usize = 6;
    let mut matrix = vec![Vector::default(); zones * zones];
    let mut weight = vec![0.0; zones];
    for i in 0..turns.len() {
        for j in i.saturating_sub(NEIGHBOURS)..i {
            let (a, b) = (residuals.reads[i].zone, residuals.reads[j].zone);
            let difference = Vector::at(turns[i] - turns[j]);
            matrix[a * zones + b].add(difference);
            matrix[b * zones + a].add(difference.conjugate());
            weight[a] += 1.0;
            weight[b] += 1.0;
        }
    }
    let mut vector = vec![Vector { x: 1.0, y: 0.0 }; zones];
    for _ in 0..200 {
        let mut next: Vec<Vector> = vector.clone();
        for a in 0..zones {
            // With the diagonal, the matrix has no negative eigenvalue. The weights make all zones count equally.
            let mut sum = Vector { x: vector[a].x * weight[a], y: vector[a].y * weight[a] };
            for b in 0..zones {
                sum.add(matrix[a * zones + b].times(vector[b]));
            }
            let length = sum.length();
            next[a] = if length > 0.0 { Vector { x: sum.x / length, y: sum.y / length } } else { vector[a] };
        }
        vector = next;
    }
    vector.iter().map(|v| v.turns()).collect()
}

/// The drift of the spindle at each read: the mean direction of the reads around it.
fn drift(errors: &[f64]) -> Vec<f64> {
    const REACH: usize = 10;
    let unit: Vec<Vector> = errors.iter().map(|&e| Vector::at(e)).collect();
    let mean = |i: usize| {
        let mut sum = Vector::default();
        for v in &unit[i.saturating_sub(REACH)..(i + REACH + 1).min(unit.len())] {
            sum.add(*v);
        }
        sum.turns()
    };
    (0..errors.len()).map(mean).collect()
}

/// Refines `zones` and the time per sector; returns the median error in revolutions.
pub(super) fn refine(residuals: &mut Residuals, zones: &mut [ZoneAngles]) -> f64 {
    let turns = residuals.turns(zones);
    let offsets = offsets(residuals, &turns, zones.len());
    for (zone, offset) in zones.iter_mut().zip(offsets) {
        zone.offset = offset;
    }
    let mut spread = 0.5;
    for round in 0..6 {
        let turns = residuals.turns(zones);
        let errors: Vec<f64> = turns.iter().zip(residuals.reads).map(|(t, r)| t - zones[r.zone].offset).collect();
        let drift = drift(&errors);
        let errors: Vec<f64> = errors.iter().zip(&drift).map(|(e, d)| wrap(e - d)).collect();
        let mut sizes: Vec<f64> = errors.iter().map(|e| e.abs()).collect();
        sizes.sort_by(f64::total_cmp);
        spread = sizes[sizes.len() / 2];
        if round == 5 {
            break;
        }
        let limit = (5.0 * spread).clamp(0.01, 0.15);
        let kept: Vec<usize> = (0..errors.len()).filter(|&i| errors[i].abs() < limit).collect();
        step(residuals, zones, &errors, &kept);
    }
    spread
}

/// One step of least squares on the reads in `kept`.
fn step(residuals: &mut Residuals, zones: &mut [ZoneAngles], errors: &[f64], kept: &[usize]) {
    let reads = residuals.reads;
    let count = zones.len();
    let mut means = vec![[0.0; 6]; count];
    let row = |i: usize| {
        let r = &reads[i];
        [r.head as f64, r.within as f64, r.range as f64, r.sectors, errors[i]]
    };
    for &i in kept {
        let mean = &mut means[reads[i].zone];
        for (m, x) in mean.iter_mut().zip(row(i)) {
            *m += x;
        }
        mean[5] += 1.0;
    }
    let centred = |i: usize| {
        let mean = &means[reads[i].zone];
        let mut x = row(i);
        for (x, m) in x.iter_mut().zip(mean) {
            *x -= m / mean[5];
        }
        x
    };
    // Head, cylinder and range of the zones that share them; the length of all reads.
    let shared_track = |o| matches!(o, SkewOrigin::Common | SkewOrigin::CommonTrack);
    let mut changes = vec![[0.0; 3]; count];
    let shared = |&i: &usize| shared_track(zones[reads[i].zone].origin);
    let common: Vec<_> = kept.iter().copied().filter(shared).map(centred).collect();
    let ranged = residuals.ranged;
    if common.len() > 30 {
        let every_range = zones.iter().all(|z| z.origin != SkewOrigin::CommonTrack);
        let used: &[usize] = match (ranged, every_range) {
            (false, _) => &[0, 2],
            (true, true) => &[0, 1, 2],
            (true, false) => &[0, 1],
        };
        let change = solve(&common, used);
        for (z, c) in zones.iter().zip(&mut changes) {
            if shared_track(z.origin) {
                *c = change;
            }
        }
    }
    let lengths: Vec<_> = kept.iter().map(|&i| centred(i)).collect();
    let (mut xy, mut xx) = (0.0, 1e-9);
    for x in &lengths {
        xy += x[3] * x[4];
        xx += x[3] * x[3];
    }
    residuals.per_sector += xy / xx * residuals.period;
    for (z, zone) in zones.iter_mut().enumerate() {
        let mean = &means[z];
        if mean[5] < 3.0 {
            continue;
        }
        let mut change = changes[z];
        let own: Vec<_> = kept.iter().copied().filter(|&i| reads[i].zone == z).map(centred).collect();
        if own.len() >= 12 {
            match zone.origin {
                SkewOrigin::CommonTrack => change[2] = solve(&own, &[2])[2],
                SkewOrigin::Own => change = solve(&own, if ranged { &[0, 1, 2] } else { &[0, 2] }),
                SkewOrigin::File | SkewOrigin::Common => {}
            }
        }
        zone.track += change[0];
        zone.range += change[2];
        zone.cylinder = if ranged { zone.cylinder + change[1] } else { zone.range };
        // The offset compensates for the change of the slopes at the mean of the zone.
        let moved: f64 = (0..3).map(|k| change[k] * mean[k] / mean[5]).sum();
        zone.offset = wrap(zone.offset + mean[4] / mean[5] - moved);
    }
}

/// Least squares of the last column on the columns `used`; the other coefficients stay 0.
fn solve(rows: &[[f64; 5]], used: &[usize]) -> [f64; 3] {
    let n = used.len();
    let mut a = [[0.0; 4]; 3];
    for x in rows {
        for i in 0..n {
            for j in 0..n {
                a[i][j] += x[used[i]] * x[used[j]];
            }
            a[i][3] += x[used[i]] * x[4];
        }
    }
    for (i, row) in a.iter_mut().enumerate().take(n) {
        // A column that does not vary keeps its coefficient.
        row[i] = row[i] * (1.0 + 1e-9) + 1e-6;
    }
    for i in 0..n {
        for j in 0..n {
            if i == j || a[i][i] == 0.0 {
                continue;
            }
            let factor = a[j][i] / a[i][i];
            let pivot = a[i];
            for (value, above) in a[j].iter_mut().zip(pivot) {
                *value -= factor * above;
            }
        }
    }
    let mut out = [0.0; 3];
    for i in 0..n {
        out[used[i]] = a[i][3] / a[i][i];
    }
    out
}
