//! Plugging: holding requests back for a moment so that they can merge.
//!
//! Linux 2.6 plugs the *device*: the first request into an empty queue waits until there are four, 3 ms have passed, a
//! task waits for its request, or one completes. Linux 6.x plugs the *task*: what it submits in one go is kept on a
//! list of its own, merged there, and inserted when the task sleeps or the list is full.
//!
//! Write-back is submitted bio by bio under one plug, some microseconds apart, and so is a journal. A trace has each bio as
//! an arrival of its own. So a list that ends with a write stays while its task goes on within [`PLUG_GAP`] without waiting
//! for anything.

use iopilot_block::{Criticality, Flags, Nanos, Request, RequestId, Requests};
use iopilot_sched::{MergeLimits, compatible};
use std::collections::VecDeque;

/// `unplug_thresh` of 2.6.
const UNPLUG_REQUESTS: usize = 4;
/// `unplug_delay` of 2.6.
const UNPLUG_DELAY: Nanos = Nanos::from_millis(3);
/// `BLK_MAX_REQUEST_COUNT` of 6.x.
const PLUG_REQUESTS: usize = 32;
/// `BLK_PLUG_FLUSH_SIZE` of 6.x.
const PLUG_BYTES: u64 = 128 * 1024;

/// The time between two bios of write-back under one plug: less than this, as none sleeps in between. A bio of 1 MiB takes the
/// kernel some tens of microseconds.
pub(crate) const PLUG_GAP: Nanos = Nanos::from_micros(100);

/// Where requests are held back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plugging {
    /// Nowhere.
    Off,
    /// The device's queue (Linux 2.6).
    Device,
    /// The submitting task (Linux 6.x).
    Task,
}

/// The state of either kind of plug.
#[derive(Clone, Debug)]
pub(crate) struct Plug {
    kind: Plugging,
    /// What the present task holds.
    held: VecDeque<RequestId>,
    /// When the device's plug is pulled at the latest; `None` where it is not plugged.
    unplug_at: Option<Nanos>,
    /// When the task's list is flushed at the latest, where it stays after a batch.
    open_until: Option<Nanos>,
    /// Whether the present task will wait for a request of its batch.
    waits: bool,
}

impl Plug {
    pub(crate) fn new(kind: Plugging) -> Self {
        Self { kind, held: VecDeque::new(), unplug_at: None, open_until: None, waits: false }
    }

    /// Whether nothing may be dispatched now.
    pub(crate) fn is_plugged(&self) -> bool {
        self.unplug_at.is_some()
    }

    /// When the device's plug is pulled at the latest.
    pub(crate) fn unplug_at(&self) -> Option<Nanos> {
        self.unplug_at
    }

    /// Pulls the device's plug.
    pub(crate) fn unplug(&mut self) {
        self.unplug_at = None;
    }

    /// Joins `new` to the last request the task holds, where that fits.
    pub(crate) fn try_merge(&self, rqs: &mut Requests, new: RequestId, limits: &MergeLimits) -> bool {
        let Some(&last) = self.held.back() else { return false };
        if limits.nomerges >= 2 || rqs[last].process != rqs[new].process || !compatible(&rqs[last], &rqs[new], limits) {
            return false;
        }
        if rqs[last].end() == rqs[new].lba {
            rqs.merge_back(last, new);
            true
        } else if rqs[new].end() == rqs[last].lba {
            rqs.merge_front(last, new);
            true
        } else {
            false
        }
    }

    /// Whether `rq` goes on the task's list; false where tasks do not plug.
    pub(crate) fn holds(&self, rq: &Request) -> bool {
        self.kind == Plugging::Task && rq.op.transfers()
    }

    /// Keeps `id` on the task's list.
    pub(crate) fn hold(&mut self, id: RequestId) {
        self.held.push_back(id);
    }

    /// Whether the task's list is to be flushed before another request goes on it (`blk_add_rq_to_plug`): a long request at its
    /// end can grow until one comes that does not join it.
    /// A list that stayed open is flushed before another task's request, too.
    pub(crate) fn is_full(&self, rqs: &Requests, new: RequestId, limits: &MergeLimits) -> bool {
        let Some(&last) = self.held.back() else { return false };
        self.held.len() >= PLUG_REQUESTS
            || limits.nomerges < 2 && rqs[last].sectors.bytes() >= PLUG_BYTES
            || rqs[last].process != rqs[new].process
    }

    /// Whether the task's list ends with a write.
    pub(crate) fn ends_with_write(&self, rqs: &Requests) -> bool {
        self.held.back().is_some_and(|&last| rqs[last].is_write())
    }

    /// Whether the task's list stays after its batch, as its task goes on at `next`.
    pub(crate) fn stays_open(&mut self, next: Option<Nanos>) -> bool {
        self.open_until = next.filter(|_| !self.held.is_empty());
        self.open_until.is_some()
    }

    /// When a list that stayed open is flushed at the latest.
    pub(crate) fn open_until(&self) -> Option<Nanos> {
        self.open_until
    }

    /// The task's list is about to be flushed.
    pub(crate) fn close(&mut self) {
        self.open_until = None;
    }

    /// The next request to flush from the task's list.
    pub(crate) fn take(&mut self) -> Option<RequestId> {
        self.held.pop_front()
    }

    /// The scheduler took `rq`. Its queue was `idle` before, and holds `queued` requests now.
    pub(crate) fn inserted(&mut self, rq: &Request, idle: bool, queued: usize, now: Nanos) {
        if self.kind != Plugging::Device {
            return;
        }
        // Direct I/O pulls the plug as soon as it is submitted, whether someone waits or not; read-ahead does not.
        let direct = rq.is_sync() && !rq.flags.contains(Flags::READ_AHEAD);
        self.waits |= direct || rq.criticality == Criticality::TimeCritical;
        if idle && self.unplug_at.is_none() {
            self.unplug_at = Some(now + UNPLUG_DELAY);
        }
        if queued >= UNPLUG_REQUESTS {
            self.unplug();
        }
    }

    /// The task's batch is over. A task that sleeps for its read pulls the device's plug.
    pub(crate) fn end_batch(&mut self) {
        if std::mem::take(&mut self.waits) {
            self.unplug();
        }
    }
}
