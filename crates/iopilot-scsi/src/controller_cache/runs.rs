//! [`Runs`]: a set of blocks, kept as runs.

use std::collections::BTreeMap;

/// A set of blocks. Every operation is O(log n + removed runs).
#[derive(Clone, Debug, Default)]
pub(crate) struct Runs {
    /// Start and end of each run; they neither touch nor overlap.
    runs: BTreeMap<u64, u64>,
}

impl Runs {
    pub(crate) fn insert(&mut self, mut from: u64, mut to: u64) {
        while let Some((&start, &end)) = self.runs.range(..=to).next_back() {
            if end < from {
                break;
            }
            (from, to) = (from.min(start), to.max(end));
            self.runs.remove(&start);
        }
        self.runs.insert(from, to);
    }

    pub(crate) fn remove(&mut self, from: u64, to: u64) {
        while let Some((&start, &end)) = self.runs.range(..to).next_back() {
            if end <= from {
                return;
            }
            self.runs.remove(&start);
            if end > to {
                self.runs.insert(to, end);
            }
            if start < from {
                self.runs.insert(start, from);
            }
        }
    }

    pub(crate) fn contains(&self, from: u64, to: u64) -> bool {
        self.runs.range(..=from).next_back().is_some_and(|(_, &end)| to <= end)
    }

    /// The run with the lowest blocks.
    pub(crate) fn first(&self) -> Option<(u64, u64)> {
        self.runs.iter().next().map(|(&from, &to)| (from, to))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn is_a_set_of_blocks(steps in prop::collection::vec((any::<bool>(), 0u64..60, 1u64..20), 1..40)) {
            let mut runs = Runs::default();
            let mut model = [false; 90];
            for (insert, from, length) in steps {
                let to = from + length;
                if insert { runs.insert(from, to) } else { runs.remove(from, to) }
                model[from as usize..to as usize].fill(insert);
                let first = model.iter().position(|&b| b);
                prop_assert_eq!(runs.first().map(|(from, _)| from as usize), first);
                for from in 0..80 {
                    let whole = model[from..from + 5].iter().all(|&b| b);
                    prop_assert_eq!(runs.contains(from as u64, from as u64 + 5), whole);
                }
            }
        }
    }
}
