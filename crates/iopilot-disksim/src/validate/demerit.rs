//! The demerit figure: how far two distributions are apart (Ruemmler and Wilkes 1994, Ganger 5.4.2).
//!
//! It is the root of the mean squared horizontal distance between the two cumulative curves. DiskSim 4.0 reads the
//! curves off its histograms: buckets of a microsecond that grow by a hundredth, fractions of six decimals. So does
//! this, to give the same third digit.

/// Buckets of a histogram; the last takes the rest.
const BUCKETS: usize = 1750;
/// Steps in which the curves are compared.
const STEP: f64 = 0.0001;

/// The demerit figure of two samples of times in milliseconds, in milliseconds; 0 where one is empty.
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

/// Upper edges in microseconds: 0, 1, 2, ... and a hundredth more from 100 on.
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
    /// The first point that has the fraction asked for last.
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

    /// The time at fraction `p`, which never falls from call to call: linear between the first point that has it and
    /// the point before.
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
    fn a_distribution_is_at_no_distance_from_itself() {
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
    fn edges_grow_by_a_hundredth_from_a_hundred_microseconds_on() {
        let edges = edges();
        assert_eq!(edges[..4], [0, 1, 2, 3]);
        assert_eq!(edges[100..103], [100, 102, 104]);
        assert_eq!(edges.len(), 1749);
    }
}
