//! [`SubQueue`]: the waiting requests of one policy.

use super::config::{CylinderMapping, IoQueueConfig};
use super::policy::{IoQueuePolicy, PolicyOrder};
use super::request::{Entry, IoRequest};
use iopilot_block::{Lba, Links, List, Positions, RequestId, SortedIndex};

/// The bits of a key that hold the block. The bits above hold the cylinder. 40 bits are 512 TiB.
const BLOCK_BITS: u32 = 40;

/// The first key of `cylinder`.
pub(super) fn key_of_cylinder(cylinder: u32) -> Lba {
    Lba(u64::from(cylinder) << BLOCK_BITS)
}

/// The key of `block` on `cylinder`.
pub(super) fn key_of(cylinder: u32, block: Lba) -> Lba {
    Lba(key_of_cylinder(cylinder).0 | (block.0 & ((1 << BLOCK_BITS) - 1)))
}

/// The cylinder in a key.
pub(super) fn cylinder_of(key: Lba) -> u32 {
    (key.0 >> BLOCK_BITS) as u32
}

/// The positions for a policy that needs them.
pub(super) fn known(positions: Option<&dyn Positions>) -> &dyn Positions {
    positions.expect("the caller passes positions to a queue that needs them: see IoQueue::needs_positions")
}

/// The cylinder of a block under `mapping`.
pub(super) fn mapped(mapping: CylinderMapping, lba: Lba, named: Option<u32>, positions: Option<&dyn Positions>) -> u32 {
    match mapping {
        CylinderMapping::None => 0,
        CylinderMapping::Known(knowledge) => known(positions).cylinder_known(lba, knowledge),
        CylinderMapping::FromRequest => named.unwrap_or(0),
        CylinderMapping::Average(sectors) => u32::try_from(lba.0 / sectors.max(1)).unwrap_or(u32::MAX),
    }
}

/// The waiting requests of one policy, by arrival and in the policy's own order.
///
/// A request's position in that order may depend on the device, which is known only at a pick. Until then the request
/// is among the `fresh` ones.
#[derive(Clone, Debug)]
pub(super) struct SubQueue {
    pub(super) policy: IoQueuePolicy,
    pub(super) by_age: List,
    pub(super) ordered: SortedIndex,
    fresh: Vec<RequestId>,
}

impl SubQueue {
    pub(super) fn new(policy: IoQueuePolicy) -> Self {
        Self { policy, by_age: List::new(), ordered: SortedIndex::new(), fresh: Vec::new() }
    }

    /// Inserts a request. O(1) for the youngest one. A request from another sub-queue is inserted by its age.
    pub(super) fn insert(&mut self, links: &mut Links, entries: &mut [Entry], id: RequestId) {
        let arrived = entries[id.index()].arrived;
        match self.by_age.back().filter(|back| entries[back.index()].arrived > arrived) {
            None => self.by_age.push_back(links, id),
            Some(_) => {
                let younger = self.by_age.iter(links).find(|at| entries[at.index()].arrived > arrived);
                match younger {
                    Some(at) => self.by_age.insert_before(links, at, id),
                    None => self.by_age.push_back(links, id),
                }
            }
        }
        entries[id.index()].key = None;
        if self.policy.order() != PolicyOrder::Arrival {
            self.fresh.push(id);
        }
    }

    pub(super) fn remove(&mut self, links: &mut Links, entries: &mut [Entry], id: RequestId) {
        self.by_age.remove(links, id);
        match entries[id.index()].key.take() {
            Some(key) => self.ordered.remove(key, id),
            None => self.fresh.retain(|&other| other != id),
        }
    }

    /// Inserts the fresh requests in the policy's order.
    pub(super) fn settle(&mut self, entries: &mut [Entry], config: &IoQueueConfig, positions: Option<&dyn Positions>) {
        for id in self.fresh.drain(..) {
            let entry = &mut entries[id.index()];
            let IoRequest { lba, cylinder, .. } = entry.request;
            let key = match self.policy.order() {
                PolicyOrder::Arrival | PolicyOrder::Block => lba,
                PolicyOrder::Mapped => key_of(mapped(config.mapping, lba, cylinder, positions), lba),
                PolicyOrder::Exact => key_of(known(positions).cylinder(lba), lba),
            };
            entry.key = Some(key);
            self.ordered.insert(key, id);
        }
    }

    /// The request before `id` in the policy's order.
    pub(super) fn predecessor(&self, links: &Links, entries: &[Entry], id: RequestId) -> Option<RequestId> {
        match entries[id.index()].key {
            Some(key) => self.ordered.prev(key, id),
            None => self.by_age.prev(links, id),
        }
    }

    /// The request after `id` in the policy's order.
    pub(super) fn successor(&self, links: &Links, entries: &[Entry], id: RequestId) -> Option<RequestId> {
        match entries[id.index()].key {
            Some(key) => self.ordered.next(key, id),
            None => self.by_age.next(links, id),
        }
    }
}
