//! `bfq` (Linux 6.12 to 6.18): Budget Fair Queueing. Each process has a queue, and each queue has a weight. The queues
//! share the device's sectors in proportion to their weights.
//!
//! The queue in service sends until its budget (sectors) is used up, its time slice is over, or it has no more
//! requests. B-WF2Q+ then chooses the next one. When a queue has run empty, the device idles `slice_idle` for it if
//! that raises throughput or is needed to keep the shares. Budgets follow the behaviour of the process and the
//! estimated peak rate of the device. A slow (seeky) process is charged for the time it took instead of the sectors it
//! moved. With `low_latency`, queues that look interactive or soft real-time weigh 30 or 3000 times more for a while.
//!
//! The queues of cooperating processes merge, and split again when the shared queue becomes seeky. While the device
//! idles, harmless requests are injected: the process' own asynchronous ones, those of the queue that wakes it or that
//! it wakes, and as many of others as measurements allow.
//!
//! Left out: cgroups (all processes are in the root group), several actuators, and insertion at the head. Long times
//! count in jiffies of 4 ms.

mod arrival;
mod burst;
mod fair;
mod idle;
mod inject;
mod queue;
mod raise;
mod rate;
mod replay;
mod serve;
mod service_tree;
mod share;
mod tree;

use crate::io_contexts::{IoContextId, IoContexts};
use crate::jiffies::{HZ, Jiffies};
use crate::tunables::tunables;
use crate::{
    Dispatch, Environment, MergeIndex, MergeLimits, MergeTarget, Merged, Scheduler, TunableError, Tunables, try_merge,
};
use burst::Burst;
use iopilot_block::{Lba, Links, Nanos, Op, ProcessId, Request, RequestId, Requests};
use queue::{BfqIoContext, BfqQueues, QueueId};
use rate::PeakRate;
use service_tree::BfqServiceTree;

tunables! {
    /// The tunables of `bfq`, as in `/sys/block/*/queue/iosched` of Linux 6.12 to 6.18.
    pub(crate) struct BfqTunables {
        /// Deadline of a synchronous request, checked once in a slice.
        fifo_expire_sync: u64, Ms = 125, 1..=2_147_483_647;
        /// Deadline of an asynchronous request, checked once in a slice.
        fifo_expire_async: u64, Ms = 250, 1..=2_147_483_647;
        /// The longest backward distance that counts as near.
        back_seek_max: u64, KiB = 16_384, 0..=2_147_483_647;
        /// The factor for backward distances.
        back_seek_penalty: u64, Factor = 2, 1..=2_147_483_647;
        /// How long the device idles for an empty queue; 0 for never.
        slice_idle: u64, Ms = 8, 0..=2_147_483_647;
        /// The same in microseconds; setting one sets the other.
        slice_idle_us: u64, Us = 8_000, 0..=4_294_967_295u64;
        /// The largest budget; 0 follows the estimated peak rate.
        max_budget: u64, Sectors = 0, 0..=2_147_483_647;
        /// How long a queue stays in service.
        timeout_sync: u64, Ms = 124, 1..=2_147_483_647;
        /// Always idle, and send one request at a time.
        strict_guarantees: bool, Bool = false, 0..=1;
        /// Raise the weight of interactive and soft real-time queues.
        low_latency: bool, Bool = true, 0..=1;
    }
}

/// The weight-raising coefficient of interactive queues.
const WR_COEFF: u64 = 30;
/// The additional factor for soft real-time queues.
const SOFT_RT_FACTOR: u64 = 100;
/// How long soft real-time raising lasts, in jiffies (300 ms).
const SOFT_RT_MAX_TIME: i64 = 300 * HZ / 1000;
/// Requests farther apart than this are seeks, in sectors.
const SEEK_THRESHOLD: u64 = 8 * 100;
/// How many sectors an asynchronous sector costs.
const ASYNC_CHARGE: i64 = 3;
/// The default `timeout_sync`. Time is charged in proportion to it, whatever is set.
const TIMEOUT_MS: u64 = 124;
/// The default `slice_idle`. A seek is charged as much, whatever is set.
const SLICE_IDLE_NS: u64 = 8_000_000;

/// Why a queue leaves service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expiration {
    TooIdle,
    BudgetTimeout,
    BudgetExhausted,
    NoMoreRequests,
    Preempted,
}

/// What bfq knows about a request.
#[derive(Clone, Copy, Debug)]
struct PerRequest {
    queue: QueueId,
    context: IoContextId,
    expires: Nanos,
}

/// Budget Fair Queueing.
#[derive(Clone, Debug)]
pub(crate) struct Bfq {
    tunables: BfqTunables,
    rotational: bool,
    now: Nanos,

    queues: BfqQueues,
    contexts: IoContexts<BfqIoContext>,
    /// By class and level; the idle class uses its last level only.
    async_queues: [[Option<QueueId>; 8]; 3],
    per_request: Vec<PerRequest>,
    links: Links,
    merge: MergeIndex,
    /// The context of the request that is being merged, and the queue that it would go to.
    merging: Option<(IoContextId, QueueId)>,
    queued: usize,

    /// Real time, best effort, idle.
    trees: [BfqServiceTree; 3],
    activations: u64,
    next_in_service: Option<QueueId>,
    in_service_entity: Option<QueueId>,
    idle_class_served: Jiffies,
    /// How many queues have requests, by class.
    busy: [u32; 3],
    /// How many of these are raised. Wrong, and possibly negative, once `low_latency` was switched off under load
    /// ([`Bfq::end_all_raising`]).
    raised_busy: i32,
    /// How many queues that are not raised have each weight, lightest first.
    weights: Vec<(u64, u32)>,

    in_service: Option<QueueId>,
    budget_start: Nanos,
    budgets_assigned: u32,
    max_budget: i64,
    rate: PeakRate,
    last_position: u64,
    in_service_last_position: u64,
    in_driver: u32,
    max_in_driver: u32,
    /// Whether the device queues requests; `None` while unknown.
    hw_tag: Option<bool>,
    hw_tag_samples: u32,
    solid_state_with_queueing: bool,

    /// When the idling for the queue in service ends.
    timer: Option<Nanos>,
    idling_since: Nanos,
    injected: bool,
    measure_next_dispatch: bool,
    measuring_since: Nanos,
    waited_request: Option<RequestId>,
    last_completed: Option<QueueId>,

    /// The queues that may merge, by the sector of their next request.
    positions: Vec<(u64, QueueId)>,
    burst: Burst,
    last_in_burst: Jiffies,
    last_created: Option<QueueId>,
}

impl Bfq {
    /// A scheduler for the device in `env`. It depends on whether the device is rotational.
    pub(crate) fn new(env: &Environment) -> Self {
        // The estimate starts from two thirds of a reference rate.
        let rate = if env.rotational { 14_000 } else { 33_000 } * 2 / 3;
        Self {
            tunables: BfqTunables::default(),
            rotational: env.rotational,
            now: Nanos::ZERO,
            queues: BfqQueues::default(),
            contexts: IoContexts::default(),
            async_queues: Default::default(),
            per_request: Vec::new(),
            links: Links::default(),
            merge: MergeIndex::new(),
            merging: None,
            queued: 0,
            trees: Default::default(),
            activations: 0,
            next_in_service: None,
            in_service_entity: None,
            idle_class_served: Jiffies(0),
            busy: [0; 3],
            raised_busy: 0,
            weights: Vec::new(),
            in_service: None,
            budget_start: Nanos::ZERO,
            budgets_assigned: 0,
            max_budget: serve::DEFAULT_MAX_BUDGET,
            rate: PeakRate::new(rate),
            last_position: 0,
            in_service_last_position: 0,
            in_driver: 0,
            max_in_driver: 0,
            hw_tag: None,
            hw_tag_samples: 0,
            solid_state_with_queueing: !env.rotational,
            timer: None,
            idling_since: Nanos::ZERO,
            injected: false,
            measure_next_dispatch: false,
            measuring_since: Nanos::ZERO,
            waited_request: None,
            last_completed: None,
            positions: Vec::new(),
            burst: Burst::default(),
            last_in_burst: Jiffies::LONG_AGO,
            last_created: None,
        }
    }

    fn slice_idle(&self) -> u64 {
        self.tunables.slice_idle_us * 1000
    }

    fn total_busy(&self) -> u32 {
        self.busy.iter().sum()
    }

    /// The context of the process of `rq`, which is added if it is new.
    fn context_of(&mut self, rq: &Request) -> IoContextId {
        self.contexts.find(rq.process).unwrap_or_else(|| {
            let new = BfqIoContext { priority: rq.priority, ..BfqIoContext::default() };
            self.contexts.add(rq.process, new)
        })
    }

    /// Frees a queue that has no references.
    fn free_if_unused(&mut self, q: QueueId) {
        let queue = &self.queues[q];
        let used = queue.process_refs > 0
            || queue.stable_refs > 0
            || queue.allocated > 0
            || queue.entity.scheduled
            || queue.counted_weight.is_some()
            || self.in_service == Some(q);
        if used || !queue.live {
            return;
        }
        let owned = queue.owner.is_some();
        if queue.in_burst_list {
            self.leave_burst(q);
            if owned {
                self.burst.size = self.burst.size.saturating_sub(1);
            }
        }
        self.set_waker(q, None);
        while let Some(woken) = self.queues[q].woken.pop() {
            self.queues[woken].waker = None;
        }
        if self.last_completed == Some(q) {
            self.last_completed = None;
        }
        if self.last_created == Some(q) {
            self.last_created = None;
        }
        self.unindex_position(q);
        self.queues.remove(q);
    }

    /// Drops the references of a request that is merged or complete.
    fn request_freed(&mut self, id: RequestId) {
        let PerRequest { queue, context, .. } = self.per_request[id.index()];
        self.queues[queue].allocated -= 1;
        self.free_if_unused(queue);
        self.contexts.release(context);
    }

    /// Whether the queue of `rq` already has its share of `limit` requests, in proportion to weights
    /// (`bfqq_request_over_limit`).
    fn over_limit(&self, rq: &Request, limit: u32) -> bool {
        let Some(context) = self.contexts.find(rq.process) else { return false };
        let Some(q) = self.contexts[context].queues[usize::from(rq.is_sync())] else { return false };
        let queue = &self.queues[q];
        // A lower class counts the weights of higher ones, eightfold for each step.
        let weights = self.trees[..=queue.class].iter().fold(0, |sum, tree| sum * 8 + tree.weights);
        if !queue.entity.scheduled || weights == 0 {
            return false;
        }
        let share = (u64::from(limit) * queue.entity.weight + weights / 2) / weights;
        u64::from(queue.allocated) >= share
    }
}

impl MergeTarget for Bfq {
    fn merge_index(&mut self) -> &mut MergeIndex {
        &mut self.merge
    }

    /// Only a request of the queue that the new one would go to. This call also merges the queues of processes that
    /// read next to each other.
    fn admits(&mut self, rqs: &Requests, host: RequestId, new: RequestId) -> bool {
        let rq = &rqs[new];
        if rq.is_sync() && !rqs[host].is_sync() {
            return false;
        }
        let Some((context, q)) = self.merging else { return false };
        let mut q = q;
        if let Some(to) = self.find_cooperator(q, rq.lba.0, context) {
            while q != to {
                q = self.merge_queue(q, context);
            }
            self.merging = Some((context, q));
        }
        self.per_request[host.index()].queue == q
    }

    /// Only neighbours in the sector order of one queue coalesce.
    fn allows_coalescing(&self, rqs: &Requests, host: RequestId, other: RequestId) -> bool {
        let q = self.per_request[host.index()].queue;
        q == self.per_request[other.index()].queue && self.queues[q].sorted.adjacent(rqs[host].lba, host, other)
    }

    fn moved(&mut self, rqs: &Requests, host: RequestId, old_lba: Lba) {
        let q = self.per_request[host.index()].queue;
        let queue = &mut self.queues[q];
        let passed = queue.sorted.prev(old_lba, host).is_some_and(|prev| rqs[host].lba < rqs[prev].lba);
        queue.sorted.remove(old_lba, host);
        queue.sorted.insert(rqs[host].lba, host);
        if passed {
            let previous = queue.next;
            let next = previous.map_or(host, |p| self.choose(rqs, p, host, self.last_position));
            self.queues[q].next = Some(next);
            if previous != Some(next) {
                self.fit_budget(rqs, q);
                if !self.solid_state_with_queueing {
                    self.index_position(q, Some(rqs[next].lba.0));
                }
            }
        }
    }

    fn absorb(&mut self, rqs: &Requests, host: RequestId, gone: RequestId) {
        let q = self.per_request[host.index()].queue;
        if self.per_request[gone.index()].expires < self.per_request[host.index()].expires {
            self.per_request[host.index()].expires = self.per_request[gone.index()].expires;
            let fifo = &mut self.queues[q].fifo;
            fifo.remove(&mut self.links, host);
            fifo.replace(&mut self.links, gone, host);
            fifo.push_back(&mut self.links, gone); // Temporarily: it is removed below.
        }
        if self.queues[q].next == Some(gone) {
            self.queues[q].next = Some(host);
        }
        self.take_out(rqs, q, gone);
        self.request_freed(gone);
    }
}

impl Scheduler for Bfq {
    fn try_merge(&mut self, rqs: &mut Requests, id: RequestId, limits: &MergeLimits, now: Nanos) -> Option<Merged> {
        self.advance(rqs, now);
        let rq = &rqs[id];
        let context = self.contexts.find(rq.process);
        let queue = context.and_then(|c| self.contexts[c].queues[usize::from(rq.is_sync())]);
        self.merging = context.zip(queue);
        try_merge(self, rqs, id, limits)
    }

    fn insert(&mut self, rqs: &mut Requests, id: RequestId, now: Nanos) {
        self.advance(rqs, now);
        self.arrive(rqs, id);
        self.merge.add(rqs, id);
    }

    fn dispatch(&mut self, rqs: &mut Requests, now: Nanos) -> Dispatch {
        self.advance(rqs, now);
        if self.queued == 0 {
            return Dispatch::Empty;
        }
        match (self.dispatch_one(rqs), self.timer) {
            (Some(id), _) => {
                self.merge.remove(rqs, id);
                Dispatch::Request(id)
            }
            (None, Some(due)) => Dispatch::WaitUntil(due),
            (None, None) => {
                debug_assert!(self.in_driver > 0, "a request is queued, and no event would ever send it");
                Dispatch::Empty
            }
        }
    }

    fn withdraw(&mut self, rqs: &mut Requests, id: RequestId, now: Nanos) {
        self.advance(rqs, now);
        self.merge.remove(rqs, id);
        self.take_out(rqs, self.per_request[id.index()].queue, id);
        self.request_freed(id);
    }

    fn idles_until(&mut self, rqs: &mut Requests, now: Nanos) -> Option<Nanos> {
        self.advance(rqs, now);
        self.timer
    }

    fn completed(&mut self, rqs: &mut Requests, id: RequestId, now: Nanos) {
        self.advance(rqs, now);
        self.finish(rqs, self.per_request[id.index()].queue, id);
        self.request_freed(id);
    }

    /// `bfq_completed_request` runs the queue if the device has run empty. If not, the idle timer, the next request or
    /// the kernel's retry run it.
    fn runs_after_completion(&self) -> Option<Nanos> {
        if self.in_driver == 0 { Some(self.now) } else { self.timer }
    }

    fn process_exited(&mut self, process: ProcessId, now: Nanos) {
        self.now = self.now.max(now);
        let Some(context) = self.contexts.find(process) else { return };
        if let Some(planned) = self.contexts[context].stable_merge.take() {
            self.drop_stable_ref(planned);
        }
        for sync in [true, false] {
            if let Some(q) = self.contexts[context].queues[usize::from(sync)] {
                self.set_queue(context, None, sync);
                if self.in_service == Some(q) {
                    self.leave_service(None, q, Expiration::BudgetTimeout);
                }
                self.drop_redirections(q);
                self.release(q);
            }
        }
        self.contexts.exit(process);
    }

    fn depth_limit(&self, rq: &Request, nr_requests: u32) -> u32 {
        let limit = if rq.op == Op::Read {
            nr_requests
        } else {
            // The shares in sixteenths, for asynchronous and synchronous writes, without and with raised queues.
            let share = match (self.raised_busy > 0, rq.is_sync()) {
                (false, false) => 8,
                (false, true) => 12,
                (true, false) => 3,
                (true, true) => 6,
            };
            (nr_requests * share / 16).max(1)
        };
        if self.over_limit(rq, limit) { 1 } else { limit }
    }

    fn queued(&self) -> usize {
        self.queued
    }

    fn tunables(&self) -> &dyn Tunables {
        &self.tunables
    }

    fn set(&mut self, name: &str, value: f64) -> Result<(), TunableError> {
        let before = (self.tunables.low_latency, self.tunables.strict_guarantees);
        self.tunables.set(name, value)?;
        let t = &mut self.tunables;
        match name {
            "slice_idle" => t.slice_idle_us = t.slice_idle * 1000,
            "slice_idle_us" => t.slice_idle = t.slice_idle_us / 1000,
            "strict_guarantees" if t.strict_guarantees && !before.1 && t.slice_idle_us < 8_000 => {
                (t.slice_idle, t.slice_idle_us) = (8, 8_000);
            }
            "max_budget" | "timeout_sync" => self.tune_max_budget(),
            "low_latency" if before.0 && !t.low_latency => self.end_all_raising(),
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
