//! Plugging: holding requests back for a moment so that they can merge.
//!
//! Linux 2.6 plugs the *device*: the first request into an empty queue waits until there are four, 3 ms have passed, a
//! task waits for its request, or one completes. Linux 6.x plugs the *task*: the requests of one batch are kept on the
//! task's list, merged there, and inserted when the task sleeps or the list is full.
//!
//! Write-back is submitted bio by bio under one plug, some microseconds apart, and so is a journal. In a trace, each bio is a
//! separate arrival. Therefore a list that ends with a write stays open while its task continues within [`PLUG_GAP`] without
//! waiting.

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

/// The longest time between two bios of write-back under one plug. The task does not sleep in between, and a bio of 1 MiB
/// takes the kernel some tens of microseconds.
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
    /// The list of the present task.
    held: VecDeque<RequestId>,
    /// The latest time at which the device is unplugged; `None` if it is not plugged.
    unplug_at: Option<Nanos>,
    /// The latest time at which the task's list is flushed, if it stays open after a batch.
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

    /// The latest time at which the device is unplugged.
    pub(crate) fn unplug_at(&self) -> Option<Nanos> {
        self.unplug_at
    }

    /// Unplugs the device.
    pub(crate) fn unplug(&mut self) {
        self.unplug_at = None;
    }

    /// Merges `new` into the last request of the task's list, if they are adjacent.
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

    /// Whether `rq` goes on the task's list; false if tasks do not plug.
    pub(crate) fn holds(&self, rq: &Request) -> bool {
        self.kind == Plugging::Task && rq.op.transfers()
    }

    /// Appends `id` to the task's list.
    pub(crate) fn hold(&mut self, id: RequestId) {
        self.held.push_back(id);
    }

    /// Whether the task's list is flushed before another request joins it (`blk_add_rq_to_plug`). A long request at its end can
    /// grow until a request arrives that does not merge with it. A list that stayed open is also flushed before the request of
    /// another task.
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

    /// Whether the task's list stays open after its batch, because the task continues at `next`.
    pub(crate) fn stays_open(&mut self, next: Option<Nanos>) -> bool {
        self.open_until = next.filter(|_| !self.held.is_empty());
        self.open_until.is_some()
    }

    /// The latest time at which a list that stayed open is flushed.
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
        // Direct I/O unplugs the device when it is submitted, whether its task waits or not. Read-ahead does not.
        let direct = rq.is_sync() && !rq.flags.contains(Flags::READ_AHEAD);
        self.waits |= direct || rq.criticality == Criticality::TimeCritical;
        if idle && self.unplug_at.is_none() {
            self.unplug_at = Some(now + UNPLUG_DELAY);
        }
        if queued >= UNPLUG_REQUESTS {
            self.unplug();
        }
    }

    /// The task's batch has ended. A task that sleeps for its read unplugs the device.
    pub(crate) fn end_batch(&mut self) {
        if std::mem::take(&mut self.waits) {
            self.unplug();
        }
    }
}
