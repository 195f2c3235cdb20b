//! [`Installation`]: what a candidate shows since it was put in place.

use super::belief::RateBelief;
use super::progress::ClassProgress;

/// For this long, in seconds, a candidate is judged by the second half of the time since its installation.
pub(crate) const YOUNG: f64 = 4.01;
/// The noise of the ln rate of n requests, as a variance: this divided by n. On scattered loads 0.14 to 0.69 was measured.
pub(crate) const NOISE: f64 = 0.36;
/// What a running mean rate may be off, as a variance.
const OFF: f64 = 0.01;
/// Older windows fade beyond this time, in seconds.
const RUNNING: f64 = 20.0;
/// The most that one window's change says of the noise, as a variance.
const MOST_NOISE: f64 = 0.25;
const FIRST_NOISE: f64 = 0.05;
/// Beyond this many standard deviations an observation counts less.
const SURPRISE: f64 = 3.0;

/// The candidate in use since it was put in place, or since the load began.
#[derive(Clone, Debug, Default)]
pub(crate) struct Installation {
    /// In seconds.
    pub(crate) age: f64,
    /// The windows while it is young: the age at the end of each.
    windows: Vec<(f64, ClassProgress)>,
    /// The belief when it was put in place: while it is young, what it shows replaces what it showed before.
    before: Option<RateBelief>,
    /// Once it is no longer young: the running mean.
    running: ClassProgress,
    /// The noise of single windows, as a variance.
    noise: Option<f64>,
    last: Option<f64>,
}

impl Installation {
    /// One that is no longer young: only its running mean counts.
    pub(crate) fn settled(age: f64) -> Self {
        Self { age: age.max(YOUNG + 0.04), ..Self::default() }
    }

    /// Whether it is still judged by its youth.
    pub(crate) fn is_young(&self) -> bool {
        self.age <= YOUNG
    }

    /// Takes in the latest window of candidate `current`, whose end is at this age, and updates `belief`. `deviation`
    /// is how far a rate is from where it settles at an age in seconds. Returns the observed progress.
    pub(crate) fn observe(
        &mut self,
        window: &ClassProgress,
        current: usize,
        belief: &mut RateBelief,
        deviation: impl Fn(f64) -> f64,
    ) -> f64 {
        match self.is_young() {
            true => self.observe_young(window, current, belief, deviation),
            false => self.observe_running(window, current, belief),
        }
    }

    fn observe_young(
        &mut self,
        window: &ClassProgress,
        current: usize,
        belief: &mut RateBelief,
        deviation: impl Fn(f64) -> f64,
    ) -> f64 {
        self.windows.push((self.age, *window));
        let before = self.before.get_or_insert_with(|| belief.clone());
        let mut late = ClassProgress::default();
        let half = self.age / 2.0 + 0.01;
        self.windows.iter().filter(|(end, _)| *end > half).for_each(|(_, window)| late.add(window));
        let y = late.value();
        let off = deviation(self.age);
        let mut after = before.clone();
        after.drift(self.age);
        after.observe(current, y, NOISE / late.requests().max(1.0) + off * off);
        *belief = after;
        if self.age >= YOUNG - 0.1 {
            (self.before, self.windows) = (None, Vec::new());
        }
        y
    }

    fn observe_running(&mut self, window: &ClassProgress, current: usize, belief: &mut RateBelief) -> f64 {
        let single = window.value();
        let of_count = NOISE / window.requests().max(1.0);
        if let Some(last) = self.last {
            let change = (single - last) * (single - last) / 2.0;
            self.noise = Some(match self.noise {
                Some(noise) => noise + 0.1 * (change.min(MOST_NOISE) - noise),
                None => of_count.max(change.min(FIRST_NOISE)),
            });
        }
        self.last = Some(single);
        self.running.add(window);
        if self.running.seconds > RUNNING {
            self.running.fade(RUNNING / self.running.seconds);
        }
        let y = self.running.value();
        let error = of_count.max(self.noise.unwrap_or(0.0)) + OFF;
        let z = (y - belief.mean()[current]) / (belief.own_variance(current) + error).sqrt();
        belief.observe(current, y, error * (z / SURPRISE).powi(2).max(1.0));
        y
    }
}
