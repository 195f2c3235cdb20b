//! The queue of a process, and the state of the process.

use crate::io_contexts::IoContextId;
use crate::jiffies::Jiffies;
use iopilot_block::{IoPriority, List, Nanos, PriorityClass, RequestId, Slab, SlotIndex, SortedIndex};
use std::ops::{Index, IndexMut};

/// `IOPRIO_BE_NORM`: the level of a process of nice 0.
const NORMAL_LEVEL: u8 = 4;

/// Names a queue in its slab. Names are reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct QueueId(pub(super) u32);

impl SlotIndex for QueueId {
    fn index(self) -> usize {
        self.0 as usize
    }

    fn from_index(index: usize) -> Self {
        Self(u32::from_index(index))
    }
}

/// Which of the two trees of its class an entity is in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum TreeMembership {
    #[default]
    Nowhere,
    Active,
    Idle,
}

/// The state of a queue in B-WF2Q+. Service and budget are in sectors, times in virtual time.
#[derive(Clone, Debug, Default)]
pub(super) struct Entity {
    pub(super) start: u64,
    pub(super) finish: u64,
    pub(super) service: i64,
    pub(super) budget: i64,
    /// Its present weight: `own_weight` times the weight-raising coefficient.
    pub(super) weight: u64,
    pub(super) own_weight: u64,
    /// The next value of `own_weight`.
    pub(super) new_weight: u64,
    pub(super) prio_changed: bool,
    pub(super) tree: TreeMembership,
    /// Whether it is in a tree or in service.
    pub(super) scheduled: bool,
    /// The number of its last insertion into the active tree.
    pub(super) activation: u64,
}

/// The weight raising of a queue. It is saved over a merge.
#[derive(Clone, Copy, Debug)]
pub(super) struct WeightRaising {
    pub(super) coeff: u64,
    /// Its longest duration, in jiffies.
    pub(super) max_time: i64,
    /// When it began; for a queue that is not raised, when it last could have begun.
    pub(super) changed: Jiffies,
    /// When the interactive raising began that a soft real-time raising replaced.
    pub(super) interactive_since: Jiffies,
    /// Sectors served while raised.
    pub(super) service: i64,
}

/// The think time and injection state of a queue. It is saved over a merge.
#[derive(Clone, Copy, Debug)]
pub(super) struct Behaviour {
    pub(super) has_short_think_time: bool,
    pub(super) io_bound: bool,
    pub(super) last_end: Nanos,
    pub(super) think_total: u64,
    pub(super) think_samples: u64,
    pub(super) think_mean: u64,
    pub(super) io_start: Nanos,
    pub(super) idle_total: u64,
    /// The total service time of a request without injection before it, ns; 0 while unknown.
    pub(super) base_service: u64,
    pub(super) inject_limit: u32,
    pub(super) limit_changed: Jiffies,
}

/// The queue of one process, or of several that cooperate (`struct bfq_queue`).
#[derive(Clone, Debug)]
pub(super) struct BfqQueue {
    pub(super) live: bool,
    pub(super) sync: bool,
    /// The process that it belongs to, unless it is shared.
    pub(super) owner: Option<IoContextId>,
    /// How many processes use it or are about to.
    pub(super) process_refs: u32,
    pub(super) stable_refs: u32,
    /// How many of its requests are queued or in flight.
    pub(super) allocated: u32,
    pub(super) entity: Entity,
    /// Real time, best effort, idle: 0, 1, 2.
    pub(super) class: usize,
    pub(super) new_class: usize,
    pub(super) level: u8,
    /// The weight under which it is counted in [`Bfq::weights`](super::Bfq).
    pub(super) counted_weight: Option<u64>,

    pub(super) sorted: SortedIndex,
    pub(super) fifo: List,
    pub(super) next: Option<RequestId>,
    /// Asynchronous and synchronous.
    pub(super) queued: [u32; 2],
    pub(super) dispatched: u32,
    pub(super) max_budget: i64,
    /// The end of its time slice; if it has no requests queued or in flight, when its last one completed.
    pub(super) budget_timeout: Jiffies,
    pub(super) created: Jiffies,
    pub(super) first_service: Jiffies,
    pub(super) last_request_end: u64,
    /// A bit for each of the last 32 requests, set if it was far from its predecessor.
    pub(super) seek_history: u32,
    /// Its key in the index of positions.
    pub(super) position: Option<u64>,

    pub(super) busy: bool,
    pub(super) just_created: bool,
    /// Whether the device idles for it.
    pub(super) waiting: bool,
    pub(super) non_blocking_wait: bool,
    pub(super) fifo_checked: bool,
    pub(super) in_burst_list: bool,
    pub(super) in_large_burst: bool,
    pub(super) soft_rt_update: bool,

    pub(super) behaviour: Behaviour,
    pub(super) raising: WeightRaising,
    pub(super) soft_rt_next_start: Jiffies,
    pub(super) last_idle_backlogged: Jiffies,
    pub(super) service_from_backlogged: i64,

    /// Whether several processes use it.
    pub(super) cooperative: bool,
    pub(super) split_wanted: bool,
    pub(super) split_time: Jiffies,
    /// The queue that its processes use from their next request on.
    pub(super) merged_into: Option<QueueId>,

    pub(super) waker: Option<QueueId>,
    pub(super) tentative_waker: Option<QueueId>,
    pub(super) waker_detections: u32,
    pub(super) waker_detection_started: Nanos,
    /// The queues that it wakes, the latest last.
    pub(super) woken: Vec<QueueId>,
}

impl BfqQueue {
    /// A queue created at `now`. `sorted` and `woken` are recycled.
    pub(super) fn new(sync: bool, priority: IoPriority, now: Nanos, sorted: SortedIndex, woken: Vec<QueueId>) -> Self {
        let jiffies = Jiffies::at(now);
        let (class, level) = class_and_level(priority);
        let weight = weight_of(level);
        Self {
            live: true,
            sync,
            owner: None,
            process_refs: 0,
            stable_refs: 0,
            allocated: 0,
            entity: Entity { weight, own_weight: weight, new_weight: weight, prio_changed: true, ..Entity::default() },
            class,
            new_class: class,
            level,
            counted_weight: None,
            sorted,
            fifo: List::new(),
            next: None,
            queued: [0; 2],
            dispatched: 0,
            max_budget: 0,
            budget_timeout: Jiffies::LONG_AGO,
            created: jiffies,
            first_service: Jiffies::LONG_AGO,
            last_request_end: 0,
            seek_history: 1,
            position: None,
            busy: false,
            just_created: sync,
            waiting: false,
            non_blocking_wait: false,
            fifo_checked: false,
            in_burst_list: false,
            in_large_burst: false,
            soft_rt_update: false,
            behaviour: Behaviour {
                has_short_think_time: sync && class < 2,
                io_bound: true,
                // One step after now. Times are compared as unsigned numbers, so this is infinitely long ago.
                last_end: Nanos(now.0 + 1),
                think_total: 0,
                think_samples: 0,
                think_mean: 0,
                io_start: now,
                idle_total: 0,
                base_service: 0,
                inject_limit: 0,
                limit_changed: jiffies,
            },
            raising: WeightRaising {
                coeff: 1,
                max_time: 0,
                changed: jiffies,
                interactive_since: Jiffies::LONG_AGO,
                service: 0,
            },
            soft_rt_next_start: jiffies,
            last_idle_backlogged: Jiffies::LONG_AGO,
            service_from_backlogged: 0,
            cooperative: false,
            split_wanted: false,
            split_time: Jiffies::LONG_AGO,
            merged_into: None,
            waker: None,
            tentative_waker: None,
            waker_detections: 0,
            waker_detection_started: Nanos::ZERO,
            woken,
        }
    }

    /// Whether more than 19 of its last 32 requests were far from their predecessors.
    pub(super) fn seeky(&self) -> bool {
        self.seek_history.count_ones() > 19
    }

    pub(super) fn budget_left(&self) -> i64 {
        self.entity.budget - self.entity.service
    }
}

/// The class as 0, 1 or 2, and the level, that bfq uses. If none was set, those of a process of nice 0.
pub(super) fn class_and_level(priority: IoPriority) -> (usize, u8) {
    match priority.class {
        PriorityClass::RealTime => (0, priority.level.min(7)),
        PriorityClass::BestEffort => (1, priority.level.min(7)),
        PriorityClass::None => (1, NORMAL_LEVEL),
        PriorityClass::Idle => (2, 7),
    }
}

/// `bfq_ioprio_to_weight`.
pub(super) fn weight_of(level: u8) -> u64 {
    u64::from(8 - level.min(7)) * 10
}

/// The saved state of a process' own queue while the process shares another one.
#[derive(Clone, Copy, Debug)]
pub(super) struct SavedQueueState {
    pub(super) behaviour: Behaviour,
    pub(super) raising: WeightRaising,
    pub(super) weight: u64,
    pub(super) was_in_burst_list: bool,
    pub(super) in_large_burst: bool,
}

/// The state of a process that issues requests (`bfq_io_cq`).
#[derive(Clone, Debug, Default)]
pub(super) struct BfqIoContext {
    pub(super) priority: IoPriority,
    /// The queues of its asynchronous and of its synchronous requests.
    pub(super) queues: [Option<QueueId>; 2],
    pub(super) saved: Option<SavedQueueState>,
    pub(super) stably_merged: bool,
    /// The queue with which its own may merge after a trial period.
    pub(super) stable_merge: Option<QueueId>,
}

/// All queues.
#[derive(Clone, Debug, Default)]
pub(super) struct BfqQueues(Slab<BfqQueue, QueueId>);

impl BfqQueues {
    pub(super) fn insert(&mut self, sync: bool, priority: IoPriority, now: Nanos) -> QueueId {
        self.0.insert_with(|old| {
            let (sorted, mut woken) =
                old.map(|old| (std::mem::take(&mut old.sorted), std::mem::take(&mut old.woken))).unwrap_or_default();
            woken.clear();
            BfqQueue::new(sync, priority, now, sorted, woken)
        })
    }

    pub(super) fn remove(&mut self, q: QueueId) {
        self.0.remove(q).live = false;
    }

    /// The queues in use, by index.
    pub(super) fn live(&self) -> impl Iterator<Item = QueueId> + use<> {
        let live: Vec<_> = (0..self.0.slots()).map(QueueId::from_index).filter(|&q| self[q].live).collect();
        live.into_iter()
    }
}

impl Index<QueueId> for BfqQueues {
    type Output = BfqQueue;
    fn index(&self, q: QueueId) -> &BfqQueue {
        &self.0[q]
    }
}

impl IndexMut<QueueId> for BfqQueues {
    fn index_mut(&mut self, q: QueueId) -> &mut BfqQueue {
        &mut self.0[q]
    }
}
