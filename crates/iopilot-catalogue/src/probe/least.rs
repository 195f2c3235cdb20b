//! [`Least`]: the least access time, narrowed down by accesses that were in time or too late.

use super::measurement::Measurement;

/// What is known of a least time, ns.
///
/// Each access bounds the least time from above by its own time, and from below by that time minus a revolution. Near
/// the least time, noise makes some bounds wrong. So do accesses that were late for another reason. The estimate is the
/// time that contradicts the fewest bounds.
#[derive(Clone, Debug)]
pub(super) struct Least {
    /// One revolution, ns.
    period: f64,
    /// The standard deviation of the times, ns.
    noise: f64,
    /// Upper bounds, and lower bounds.
    enough: Vec<f64>,
    short: Vec<f64>,
    /// Accesses since the range first became narrow, and how many of them are required.
    confirming: u32,
    confirmed: u32,
}

/// Accesses required to confirm a least time: without noise, and with it.
const CONFIRMED: (u32, u32) = (2, 16);
/// The same with noise, where the time itself is needed, not only which of two times is longer.
pub(super) const SURE: u32 = 50;
/// The same with noise for the overhead, which is subtracted from all other times.
pub(super) const SUREST: u32 = 200;
/// The width to which a least time is narrowed down, revolutions.
const FINE: f64 = 1.0 / 1500.0;
/// How far below the estimate a confirming access aims, revolutions.
const EARLIER: f64 = 1.0 / 400.0;

impl Least {
    /// Nothing known yet, for a disk with this period and noise, ns.
    pub(super) fn new(period: f64, noise: f64) -> Self {
        let confirmed = if noise > FINE / 10.0 * period { CONFIRMED.1 } else { CONFIRMED.0 };
        Self { period, noise, enough: Vec::new(), short: Vec::new(), confirming: 0, confirmed }
    }

    /// With noise, requires `confirmed` accesses to confirm the time.
    pub(super) fn sure(self, confirmed: u32) -> Self {
        Self { confirmed: if self.is_noisy() { confirmed } else { self.confirmed }, ..self }
    }

    /// The range that the fewest accesses contradict; the lowest of several such ranges.
    fn range(&self) -> Option<(f64, f64)> {
        let mut ends: Vec<(f64, bool)> =
            self.enough.iter().map(|&t| (t, true)).chain(self.short.iter().map(|&t| (t, false))).collect();
        ends.sort_by(|a, b| a.0.total_cmp(&b.0));
        // Below all bounds, each lower bound is contradicted.
        let (mut wrong, mut low) = (self.short.len(), 0.0);
        let mut best: Option<(usize, f64, f64)> = None;
        for (end, enough) in ends {
            if best.is_none_or(|b| wrong < b.0) {
                best = Some((wrong, low, end));
            }
            low = end;
            wrong = if enough { wrong + 1 } else { wrong - 1 };
        }
        best.map(|(_, low, high)| (low, high))
    }

    /// How far from the least time an access is still informative, ns.
    fn around(&self) -> f64 {
        (EARLIER * self.period).max(1.5 * self.noise)
    }

    fn is_narrow(&self, (low, high): (f64, f64)) -> bool {
        high - low < (FINE * self.period).max(self.noise)
    }

    fn is_noisy(&self) -> bool {
        self.noise > FINE / 10.0 * self.period
    }

    pub(super) fn is_known(&self) -> bool {
        self.confirming >= self.confirmed && self.range().is_some_and(|range| self.is_narrow(range))
    }

    /// The most informative time to try next: the middle of the range, or a time near it once the range is narrow.
    pub(super) fn goal(&self) -> Option<f64> {
        let range = self.range()?;
        let middle = range.0.midpoint(range.1);
        Some(match self.confirming % 3 {
            _ if !self.is_narrow(range) => middle,
            // A little below the range: the disk may once have been late for another reason.
            _ if !self.is_noisy() => (range.0 - self.around()).max(0.0),
            0 => (middle - self.around()).max(0.0),
            1 => middle,
            _ => middle + self.around(),
        })
    }

    /// An access took `time`.
    pub(super) fn learn(&mut self, time: f64) {
        if self.range().is_some_and(|range| self.is_narrow(range)) {
            self.confirming += 1;
        }
        self.enough.push(time);
        if time > self.period {
            self.short.push(time - self.period);
        }
    }

    pub(super) fn measured(&self) -> Option<Measurement> {
        let (low, high) = self.range()?;
        let value = if self.is_noisy() { self.likeliest(low, high) } else { low.midpoint(high) };
        let scatter = 1.25 * self.noise / f64::from(self.confirming.max(1)).sqrt();
        Some(Measurement { value, uncertainty: (high - low) / 2.0 + scatter })
    }

    /// The maximum-likelihood estimate given all bounds, near the range that contradicts the fewest. It scatters a
    /// third as much as the middle of the range.
    fn likeliest(&self, low: f64, high: f64) -> f64 {
        // The share of accesses that are late for another reason.
        const LATE: f64 = 0.02;
        const STEPS: u32 = 200;
        // Approximately the normal distribution.
        let enough = |over: f64| LATE / 2.0 + (1.0 - LATE) / (1.0 + (-1.702 * over / self.noise).exp());
        let likelihood = |least: f64| {
            self.enough.iter().map(|time| enough(time - least).ln()).sum::<f64>()
                + self.short.iter().map(|time| enough(least - time).ln()).sum::<f64>()
        };
        let (from, to) = ((low - 3.0 * self.noise).max(0.0), high + 3.0 * self.noise);
        let at = |step: u32| from + (to - from) * f64::from(step) / f64::from(STEPS);
        let values: Vec<f64> = (0..=STEPS).map(|step| likelihood(at(step))).collect();
        let best = (0..=STEPS).max_by(|&a, &b| values[a as usize].total_cmp(&values[b as usize])).unwrap_or(STEPS / 2);
        at(best)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{Rng, SeedableRng};

    /// Accesses to a disk whose least time is `least`, until it is known.
    fn found(least: f64, noise: f64, late: impl Fn(u32) -> bool) -> (Measurement, u32) {
        let period = 8e6;
        let mut random = rand_pcg::Pcg64Mcg::seed_from_u64(1);
        let mut known = Least::new(period, noise);
        let mut accesses = 0;
        while !known.is_known() {
            let goal = known.goal().unwrap_or(period / 2.0);
            // Twelve uniform numbers have a variance of one.
            let off: f64 = (0..12).map(|_| random.random_range(-0.5..0.5)).sum();
            let needed = least + noise * off;
            let turns = ((needed - goal) / period).ceil().max(0.0);
            known.learn(goal + (turns + f64::from(u8::from(late(accesses)))) * period);
            accesses += 1;
            assert!(accesses < 100, "{known:?}");
        }
        (known.measured().expect("it is known"), accesses)
    }

    #[test]
    fn accesses_narrow_a_least_time_down_and_confirm_it() {
        for least in [0.1e6, 5.3e6, 17.9e6] {
            // The third access is late for another reason.
            let (m, accesses) = found(least, 0.0, |access| access == 2);
            assert!((m.value - least).abs() <= m.uncertainty + EARLIER * 8e6 && accesses < 40, "{m:?} {accesses}");
        }
    }

    #[test]
    fn noise_and_accesses_that_are_late_move_a_least_time_by_less_than_the_noise() {
        for noise in [5e3, 20e3, 60e3] {
            let (m, accesses) = found(3.3e6, noise, |access| access % 9 == 4);
            assert!((m.value - 3.3e6).abs() < noise + FINE * 8e6 && accesses < 40, "{noise}: {m:?} {accesses}");
        }
    }
}
