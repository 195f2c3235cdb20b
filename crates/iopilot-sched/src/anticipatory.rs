//! `as` (Linux 2.6.24): the anticipatory scheduler (Carroll 2.2.5 and 2.4.4; Iyer and Druschel 2001).
//!
//! Synchronous and asynchronous requests go in batches of time. Within a batch the order is a one-way elevator that
//! allows short steps back, at twice the cost of a step ahead. After a synchronous request, the scheduler keeps the
//! disk idle for up to `antic_expire` if the process that waited for it is likely to issue another one soon and nearby.
//! It tracks the think times and seek distances of processes for that. So a process that reads sequentially keeps the
//! arm between two reads, instead of losing it to others. Deadlines are checked once in each expiry interval.
//!
//! Time is continuous here where the kernel counts ticks. Where a rule is in ticks, a tick is 1 ms (`CONFIG_HZ=1000`).
//! The kernel's limit for a step back is 1024 x 1024 *sectors*, not the 1 MiB that Carroll reports. Two faults of
//! 2.6.24 are mended as later kernels did. Front merges look for reads among the synchronous requests. A batch of
//! writes that had to wait for reads in flight begins when those complete; in 2.6.24 it counted as expired, so that
//! writes starved on a disk that queues.
//!
//! Set `linux_2_6_23=1` to compare with measurements of kernels before 2.6.24, such as González-Férez' (thesis of
//! 2012). It brings the second fault back. It also starts batches where the last batch of their kind ended instead of
//! at the oldest request (Carroll 3.4.2).

mod batch;
mod history;
mod wait;

use self::history::{AsIoContext, NewProcessStats};
use crate::back_seek::BackSeek;
use crate::deadlines::Deadlines;
use crate::io_contexts::{IoContextId, IoContexts};
use crate::tunables::{plain_tunables, tunables};
use crate::{Dispatch, MergeIndex, MergeLimits, MergeTarget, Merged, Scheduler, try_merge};
use iopilot_block::{Lba, Nanos, ProcessId, Request, RequestId, Requests, SortedIndex};
use std::collections::VecDeque;

tunables! {
    /// The tunables of `as`, as in `/sys/block/*/queue/iosched` of Linux 2.6.24 (Carroll, table 2.3), and one of our
    /// own.
    pub(crate) struct AnticipatoryTunables {
        /// Deadline of a synchronous request, and how often such deadlines are checked.
        read_expire: u64, Ms = 125, 0..=2_147_483_647;
        /// Deadline of an asynchronous request, and how often such deadlines are checked.
        write_expire: u64, Ms = 250, 0..=2_147_483_647;
        /// How long a batch of synchronous requests lasts while asynchronous ones wait.
        read_batch_expire: u64, Ms = 500, 0..=2_147_483_647;
        /// The target length of a batch of asynchronous requests while synchronous ones wait.
        write_batch_expire: u64, Ms = 125, 0..=2_147_483_647;
        /// How long the disk idles for the next request of a process; 0 for never.
        antic_expire: f64, Ms = 6.7, 0..=2_147_483_647;
        /// Behave as Linux 2.6.23 did, to compare with measurements of kernels before 2.6.24. No kernel has this
        /// tunable.
        linux_2_6_23: bool, Bool = false, 0..=1;
    }
}

/// `MAXBACK` and its penalty.
const BACK_SEEK: BackSeek = BackSeek { max: 1024 * 1024, penalty: 2 };
/// A request of another process within this distance ends anticipation at once, in sectors.
const CLOSE: u64 = 8192;
/// The kernel's tick, where it is visible.
const TICK: Nanos = Nanos::from_millis(1);

const ASYNC: usize = 0;
const SYNC: usize = 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Anticipation {
    Off,
    /// Until the last synchronous request is complete. The timer starts then.
    WaitRequest,
    /// Until the process issues a request, or until this time.
    WaitNext(Nanos),
    /// A request ended the anticipation, or the timer expired: the next request goes, whatever it is.
    Finished,
}

/// The anticipatory scheduler of Linux 2.6.24.
#[derive(Clone, Debug)]
pub(crate) struct Anticipatory {
    sorted: [SortedIndex; 2],
    deadlines: Deadlines<2>,
    next: [Option<RequestId>; 2],
    /// The end of the last dispatched request of each kind.
    last_end: [Lba; 2],
    last_look: [Nanos; 2],
    /// The kind of the present batch.
    batch: usize,
    batch_expires: Nanos,
    /// The batch has changed and waits for the requests in flight.
    changed_batch: bool,
    /// The batch of synchronous requests begins when its first request is complete.
    new_batch: bool,
    /// How many writes a batch may have. It adapts to `write_batch_expire`.
    write_batch_count: i64,
    writes_left: i64,
    write_batch_idled: bool,
    anticipation: Anticipation,
    /// When the candidate's last request was complete: the anticipation counts from there.
    anticipating_since: Nanos,
    /// The process of the last dispatched request, if that was synchronous.
    candidate: Option<IoContextId>,
    /// Whether that request is complete.
    candidate_finished: bool,
    in_flight: usize,
    processes: IoContexts<AsIoContext>,
    newcomers: NewProcessStats,
    /// The I/O context of each request's process, by the request's index.
    context: Vec<Option<IoContextId>>,
    ready: VecDeque<RequestId>,
    merge: MergeIndex,
    /// The time of the present call.
    now: Nanos,
    tunables: AnticipatoryTunables,
}

impl Default for Anticipatory {
    fn default() -> Self {
        let tunables = AnticipatoryTunables::default();
        Self {
            sorted: Default::default(),
            deadlines: Deadlines::default(),
            next: [None; 2],
            last_end: [Lba(0); 2],
            last_look: [Nanos::ZERO; 2],
            batch: ASYNC,
            batch_expires: Nanos::from_millis(tunables.read_batch_expire),
            changed_batch: false,
            new_batch: false,
            write_batch_count: (tunables.write_batch_expire / 10).max(2) as i64,
            writes_left: 0,
            write_batch_idled: false,
            anticipation: Anticipation::Off,
            anticipating_since: Nanos::ZERO,
            candidate: None,
            candidate_finished: false,
            in_flight: 0,
            processes: IoContexts::default(),
            newcomers: NewProcessStats::default(),
            context: Vec::new(),
            ready: VecDeque::new(),
            merge: MergeIndex::new(),
            now: Nanos::ZERO,
            tunables,
        }
    }
}

fn kind_of(rq: &Request) -> usize {
    usize::from(rq.is_sync())
}

impl Anticipatory {
    /// An empty queue.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    fn antic_expire(&self) -> Nanos {
        Nanos::from_millis_f64(self.tunables.antic_expire)
    }

    fn batch_expire(&self, kind: usize) -> Nanos {
        let t = &self.tunables;
        Nanos::from_millis(if kind == SYNC { t.read_batch_expire } else { t.write_batch_expire })
    }

    fn fifo_expire(&self, kind: usize) -> Nanos {
        Nanos::from_millis(if kind == SYNC { self.tunables.read_expire } else { self.tunables.write_expire })
    }

    fn context_of(&self, id: RequestId) -> IoContextId {
        self.context[id.index()].expect("a queued request has its process")
    }

    /// The better of two requests of one kind, by position alone.
    fn better(&self, rqs: &Requests, a: Option<RequestId>, b: Option<RequestId>) -> Option<RequestId> {
        let (Some(x), Some(y)) = (a, b) else { return a.or(b) };
        let last = self.last_end[kind_of(&rqs[x])];
        Some(if BACK_SEEK.prefers(last, rqs[x].lba, rqs[y].lba) { x } else { y })
    }

    /// The request after `id` in the order of the elevator.
    fn after(&self, rqs: &Requests, id: RequestId) -> Option<RequestId> {
        let (lba, sorted) = (rqs[id].lba, &self.sorted[kind_of(&rqs[id])]);
        let next = sorted.next(lba, id).or_else(|| sorted.first().filter(|&first| first != id));
        self.better(rqs, next, sorted.prev(lba, id))
    }

    /// Inserts `id` in sector order. A request that starts at the same sector is sent to the device.
    fn sort(&mut self, rqs: &Requests, id: RequestId) {
        let (lba, kind) = (rqs[id].lba, kind_of(&rqs[id]));
        if let Some(twin) = self.sorted[kind].at(lba) {
            self.send(rqs, twin);
            let context = self.context_of(twin);
            self.processes[context].ready += 1;
            self.ready.push_back(twin);
        }
        self.sorted[kind].insert(lba, id);
    }

    /// Removes `id` from the sector order. If it was next, its successor becomes next.
    fn unqueue(&mut self, rqs: &Requests, id: RequestId) {
        let (lba, kind) = (rqs[id].lba, kind_of(&rqs[id]));
        let context = self.context_of(id);
        self.processes[context].queued -= 1;
        if self.next[kind] == Some(id) {
            self.next[kind] = self.after(rqs, id);
        }
        self.sorted[kind].remove(lba, id);
    }

    /// Removes `id` from the queues as the last dispatched request.
    fn send(&mut self, rqs: &Requests, id: RequestId) {
        let kind = kind_of(&rqs[id]);
        self.anticipation = Anticipation::Off;
        self.last_end[kind] = rqs[id].end();
        let candidate = (kind == SYNC).then(|| self.context_of(id));
        self.set_candidate(candidate);
        if kind == ASYNC {
            self.writes_left = (self.writes_left - 1).max(0);
        }
        self.candidate_finished = false;
        self.next[kind] = self.after(rqs, id);
        self.unqueue(rqs, id);
        self.deadlines.remove(id);
        self.merge.remove(rqs, id);
        self.in_flight += 1;
    }
}

impl MergeTarget for Anticipatory {
    fn merge_index(&mut self) -> &mut MergeIndex {
        &mut self.merge
    }

    /// Only neighbours in sector order coalesce.
    fn allows_coalescing(&self, rqs: &Requests, host: RequestId, other: RequestId) -> bool {
        let rq = &rqs[host];
        kind_of(&rqs[other]) == kind_of(rq) && self.sorted[kind_of(rq)].adjacent(rq.lba, host, other)
    }

    fn moved(&mut self, rqs: &Requests, host: RequestId, old_lba: Lba) {
        self.sorted[kind_of(&rqs[host])].remove(old_lba, host);
        self.sort(rqs, host);
    }

    fn absorb(&mut self, rqs: &Requests, host: RequestId, gone: RequestId) {
        self.unqueue(rqs, gone);
        self.deadlines.absorb(host, gone);
        self.forget(rqs, gone);
    }
}

impl Anticipatory {
    /// Drops the context of `id`, which is complete or merged.
    fn forget(&mut self, rqs: &Requests, id: RequestId) {
        let context = self.context_of(id);
        if rqs[id].is_sync() {
            self.processes[context].ended(self.now);
        }
        self.context[id.index()] = None;
        self.processes.release(context);
    }
}

impl Scheduler for Anticipatory {
    fn try_merge(&mut self, rqs: &mut Requests, id: RequestId, limits: &MergeLimits, now: Nanos) -> Option<Merged> {
        self.advance(now);
        try_merge(self, rqs, id, limits)
    }

    fn insert(&mut self, rqs: &mut Requests, id: RequestId, now: Nanos) {
        self.advance(now);
        let rq = &rqs[id];
        let kind = kind_of(rq);
        let context =
            self.processes.find(rq.process).unwrap_or_else(|| self.processes.add(rq.process, AsIoContext::default()));
        self.processes.hold(context);
        if id.index() >= self.context.len() {
            self.context.resize(id.index() + 1, None);
        }
        self.context[id.index()] = Some(context);
        self.processes[context].arrived(rq, now, &mut self.newcomers);
        self.processes[context].queued += 1;
        self.sort(rqs, id);
        self.deadlines.push(kind, id, now + self.fifo_expire(kind));
        self.merge.add(rqs, id);
        self.next[kind] = self.better(rqs, Some(id), self.next[kind]);
        let waiting = matches!(self.anticipation, Anticipation::WaitRequest | Anticipation::WaitNext(_));
        if waiting && self.may_break(rqs, Some(id)) {
            self.anticipation = Anticipation::Finished;
        }
    }

    fn dispatch(&mut self, rqs: &mut Requests, now: Nanos) -> Dispatch {
        self.advance(now);
        if let Some(id) = self.ready.pop_front() {
            let context = self.context_of(id);
            self.processes[context].ready -= 1;
            return Dispatch::Request(id);
        }
        if let Some(id) = self.pick(rqs) {
            self.send(rqs, id);
            return Dispatch::Request(id);
        }
        match self.anticipation {
            Anticipation::WaitNext(until) if self.queued() > 0 => Dispatch::WaitUntil(until),
            _ => Dispatch::Empty,
        }
    }

    fn withdraw(&mut self, rqs: &mut Requests, id: RequestId, now: Nanos) {
        self.advance(now);
        if self.deadlines.expires(id).is_none() {
            // A newer request with the same first sector has displaced it, and it counts as sent.
            self.ready.retain(|&other| other != id);
            let context = self.context_of(id);
            self.processes[context].ready -= 1;
            return self.completed(rqs, id, now);
        }
        self.unqueue(rqs, id);
        self.deadlines.remove(id);
        self.merge.remove(rqs, id);
        self.forget(rqs, id);
    }

    /// The same rule as for a wait while only a write is queued.
    fn idles_until(&mut self, rqs: &mut Requests, now: Nanos) -> Option<Nanos> {
        self.advance(now);
        let may = self.batch == SYNC && !self.changed_batch && self.tunables.antic_expire > 0.0;
        let over = !self.candidate_finished || self.anticipation == Anticipation::Finished;
        if may && !over && !self.may_break(rqs, None) {
            self.anticipate();
        }
        match self.anticipation {
            Anticipation::WaitNext(until) => Some(until),
            _ => None,
        }
    }

    fn completed(&mut self, rqs: &mut Requests, id: RequestId, now: Nanos) {
        self.advance(now);
        if self.changed_batch && self.in_flight == 1 {
            self.changed_batch = false;
            if self.batch == SYNC {
                self.new_batch = true;
            } else if !self.tunables.linux_2_6_23 {
                self.batch_expires = now + self.batch_expire(ASYNC);
            }
        }
        self.in_flight -= 1;
        if self.new_batch && self.batch == kind_of(&rqs[id]) {
            self.resize_write_batch();
            self.batch_expires = now + self.batch_expire(SYNC);
            self.new_batch = false;
        }
        if self.candidate == Some(self.context_of(id)) {
            self.anticipating_since = now;
            self.candidate_finished = true;
            if self.anticipation == Anticipation::WaitRequest {
                self.anticipation = Anticipation::WaitNext(now + self.antic_expire());
            }
        }
        self.forget(rqs, id);
    }

    fn process_exited(&mut self, process: ProcessId, now: Nanos) {
        self.advance(now);
        self.processes.exit(process);
    }

    fn queued(&self) -> usize {
        self.sorted[ASYNC].len() + self.sorted[SYNC].len() + self.ready.len()
    }

    plain_tunables!();
}

#[cfg(test)]
mod tests;
