//! [`Variable`]: a random variable with one of Ganger's five distributions.

use rand::Rng;
use rand_distr::{Distribution, Exp1, Poisson, StandardNormal};

/// The most draws of a variable that must be within bounds.
const PATIENCE: u32 = 1000;

/// A random variable (Ganger A.2.3, footnote 7). The parameters have been checked: finite, deviations and means not
/// negative, probabilities from 0 to 1.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Variable {
    Uniform { min: f64, max: f64 },
    Normal { mean: f64, deviation: f64 },
    Exponential { base: f64, mean: f64 },
    Poisson { base: f64, mean: f64 },
    TwoValue { default: f64, second: f64, probability: f64 },
}

impl Variable {
    /// Always `value`.
    pub(crate) fn constant(value: f64) -> Self {
        Self::Uniform { min: value, max: value }
    }

    /// One draw.
    pub(crate) fn draw(&self, random: &mut impl Rng) -> f64 {
        match *self {
            Self::Uniform { min, max } => min + (max - min) * random.random::<f64>(),
            Self::Normal { mean, deviation } => mean + deviation * random.sample::<f64, _>(StandardNormal),
            Self::Exponential { base, mean } => base + mean * random.sample::<f64, _>(Exp1),
            Self::Poisson { base, mean } => base + Poisson::new(mean).map_or(0.0, |law| law.sample(random)),
            Self::TwoValue { default, second, probability } => {
                if random.random::<f64>() < probability {
                    second
                } else {
                    default
                }
            }
        }
    }

    /// Draws until a value passes; `None` after a thousand failures.
    pub(crate) fn draw_until<T>(&self, random: &mut impl Rng, mut passes: impl FnMut(f64) -> Option<T>) -> Option<T> {
        (0..PATIENCE).find_map(|_| passes(self.draw(random)))
    }

    /// The mean.
    pub(crate) fn mean(&self) -> f64 {
        match *self {
            Self::Uniform { min, max } => (min + max) / 2.0,
            Self::Normal { mean, .. } => mean,
            Self::Exponential { base, mean } | Self::Poisson { base, mean } => base + mean,
            Self::TwoValue { default, second, probability } => default + (second - default) * probability,
        }
    }

    /// Whether a draw may be at least `bound`.
    pub(crate) fn can_reach(&self, bound: f64) -> bool {
        match *self {
            Self::Uniform { min, max } => min.max(max) >= bound,
            Self::Normal { mean, deviation } => deviation > 0.0 || mean >= bound,
            Self::Exponential { base, mean } | Self::Poisson { base, mean } => mean > 0.0 || base >= bound,
            Self::TwoValue { default, second, probability } => {
                (probability < 1.0 && default >= bound) || (probability > 0.0 && second >= bound)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_pcg::Pcg64Mcg;

    fn moments(variable: &Variable) -> (f64, f64) {
        let mut random = Pcg64Mcg::seed_from_u64(1);
        let draws: Vec<f64> = (0..100_000).map(|_| variable.draw(&mut random)).collect();
        let mean = draws.iter().sum::<f64>() / 1e5;
        (mean, (draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 1e5).sqrt())
    }

    #[test]
    fn each_distribution_has_its_mean_and_deviation() {
        for (variable, mean, deviation) in [
            (Variable::Uniform { min: 2.0, max: 8.0 }, 5.0, 6.0 / 12f64.sqrt()),
            (Variable::Normal { mean: 10.0, deviation: 2.0 }, 10.0, 2.0),
            (Variable::Exponential { base: 3.0, mean: 4.0 }, 7.0, 4.0),
            (Variable::Poisson { base: 1.0, mean: 9.0 }, 10.0, 3.0),
            (Variable::TwoValue { default: 8.0, second: 16.0, probability: 0.25 }, 10.0, 8.0 * 0.1875f64.sqrt()),
        ] {
            let (m, d) = moments(&variable);
            assert_eq!(variable.mean(), mean, "{variable:?}");
            assert!((m - mean).abs() < 0.05 && (d - deviation).abs() < 0.05, "{variable:?}: {m} {d}");
        }
    }

    #[test]
    fn can_reach_knows_the_bounds() {
        assert!(!Variable::constant(0.0).can_reach(1.0));
        assert!(Variable::Exponential { base: 0.0, mean: 1.0 }.can_reach(100.0));
        assert!(!Variable::TwoValue { default: 0.0, second: 5.0, probability: 0.0 }.can_reach(1.0));
    }
}
