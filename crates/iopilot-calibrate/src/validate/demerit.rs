//! The demerit figure: the distance between two distributions (Ruemmler and Wilkes 1994, Ganger 5.4.2).
//!
//! It is the root of the mean squared horizontal distance between the two cumulative curves. DiskSim 4.0 reads the
//! curves from its histograms: buckets of a microsecond that grow by a hundredth, and fractions of six decimals.
//! [`demerit`] does the same, and agrees to the third digit.
//!
//! In a histogram the slowest of a few thousand requests has its full weight. DiskSim prints no separate figures for
//! reads and writes. For those the curves are drawn through the times themselves ([`demerit_of_quantiles`]).

/// Buckets of a histogram; the last one has no upper edge.
const BUCKETS: usize = 1750;
/// The step of the fractions at which the curves are compared.
const STEP: f64 = 0.0001;

/// The demerit figure of two samples of times in milliseconds, in milliseconds; 0 if one is empty.
pub fn demerit(a: &[f64], b: &[f64]) -> f64 {
    if a.is_empty() || b.is_empty() {
        return 0.0;
    }
    let edges = edges();
    let (mut a, mut b) = (Curve::new(a, &edges), Curve::new(b, &edges));
    let (mut sum, mut steps, mut p) = (0.0, 0u32, STEP);
    while p <= 1.0 {
        let distance = a.at(p) - b.at(p);
        sum += distance * distance;
        steps += 1;
        p += STEP;
    }
    (sum / f64::from(steps)).sqrt()
}

/// The same distance between the curves drawn straight from each time to the next, as spreadsheets and statistics
/// packages interpolate quantiles. The curves are compared at 10,000 fractions, the middles of equal parts.
pub(super) fn demerit_of_quantiles(a: &[f64], b: &[f64]) -> f64 {
    if a.is_empty() || b.is_empty() {
        return 0.0;
    }
    const PARTS: u32 = 10_000;
    let sorted = |sample: &[f64]| {
        let mut sorted = sample.to_vec();
        sorted.sort_by(f64::total_cmp);
        sorted
    };
    let (a, b) = (sorted(a), sorted(b));
    let squared = |i: u32| {
        let p = (f64::from(i) + 0.5) / f64::from(PARTS);
        (quantile(&a, p) - quantile(&b, p)).powi(2)
    };
    ((0..PARTS).map(squared).sum::<f64>() / f64::from(PARTS)).sqrt()
}

/// The quantile `p` of a sorted sample that is not empty, linear between its values.
fn quantile(sorted: &[f64], p: f64) -> f64 {
    let place = p * (sorted.len() - 1) as f64;
    let i = place as usize;
    let low = sorted[i];
    sorted.get(i + 1).map_or(low, |high| low + (high - low) * (place - i as f64))
}

/// Upper edges in microseconds: 0, 1, 2, ..., growing by a hundredth from 100 on.
fn edges() -> Vec<u64> {
    let mut edges = vec![0u64];
    while edges.len() < BUCKETS - 1 {
        let last = edges[edges.len() - 1];
        edges.push(last + 1 + last / 100);
    }
    edges
}

/// A cumulative curve of points (time, fraction), read at rising fractions.
struct Curve {
    points: Vec<(f64, f64)>,
    /// The first point that reaches the last requested fraction.
    place: usize,
}

impl Curve {
    fn new(sample: &[f64], edges: &[u64]) -> Self {
        let mut counts = vec![0u64; BUCKETS];
        for ms in sample {
            let micros = (ms * 1000.0) as u64;
            counts[edges.partition_point(|&edge| edge <= micros)] += 1;
        }
        let (mut points, mut below) = (Vec::new(), 0);
        for (i, count) in counts.iter().enumerate() {
            below += count;
            let fraction = (below as f64 / sample.len() as f64 * 1e6).round() / 1e6;
            points.push((edges[i.min(edges.len() - 1)] as f64 / 1000.0, fraction));
            if fraction >= 1.0 {
                break;
            }
        }
        Self { points, place: 0 }
    }

    /// The time at fraction `p`, which must not decrease from call to call. Linear between the first point that reaches
    /// it and the previous point.
    fn at(&mut self, p: f64) -> f64 {
        while self.points[self.place].1 < p && self.place + 1 < self.points.len() {
            self.place += 1;
        }
        let (x, y) = self.points[self.place];
        let (x0, y0) = if self.place > 0 { self.points[self.place - 1] } else { (0.0, 0.0) };
        if y > y0 { x0 + (x - x0) * (p - y0) / (y - y0) } else { x }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distribution_has_no_distance_from_itself() {
        let sample: Vec<f64> = (1..2000).map(|i| f64::from(i) * 0.01).collect();
        assert_eq!(demerit(&sample, &sample), 0.0);
        assert_eq!(demerit(&sample, &[]), 0.0);
    }

    #[test]
    fn a_shift_is_its_own_demerit_whatever_the_order() {
        let sample: Vec<f64> = (0..5000).map(|i| 5.0 + f64::from(i) * 0.001).collect();
        let mut shifted: Vec<f64> = sample.iter().map(|x| x + 1.5).collect();
        shifted.reverse();
        let d = demerit(&sample, &shifted);
        // The buckets are a hundredth wide.
        assert!((d - 1.5).abs() < 0.02, "{d}");
    }

    #[test]
    fn quantiles_are_linear_between_times() {
        assert_eq!(quantile(&[1.0, 3.0, 7.0], 0.25), 2.0);
        assert_eq!(quantile(&[1.0, 3.0, 7.0], 0.75), 5.0);
        assert_eq!(quantile(&[4.0], 0.9), 4.0);
        let sample: Vec<f64> = (0..500).map(|i| f64::from(i * 37 % 500)).collect();
        let later: Vec<f64> = sample.iter().map(|x| x + 0.25).collect();
        assert!((demerit_of_quantiles(&sample, &later) - 0.25).abs() < 1e-9);
        assert_eq!(demerit_of_quantiles(&sample, &[]), 0.0);
    }

    #[test]
    fn an_outlier_weighs_a_third_of_its_weight_in_a_histogram() {
        // One of 3000 times is off by 9. It alone would contribute 81 / 3000; the slope from its neighbour contributes
        // a third of that.
        let sample: Vec<f64> = (0..3000).map(|_| 1.0).collect();
        let mut strange = sample.clone();
        strange[7] = 10.0;
        let (by_times, by_buckets) = (demerit_of_quantiles(&sample, &strange), demerit(&sample, &strange));
        assert!((by_times - (81.0_f64 / 9000.0).sqrt()).abs() < 0.01, "{by_times}");
        assert!((by_buckets - (81.0_f64 / 3000.0).sqrt()).abs() < 0.02, "{by_buckets}");
    }

    #[test]
    fn edges_grow_by_a_hundredth_from_a_hundred_microseconds_on() {
        let edges = edges();
        assert_eq!(edges[..4], [0, 1, 2, 3]);
        assert_eq!(edges[100..103], [100, 102, 104]);
        assert_eq!(edges.len(), 1749);
    }
}
