//! Whether schedulers are ranked as the kernel has them.

use super::chance::beyond;
use super::{Known, SCHEDULERS};
use crate::Claim;

/// Schedulers whose throughput differs by less in the kernel are not ranked, in percent.
const DIFFERENT: f64 = 5.0;
/// Schedulers whose simulated throughput differs by less are foreseen to be alike, in percent.
const ALIKE: f64 = 1.0;

/// What became of pairs of schedulers that differ.
#[derive(Debug, Default, PartialEq, Eq)]
struct Pairs {
    right: u32,
    reversed: u32,
    /// The simulation says that it does not matter which of them.
    alike: u32,
}

impl Pairs {
    /// One of whose throughputs the first has `real` and `ours` times the second's; not counted where it hardly differs.
    fn add(&mut self, real: f64, ours: f64) {
        let apart = |ratio: f64| 100.0 * (ratio.max(1.0 / ratio) - 1.0);
        if apart(real) <= DIFFERENT {
            return;
        }
        if apart(ours) < ALIKE {
            self.alike += 1;
        } else if (real > 1.0) == (ours > 1.0) {
            self.right += 1;
        } else {
            self.reversed += 1;
        }
    }

    fn all(&self) -> u32 {
        self.right + self.reversed + self.alike
    }
}

/// Of two schedulers whose throughput differs, whatever is recorded tells the better one. Where the device takes as many requests as there
/// are tasks, the schedulers have nothing to choose from, and what differs is the recordings: these pairs are told apart.
pub(super) fn claim(known: &[Known<'_>]) -> Claim {
    let [mut all, mut choice, mut certain] = [Pairs::default(), Pairs::default(), Pairs::default()];
    for k in known {
        let waits = k.cell.processes > k.cell.depth;
        for from in 0..SCHEDULERS.len() {
            for a in 0..SCHEDULERS.len() {
                for b in a + 1..SCHEDULERS.len() {
                    let real = k.kernel[a].mb_s / k.kernel[b].mb_s;
                    let ours = k.simulated(from, a).mb_s / k.simulated(from, b).mb_s;
                    all.add(real, ours);
                    if waits {
                        choice.add(real, ours);
                    }
                    let (more, error) = k.more(a, b);
                    if beyond(more, error, DIFFERENT) > 0.0 {
                        certain.add(real, ours);
                    }
                }
            }
        }
    }
    let what = "the ranking of the schedulers by throughput is the kernel's, whichever was recorded";
    Claim::new(
        "goal",
        what,
        format!("wherever they differ by more than {DIFFERENT} %"),
        format!(
            "{} of {} pairs, {} foreseen as alike within {ALIKE} %; with more tasks than the device takes at once {} of {}; where \
             they differ so for certain {} of {}",
            all.right,
            all.all(),
            all.alike,
            choice.right,
            choice.all(),
            certain.right,
            certain.all()
        ),
        all.right == all.all(),
        "with no more tasks than the device takes the schedulers have nothing to choose from, and the recordings differ by chance",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_right_reversed_or_alike_and_those_that_hardly_differ_do_not_count() {
        let mut pairs = Pairs::default();
        for (real, ours) in [(1.2, 1.1), (0.8, 0.7), (1.2, 0.9), (0.8, 1.1), (1.2, 1.005), (1.04, 0.5), (0.97, 2.0)] {
            pairs.add(real, ours);
        }
        assert_eq!(pairs, Pairs { right: 2, reversed: 2, alike: 1 });
        assert_eq!(pairs.all(), 5);
    }
}
