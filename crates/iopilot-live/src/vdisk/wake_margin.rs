//! [`WakeMargin`]: how long before an event a thread wakes.

/// Bounds of the margin, ns. No CPU wakes faster than the lower one; above the upper one spinning would cost too much.
const LEAST: u64 = 15_000;
const MOST: u64 = 250_000;
/// The margin at the start, ns.
const FIRST: u64 = 60_000;
/// How much the margin grows after a sleep that was too long, and shrinks after another, ns. One sleep in a hundred is
/// then too long.
const UP: u64 = 9_900;
const DOWN: u64 = 100;

/// How long before an event a thread wakes; it spins for the rest. This is the 99th percentile of how late its sleeps
/// end. An idle CPU wakes late, a virtual one even more so; a busy CPU does not.
#[derive(Clone, Copy, Debug)]
pub(super) struct WakeMargin(u64);

impl WakeMargin {
    pub(super) fn new() -> Self {
        Self(FIRST)
    }

    /// The margin in ns.
    pub(super) fn ns(self) -> u64 {
        self.0
    }

    /// Notes that a sleep ended `ns` after its time.
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
        let mut margin = WakeMargin::new();
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
