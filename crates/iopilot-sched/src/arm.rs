//! The common part of the text-book algorithms: a sorted queue and the assumed position of the arm.

use crate::{Dispatch, Scheduler, TunableError, Tunables};
use iopilot_block::{Lba, Nanos, RequestId, Requests, SortedIndex};

/// A request and its distance from the arm in sectors.
pub(crate) type DistantRequest = (RequestId, u64);

/// The queued requests above and below the arm.
///
/// The arm is assumed to be at the first sector of the last dispatched request. This is the model of LBN-based
/// algorithms (Ganger A.1.2.1, Carroll 2.2.4): the cost of a seek is its distance in sectors, and heads and zones are
/// unknown.
#[derive(Clone, Debug)]
pub(crate) struct ArmQueue {
    sorted: SortedIndex,
    pub(crate) position: Lba,
    pub(crate) upwards: bool,
}

impl Default for ArmQueue {
    fn default() -> Self {
        Self { sorted: SortedIndex::new(), position: Lba(0), upwards: true }
    }
}

impl ArmQueue {
    pub(crate) fn sorted(&self) -> &SortedIndex {
        &self.sorted
    }

    pub(crate) fn insert(&mut self, lba: Lba, id: RequestId) {
        self.sorted.insert(lba, id);
    }

    pub(crate) fn remove(&mut self, lba: Lba, id: RequestId) {
        self.sorted.remove(lba, id);
    }

    /// The nearest request at or above the arm.
    pub(crate) fn above(&self) -> Option<RequestId> {
        self.sorted.at_or_after(self.position)
    }

    /// The nearest request below the arm; of several at one sector, the oldest.
    pub(crate) fn below(&self, rqs: &Requests) -> Option<RequestId> {
        let nearest = self.sorted.before(self.position)?;
        self.sorted.at_or_after(rqs[nearest].lba)
    }

    /// The nearest requests above and below, with their distances in sectors.
    pub(crate) fn both(&self, rqs: &Requests) -> (Option<DistantRequest>, Option<DistantRequest>) {
        let far = |id: RequestId| (id, self.position.distance(rqs[id].lba));
        (self.above().map(far), self.below(rqs).map(far))
    }

    /// Removes `id` and moves the arm to it. The direction changes only if the arm moves.
    pub(crate) fn take(&mut self, rqs: &Requests, id: RequestId) {
        let lba = rqs[id].lba;
        self.sorted.remove(lba, id);
        if lba != self.position {
            self.upwards = lba > self.position;
        }
        self.position = lba;
    }
}

/// The rule by which a text-book algorithm picks the next request.
pub(crate) trait ArmRule {
    /// The next request of `arm`'s queue, which is not empty. The rule may turn the arm.
    fn pick(&mut self, arm: &mut ArmQueue, rqs: &Requests) -> Option<RequestId>;
    /// As [`Scheduler::tunables`].
    fn tunables(&self) -> &dyn Tunables;
    /// As [`Scheduler::set`].
    ///
    /// # Errors
    /// As there.
    fn set(&mut self, name: &str, value: f64) -> Result<(), TunableError>;
}

/// A text-book algorithm that orders by the arm's position. It never merges: the literature compares orders and
/// measures merging separately (Ganger A.1.2.1 makes it an option, Carroll 3.1 a scheduler of its own).
#[derive(Clone, Debug, Default)]
pub(crate) struct ArmScheduler<R> {
    arm: ArmQueue,
    rule: R,
}

impl<R: ArmRule> ArmScheduler<R> {
    pub(crate) fn with_rule(rule: R) -> Self {
        Self { arm: ArmQueue::default(), rule }
    }
}

impl<R: ArmRule> Scheduler for ArmScheduler<R> {
    fn insert(&mut self, rqs: &mut Requests, id: RequestId, _: Nanos) {
        self.arm.insert(rqs[id].lba, id);
    }

    fn dispatch(&mut self, rqs: &mut Requests, _: Nanos) -> Dispatch {
        if self.arm.sorted.is_empty() {
            return Dispatch::Empty;
        }
        match self.rule.pick(&mut self.arm, rqs) {
            Some(id) => {
                self.arm.take(rqs, id);
                Dispatch::Request(id)
            }
            None => Dispatch::Empty,
        }
    }

    fn withdraw(&mut self, rqs: &mut Requests, id: RequestId, _: Nanos) {
        self.arm.remove(rqs[id].lba, id);
    }

    fn queued(&self) -> usize {
        self.arm.sorted.len()
    }

    fn tunables(&self) -> &dyn Tunables {
        self.rule.tunables()
    }

    fn set(&mut self, name: &str, value: f64) -> Result<(), TunableError> {
        self.rule.set(name, value)
    }
}
