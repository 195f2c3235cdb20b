//! [`BackSeek`]: chooses the nearer of two requests, for schedulers that prefer upward seeks.

use iopilot_block::Lba;

/// The limit and the cost of backward seeks: `as_choose_req` and `cfq_choose_req` of Linux 2.6.24, `bfq_choose_req` of
/// Linux 6.12.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BackSeek {
    /// In sectors. A request farther back waits for the next sweep.
    pub(crate) max: u64,
    /// The factor by which a backward distance is multiplied.
    pub(crate) penalty: u64,
}

impl BackSeek {
    /// Whether the request at `a` goes before the one at `b`, with the arm at `from`. Of two at one distance, the one
    /// ahead goes first. Of two for the next sweep, the lower one does.
    pub(crate) fn prefers(self, from: Lba, a: Lba, b: Lba) -> bool {
        match (self.distance(from, a), self.distance(from, b)) {
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (None, None) => a <= b,
            (Some(x), Some(y)) => x < y || (x == y && a >= b),
        }
    }

    /// The cost of a seek to `to`, in sectors; `None` if that waits for the next sweep.
    fn distance(self, from: Lba, to: Lba) -> Option<u64> {
        if to >= from {
            return Some(to.0 - from.0);
        }
        let back = from.0 - to.0;
        (back <= self.max).then(|| back.saturating_mul(self.penalty))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ahead_goes_before_behind_unless_that_is_penalty_times_nearer() {
        let rule = BackSeek { max: 1000, penalty: 2 };
        let first = |a, b| rule.prefers(Lba(5000), Lba(a), Lba(b));
        assert!(first(5010, 5011) && !first(5011, 5010), "the nearer of two ahead");
        assert!(first(4990, 5021) && first(5019, 4990), "10 behind counts as 20");
        assert!(first(5020, 4990) && !first(4990, 5020), "ahead at one distance");
        assert!(first(9000, 3999) && first(4000, 9000), "1001 behind waits for the next sweep");
        assert!(first(100, 200), "the next sweep begins at the lowest");
    }
}
