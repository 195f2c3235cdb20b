//! [`LoadSignature`]: what kind of load it is.

use serde::{Deserialize, Serialize};

/// Two loads are of one kind if their logarithms differ by at most this…
const NEAR_LOG: f64 = 0.5;
/// …and their shares by at most this.
const NEAR_SHARE: f64 = 0.15;
/// A load is sequential with this share of sequential requests.
const SEQUENTIAL: f64 = 0.2;

/// What kind of load it is: the shares of reads and of sequential requests, their size, and how many processes and
/// requests there are at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct LoadSignature {
    /// The share of reads among requests, 0 to 1.
    pub(crate) reads: f64,
    /// The binary logarithm of the mean size in bytes.
    pub(crate) size_log2: f64,
    /// The share of requests that follow the last one of their process within 64 KiB, 0 to 1.
    pub(crate) sequential: f64,
    /// The binary logarithm of the number of processes at work.
    pub(crate) processes_log2: f64,
    /// The binary logarithm of the mean number of requests waiting or in flight.
    pub(crate) in_flight_log2: f64,
}

impl LoadSignature {
    /// Whether the two are of one kind.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        let logs = [
            (self.size_log2, other.size_log2),
            (self.processes_log2, other.processes_log2),
            (self.in_flight_log2, other.in_flight_log2),
        ];
        let shares = [(self.reads, other.reads), (self.sequential, other.sequential)];
        logs.iter().all(|(a, b)| (a - b).abs() <= NEAR_LOG) && shares.iter().all(|(a, b)| (a - b).abs() <= NEAR_SHARE)
    }

    /// Whether the same processes seem to do something else, whatever the scheduler makes of it: the mix of operations,
    /// sizes and sequential requests differs. How many requests wait follows from the scheduler as well.
    pub(crate) fn is_other_work(&self, other: &Self) -> bool {
        let work = |signature: &Self| Self { in_flight_log2: 0.0, ..*signature };
        !work(self).is_like(&work(other))
    }

    /// Whether enough of its requests are sequential that schedulers take seconds to settle.
    pub(crate) fn is_sequential(&self) -> bool {
        self.sequential >= SEQUENTIAL
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_loads() {
        let load =
            LoadSignature { reads: 1.0, size_log2: 12.0, sequential: 0.0, processes_log2: 6.0, in_flight_log2: 6.0 };
        assert!(load.is_like(&LoadSignature { in_flight_log2: 5.6, reads: 0.9, ..load }));
        assert!(!load.is_like(&LoadSignature { reads: 0.8, ..load }));
        let fewer_wait = LoadSignature { in_flight_log2: 4.0, ..load };
        assert!(!load.is_like(&fewer_wait) && !load.is_other_work(&fewer_wait));
        assert!(load.is_other_work(&LoadSignature { sequential: 0.5, ..load }));
        assert!(!load.is_sequential() && LoadSignature { sequential: 0.25, ..load }.is_sequential());
    }
}
