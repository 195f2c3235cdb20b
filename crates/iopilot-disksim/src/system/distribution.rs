//! Draws from the distributions of the synthetic load.

use crate::params::RandomDistribution;
use crate::system::Rand48;

impl RandomDistribution {
    /// The next value. It draws as many numbers from `random` as DiskSim does, in the same order.
    pub(crate) fn draw(&self, random: &mut Rand48) -> f64 {
        match *self {
            Self::Uniform { min, max } => (max - min) * random.uniform() + min,
            Self::Normal { mean, deviation } => mean + deviation * standard_normal(random),
            Self::Exponential { base, mean } => base + mean * random.exponential(),
            Self::Poisson { base, mean } => base + poisson(mean, random),
            Self::TwoValue { default, second, probability } => {
                if random.uniform() < probability {
                    second
                } else {
                    default
                }
            }
        }
    }
}

/// Rejection from two exponentials; another draw gives the sign.
fn standard_normal(random: &mut Rand48) -> f64 {
    let magnitude = loop {
        let bound = random.exponential();
        let magnitude = random.exponential();
        if bound > (magnitude - 1.0) * (magnitude - 1.0) / 2.0 {
            break magnitude;
        }
    };
    if random.uniform() < 0.5 { -magnitude } else { magnitude }
}

/// Multiplies uniform numbers until the product falls below e^-mean.
fn poisson(mean: f64, random: &mut Rand48) -> f64 {
    let stop = (-mean).exp();
    let mut product = 1.0;
    let mut count = -1.0;
    while product >= stop {
        product *= random.uniform();
        count += 1.0;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean_and_deviation(d: RandomDistribution) -> (f64, f64) {
        let mut random = Rand48::new(7);
        let values: Vec<f64> = (0..200_000).map(|_| d.draw(&mut random)).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / values.len() as f64;
        (mean, variance.sqrt())
    }

    #[test]
    fn means_and_deviations_are_those_of_the_textbooks() {
        for (d, mean, deviation) in [
            (RandomDistribution::Uniform { min: 2.0, max: 6.0 }, 4.0, (16.0f64 / 12.0).sqrt()),
            (RandomDistribution::Normal { mean: 30.0, deviation: 100.0 }, 30.0, 100.0),
            (RandomDistribution::Exponential { base: 1.0, mean: 8.0 }, 9.0, 8.0),
            (RandomDistribution::Poisson { base: 10.0, mean: 4.0 }, 14.0, 2.0),
            (RandomDistribution::TwoValue { default: 1.0, second: 5.0, probability: 0.25 }, 2.0, 3.0f64.sqrt()),
        ] {
            let (m, s) = mean_and_deviation(d);
            assert!((m - mean).abs() < 0.01 * mean.max(deviation), "{d:?}: mean {m}");
            assert!((s - deviation).abs() < 0.01 * deviation, "{d:?}: deviation {s}");
        }
    }
}
