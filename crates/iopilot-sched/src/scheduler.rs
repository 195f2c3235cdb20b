//! The [`Scheduler`] trait.

use crate::{MergeLimits, Merged, QueueMap, TunableError, Tunables};
use iopilot_block::{Nanos, Positions, ProcessId, Request, RequestId, Requests};

/// A scheduler's answer when the device can take a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dispatch {
    /// Send this request. It has left the scheduler's queues.
    Request(RequestId),
    /// Keep the device idle (anticipation, idling). Ask again at this time, or when a request arrives or completes
    /// before it.
    WaitUntil(Nanos),
    /// No request may be sent now. Ask again when a request arrives or completes.
    Empty,
}

/// The properties of the machine that a scheduler may know. They do not change during its life.
#[derive(Clone, Copy, Debug)]
pub struct Environment {
    /// CPUs that submit requests; at least 1.
    pub cpus: u16,
    /// `nr_hw_queues`: hardware queues that the CPUs are divided among ([`QueueMap`]); at least 1.
    pub hardware_queues: u16,
    /// `queue/rotational`: whether seeks cost time.
    pub rotational: bool,
    /// The size of the device in sectors.
    pub capacity: u64,
    /// How many requests the device takes at once, from each hardware queue.
    pub queue_depth: u32,
    /// `queue/nr_requests`: how many requests the scheduler may hold for each hardware queue (per direction for Linux
    /// 2.6).
    pub nr_requests: u32,
}

impl Default for Environment {
    fn default() -> Self {
        Self { cpus: 1, hardware_queues: 1, rotational: true, capacity: 1 << 30, queue_depth: 1, nr_requests: 128 }
    }
}

impl Environment {
    /// The mapping of CPUs to hardware queues.
    pub(crate) fn queue_map(&self) -> QueueMap {
        QueueMap::new(self.cpus, self.hardware_queues)
    }
}

/// An I/O scheduler: requests are inserted, and dispatched one by one in the order the scheduler chooses.
///
/// The caller owns the [`Requests`] and follows this protocol. It calls [`Scheduler::try_merge`] first. If the request
/// merged, it is now a part of another one; if not, the caller calls [`Scheduler::insert`]. Whenever the device can
/// take another request, it calls [`Scheduler::dispatch_at`]. It calls [`Scheduler::completed`] once for each
/// dispatched request, before the slot is freed. A scheduler never sees flushes. `now` never goes back.
pub trait Scheduler {
    /// Tries to merge `id`, which is not inserted yet, with a queued request. The default never merges.
    fn try_merge(&mut self, rqs: &mut Requests, id: RequestId, limits: &MergeLimits, now: Nanos) -> Option<Merged> {
        let _ = (rqs, id, limits, now);
        None
    }

    /// Inserts `id` into the queues. `O(log n)` or better, and no allocation in the steady state.
    fn insert(&mut self, rqs: &mut Requests, id: RequestId, now: Nanos);

    /// Chooses the request to send next.
    fn dispatch(&mut self, rqs: &mut Requests, now: Nanos) -> Dispatch;

    /// As [`Scheduler::dispatch`], for a scheduler that uses the device's positions. The default does not.
    fn dispatch_at(&mut self, rqs: &mut Requests, now: Nanos, positions: Option<&dyn Positions>) -> Dispatch {
        let _ = positions;
        self.dispatch(rqs, now)
    }

    /// As [`Scheduler::dispatch`], for one of several hardware queues. The default has one elevator for all of them,
    /// and dispatches any request. `none` and kyber dispatch only requests of the queue's CPUs.
    fn dispatch_queue(&mut self, rqs: &mut Requests, queue: usize, now: Nanos) -> Dispatch {
        let _ = queue;
        self.dispatch(rqs, now)
    }

    /// Whether [`Scheduler::dispatch_queue`] dispatches only requests of the queue's own CPUs.
    fn serves_queues_apart(&self) -> bool {
        false
    }

    /// Whether dispatching may merge queued requests: the dispatched request has the others as its parts.
    fn joins_at_dispatch(&self) -> bool {
        false
    }

    /// Whether it works only on a device with [`Positions`]. Then only [`Scheduler::dispatch_at`] may be called.
    fn needs_positions(&self) -> bool {
        false
    }

    /// The device finished `id`, which stays readable in `rqs` during the call.
    fn completed(&mut self, rqs: &mut Requests, id: RequestId, now: Nanos) {
        let _ = (rqs, id, now);
    }

    /// Removes and returns a queued request for the same blocks as the one last reported [`Scheduler::completed`]. It
    /// is complete, too, and is not sent. Call this after each completion until it returns `None`, as the default does.
    #[inline]
    fn collapsed(&mut self) -> Option<RequestId> {
        None
    }

    /// When to run the queue after a completion if no dispatched request waits for the device. The kernel runs it then
    /// only if the scheduler asks for it. A time in the past means now, as does the default: an extra run does no harm
    /// to a scheduler that dispatches whatever it has.
    fn runs_after_completion(&self) -> Option<Nanos> {
        Some(Nanos::ZERO)
    }

    /// Removes `id`, which is queued, with its parts, so that another instance can insert it. This instance goes on as
    /// if `id` had never arrived. May cost `O(n)` in the requests queued.
    fn withdraw(&mut self, rqs: &mut Requests, id: RequestId, now: Nanos);

    /// Until when the scheduler would keep the device idle for the next request of a process although its queues are
    /// empty. [`Scheduler::dispatch`] does not tell that. The default never idles.
    fn idles_until(&mut self, rqs: &mut Requests, now: Nanos) -> Option<Nanos> {
        let _ = (rqs, now);
        None
    }

    /// A process begins to wait for `id`, for which none waited when it was inserted. `id` may be queued, merged, in
    /// flight or complete by now. `rqs` has its new criticality. The default ignores this, as every scheduler of a
    /// kernel must.
    fn raise(&mut self, rqs: &mut Requests, id: RequestId, now: Nanos) {
        let _ = (rqs, id, now);
    }

    /// `process` has exited and will issue no more requests.
    fn process_exited(&mut self, process: ProcessId, now: Nanos) {
        let _ = (process, now);
    }

    /// How many of the `nr_requests` scheduler tags may be in use when a request like `rq` takes one (the kernel's
    /// `limit_depth`, set by `async_depth` and similar tunables). The submitter sleeps while that many are taken.
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
    /// If there is no such tunable or the value is out of its range. Nothing has changed then.
    fn set(&mut self, name: &str, value: f64) -> Result<(), TunableError>;
}
