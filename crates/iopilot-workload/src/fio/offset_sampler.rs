//! [`Sampler`]: `random_distribution`, over the blocks of one file.
//!
//! As in fio, the Zipf, Pareto and normal distributions give the popularity of blocks, not their position: neighbours in rank
//! are scattered over the file.

use super::job::OffsetDistribution;
use super::permutation::FeistelPermutation;
use super::value::Amount;
use rand::Rng;
use rand_distr::{Distribution, Normal, Zipf};

/// Draws block numbers below `blocks`.
#[derive(Clone, Debug)]
pub(super) struct Sampler {
    blocks: u64,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Uniform,
    /// Ranks by Zipf's law, scattered over the file.
    Zipf(Zipf<f64>, Scatter),
    /// Ranks as u^exponent, scattered over the file.
    Power(f64, Scatter),
    /// Ranks by the normal law, scattered over the file.
    Normal(Normal<f64>, Scatter),
    /// (Cumulative percent, first block, blocks).
    Zoned(Vec<(f64, u64, u64)>),
}

/// The fixed pseudo-random position of each rank in the file.
#[derive(Clone, Debug)]
struct Scatter {
    permutation: FeistelPermutation,
    shift: u64,
}

impl Scatter {
    fn new(blocks: u64, center: Option<f64>, seed: u64) -> Self {
        let permutation = FeistelPermutation::new(blocks, seed);
        let shift = center.map_or(0, |center| {
            // The most popular rank goes to the centre.
            let target = ((center * blocks as f64) as u64).min(blocks - 1);
            (target + blocks - permutation.apply(0)) % blocks
        });
        Self { permutation, shift }
    }

    fn place(&self, rank: u64, blocks: u64) -> u64 {
        (self.permutation.apply(rank) + self.shift) % blocks
    }
}

impl Sampler {
    /// A sampler of direction `d` over `blocks` blocks of `align` bytes; `None` without blocks, or if a zone lies outside.
    pub(super) fn new(spread: &OffsetDistribution, d: usize, blocks: u64, align: u64, seed: u64) -> Option<Self> {
        if blocks == 0 {
            return None;
        }
        let n = blocks as f64;
        let kind = match spread {
            OffsetDistribution::Uniform => Kind::Uniform,
            OffsetDistribution::Zipf { theta, center } => {
                Kind::Zipf(Zipf::new(n, *theta).ok()?, Scatter::new(blocks, *center, seed))
            }
            OffsetDistribution::Pareto { h, center } => {
                Kind::Power(h.ln() / (1.0 - h).ln(), Scatter::new(blocks, *center, seed))
            }
            OffsetDistribution::Normal { deviation_percent, center } => {
                // fio bounds the deviation by half of the range.
                let deviation = (n * deviation_percent / 100.0).ceil().min(n / 2.0);
                Kind::Normal(Normal::new(n * center, deviation).ok()?, Scatter::new(blocks, None, seed))
            }
            OffsetDistribution::Zoned(zones) => Kind::Zoned(zoned(&zones[d], blocks, align)?),
        };
        Some(Self { blocks, kind })
    }

    pub(super) fn sample(&self, random: &mut impl Rng) -> u64 {
        let last = self.blocks - 1;
        match &self.kind {
            Kind::Uniform => random.random_range(0..self.blocks),
            Kind::Zipf(law, scatter) => {
                scatter.place((law.sample(random) as u64).clamp(1, self.blocks) - 1, self.blocks)
            }
            Kind::Power(exponent, scatter) => {
                let rank = (last as f64 * random.random::<f64>().powf(*exponent)) as u64;
                scatter.place(rank.min(last), self.blocks)
            }
            Kind::Normal(law, scatter) => {
                // If the centre lies inside, about half of the draws or more land inside. A centre at an edge is rare but
                // possible.
                for _ in 0..64 {
                    let x = law.sample(random);
                    if (0.0..self.blocks as f64).contains(&x) {
                        return scatter.place(x as u64, self.blocks);
                    }
                }
                scatter.place((law.mean() as u64).min(last), self.blocks)
            }
            Kind::Zoned(zones) => {
                let percent = random.random::<f64>() * 100.0;
                let i = zones.partition_point(|z| z.0 <= percent).min(zones.len() - 1);
                zones[i].1 + random.random_range(0..zones[i].2)
            }
        }
    }
}

fn zoned(zones: &[(f64, Amount)], blocks: u64, align: u64) -> Option<Vec<(f64, u64, u64)>> {
    let (mut percent, mut size_percent, mut start) = (0.0, 0, 0);
    let mut out = Vec::with_capacity(zones.len());
    for &(share, size) in zones {
        percent += share;
        let end = match size {
            Amount::Percent(p) => {
                size_percent += p;
                (u128::from(blocks) * u128::from(size_percent) / 100) as u64
            }
            Amount::Bytes(bytes) => start + bytes / align,
        };
        if end <= start || end > blocks {
            return None;
        }
        out.push((percent, start, end - start));
        start = end;
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_pcg::Pcg64Mcg;

    fn counts(spread: &OffsetDistribution, blocks: u64) -> Vec<u32> {
        let sampler = Sampler::new(spread, 0, blocks, 4096, 3).unwrap();
        let mut random = Pcg64Mcg::seed_from_u64(1);
        let mut counts = vec![0; blocks as usize];
        for _ in 0..100_000 {
            counts[sampler.sample(&mut random) as usize] += 1;
        }
        counts
    }

    #[test]
    fn zipf_ranks_follow_the_law_and_are_scattered() {
        let mut hits = counts(&OffsetDistribution::Zipf { theta: 1.2, center: None }, 1000);
        let hottest = hits.iter().position(|h| h == hits.iter().max().unwrap()).unwrap();
        hits.sort_unstable_by(|a, b| b.cmp(a));
        let ratio = f64::from(hits[0]) / f64::from(hits[1]);
        assert!((ratio / 2f64.powf(1.2) - 1.0).abs() < 0.05, "{ratio}");
        assert_ne!(hottest, 0);
        let centred = counts(&OffsetDistribution::Zipf { theta: 1.2, center: Some(0.25) }, 1000);
        assert_eq!(centred.iter().max(), Some(&centred[250]));
    }

    #[test]
    fn pareto_gives_a_share_h_of_the_accesses_to_the_rest() {
        // Pareto's principle with h = 0.2: a share of 0.2 of the blocks takes 0.8 of the accesses.
        let mut hits = counts(&OffsetDistribution::Pareto { h: 0.2, center: None }, 1000);
        hits.sort_unstable_by(|a, b| b.cmp(a));
        let top: u32 = hits[..200].iter().sum();
        assert!((f64::from(top) / 1e5 - 0.8).abs() < 0.01, "{top}");
    }

    #[test]
    fn normal_has_its_deviation_and_is_scattered() {
        let mut hits = counts(&OffsetDistribution::Normal { deviation_percent: 10.0, center: 0.5 }, 1000);
        let middle: u32 = hits[400..600].iter().sum();
        assert!((f64::from(middle) / 1e5 - 0.2).abs() < 0.06, "{middle}");
        hits.sort_unstable_by(|a, b| b.cmp(a));
        let top: u32 = hits[..200].iter().sum();
        assert!((f64::from(top) / 1e5 - 0.683).abs() < 0.015, "{top}");
    }

    #[test]
    fn zones_get_their_shares() {
        let zones = vec![(60.0, Amount::Percent(10)), (30.0, Amount::Percent(20)), (10.0, Amount::Percent(70))];
        let hits = counts(&OffsetDistribution::Zoned([zones.clone(), zones.clone(), zones]), 1000);
        let share = |range: std::ops::Range<usize>| f64::from(hits[range].iter().sum::<u32>()) / 1e5;
        assert!((share(0..100) - 0.6).abs() < 0.01 && (share(100..300) - 0.3).abs() < 0.01);
        let outside = OffsetDistribution::Zoned([vec![(100.0, Amount::Bytes(1 << 40))], Vec::new(), Vec::new()]);
        assert!(Sampler::new(&outside, 0, 1000, 4096, 3).is_none());
    }
}
