//! [`LimitEstimates`]: predicts when a process begins to wait for a time-limited request (Ganger 8.2).

use crate::decay::DecayingMean;
use iopilot_block::{Agenda, Nanos, ProcessId, ProcessMap, RequestId};

/// The estimated time limits of requests.
///
/// The estimate for a process is a decaying mean of the times after which it began to wait for its requests. A request
/// that was complete by then gives no sample. So longer limits are missing, and an estimate is too short rather than
/// too long.
#[derive(Clone, Debug)]
pub(super) struct LimitEstimates {
    /// In microseconds.
    estimates: ProcessMap<DecayingMean>,
    /// By the request's index: its process and its issue, until a process waits for it.
    submitted: Vec<Option<(ProcessId, Nanos)>>,
    /// The ends of the limits of the requests in the limited list, by their index.
    due: Agenda,
    /// The same times by index.
    at: Vec<Option<Nanos>>,
}

impl Default for LimitEstimates {
    fn default() -> Self {
        Self { estimates: ProcessMap::default(), submitted: Vec::new(), due: Agenda::new(0), at: Vec::new() }
    }
}

impl LimitEstimates {
    /// After how long `process` is expected to wait for a request; `None` if it never has.
    pub(super) fn estimate(&self, process: ProcessId) -> Option<Nanos> {
        self.estimates.get(&process).map(|mean| Nanos::from_micros(mean.mean()))
    }

    /// `process` has issued `id`, for which no process waits yet.
    pub(super) fn issued(&mut self, id: RequestId, process: ProcessId, now: Nanos) {
        *slot(&mut self.submitted, id) = Some((process, now));
    }

    /// A process begins to wait for `id`.
    pub(super) fn over(&mut self, id: RequestId, now: Nanos) {
        if let Some((process, since)) = slot(&mut self.submitted, id).take() {
            self.estimates.entry(process).or_default().add(now.since(since).0 / 1000);
        }
    }

    /// Sets the end of the limit of `id` to `at`, unless an earlier time is set.
    pub(super) fn set(&mut self, id: RequestId, at: Nanos) {
        let known = slot(&mut self.at, id);
        if known.is_none_or(|known| at < known) {
            *known = Some(at);
            self.due.set(id.index(), Some(at));
        }
    }

    /// Removes the limit of `id`.
    pub(super) fn unset(&mut self, id: RequestId) -> Option<Nanos> {
        let at = slot(&mut self.at, id).take()?;
        self.due.set(id.index(), None);
        Some(at)
    }

    /// `gone` merges into `host`, which gets the earlier limit.
    pub(super) fn absorb(&mut self, host: RequestId, gone: RequestId) {
        if let Some(at) = self.unset(gone) {
            self.set(host, at);
        }
        *slot(&mut self.submitted, gone) = None;
    }

    /// Drops what is known about `id`.
    pub(super) fn forget(&mut self, id: RequestId) {
        self.unset(id);
        *slot(&mut self.submitted, id) = None;
    }

    /// When the next limit ends.
    pub(super) fn next(&self) -> Option<Nanos> {
        self.due.next()
    }

    /// Removes and returns a request whose limit is over, the earliest first.
    pub(super) fn take(&mut self, now: Nanos) -> Option<RequestId> {
        let id = RequestId::from_index(self.due.take(now)?);
        *slot(&mut self.at, id) = None;
        Some(id)
    }

    pub(super) fn exited(&mut self, process: ProcessId) {
        self.estimates.remove(&process);
    }
}

/// The slot of `id`; the vector grows if needed.
fn slot<T: Clone>(of: &mut Vec<Option<T>>, id: RequestId) -> &mut Option<T> {
    if id.index() >= of.len() {
        of.resize(id.index() + 1, None);
    }
    &mut of[id.index()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_estimate_begins_with_the_first_sample_and_follows_the_next() {
        let (mut limits, id) = (LimitEstimates::default(), RequestId::from_index(3));
        let mut see = |ms: u64| {
            limits.issued(id, ProcessId(7), Nanos::from_millis(100));
            limits.over(id, Nanos::from_millis(100 + ms));
            limits.estimate(ProcessId(7)).unwrap()
        };
        assert_eq!(see(20), Nanos::from_millis(20));
        // Each new sample has a weight of an eighth, the first ones more.
        let second = see(40);
        assert!((Nanos::from_millis(22)..Nanos::from_millis(31)).contains(&second), "{second}");
        let last = (0..100).map(|_| see(40)).last().unwrap();
        assert!(last > Nanos::from_millis(39), "{last}");
        assert_eq!(limits.estimate(ProcessId(8)), None);
        limits.over(id, Nanos::from_secs(9));
        assert_eq!(limits.estimate(ProcessId(7)), Some(last), "it was not issued again");
        limits.exited(ProcessId(7));
        assert_eq!(limits.estimate(ProcessId(7)), None);
    }

    #[test]
    fn the_earliest_limit_ends_first_and_a_merged_request_has_the_earlier_of_two() {
        let (mut limits, id) = (LimitEstimates::default(), RequestId::from_index);
        for (index, at) in [(0, 30), (1, 10), (2, 20), (3, 5)] {
            limits.set(id(index), Nanos(at));
        }
        limits.absorb(id(0), id(3));
        limits.unset(id(1));
        assert_eq!((limits.next(), limits.take(Nanos(4))), (Some(Nanos(5)), None));
        assert_eq!(
            (limits.take(Nanos(40)), limits.take(Nanos(40)), limits.take(Nanos(40))),
            (Some(id(0)), Some(id(2)), None)
        );
    }
}
