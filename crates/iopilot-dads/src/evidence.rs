//! [`Evidence`]: the pooled costs of the last windows, by plan for a cache.

/// How many plans are compared.
pub(crate) const PLANS: usize = 5;
/// Blocks of neighbouring requests that a stretch is cut into.
const BLOCKS: usize = 24;
/// A block depends on this many blocks before it: a request delays those behind it in the queue.
const LAGS: usize = 4;
/// A sum counts as positive or negative beyond this many standard errors. By chance, that happens once in twenty
/// thousand times. It must be rare, because each window tests three plans, each over several stretches.
const SURE: f64 = 3.9;
/// The most stretches of one length. Beyond that, the two oldest become one of twice the length.
const OF_ONE_LENGTH: usize = 2;
/// The most stretches that are kept: some ten thousand windows.
const MOST: usize = 24;

/// The trials of a window, by plan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TriedWindow<'a> {
    /// The cost of each request in seconds, in the same order for all plans.
    pub(crate) shares: [&'a [f64]; PLANS],
    /// The segments that the cache began with.
    pub(crate) began_with: [usize; PLANS],
    /// Those of them that were used.
    pub(crate) reused: [usize; PLANS],
    /// What the disk did.
    pub(crate) disk: [DiskWork; PLANS],
}

/// What the disk did in a trial.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct DiskWork {
    /// How long it was busy, in seconds.
    pub(crate) busy_s: f64,
    /// Its requests, prefetches not counted.
    pub(crate) requests: f64,
    /// Those of them with which a segment was read.
    pub(crate) segments: f64,
}

impl DiskWork {
    fn add(&mut self, other: &Self) {
        self.busy_s += other.busy_s;
        self.requests += other.requests;
        self.segments += other.segments;
    }

    /// How many times as long as a request `without` a cache the reading of a segment takes; at least 1.
    fn cost_of_segment(&self, without: &Self) -> f64 {
        let request_s = without.busy_s / without.requests;
        let segments_s = self.busy_s - request_s * (self.requests - self.segments).max(0.0);
        let times = segments_s / self.segments / request_s;
        if times.is_finite() { times.max(1.0) } else { 1.0 }
    }
}

/// Consecutive windows.
#[derive(Clone, Debug)]
struct Stretch {
    windows: u32,
    requests: f64,
    /// For each plan, the costs of its blocks in seconds. The blocks are the same requests for all plans.
    costs: [[f64; BLOCKS]; PLANS],
    /// The segments that the cache held before, and how often any was used.
    began_with: [f64; PLANS],
    reused: [f64; PLANS],
    disk: [DiskWork; PLANS],
}

impl Stretch {
    /// Appends the stretch that followed, of the same length. Two neighbouring blocks become one.
    fn append(&mut self, newer: &Self) {
        for (costs, newer) in self.costs.iter_mut().zip(&newer.costs) {
            let all = [*costs, *newer].concat();
            costs.iter_mut().zip(all.chunks(2)).for_each(|(cost, pair)| *cost = pair.iter().sum());
        }
        self.reused.iter_mut().zip(&newer.reused).for_each(|(reused, newer)| *reused += newer);
        self.disk.iter_mut().zip(&newer.disk).for_each(|(disk, newer)| disk.add(newer));
        self.windows += newer.windows;
        self.requests += newer.requests;
    }
}

/// The cost of each plan in the last windows, and whether another plan certainly costs less.
///
/// A single window is noisy: it holds few requests, and one of them delays others. So windows are pooled, from the
/// newest backwards, until the answer is certain. A clear difference shows in one window, a small one in many. Windows
/// before a change of the load do not count if those after it are clear.
///
/// Older windows are kept in stretches of two, four and more, so the memory does not grow with time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Evidence {
    /// The oldest first.
    stretches: Vec<Stretch>,
}

impl Evidence {
    /// Adds a window. A window with fewer requests than blocks is ignored. O(requests).
    pub(crate) fn add(&mut self, window: &TriedWindow<'_>) {
        let TriedWindow { shares, began_with, reused, disk } = window;
        let count = shares.iter().map(|shares| shares.len()).min().unwrap_or(0);
        if count < BLOCKS {
            return;
        }
        let block = |n: usize| n * count / BLOCKS..(n + 1) * count / BLOCKS;
        self.stretches.push(Stretch {
            windows: 1,
            requests: count as f64,
            costs: shares.map(|shares| std::array::from_fn(|n| shares[block(n)].iter().sum())),
            began_with: began_with.map(|segments| segments as f64),
            reused: reused.map(|segments| segments as f64),
            disk: *disk,
        });
        let mut length = 1;
        loop {
            let of_length = |stretch: &Stretch| stretch.windows == length;
            let oldest = self.stretches.iter().position(of_length);
            let Some(oldest) =
                oldest.filter(|_| self.stretches.iter().filter(|s| of_length(s)).count() > OF_ONE_LENGTH)
            else {
                break;
            };
            let newer = self.stretches.remove(oldest + 1);
            self.stretches[oldest].append(&newer);
            length *= 2;
        }
        let surplus = self.stretches.len().saturating_sub(MOST);
        self.stretches.drain(..surplus);
    }

    /// Gives `plan` the costs that `like` has had.
    pub(crate) fn rename(&mut self, plan: usize, like: usize) {
        for Stretch { costs, began_with, reused, disk, .. } in &mut self.stretches {
            (costs[plan], began_with[plan]) = (costs[like], began_with[like]);
            (reused[plan], disk[plan]) = (reused[like], disk[like]);
        }
    }

    /// Exchanges the costs that two plans have had.
    pub(crate) fn swap(&mut self, a: usize, b: usize) {
        for Stretch { costs, began_with, reused, disk, .. } in &mut self.stretches {
            disk.swap(a, b);
            costs.swap(a, b);
            began_with.swap(a, b);
            reused.swap(a, b);
        }
    }

    /// Whether `other` certainly costs less than `current` by more than `least_gain`, a share. The last `windows`
    /// windows are pooled first; older ones are added until the answer is certain, either way. Returns the share that
    /// it saves.
    ///
    /// `is_filled` must be set if the cache is off now. A cache that is turned on is empty, while trials assume that it
    /// was on all the time. So the change must pay for filling it: the segments that the cache held before these
    /// windows, and used in them, are read once more. A segment takes the disk longer than a request does. The newest
    /// windows must gain, too: what earlier ones would have gained is over.
    pub(crate) fn saved(
        &self,
        current: usize,
        other: usize,
        least_gain: f64,
        windows: u32,
        is_filled: bool,
    ) -> Option<f64> {
        let segment = if is_filled { self.cost_of_segment(current, other) } else { 0.0 };
        let (mut seen, mut requests, mut costs, mut saved, mut reused) = (0, 0.0, 0.0, 0.0, 0.0);
        let (mut variance, mut freedom, mut newest) = (0.0, 0.0, true);
        for stretch in self.stretches.iter().rev() {
            let [of_current, of_other] = [current, other].map(|plan| &stretch.costs[plan]);
            let gains: [f64; BLOCKS] = std::array::from_fn(|n| (1.0 - least_gain) * of_current[n] - of_other[n]);
            seen += stretch.windows;
            requests += stretch.requests;
            costs += of_current.iter().sum::<f64>();
            saved += gains.iter().sum::<f64>();
            reused += stretch.reused[other];
            variance += variance_of_sum(&gains);
            freedom += (BLOCKS - 1) as f64;
            if seen < windows {
                continue;
            }
            if is_filled && std::mem::take(&mut newest) && saved <= 0.0 {
                return None;
            }
            let error = sure(freedom) * variance.sqrt();
            let filled = if is_filled { stretch.began_with[other].min(reused) } else { 0.0 };
            if saved - filled * segment * costs / requests > error {
                return Some(least_gain + saved / costs);
            }
            if saved < -error {
                return None;
            }
        }
        None
    }

    /// How many times as long as a request of the plan `without` a cache a segment takes by the plan `with` it, over all
    /// windows.
    fn cost_of_segment(&self, without: usize, with: usize) -> f64 {
        let sum = |plan: usize| {
            let mut all = DiskWork::default();
            self.stretches.iter().for_each(|stretch| all.add(&stretch.disk[plan]));
            all
        };
        sum(with).cost_of_segment(&sum(without))
    }
}

/// [`SURE`] for a variance that is estimated with `freedom` degrees of freedom: Student's quantile instead of the
/// normal one (Abramowitz and Stegun 26.7.5).
fn sure(freedom: f64) -> f64 {
    SURE * (1.0 + (SURE * SURE + 1.0) / (4.0 * freedom))
}

/// The variance of the sum of blocks that depend on each other (Newey and West 1987).
fn variance_of_sum(blocks: &[f64; BLOCKS]) -> f64 {
    let mean = blocks.iter().sum::<f64>() / BLOCKS as f64;
    let product = |lag: usize| blocks.iter().zip(&blocks[lag..]).map(|(a, b)| (a - mean) * (b - mean)).sum::<f64>();
    let alone = product(0);
    let weight = |lag: usize| 1.0 - lag as f64 / (LAGS + 1) as f64;
    let together = alone + 2.0 * (1..=LAGS).map(|lag| weight(lag) * product(lag)).sum::<f64>();
    together.max(alone) * BLOCKS as f64 / (BLOCKS - 1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{Rng, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    /// A window of 64 requests in which the second plan costs `share` of the first. The cost of each request varies by
    /// up to `noise` times its mean.
    fn window(random: &mut Pcg64Mcg, share: f64, noise: f64) -> [Vec<f64>; 2] {
        let mut requests = |mean: f64| {
            (0..64).map(|_| mean * (1.0 + noise * (2.0 * random.random::<f64>() - 1.0))).collect::<Vec<_>>()
        };
        [requests(0.010), requests(0.010 * share)]
    }

    /// These costs as a tried window. The cache began with `began_with` segments, and used `reused` of them.
    fn tried<'a>(a: &'a [f64], b: &'a [f64], (began_with, reused): (usize, usize)) -> TriedWindow<'a> {
        TriedWindow {
            shares: [a, b, b, b, b],
            began_with: [began_with; PLANS],
            reused: [reused; PLANS],
            disk: [DiskWork::default(); PLANS],
        }
    }

    /// Starts with the first plan, and follows the evidence of windows with these `shares`. Returns the windows after
    /// which the plan in use changed.
    fn changes(seed: u64, noise: f64, shares: impl Iterator<Item = f64>) -> Vec<usize> {
        let (mut random, mut evidence, mut current) = (Pcg64Mcg::seed_from_u64(seed), Evidence::default(), 0);
        let mut changes = Vec::new();
        for (n, share) in shares.enumerate() {
            let [a, b] = window(&mut random, share, noise);
            evidence.add(&tried(&a, &b, (0, 0)));
            if evidence.saved(current, 1 - current, 0.01, 1, false).is_some() {
                current = 1 - current;
                changes.push(n);
            }
        }
        changes
    }

    #[test]
    fn noise_changes_nothing() {
        for seed in 0..20 {
            let changed = changes(seed, 1.0, (0..100).map(|_| 1.0));
            assert!(changed.is_empty(), "seed {seed}: {changed:?}");
        }
    }

    #[test]
    fn a_clear_gain_is_seen_within_two_windows_and_a_small_one_in_time() {
        for seed in 0..20 {
            let large = changes(seed, 1.0, (0..100).map(|_| 0.5));
            assert!(large.len() == 1 && large[0] <= 1, "half of the cost; seed {seed}: {large:?}");
            let small = changes(seed, 1.0, (0..200).map(|_| 0.93));
            assert!(small.len() == 1 && small[0] > 1, "7 % less; seed {seed}: {small:?}");
        }
    }

    #[test]
    fn a_change_of_the_load_is_followed_within_two_windows() {
        for seed in 0..20 {
            let shares = (0..300).map(|n| if n / 100 == 1 { 2.0 } else { 0.5 });
            let changed = changes(seed, 1.0, shares);
            assert_eq!(changed.len(), 3, "seed {seed}: {changed:?}");
            assert!(changed[0] <= 1 && changed[1] <= 101 && changed[2] <= 201, "seed {seed}: {changed:?}");
        }
    }

    #[test]
    fn phases_shorter_than_the_required_windows_are_pooled() {
        let (mut random, mut evidence) = (Pcg64Mcg::seed_from_u64(1), Evidence::default());
        for n in 0..64 {
            let [a, b] = window(&mut random, if n % 2 == 0 { 0.7 } else { 1.3 }, 0.2);
            evidence.add(&tried(&a, &b, (0, 0)));
            let sure = evidence.saved(0, 1, 0.01, 1, false).is_some();
            assert_eq!(sure, n % 2 == 0, "each is clear alone");
            assert_eq!(evidence.saved(0, 1, 0.01, 2, false).filter(|_| n > 0), None, "and two are nothing, at {n}");
        }
    }

    #[test]
    fn a_change_pays_for_filling_the_cache() {
        // A read takes 10 ms, or 5 with a cache; 40 of the 64 of a window come from segments that it held before.
        let ([a, b], mut evidence) = ([[0.010; 64], [0.005; 64]], Evidence::default());
        let saved = |evidence: &mut Evidence| {
            evidence.add(&tried(&a, &b, (100, 40)));
            [true, false].map(|is_filled| evidence.saved(0, 1, 0.01, 1, is_filled).is_some())
        };
        let pays: Vec<_> = (0..4).map(|_| saved(&mut evidence)).collect();
        // Filling costs at most the 100 segments that the cache held: one second.
        assert_eq!(pays, [[false, true], [false, true], [false, true], [true, true]]);
    }

    #[test]
    fn a_long_segment_takes_longer_to_pay() {
        // Half of the requests of a window come from 20 segments; a segment takes four times as long as a request.
        let ([a, b], mut evidence) = ([[0.010; 64], [0.005; 64]], Evidence::default());
        let work = |busy_s, requests, segments| DiskWork { busy_s, requests, segments };
        let pays: Vec<_> = (0..6)
            .map(|_| {
                let disk = std::array::from_fn(|n| if n == 0 { work(0.64, 64.0, 0.0) } else { work(0.46, 16.0, 10.0) });
                evidence.add(&TriedWindow { disk, ..tried(&a, &b, (20, 20)) });
                evidence.saved(0, 1, 0.01, 1, true).is_some()
            })
            .collect();
        assert!((evidence.cost_of_segment(0, 1) - 4.0).abs() < 1e-9);
        // 0.32 s are saved in a window, and 0.8 s are paid for the cache.
        assert_eq!(pays, [false, false, true, true, true, true]);
    }

    #[test]
    fn memory_does_not_grow_with_time() {
        let mut evidence = Evidence::default();
        let shares = [0.01; 64];
        for _ in 0..5000 {
            evidence.add(&tried(&shares, &shares, (5, 1)));
        }
        let windows: Vec<_> = evidence.stretches.iter().map(|stretch| stretch.windows).collect();
        assert_eq!(windows.iter().sum::<u32>(), 5000);
        assert!(windows.len() <= MOST && windows.is_sorted_by(|a, b| a >= b) && windows.ends_with(&[1]), "{windows:?}");
        let cost: f64 = evidence.stretches.iter().flat_map(|stretch| &stretch.costs[2]).sum();
        assert!((cost - 5000.0 * 0.64).abs() < 1e-6, "{cost}");
        let reused: f64 = evidence.stretches.iter().map(|stretch| stretch.reused[1]).sum();
        assert_eq!((reused, evidence.stretches[0].began_with[1]), (5000.0, 5.0));
        evidence.add(&tried(&shares[..20], &shares, (0, 0)));
        assert_eq!(evidence.stretches.iter().map(|stretch| stretch.windows).sum::<u32>(), 5000, "too few requests");
    }

    #[test]
    fn a_few_slow_requests_prove_nothing() {
        let (mut old, new) = ([0.01; 64], [0.01; 64]);
        old[30] = 2.0;
        let mut evidence = Evidence::default();
        evidence.add(&tried(&old, &new, (0, 0)));
        assert_eq!(evidence.saved(0, 1, 0.01, 1, false), None);
        assert_eq!(evidence.saved(1, 0, 0.01, 1, false), None);
    }

    #[test]
    fn blocks_that_depend_on_each_other_are_weaker_evidence() {
        let alternating = std::array::from_fn(|n| if n % 2 == 0 { 1.0 } else { -1.0 });
        let in_runs = std::array::from_fn(|n| if n / 6 % 2 == 0 { 1.0 } else { -1.0 });
        assert!(variance_of_sum(&in_runs) > 2.0 * variance_of_sum(&alternating));
    }
}
