//! The [`Scheduler`] trait.

use crate::{MergeLimits, Merged, QueueMap, TunableError, Tunables};
use iopilot_block::{Nanos, Positions, ProcessId, Request, RequestId, Requests};

/// What a scheduler answers when the device could take a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dispatch {
    /// Send this one. It has left the scheduler's queues.
    Request(RequestId),
    /// Keep the device idle and ask again at this time (anticipation, idling), or when something arrives or completes
    /// before it.
    WaitUntil(Nanos),
    /// Nothing may go now: ask again when something arrives or completes.
    Empty,
}

/// What a scheduler may know of the machine it runs on, fixed for its life.
#[derive(Clone, Copy, Debug)]
pub struct Environment {
    /// CPUs that submit requests; at least 1.
    pub cpus: u16,
    /// `nr_hw_queues`: hardware queues that the CPUs are divided among ([`QueueMap`]); at least 1.
    pub hardware_queues: u16,
    /// `queue/rotational`: whether seeks cost time.
    pub rotational: bool,
    /// The device's size in sectors.
    pub capacity: u64,
    /// How many requests the device takes at once, from each hardware queue.
    pub queue_depth: u32,
    /// `queue/nr_requests`: how many requests the scheduler may hold for each hardware queue (per direction for Linux 2.6).
    pub nr_requests: u32,
}

impl Default for Environment {
    fn default() -> Self {
        Self { cpus: 1, hardware_queues: 1, rotational: true, capacity: 1 << 30, queue_depth: 1, nr_requests: 128 }
    }
}

impl Environment {
    /// Which hardware queue serves which CPU.
    pub fn queue_map(&self) -> QueueMap {
        QueueMap::new(self.cpus, self.hardware_queues)
    }
}

/// An I/O scheduler: requests go in, and come out one by one in the order the scheduler likes.
///
/// The caller owns the [`Requests`] and keeps this protocol: [`Scheduler::try_merge`] first; where that merged, the
/// request is gone into another; else [`Scheduler::insert`]. Whenever the device could take one more,
/// [`Scheduler::dispatch_at`]. [`Scheduler::completed`] once for each dispatched request, before its slot is freed.
/// Flushes never come here. `now` never goes back.
pub trait Scheduler {
    /// Tries to join `id`, which is not inserted yet, to a queued request. The default never merges.
    fn try_merge(&mut self, rqs: &mut Requests, id: RequestId, limits: &MergeLimits, now: Nanos) -> Option<Merged> {
        let _ = (rqs, id, limits, now);
        None
    }

    /// Takes `id` into the queues. `O(log n)` or better, and no allocation in the steady state.
    fn insert(&mut self, rqs: &mut Requests, id: RequestId, now: Nanos);

    /// Chooses the request to send next.
    fn dispatch(&mut self, rqs: &mut Requests, now: Nanos) -> Dispatch;

    /// As [`Scheduler::dispatch`], for a scheduler that asks the device where things are. The default does not.
    fn dispatch_at(&mut self, rqs: &mut Requests, now: Nanos, positions: Option<&dyn Positions>) -> Dispatch {
        let _ = positions;
        self.dispatch(rqs, now)
    }

    /// As [`Scheduler::dispatch`], when hardware queue `queue` is run, of several. The default is that of one elevator for all:
    /// it gives any request. `none` and kyber give only those of the queue's CPUs.
    fn dispatch_queue(&mut self, rqs: &mut Requests, queue: usize, now: Nanos) -> Dispatch {
        let _ = queue;
        self.dispatch(rqs, now)
    }

    /// Whether [`Scheduler::dispatch_queue`] gives only requests of the queue's own CPUs.
    fn serves_queues_apart(&self) -> bool {
        false
    }

    /// Whether a dispatched request may hold others that were queued beside it until then (its parts).
    fn joins_at_dispatch(&self) -> bool {
        false
    }

    /// Whether it works only on a device with [`Positions`]: then only [`Scheduler::dispatch_at`] may be called.
    fn needs_positions(&self) -> bool {
        false
    }

    /// The device finished `id`, which stays readable in `rqs` during the call.
    fn completed(&mut self, rqs: &mut Requests, id: RequestId, now: Nanos) {
        let _ = (rqs, id, now);
    }

    /// A request that is complete with the one last reported [`Scheduler::completed`], as it was queued for the same blocks:
    /// it has left the queues and is not sent. To be asked after each completion until there is none. The default has none.
    #[inline]
    fn collapsed(&mut self) -> Option<RequestId> {
        None
    }

    /// When the queue is to be run after a completion, though no request that has left the scheduler waits for the device: the
    /// kernel runs it then only where the scheduler sees to that. What is over means now, as does the default: asking
    /// once more does no harm where a scheduler gives what it has.
    fn runs_after_completion(&self) -> Option<Nanos> {
        Some(Nanos::ZERO)
    }

    /// Takes `id`, which is queued, back out with the parts it has, for another instance to insert: this one goes on as if it
    /// had not come. May cost `O(n)` in the requests queued.
    fn withdraw(&mut self, rqs: &mut Requests, id: RequestId, now: Nanos);

    /// Until when it would keep the device idle for the next request of a process, though it has none queued itself:
    /// [`Scheduler::dispatch`] is silent about that. The default never does.
    fn idles_until(&mut self, rqs: &mut Requests, now: Nanos) -> Option<Nanos> {
        let _ = (rqs, now);
        None
    }

    /// Somebody now waits for `id`, which was inserted (or has joined what was inserted) when nobody did, and which may be
    /// anywhere by now. `rqs` has its new class. The default takes no notice: no scheduler of a kernel can.
    fn raise(&mut self, rqs: &mut Requests, id: RequestId, now: Nanos) {
        let _ = (rqs, id, now);
    }

    /// `process` has exited: nothing more will come of it.
    fn process_exited(&mut self, process: ProcessId, now: Nanos) {
        let _ = (process, now);
    }

    /// How many of the `nr_requests` scheduler tags a request like `rq` may use up (the kernel's `limit_depth`, set
    /// by `async_depth` and its kin). The submitter sleeps while that many are taken.
    fn depth_limit(&self, rq: &Request, nr_requests: u32) -> u32 {
        let _ = rq;
        nr_requests
    }

    /// How many requests are queued: inserted and not yet dispatched.
    fn queued(&self) -> usize;

    /// The tunables with their present values.
    fn tunables(&self) -> &dyn Tunables;

    /// Sets a tunable by its kernel name, in the kernel's unit.
    ///
    /// # Errors
    /// Where there is no such tunable or the value is out of its range; nothing has changed then.
    fn set(&mut self, name: &str, value: f64) -> Result<(), TunableError>;
}
