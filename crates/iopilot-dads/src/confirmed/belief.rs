//! [`RateBelief`]: how fast each candidate would serve the present load, with what is not known.

/// How much the level of all candidates may be off at first (standard deviation of ln rate): the prediction is of
/// differences.
const LEVEL: f64 = 0.3;
/// How much the level drifts in a second, as a variance.
const DRIFT_OF_ALL: f64 = 4e-4;
/// How much a single candidate drifts in a second, as a variance.
const DRIFT_OF_ONE: f64 = 2e-5;

/// The mean and the covariance of the logarithms of the candidates' rates. An observation is a scalar Kalman update.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RateBelief {
    mean: Vec<f64>,
    /// Row by row.
    covariance: Vec<f64>,
}

impl RateBelief {
    /// Begins with a prediction: ln rates, and the standard deviation of each one's own error.
    pub(crate) fn new(prediction: &[f64], deviations: &[f64]) -> Self {
        let n = prediction.len();
        let mut covariance = vec![LEVEL * LEVEL; n * n];
        for (i, deviation) in deviations.iter().enumerate() {
            covariance[i * n + i] += deviation * deviation;
        }
        Self { mean: prediction.to_vec(), covariance }
    }

    /// The expected ln rates.
    pub(crate) fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// The expected difference of the ln rates of `i` and `j`.
    pub(crate) fn contrast(&self, i: usize, j: usize) -> f64 {
        self.mean[i] - self.mean[j]
    }

    /// The variance of that difference.
    pub(crate) fn variance(&self, i: usize, j: usize) -> f64 {
        let n = self.mean.len();
        let at = |i: usize, j: usize| self.covariance[i * n + j];
        (at(i, i) + at(j, j) - 2.0 * at(i, j)).max(1e-12)
    }

    /// The variance of the ln rate of `i`.
    pub(crate) fn own_variance(&self, i: usize) -> f64 {
        self.covariance[i * self.mean.len() + i]
    }

    /// Lets `seconds` pass.
    pub(crate) fn drift(&mut self, seconds: f64) {
        let n = self.mean.len();
        self.covariance.iter_mut().for_each(|value| *value += DRIFT_OF_ALL * seconds);
        (0..n).for_each(|i| self.covariance[i * n + i] += DRIFT_OF_ONE * seconds);
    }

    /// Takes in that candidate `i` had the ln rate `y`, measured with the variance `error`.
    pub(crate) fn observe(&mut self, i: usize, y: f64, error: f64) {
        let n = self.mean.len();
        let surprise = y - self.mean[i];
        let total = self.own_variance(i) + error;
        let row: Vec<f64> = self.covariance[i * n..(i + 1) * n].to_vec();
        for ((mean, of_j), &with_i) in self.mean.iter_mut().zip(self.covariance.chunks_mut(n)).zip(&row) {
            let gain = with_i / total;
            *mean += gain * surprise;
            of_j.iter_mut().zip(&row).for_each(|(value, of_i)| *value -= gain * of_i);
        }
    }

    /// Notes that `i` is at least at `y`, less sure than before: it was seen there earlier.
    pub(crate) fn raise(&mut self, i: usize, y: f64, variance: f64) {
        let n = self.mean.len();
        self.mean[i] = self.mean[i].max(y);
        self.covariance[i * n + i] += variance;
    }
}

/// The expected value of max(0, X) for a normal X of this mean and standard deviation.
pub(crate) fn expected_gain(mean: f64, deviation: f64) -> f64 {
    if deviation < 1e-9 {
        return mean.max(0.0);
    }
    let z = mean / deviation;
    let density = (-z * z / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    (mean * normal_share(z) + deviation * density).max(0.0)
}

/// The share of a standard normal distribution below `z` (Abramowitz and Stegun 7.1.26: an error of at most 1.5e-7).
fn normal_share(z: f64) -> f64 {
    let x = z.abs() / std::f64::consts::SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * x);
    let poly =
        t * (0.254_829_592 + t * (-0.284_496_736 + t * (1.421_413_741 + t * (-1.453_152_027 + t * 1.061_405_429))));
    let above = poly * (-x * x).exp() / 2.0;
    if z >= 0.0 { 1.0 - above } else { above }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn one_measurement_moves_the_level_of_all_and_the_contrast_of_one() {
        let mut belief = RateBelief::new(&[5.0, 5.2, 5.1], &[0.1; 3]);
        belief.observe(0, 6.0, 0.01);
        assert!(belief.mean()[0] > 5.85 && belief.mean()[1] > 5.9, "all rise: {:?}", belief.mean());
        assert!(belief.contrast(1, 0).abs() < 0.2, "{:?}", belief.mean());
        assert!(belief.variance(1, 0) < 0.02 + 1e-9, "the contrast is known better");
        assert!((belief.contrast(1, 2) - 0.1).abs() < 1e-9, "of the others nothing is learned");
    }

    #[test]
    fn what_a_gain_is_worth() {
        assert!((expected_gain(0.3, 0.0) - 0.3).abs() < 1e-12 && expected_gain(-0.3, 0.0).abs() < 1e-12);
        assert!((expected_gain(0.0, 1.0) - 0.398_942).abs() < 1e-5);
        assert!((expected_gain(0.006, 0.107) - 0.0457).abs() < 1e-3);
        assert!(expected_gain(-5.0, 0.3) < 1e-6);
    }

    proptest! {
        #[test]
        fn the_covariance_stays_symmetric_and_positive(
            seen in prop::collection::vec((0usize..4, -3.0f64..9.0, 1e-4f64..1.0), 1..60),
        ) {
            let mut belief = RateBelief::new(&[5.0, 4.0, 5.5, 4.5], &[0.3; 4]);
            for (i, y, error) in seen {
                belief.drift(0.5);
                belief.observe(i, y, error);
                for a in 0..4 {
                    prop_assert!(belief.own_variance(a) > 0.0);
                    for b in 0..4 {
                        let other = belief.covariance[b * 4 + a];
                        prop_assert!((belief.covariance[a * 4 + b] - other).abs() < 1e-9);
                        prop_assert!(a == b || belief.variance(a, b) > 0.0);
                    }
                }
            }
        }
    }
}
