//! [`ReplayDispatch`]: a scheduler that is driven by a recorded dispatch order.

use crate::{AnyScheduler, Scheduler, SchedulerVariant};
use iopilot_block::{Nanos, RequestId, Requests};

/// Dispatches in a recorded order, to compare a scheduler's decisions with those of another instance, such as a running
/// kernel's.
///
/// At each recorded dispatch, ask a copy of the scheduler for its own choice ([`Scheduler::dispatch`]), compare the
/// two, and make the original dispatch the recorded request. So each choice is judged by itself: an earlier difference
/// has no effect on it. The laboratory's `kernel-fidelity` measures with this how often a model chooses what Linux
/// chose. Simulations do not use it.
pub trait ReplayDispatch: Scheduler {
    /// Dispatches `id`, which is queued, whatever the scheduler would choose itself. True if it did: a later
    /// [`Scheduler::dispatch`] goes on from there. May cost `O(n)` in the requests queued.
    fn dispatch_recorded(&mut self, rqs: &mut Requests, id: RequestId, now: Nanos) -> bool;
}

/// Dispatches for `bfq` and `kyber`, the schedulers of current kernels whose choices depend on earlier ones. The others
/// return false and dispatch nothing.
impl ReplayDispatch for AnyScheduler {
    fn dispatch_recorded(&mut self, rqs: &mut Requests, id: RequestId, now: Nanos) -> bool {
        match self.variant_mut() {
            SchedulerVariant::Bfq(bfq) => bfq.dispatch_recorded(rqs, id, now),
            SchedulerVariant::Kyber(kyber) => kyber.dispatch_recorded(rqs, id, now),
            _ => false,
        }
    }
}
