//! The queue of a process, and the history of a process.

use crate::decay::DecayingMean;
use iopilot_block::{Lba, List, Nanos, PriorityClass, RequestId, SortedIndex};

/// Names a queue: the shared ones first, then one for each process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CfqQueueId(pub(super) u32);

/// A position in the order of service: class, then the time of service, then order of arrival.
pub(super) type ServicePosition = (u8, i64, u64);

/// A queue (`struct cfq_queue`): the synchronous requests of one process, or asynchronous requests of all processes.
#[derive(Clone, Debug, Default)]
pub(super) struct CfqQueue {
    pub(super) sorted: SortedIndex,
    /// In order of arrival.
    pub(super) fifo: List,
    /// The next request in the order of the elevator.
    pub(super) next: Option<RequestId>,
    /// How many metadata requests are queued.
    pub(super) meta_pending: u32,
    /// How many of its requests are in the dispatch queue or at the device.
    pub(super) in_flight: u64,
    /// Whether it is in the service tree.
    pub(super) is_busy: bool,
    /// Its position in the service tree.
    pub(super) place: Option<ServicePosition>,
    class: PriorityClass,
    level: u8,
    /// Whether it belongs to one process.
    pub(super) is_sync: bool,
    /// When its slice ends; `None` before the first request of the slice is complete.
    pub(super) slice_end: Option<Nanos>,
    /// The unused rest of its last slice, in nanoseconds.
    pub(super) slice_rest: i64,
    /// Whether its oldest request was checked in this slice.
    pub(super) age_checked: bool,
    /// Whether the disk may idle for it.
    pub(super) idles: bool,
    /// Whether the disk is idling for it.
    pub(super) is_awaited: bool,
}

impl CfqQueue {
    /// Resets it for a new process.
    pub(super) fn begin(&mut self) {
        debug_assert!(self.sorted.is_empty() && self.in_flight == 0);
        self.is_sync = true;
        self.idles = true;
        self.is_awaited = false;
        self.slice_end = None;
        self.slice_rest = 0;
        (self.class, self.level) = (PriorityClass::None, 0);
    }

    pub(super) fn set_priority(&mut self, class: PriorityClass, level: u8) {
        if class == PriorityClass::Idle {
            if self.class != class {
                self.idles = false;
            }
            self.level = 7;
        } else {
            self.level = level.min(7);
        }
        self.class = class;
    }

    pub(super) fn is_idle_class(&self) -> bool {
        self.class == PriorityClass::Idle
    }

    pub(super) fn class(&self) -> PriorityClass {
        self.class
    }

    pub(super) fn level(&self) -> u8 {
        self.level
    }

    /// Whether its slice is over. A slice begins when its first request is complete.
    pub(super) fn slice_is_used(&self, now: Nanos) -> bool {
        self.slice_end.is_some_and(|end| now >= end)
    }
}

/// The history of one process (`struct cfq_io_context`).
#[derive(Clone, Debug)]
pub(super) struct CfqIoContext {
    /// When its last synchronous request was complete; before the first, when its first request arrived.
    pub(super) last_end: Nanos,
    /// The end of its last request.
    pub(super) position: Lba,
    /// Times from a completion to the next request, in nanoseconds.
    pub(super) think: DecayingMean,
    /// Distances between requests, in sectors.
    pub(super) seek: DecayingMean,
    /// The shared queue that it used last.
    pub(super) shared: Option<CfqQueueId>,
}

impl CfqIoContext {
    pub(super) fn new(now: Nanos) -> Self {
        Self {
            last_end: now,
            position: Lba(0),
            think: DecayingMean::default(),
            seek: DecayingMean::default(),
            shared: None,
        }
    }

    /// Whether its mean seek is longer than 8192 sectors, which is 4 MiB.
    pub(super) fn seeks(&self) -> bool {
        self.seek.mean() > 8 * 1024
    }
}
