//! [`ActivationCheck`]: a decision of an algorithm, with the costs that it compared.

use crate::CacheState;
use iopilot_block::Nanos;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// A decision of an algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActivationCheck {
    /// The time of the decision.
    pub at: Nanos,
    /// The number of reads that had ended.
    pub reads: u64,
    /// The cost with the cache. `v0` to `v2`: the left side of eq. 2.9, a sum over the last 100 reads. `vd`: the time of one
    /// block.
    pub with_cache: Nanos,
    /// The cost without the cache: the right side of eq. 2.9, or the time of one block.
    pub without_cache: Nanos,
    /// Whether the cache saves time.
    pub good: bool,
    /// The state before the decision.
    pub before: CacheState,
    /// The state after the decision.
    pub after: CacheState,
}

/// The number of checks that are kept.
const MOST: usize = 4096;

/// The latest checks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Checks(VecDeque<ActivationCheck>);

impl Checks {
    pub(crate) fn add(&mut self, check: ActivationCheck) {
        if self.0.len() == MOST {
            self.0.pop_front();
        }
        self.0.push_back(check);
    }

    pub(crate) const fn all(&self) -> &VecDeque<ActivationCheck> {
        &self.0
    }
}

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ActivationVerdict {
    pub(crate) with_cache: Nanos,
    pub(crate) without_cache: Nanos,
    pub(crate) good: bool,
    /// Whether the cache is to be active.
    pub(crate) active: bool,
}
