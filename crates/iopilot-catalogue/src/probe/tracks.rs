//! The order of tracks in the outermost zone: skews, heads, bands.

use super::access::{FoundTrack, step};
use super::angle::{median_angle, wrap};
use super::least::Least;
use super::measurement::Measurement;
use super::watch::{BLOCK, ProbedDevice};
use super::zones::FoundZone;
use iopilot_device::TimedDevice;
use rand::Rng;

/// The most tracks that are measured; and the number measured first on a noisy disk, which takes several reads for
/// each.
const TRACKS: (u64, u64) = (6000, 1600);
/// The most tracks of a period to which access times are measured, and accesses to each.
const ARM: (usize, usize) = (48, 32);
/// The most heads of a drive.
const HEADS: usize = 36;
/// Skews that differ by less than this, revolutions, or by less than the noise, are equal. One pair in [`ODD`] may
/// differ.
const SAME: f64 = 4e-4;
const ODD: usize = 2000;

/// The order of the tracks of a zone.
#[derive(Clone, Debug)]
pub(super) struct TrackOrder {
    /// The first tracks of the disk.
    pub(super) tracks: Vec<FoundTrack>,
    /// The number of tracks after which the skews repeat.
    pub(super) period: usize,
    /// Heads, and cylinders of a band.
    pub(super) heads: u32,
    pub(super) run: u32,
    /// The skew to the next track on the same head, and to the same cylinder's next head.
    pub(super) cylinder_skew: f64,
    pub(super) head_skew: Option<f64>,
    /// The least access to another head of the same cylinder, overhead included.
    pub(super) head_switch: Option<Measurement>,
}

/// Measures the tracks of the outermost zone, which ends before `end`.
pub(super) fn order<D: TimedDevice>(
    w: &mut ProbedDevice<D>,
    zone: FoundZone,
    end: u64,
) -> Result<Option<TrackOrder>, D::Error> {
    let room = (end.min(w.capacity() - BLOCK) / u64::from(zone.per_track)).saturating_sub(1);
    let first = if w.is_noisy() { TRACKS.1 } else { TRACKS.0 };
    let mut tracks = walk(w, zone, first.min(room))?;
    if tracks.len() < 8 {
        return Ok(None);
    }
    let mut skews = skews(&tracks);
    let mut period = repeats(w, &skews);
    if period == 1 && w.is_noisy() && room > TRACKS.1 {
        // The period may be longer than the tracks measured so far.
        tracks = walk(w, zone, TRACKS.0.min(room))?;
        skews = self::skews(&tracks);
        period = repeats(w, &skews);
    }
    let cylinder_skew = median_angle(&skews).unwrap_or(0.0);
    let mut found = TrackOrder { period, heads: 1, run: 1, cylinder_skew, head_skew: None, head_switch: None, tracks };
    if period > 1 {
        shape(w, &mut found, &skews)?;
    }
    Ok(Some(found))
}

/// The first tracks of the disk, with their angles.
fn walk<D: TimedDevice>(w: &mut ProbedDevice<D>, zone: FoundZone, count: u64) -> Result<Vec<FoundTrack>, D::Error> {
    let sectors = u64::from(zone.per_track);
    let starts: Vec<u64> = (0..count).map(|k| k * sectors).collect();
    let angles = w.angles(&starts)?;
    let known = angles.iter().take_while(|angle| angle.is_some()).flatten();
    Ok((0..).zip(known).map(|(k, &angle)| FoundTrack { first: k * sectors, sectors: zone.per_track, angle }).collect())
}

fn skews(tracks: &[FoundTrack]) -> Vec<f64> {
    tracks.windows(2).map(|t| (t[1].angle - t[0].angle).rem_euclid(1.0)).collect()
}

/// The period of the skews; 1 if they do not repeat or are all equal.
fn repeats<D: TimedDevice>(w: &ProbedDevice<D>, skews: &[f64]) -> usize {
    // The difference of two skews contains four angles.
    let same = SAME.max(5.0 * 2.0 * w.blur());
    if w.is_noisy() { likely_period(skews, same) } else { period(skews, same) }
}

/// The least period after which skews agree within `same`, except for one in [`ODD`].
fn period(skews: &[f64], same: f64) -> usize {
    let different =
        |period: usize| skews.iter().zip(&skews[period..]).filter(|(a, b)| wrap(**a - **b).abs() >= same).count();
    (1..=skews.len() / 2).find(|&period| different(period) * ODD <= skews.len() - period).unwrap_or(1)
}

/// The same where some skews are wrong, perhaps more than there are skews that differ from the rest. Each skew is
/// compared with the median of those whole periods away. The result is the least period that explains nearly as many as
/// any.
fn likely_period(skews: &[f64], same: f64) -> usize {
    // Medians of fewer values would follow the wrong ones.
    const REPEATED: usize = 4;
    // This many may agree by chance.
    const CHANCE: usize = 3;
    let explained = |period: usize| -> usize {
        let of_phase = |phase: usize| {
            let all: Vec<f64> = skews.iter().skip(phase).step_by(period).copied().collect();
            let usual = median_angle(&all).unwrap_or(0.0);
            all.iter().filter(|skew| wrap(**skew - usual).abs() < same).count()
        };
        (0..period).map(of_phase).sum()
    };
    let explained: Vec<usize> = (1..=skews.len() / REPEATED).map(explained).collect();
    let (Some(&without), Some(&most)) = (explained.first(), explained.iter().max()) else { return 1 };
    let gain = most - without;
    if gain <= CHANCE {
        return 1;
    }
    1 + explained.iter().position(|&n| 4 * (n.saturating_sub(without)) >= 3 * gain).unwrap_or(0)
}

/// Distinguishes heads from cylinders by the arm's times from the first track of a period to the others. The times are
/// equal if all tracks are on one cylinder; otherwise they rise and fall with the cylinders of a band.
fn shape<D: TimedDevice>(w: &mut ProbedDevice<D>, found: &mut TrackOrder, skews: &[f64]) -> Result<(), D::Error> {
    let period = found.period;
    let stride = (period - 1).div_ceil(ARM.0).max(1);
    let mut places: Vec<usize> = (1..period).step_by(stride).collect();
    // Several places lie in the first run, whatever its length.
    places
        .extend((0..).map(|i| 1 << i).take_while(|&k| k < period).flat_map(|k| [k, k + k / 2]).filter(|&k| k < period));
    // The ends of runs are the most informative: the arm is back on the first cylinder there.
    let ends = divisors(period).flat_map(|heads| [2 * period / heads - 1, 2 * period / heads]);
    places.extend(ends.filter(|k| (1..period).contains(k)));
    places.sort_unstable();
    places.dedup();
    let periods = found.tracks.len() / period;
    let mut least = vec![w.least(); places.len()];
    for _ in 0..ARM.1 {
        if least.iter().all(Least::is_known) {
            break;
        }
        for (k, least) in places.iter().zip(&mut least) {
            let first = w.random.random_range(0..periods) * period;
            // Backward, because read-ahead may already hold the next track forward.
            step(w, found.tracks[first + k], found.tracks[first], least)?;
        }
        if places.len() < w.evicting / 2 {
            w.forget()?;
        }
    }
    let times: Vec<(usize, Measurement)> =
        places.iter().zip(least).filter_map(|(&k, least)| Some((k, least.measured()?))).collect();
    if times.is_empty() {
        return Ok(());
    }
    let values: Vec<f64> = times.iter().map(|t| t.1.value).collect();
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let skew = |after: usize| {
        let all: Vec<f64> = skews.iter().skip(after).step_by(period).copied().collect();
        median_angle(&all).unwrap_or(skews[after])
    };
    let flat = times.iter().all(|(_, m)| (m.value - mean).abs() < 0.03e6 + m.uncertainty);
    if flat && period <= HEADS {
        found.heads = period as u32;
        found.head_switch = Some(Measurement { value: mean, uncertainty: spread(&values, mean) });
        found.cylinder_skew = skew(period - 1);
        found.head_skew = Some(skew(0));
        return Ok(());
    }
    let heads = divisors(period).min_by(|&a, &b| misfit(&times, period / a).total_cmp(&misfit(&times, period / b)));
    let heads = heads.unwrap_or(1);
    let run = period / heads;
    (found.heads, found.run) = (heads as u32, run as u32);
    if heads > 1 {
        found.head_skew = Some(skew(run - 1));
        found.head_switch = times.iter().find(|t| t.0 == 2 * run - 1).map(|t| t.1);
        // The middle of a run is certainly on one head.
        found.cylinder_skew = skew(run / 2);
    }
    Ok(())
}

/// Numbers of heads that divide a period.
fn divisors(period: usize) -> impl Iterator<Item = usize> {
    (1..=HEADS.min(period)).filter(move |heads| period % heads == 0)
}

/// The mean squared error when the times are fitted to runs of `run` cylinders that alternate in direction. The model
/// is linear in the square root of the distance, fitted to the first run. The other runs take at least a head switch.
fn misfit(times: &[(usize, Measurement)], run: usize) -> f64 {
    let distance = |k: usize| {
        let (turn, i) = (k / run, k % run);
        if turn % 2 == 0 { i } else { run - 1 - i }
    };
    let line = line(times.iter().filter(|t| t.0 < run).map(|t| ((t.0 as f64).sqrt(), t.1.value)));
    let Some((base, slope)) = line.filter(|line| line.1 >= 0.0) else { return f64::INFINITY };
    let mut near: Vec<f64> =
        times.iter().filter(|t| t.0 >= run && 4 * distance(t.0) <= run).map(|t| t.1.value).collect();
    near.sort_by(f64::total_cmp);
    let switch = near.get(near.len() / 2).copied().unwrap_or(0.0);
    let squared = |&(k, time): &(usize, Measurement)| {
        let seek = base + slope * (distance(k) as f64).sqrt();
        (time.value - if k < run { seek } else { seek.max(switch) }).powi(2)
    };
    times.iter().map(squared).sum::<f64>() / times.len() as f64
}

/// The straight line through points, by least squares: intercept and slope.
fn line(points: impl Iterator<Item = (f64, f64)>) -> Option<(f64, f64)> {
    let points: Vec<_> = points.collect();
    let n = points.len() as f64;
    let (x, y) = (points.iter().map(|p| p.0).sum::<f64>() / n, points.iter().map(|p| p.1).sum::<f64>() / n);
    let xx: f64 = points.iter().map(|p| (p.0 - x).powi(2)).sum();
    let xy: f64 = points.iter().map(|p| (p.0 - x) * (p.1 - y)).sum();
    (points.len() > 2 && xx > 0.0).then(|| (y - xy / xx * x, xy / xx))
}

fn spread(values: &[f64], mean: f64) -> f64 {
    (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / values.len() as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_period_is_the_least_after_which_skews_repeat() {
        let skews = |period: usize, n: usize| {
            (0..n).map(|k| if k % period == period - 1 { 0.3 } else { 0.1 }).collect::<Vec<_>>()
        };
        for period in [|skews: &[f64]| period(skews, SAME), |skews: &[f64]| likely_period(skews, SAME)] {
            assert_eq!(period(&skews(4, 100)), 4);
            assert_eq!(period(&skews(64, 1000)), 64);
            assert_eq!(period(&[0.2; 50]), 1);
        }
        // Outliers change nothing in the noisy form.
        let mut noisy = skews(64, 1600);
        (1..40).for_each(|k| noisy[k * k] += 0.4);
        assert_eq!(likely_period(&noisy, 0.01), 64);
        assert_eq!(period(&noisy, 0.01), 1);
    }

    #[test]
    fn bands_are_found_though_more_skews_are_wrong_than_differ() {
        use rand::{Rng, SeedableRng};
        let mut random = rand_pcg::Pcg64Mcg::seed_from_u64(3);
        for (period, tracks, wrong) in
            [(192, 1600, 0.01), (192, 1600, 0.04), (768, 6000, 0.03), (6, 1600, 0.1), (1, 1600, 0.1)]
        {
            let skews: Vec<f64> = (0..tracks)
                .map(|k| {
                    let true_skew = if k % period == period - 1 { 0.97 } else { 0.168 };
                    let off = if random.random_bool(wrong) { random.random_range(-0.5..0.5) } else { 0.0 };
                    (true_skew + off + random.random_range(-0.002..0.002_f64)).rem_euclid(1.0)
                })
                .collect();
            assert_eq!(likely_period(&skews, 0.012), period, "{tracks} tracks, {wrong}");
        }
    }

    #[test]
    fn times_that_rise_and_fall_twice_mean_two_heads() {
        let of = |heads: usize, switch: f64| -> Vec<(usize, Measurement)> {
            let run = 64 / heads;
            let time = |k: usize| {
                let (turn, i) = (k / run, k % run);
                let d = if turn % 2 == 0 { i } else { run - 1 - i };
                let seek = 0.8e6 + 0.1e6 * (d as f64).sqrt();
                if turn == 0 { seek } else { seek.max(switch) }
            };
            (1..64).map(|k| (k, Measurement { value: time(k), uncertainty: 0.0 })).collect()
        };
        for (heads, switch) in [(1, 0.9e6), (2, 0.9e6), (2, 2.0e6), (4, 0.9e6), (4, 2.0e6)] {
            let times = of(heads, switch);
            let best = divisors(64).min_by(|&a, &b| misfit(&times, 64 / a).total_cmp(&misfit(&times, 64 / b)));
            assert_eq!(best, Some(heads));
        }
    }
}
