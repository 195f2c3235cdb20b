//! What the text-book algorithms share: a sorted queue, and where the arm is believed to be.

use crate::{Dispatch, Scheduler, TunableError, Tunables};
use iopilot_block::{Lba, Nanos, RequestId, Requests, SortedIndex};

/// A request and its distance from the arm in sectors.
pub(crate) type DistantRequest = (RequestId, u64);

/// The queued requests as an arm sees them: above it or below it.
///
/// The arm is taken to rest at the first sector of the last dispatched request, which is how LBN-based algorithms see
/// a disk (Ganger A.1.2.1, Carroll 2.2.4): seeks cost by distance in sectors, and nothing is known of heads or zones.
#[derive(Clone, Debug)]
pub struct ArmQueue {
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

    /// The nearest request below the arm; the oldest of those that start at one sector.
    pub(crate) fn below(&self, rqs: &Requests) -> Option<RequestId> {
        let nearest = self.sorted.before(self.position)?;
        self.sorted.at_or_after(rqs[nearest].lba)
    }

    /// The nearest above and below with their distances in sectors.
    pub(crate) fn both(&self, rqs: &Requests) -> (Option<DistantRequest>, Option<DistantRequest>) {
        let far = |id: RequestId| (id, self.position.distance(rqs[id].lba));
        (self.above().map(far), self.below(rqs).map(far))
    }

    /// Takes `id` out and moves the arm to it. Its direction changes only where it moves.
    pub(crate) fn take(&mut self, rqs: &Requests, id: RequestId) {
        let lba = rqs[id].lba;
        self.sorted.remove(lba, id);
        if lba != self.position {
            self.upwards = lba > self.position;
        }
        self.position = lba;
    }
}

/// How a text-book algorithm picks the next request.
pub trait ArmRule {
    /// The next of `arm`'s queue, which is not empty. It may turn the arm.
    fn pick(&mut self, arm: &mut ArmQueue, rqs: &Requests) -> Option<RequestId>;
    /// As [`Scheduler::tunables`].
    fn tunables(&self) -> &dyn Tunables;
    /// As [`Scheduler::set`].
    ///
    /// # Errors
    /// As there.
    fn set(&mut self, name: &str, value: f64) -> Result<(), TunableError>;
}

/// A text-book algorithm that orders by the arm's position. It never merges: the literature compares orders, and
/// merging is measured apart from them (Ganger A.1.2.1 makes it an option, Carroll 3.1 a scheduler of its own).
#[derive(Clone, Debug, Default)]
pub struct ArmScheduler<R> {
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
