//! Whether schedulers are ranked as under the kernel.

use super::{Known, SCHEDULERS};
use crate::Claim;

/// Schedulers whose throughput differs by less under the kernel are not ranked, in percent.
const DIFFERENT: f64 = 5.0;
/// Schedulers whose predicted throughput differs by less are predicted to be alike, in percent.
const ALIKE: f64 = 1.0;

/// Pairs of schedulers that differ under the kernel, by the prediction for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Pairs {
    right: u32,
    reversed: u32,
    /// The prediction is that the two are alike.
    alike: u32,
}

impl Pairs {
    /// Adds a pair in which the first scheduler has `real` times the throughput of the second, and `ours` in the
    /// prediction. A pair that hardly differs is not counted.
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

/// The claim that predictions rank schedulers as the kernel does, whatever was recorded. A scheduler has little to
/// choose from if the device takes as many requests as there are processes, so the other pairs are also counted apart.
pub(super) fn claim(known: &[Known<'_>]) -> Claim {
    let [mut all, mut waiting] = [Pairs::default(); 2];
    for k in known {
        for from in k.simulated {
            for a in 0..SCHEDULERS.len() {
                for b in a + 1..SCHEDULERS.len() {
                    let real = k.kernel[a].mb_s / k.kernel[b].mb_s;
                    let ours = from.predicted[a].mb_s / from.predicted[b].mb_s;
                    all.add(real, ours);
                    if k.cell.processes > k.cell.depth {
                        waiting.add(real, ours);
                    }
                }
            }
        }
    }
    let ours = format!(
        "{} of {} pairs, {} predicted as alike within {ALIKE} %; where processes outnumber the requests in the device, \
         {} of {}",
        all.right,
        all.all(),
        all.alike,
        waiting.right,
        waiting.all(),
    );
    Claim::new(
        "(c)",
        "the ranking of the schedulers by throughput is the kernel's, whichever was recorded",
        format!("wherever they differ by more than {DIFFERENT} %"),
        ours,
        all.right == all.all(),
        "where processes do not outnumber the requests in the device, schedulers have little to choose from, and few \
         recordings differ by chance; the rest is as for the throughput",
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
