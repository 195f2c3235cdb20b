//! `cfq` (Linux 2.6.24): completely fair queueing of disk time (Carroll 2.4.5).
//!
//! Each process has a queue for its synchronous requests. Asynchronous requests go to seventeen queues that all
//! processes share, one for each priority. The queues take turns. Each gets the disk for a slice of time that grows
//! with priority; real time goes before best effort, and that before idle. Within its slice, a queue is served by a
//! one-way elevator that allows short steps back. If it runs empty, the disk idles up to `slice_idle` for the next
//! request of the process, unless its think times are too long, or it seeks and the disk queues by itself.
//!
//! Requests move in sorted rounds of up to `quantum` to the dispatch queue in front of the device.
//!
//! Time is continuous here where the kernel counts ticks. Where a rule is in ticks, a tick is 1 ms (`CONFIG_HZ=1000`).
//! A request has its process' priority, so the queue follows it at once. `fs_excl` boosts are left out.

mod choose;
mod queue;
mod serve;
mod service_tree;
#[cfg(test)]
mod tests;

use self::queue::{CfqIoContext, CfqQueue, CfqQueueId};
use self::service_tree::CfqServiceTree;
use crate::io_contexts::{IoContextId, IoContexts};
use crate::tunables::{plain_tunables, tunables};
use crate::{Dispatch, MergeIndex, MergeLimits, MergeTarget, Merged, Scheduler, try_merge};
use iopilot_block::{Flags, Lba, Links, Nanos, PriorityClass, ProcessId, Request, RequestId, Requests, SlotIndex};
use std::collections::VecDeque;

tunables! {
    /// The tunables of `cfq`, as in `/sys/block/*/queue/iosched` of Linux 2.6.24 (Carroll, table 2.4).
    pub(crate) struct CfqTunables {
        /// How many requests of a queue are sent in one round, and how many it may have at the device while others
        /// wait.
        quantum: u64, Count = 4, 1..=u32::MAX;
        /// A synchronous request that is older starts its queue's slice.
        fifo_expire_sync: u64, Ms = 125, 1..=u32::MAX;
        /// An asynchronous request that is older starts its queue's slice.
        fifo_expire_async: u64, Ms = 250, 1..=u32::MAX;
        /// The longest backward step.
        back_seek_max: u64, KiB = 16_384, 0..=u32::MAX;
        /// The cost of a backward step, as a multiple of a forward one.
        back_seek_penalty: u64, Factor = 2, 1..=u32::MAX;
        /// The slice of a synchronous queue of level 4; each level changes it by a fifth.
        slice_sync: u64, Ms = 100, 1..=u32::MAX;
        /// The slice of an asynchronous queue of level 4.
        slice_async: u64, Ms = 40, 1..=u32::MAX;
        /// A slice ends early after this many asynchronous requests, times 2 at level 7, 4 at level 6, 6 at level 5,
        /// and so on.
        slice_async_rq: u64, Count = 2, 1..=u32::MAX;
        /// How long the disk idles for the next request of a process; 0 for never.
        slice_idle: u64, Ms = 8, 0..=u32::MAX;
    }
}

/// The idle class is served when no other class was served for this long.
const IDLE_GRACE: Nanos = Nanos::from_millis(100);
/// How long the disk idles for a process that seeks.
const SEEKY_IDLE: Nanos = Nanos::from_millis(2);
/// The kernel's tick, where it is visible.
const TICK: Nanos = Nanos::from_millis(1);
/// The queues that all processes share: eight levels of real time, eight of best effort, idle.
const SHARED: usize = 17;

/// What the scheduler knows about a request.
#[derive(Clone, Copy, Debug)]
struct Entry {
    queue: CfqQueueId,
    context: IoContextId,
    started: Nanos,
}

/// Completely fair queueing, as in Linux 2.6.24.
#[derive(Clone, Debug)]
pub(crate) struct Cfq {
    queues: Vec<CfqQueue>,
    tree: CfqServiceTree,
    processes: IoContexts<CfqIoContext>,
    /// The queue that has its slice now.
    active: Option<CfqQueueId>,
    /// The process served first in this slice.
    active_process: Option<IoContextId>,
    /// When idling for the active queue ends.
    idle_timer: Option<Nanos>,
    /// When the idle class may be served.
    grace_timer: Option<Nanos>,
    /// When the last request of another class than idle was complete.
    last_end: Nanos,
    /// The end of the last request sent to the device.
    position: Lba,
    /// Requests at the device.
    in_device: u32,
    /// Requests of synchronous queues in the dispatch queue or at the device.
    sync_in_flight: u32,
    /// Whether the device has ever held more than four requests.
    device_queues: bool,
    /// The dispatch queue.
    ready: VecDeque<RequestId>,
    links: Links,
    entries: Vec<Option<Entry>>,
    queued: usize,
    merge: MergeIndex,
    /// The time of the present call.
    now: Nanos,
    tunables: CfqTunables,
}

impl Default for Cfq {
    fn default() -> Self {
        let mut queues = vec![CfqQueue::default(); SHARED];
        for (i, queue) in queues.iter_mut().enumerate() {
            let class = match i / 8 {
                0 => PriorityClass::RealTime,
                1 => PriorityClass::BestEffort,
                _ => PriorityClass::Idle,
            };
            queue.set_priority(class, (i % 8) as u8);
        }
        Self {
            queues,
            tree: CfqServiceTree::default(),
            processes: IoContexts::default(),
            active: None,
            active_process: None,
            idle_timer: None,
            grace_timer: None,
            last_end: Nanos::ZERO,
            position: Lba(0),
            in_device: 0,
            sync_in_flight: 0,
            device_queues: false,
            ready: VecDeque::new(),
            links: Links::default(),
            entries: Vec::new(),
            queued: 0,
            merge: MergeIndex::new(),
            now: Nanos::ZERO,
            tunables: CfqTunables::default(),
        }
    }
}

impl Cfq {
    /// An empty queue.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    fn queue(&mut self, id: CfqQueueId) -> &mut CfqQueue {
        &mut self.queues[id.0 as usize]
    }

    fn entry(&self, id: RequestId) -> Entry {
        self.entries[id.index()].expect("a queued request is known")
    }

    /// The queue for `rq`, whose process has `context`.
    fn queue_for(&self, rq: &Request, context: IoContextId) -> CfqQueueId {
        if rq.is_sync() {
            return CfqQueueId((SHARED + context.index()) as u32);
        }
        CfqQueueId(match rq.priority.effective_class() {
            PriorityClass::RealTime => u32::from(rq.priority.level),
            PriorityClass::Idle => 16,
            _ => 8 + u32::from(rq.priority.level),
        })
    }

    /// The I/O context of `process`, which has a queue of its own.
    fn context(&mut self, process: ProcessId) -> IoContextId {
        if let Some(context) = self.processes.find(process) {
            return context;
        }
        let context = self.processes.add(process, CfqIoContext::new(self.now));
        let own = SHARED + context.index();
        if own == self.queues.len() {
            self.queues.push(CfqQueue::default());
        }
        self.queues[own].begin();
        context
    }

    /// Inserts `id` into the sector order of its queue. A request that starts at the same sector is sent to the device.
    fn sort(&mut self, rqs: &Requests, id: RequestId) {
        let (lba, queue) = (rqs[id].lba, self.entry(id).queue);
        if let Some(twin) = self.queue(queue).sorted.at(lba) {
            self.send(rqs, twin);
        }
        self.queue(queue).sorted.insert(lba, id);
        self.queued += 1;
        if !self.queue(queue).is_busy {
            self.queue(queue).is_busy = true;
            self.tree.busy += 1;
            self.resort(queue);
        }
        let next = self.queue(queue).next;
        self.queue(queue).next = self.better(rqs, next, Some(id));
    }

    /// Removes `id` from its queue.
    fn unqueue(&mut self, rqs: &Requests, id: RequestId) {
        let (rq, queue) = (&rqs[id], self.entry(id).queue);
        if self.queue(queue).next == Some(id) {
            self.queue(queue).next = self.after(rqs, queue, id);
        }
        let q = &mut self.queues[queue.0 as usize];
        q.fifo.remove(&mut self.links, id);
        q.sorted.remove(rq.lba, id);
        if rq.flags.contains(Flags::META) {
            q.meta_pending -= 1;
        }
        self.queued -= 1;
        if q.sorted.is_empty() && q.is_busy {
            q.is_busy = false;
            self.tree.busy -= 1;
            self.tree.remove(q, queue);
        }
    }

    /// Drops the entry of `id`, which is complete or merged.
    fn forget(&mut self, id: RequestId) {
        let Entry { queue, context, .. } = self.entry(id);
        self.entries[id.index()] = None;
        if self.processes.release(context) && self.active == Some(queue) && queue.0 as usize >= SHARED {
            // It was the last request of an exited process.
            self.expire_slice(false);
        }
    }
}

impl MergeTarget for Cfq {
    fn merge_index(&mut self) -> &mut MergeIndex {
        &mut self.merge
    }

    /// Only requests in the queue that `new` would go to.
    fn allows(&self, rqs: &Requests, host: RequestId, new: RequestId) -> bool {
        match self.processes.find(rqs[new].process) {
            Some(context) => self.entry(host).queue == self.queue_for(&rqs[new], context),
            None => false,
        }
    }

    /// Only neighbours in the sector order of one queue.
    fn allows_coalescing(&self, rqs: &Requests, host: RequestId, other: RequestId) -> bool {
        let (lba, queue) = (rqs[host].lba, self.entry(host).queue);
        self.entry(other).queue == queue && self.queues[queue.0 as usize].sorted.adjacent(lba, host, other)
    }

    fn moved(&mut self, rqs: &Requests, host: RequestId, old_lba: Lba) {
        let queue = self.entry(host).queue;
        self.queue(queue).sorted.remove(old_lba, host);
        self.queued -= 1;
        self.sort(rqs, host);
    }

    fn absorb(&mut self, rqs: &Requests, host: RequestId, gone: RequestId) {
        let sooner = self.entry(host).started.min(self.entry(gone).started);
        self.entries[host.index()] = Some(Entry { started: sooner, ..self.entry(host) });
        self.unqueue(rqs, gone);
        self.forget(gone);
    }
}

impl Scheduler for Cfq {
    fn try_merge(&mut self, rqs: &mut Requests, id: RequestId, limits: &MergeLimits, now: Nanos) -> Option<Merged> {
        self.advance(now);
        try_merge(self, rqs, id, limits)
    }

    fn insert(&mut self, rqs: &mut Requests, id: RequestId, now: Nanos) {
        self.advance(now);
        let rq = &rqs[id];
        let context = self.context(rq.process);
        self.processes.hold(context);
        let queue = self.queue_for(rq, context);
        if id.index() >= self.entries.len() {
            self.entries.resize(id.index() + 1, None);
        }
        self.entries[id.index()] = Some(Entry { queue, context, started: now });
        if rq.is_sync() {
            self.queue(queue).set_priority(rq.priority.effective_class(), rq.priority.level);
        } else {
            self.processes[context].shared = Some(queue);
        }
        self.sort(rqs, id);
        let q = &mut self.queues[queue.0 as usize];
        q.fifo.push_back(&mut self.links, id);
        self.merge.add(rqs, id);
        self.arrived(rqs, id);
    }

    fn dispatch(&mut self, rqs: &mut Requests, now: Nanos) -> Dispatch {
        self.advance(now);
        if self.ready.is_empty() {
            self.serve(rqs);
        }
        if let Some(id) = self.ready.pop_front() {
            self.queued -= 1;
            self.in_device += 1;
            self.device_queues |= self.in_device > 4;
            self.position = rqs[id].end();
            return Dispatch::Request(id);
        }
        match self.idle_timer.or(self.grace_timer) {
            Some(until) if self.queued > 0 => Dispatch::WaitUntil(until),
            _ => Dispatch::Empty,
        }
    }

    fn withdraw(&mut self, rqs: &mut Requests, id: RequestId, now: Nanos) {
        self.advance(now);
        match self.ready.iter().position(|&ready| ready == id) {
            Some(at) => {
                self.ready.remove(at);
                self.queued -= 1;
                let queue = self.entry(id).queue;
                let q = self.queue(queue);
                q.in_flight -= 1;
                self.sync_in_flight -= u32::from(self.queues[queue.0 as usize].is_sync);
            }
            None => {
                self.unqueue(rqs, id);
                self.merge.remove(rqs, id);
            }
        }
        self.forget(id);
    }

    fn idles_until(&mut self, _: &mut Requests, now: Nanos) -> Option<Nanos> {
        self.advance(now);
        let active = self.active?;
        self.idle_timer.filter(|_| !self.queues[active.0 as usize].slice_is_used(now))
    }

    fn completed(&mut self, rqs: &mut Requests, id: RequestId, now: Nanos) {
        self.advance(now);
        let Entry { queue, context, .. } = self.entry(id);
        let sync = rqs[id].is_sync();
        self.in_device -= 1;
        let q = self.queue(queue);
        q.in_flight -= 1;
        if !q.is_idle_class() {
            self.last_end = now;
        }
        if self.queue(queue).is_sync {
            self.sync_in_flight -= 1;
        }
        if sync {
            self.processes[context].last_end = now;
        }
        if self.active == Some(queue) {
            self.slice_goes_on(queue, sync);
        }
        self.forget(id);
    }

    fn process_exited(&mut self, process: ProcessId, now: Nanos) {
        self.advance(now);
        let Some(context) = self.processes.find(process) else { return };
        let own = CfqQueueId((SHARED + context.index()) as u32);
        if self.active.is_some() && (self.active == Some(own) || self.active == self.processes[context].shared) {
            self.expire_slice(false);
        }
        self.processes.exit(process);
    }

    fn queued(&self) -> usize {
        self.queued
    }

    plain_tunables!();
}
