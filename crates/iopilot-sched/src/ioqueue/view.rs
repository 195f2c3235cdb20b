//! [`PolicyView`]: the data from which a policy chooses.

use super::config::IoQueueConfig;
use super::policy::PolicyOrder;
use super::request::{Entry, IoRequest, RequestLocation};
use super::sub_queue::{SubQueue, cylinder_of, key_of, key_of_cylinder, known, mapped};
use iopilot_block::{Lba, Links, Nanos, Op, Positions, RequestId};

/// Whether a request may start.
pub(super) type MayStart<'a> = &'a dyn Fn(&IoRequest) -> bool;

/// The last pick.
#[derive(Clone, Copy, Debug)]
pub(super) struct LastPick {
    pub(super) first: Lba,
    /// Its last block.
    pub(super) block: Lba,
    pub(super) end: Lba,
    /// The cylinder that it named.
    pub(super) cylinder: Option<u32>,
    pub(super) upwards: bool,
    /// The direction of SSTF at the next tie.
    pub(super) tie_upwards: bool,
}

impl Default for LastPick {
    fn default() -> Self {
        let at = Lba(0);
        Self { first: at, block: at, end: at, cylinder: None, upwards: true, tie_upwards: true }
    }
}

/// A sub-queue, and all other data that its policy may use.
pub(super) struct PolicyView<'a> {
    pub(super) config: &'a IoQueueConfig,
    pub(super) sub_queue: &'a SubQueue,
    pub(super) location: RequestLocation,
    pub(super) links: &'a Links,
    pub(super) entries: &'a [Entry],
    pub(super) last: &'a LastPick,
    pub(super) now: Nanos,
    pub(super) positions: Option<&'a dyn Positions>,
    pub(super) may_start: Option<MayStart<'a>>,
}

impl PolicyView<'_> {
    pub(super) fn entry(&self, id: RequestId) -> &Entry {
        &self.entries[id.index()]
    }

    /// Whether `id` waits in this sub-queue.
    pub(super) fn waits_here(&self, id: RequestId) -> bool {
        self.entry(id).location == self.location
    }

    /// How long `id` has waited, ns.
    pub(super) fn age(&self, id: RequestId) -> f64 {
        self.now.since(self.entry(id).arrived).0 as f64
    }

    pub(super) fn device(&self) -> &dyn Positions {
        known(self.positions)
    }

    /// Whether `id` may be chosen: it may start, and does not wait for its predecessor in a stream.
    pub(super) fn is_candidate(&self, id: RequestId) -> bool {
        self.may_start.is_none_or(|may| may(&self.entry(id).request))
            && !(self.config.streams.sequences() && self.is_held(id))
    }

    /// Whether the stream scheme holds `id` back behind a predecessor that may start.
    fn is_held(&self, id: RequestId) -> bool {
        let streams = &self.config.streams;
        let request = &self.entry(id).request;
        let held = match request.op {
            Op::Read => streams.sequence_reads,
            _ => streams.sequence_writes,
        };
        if !(held || streams.sequence_any) || !self.sub_queue.policy.follows_streams() {
            return false;
        }
        let Some(before) = self.sub_queue.predecessor(self.links, self.entries, id) else { return false };
        let before = &self.entry(before).request;
        (streams.sequence_any || before.op == request.op)
            && follows(before, request, self.config.stream_gap)
            && self.may_start.is_none_or(|may| may(before))
    }

    /// The oldest candidate.
    pub(super) fn oldest(&self) -> Option<RequestId> {
        self.sub_queue.by_age.iter(self.links).find(|&id| self.is_candidate(id))
    }

    /// The first candidate at or above `key`.
    pub(super) fn at_or_above(&self, key: Lba) -> Option<(Lba, RequestId)> {
        self.sub_queue.ordered.upwards_from(key).find(|&(_, id)| self.is_candidate(id))
    }

    /// The last candidate below `key`; of several with one key, the oldest.
    pub(super) fn below(&self, key: Lba) -> Option<(Lba, RequestId)> {
        let mut nearest: Option<(Lba, RequestId)> = None;
        for (key, id) in self.sub_queue.ordered.downwards_from(key) {
            if nearest.is_some_and(|(at, _)| at != key) {
                break;
            }
            if self.is_candidate(id) {
                nearest = Some((key, id));
            }
        }
        nearest
    }

    /// The first candidate on the nearest cylinder below `cylinder` that has one.
    pub(super) fn on_cylinder_below(&self, cylinder: u32) -> Option<(Lba, RequestId)> {
        let (key, _) = self.below(key_of_cylinder(cylinder))?;
        self.at_or_above(key_of_cylinder(cylinder_of(key)))
    }

    /// The cylinder of the last pick's last block, under this sub-queue's policy.
    pub(super) fn last_cylinder(&self) -> u32 {
        match self.sub_queue.policy.order() {
            PolicyOrder::Arrival | PolicyOrder::Block => 0,
            PolicyOrder::Mapped => mapped(self.config.mapping, self.last.block, self.last.cylinder, self.positions),
            PolicyOrder::Exact => self.device().cylinder(self.last.block),
        }
    }

    /// The key of the last pick's last block.
    pub(super) fn last_key(&self) -> Lba {
        key_of(self.last_cylinder(), self.last.block)
    }
}

/// Whether `second` starts at the end of `first`, or, for a read, at most `gap` blocks after it.
pub(super) fn follows(first: &IoRequest, second: &IoRequest, gap: u32) -> bool {
    let gap = if second.op == Op::Read { u64::from(gap) } else { 0 };
    second.lba >= first.end() && second.lba.0 - first.end().0 <= gap
}
