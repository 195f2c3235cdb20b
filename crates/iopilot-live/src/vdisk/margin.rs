//! [`Margin`]: how long before an event to wake.

/// Bounds, ns. No CPU wakes sooner than the one; for what comes after the other nobody spins.
const LEAST: u64 = 15_000;
const MOST: u64 = 250_000;
/// At the start, ns.
const FIRST: u64 = 60_000;
/// What it grows by where a sleep was too long, and shrinks by where it was not, ns: so that one sleep in a hundred is too long.
const UP: u64 = 9_900;
const DOWN: u64 = 100;

/// How long before an event a thread is to wake, to spend the rest looking at the clock: what its sleeps take too long, all but
/// one in a hundred. A CPU that was idle wakes late, the more so a virtual one; one that has been busy does not.
#[derive(Clone, Copy, Debug)]
pub(super) struct Margin(u64);

impl Margin {
    pub(super) fn new() -> Self {
        Self(FIRST)
    }

    /// In ns.
    pub(super) fn ns(self) -> u64 {
        self.0
    }

    /// A sleep ended so long after its time, ns.
    pub(super) fn overslept(&mut self, ns: u64) {
        self.0 = match ns > self.0 {
            true => (self.0 + UP).min(MOST),
            false => self.0.saturating_sub(DOWN).max(LEAST),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is left of a thousand sleeps that were too long by one of these in turn.
    fn after(overslept: &[u64]) -> (u64, usize) {
        let mut margin = Margin::new();
        let mut late = 0;
        for (n, &ns) in overslept.iter().cycle().take(10_000).enumerate() {
            late += usize::from(n >= 5000 && ns > margin.ns());
            margin.overslept(ns);
        }
        (margin.ns(), late)
    }

    #[test]
    fn it_is_what_all_but_one_in_a_hundred_take() {
        let even: Vec<u64> = (0..100).map(|n| 1000 * ((n * 37) % 100 + 60)).collect();
        let (margin, late) = after(&even);
        assert!((140_000..=175_000).contains(&margin) && late <= 100, "{margin} {late}");
    }

    #[test]
    fn it_has_bounds() {
        assert_eq!(after(&[3_000]).0, LEAST);
        assert_eq!(after(&[5_000_000]).0, MOST);
    }
}
