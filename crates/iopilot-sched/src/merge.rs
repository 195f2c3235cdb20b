//! Merging for all schedulers, as the kernel's `elv_merge`, `attempt_back_merge` and `attempt_front_merge` do it.

use iopilot_block::{Flags, Lba, Request, RequestId, Requests};

/// The block layer's limits on merging.
#[derive(Clone, Copy, Debug)]
pub struct MergeLimits {
    /// `queue/max_sectors_kb`, in sectors: no request grows beyond it.
    pub max_sectors: u32,
    /// `queue/nomerges`: 0 tries everything, 1 only the request that merged last, 2 nothing.
    pub nomerges: u8,
}

impl Default for MergeLimits {
    fn default() -> Self {
        Self { max_sectors: 512 * 2, nomerges: 0 }
    }
}

/// The result of a merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Merged {
    /// The request that the new one is now a part of.
    pub host: RequestId,
    /// A queued request that became adjacent and was absorbed, too (coalescing). Its tag is free.
    pub absorbed: Option<RequestId>,
}

/// The methods that [`try_merge`] needs from a scheduler.
pub(crate) trait MergeTarget {
    /// The index of the queued requests that can merge.
    fn merge_index(&mut self) -> &mut MergeIndex;

    /// Whether to search for front merges (`front_merges`). The request that merged last accepts one in any case.
    fn front_merges(&self) -> bool {
        true
    }

    /// Whether `new` (not queued) may merge into `host` (queued), besides the rules for all schedulers (`allow_merge`).
    fn allows(&self, rqs: &Requests, host: RequestId, new: RequestId) -> bool {
        let _ = (rqs, host, new);
        true
    }

    /// Whether `new`, which touches `host`, may merge into it. The default asks [`MergeTarget::allows`]. bfq overrides
    /// it, as the question may make it merge two queues.
    fn admits(&mut self, rqs: &Requests, host: RequestId, new: RequestId) -> bool {
        self.allows(rqs, host, new)
    }

    /// Whether two queued requests that are now adjacent may merge. The default asks [`MergeTarget::allows`].
    fn allows_coalescing(&self, rqs: &Requests, host: RequestId, other: RequestId) -> bool {
        self.allows(rqs, host, other)
    }

    /// Sorts `host` again, which grew in front and no longer starts at `old_lba`.
    fn moved(&mut self, rqs: &Requests, host: RequestId, old_lba: Lba);

    /// Removes `gone`, which is still unchanged in `rqs`, from every queue: it is about to merge behind `host`. If it
    /// would have expired sooner, `host` takes its position in the FIFO.
    fn absorb(&mut self, rqs: &Requests, host: RequestId, gone: RequestId);
}

/// Implements [`Scheduler::try_merge`](crate::Scheduler::try_merge) for a [`MergeTarget`] that needs nothing else.
macro_rules! merges_by_index {
    () => {
        fn try_merge(
            &mut self,
            rqs: &mut iopilot_block::Requests,
            id: iopilot_block::RequestId,
            limits: &$crate::MergeLimits,
            _: iopilot_block::Nanos,
        ) -> Option<$crate::Merged> {
            $crate::try_merge(self, rqs, id, limits)
        }
    };
}
pub(crate) use merges_by_index;

/// Merges `new` into a queued request of `target`, if the rules allow. It tries the request that merged last, on both
/// sides; then back merges; then, with `front_merges`, front merges. Afterwards it coalesces the grown request with a
/// neighbour that it now touches. That is the order of the kernel's `elv_merge`.
pub(crate) fn try_merge<T: MergeTarget>(
    target: &mut T,
    rqs: &mut Requests,
    new: RequestId,
    limits: &MergeLimits,
) -> Option<Merged> {
    if limits.nomerges >= 2 || !mergeable(&rqs[new]) {
        return None;
    }
    let (side, host) = find(target, rqs, new, limits)?;
    let old_lba = rqs[host].lba;
    target.merge_index().remove(rqs, host);
    match side {
        Side::Back => rqs.merge_back(host, new),
        Side::Front => rqs.merge_front(host, new),
    }
    target.merge_index().add(rqs, host);
    target.merge_index().last = Some(host);
    if side == Side::Back {
        let absorbed = adjacent(target, rqs, host, limits, Side::Front);
        if let Some(gone) = absorbed {
            coalesce(target, rqs, host, gone);
        }
        return Some(Merged { host, absorbed });
    }
    target.moved(rqs, host, old_lba);
    match adjacent(target, rqs, host, limits, Side::Back) {
        // The lower request survives, as in the kernel.
        Some(lower) => {
            coalesce(target, rqs, lower, host);
            target.merge_index().last = Some(lower);
            Some(Merged { host: lower, absorbed: Some(host) })
        }
        None => Some(Merged { host, absorbed: None }),
    }
}

/// The end of the queued request at which the other one merges.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    /// Its end: the other request follows it.
    Back,
    /// Its start: the other request precedes it.
    Front,
}

/// Whether a request may merge at all (`rq_mergeable`).
pub(crate) fn mergeable(rq: &Request) -> bool {
    rq.op.transfers() && !rq.flags.intersects(Flags::NO_MERGE | Flags::PREFLUSH | Flags::FUA)
}

/// Whether two requests may merge if they touch (`blk_rq_merge_ok`): they have the same operation and priority, and the
/// merged request is within the size limit.
pub fn compatible(a: &Request, b: &Request, limits: &MergeLimits) -> bool {
    a.op == b.op
        && a.priority == b.priority
        && mergeable(a)
        && mergeable(b)
        && u64::from(a.sectors.0) + u64::from(b.sectors.0) <= u64::from(limits.max_sectors)
}

/// The request that `new` may merge into, and at which end.
fn find<T: MergeTarget>(
    target: &mut T,
    rqs: &Requests,
    new: RequestId,
    limits: &MergeLimits,
) -> Option<(Side, RequestId)> {
    let rq = &rqs[new];
    let touches = |host: RequestId, side: Side| match side {
        Side::Back => rqs[host].end() == rq.lba,
        Side::Front => rqs[host].lba == rq.end(),
    };
    if let Some(last) = target.merge_index().last.filter(|&last| compatible(&rqs[last], rq, limits)) {
        let side = [Side::Back, Side::Front].into_iter().find(|&side| touches(last, side));
        if let Some(side) = side {
            if target.admits(rqs, last, new) {
                return Some((side, last));
            }
        }
    }
    if limits.nomerges == 1 {
        return None;
    }
    for side in [Side::Back, Side::Front] {
        if side == Side::Front && !target.front_merges() {
            break;
        }
        let mut next = match side {
            Side::Back => target.merge_index().ends.first(rq.lba),
            Side::Front => target.merge_index().starts.first(rq.end()),
        };
        while let Some(host) = next {
            if touches(host, side) && compatible(&rqs[host], rq, limits) && target.admits(rqs, host, new) {
                return Some((side, host));
            }
            next = match side {
                Side::Back => target.merge_index().ends.next(host),
                Side::Front => target.merge_index().starts.next(host),
            };
        }
    }
    None
}

/// A queued request that touches `host` and may merge with it. `side` is the end of the other request: [`Side::Front`]
/// finds one behind `host`, [`Side::Back`] one in front of it.
fn adjacent<T: MergeTarget>(
    target: &mut T,
    rqs: &Requests,
    host: RequestId,
    limits: &MergeLimits,
    side: Side,
) -> Option<RequestId> {
    let rq = &rqs[host];
    let index = target.merge_index();
    let mut next = match side {
        Side::Front => index.starts.first(rq.end()),
        Side::Back => index.ends.first(rq.lba),
    };
    while let Some(other) = next {
        let touches = match side {
            Side::Front => rqs[other].lba == rq.end(),
            Side::Back => rqs[other].end() == rq.lba,
        };
        if other != host && touches && compatible(&rqs[other], rq, limits) && target.allows_coalescing(rqs, host, other)
        {
            return Some(other);
        }
        next = match side {
            Side::Front => target.merge_index().starts.next(other),
            Side::Back => target.merge_index().ends.next(other),
        };
    }
    None
}

fn coalesce<T: MergeTarget>(target: &mut T, rqs: &mut Requests, host: RequestId, gone: RequestId) {
    target.merge_index().remove(rqs, gone);
    target.merge_index().remove(rqs, host);
    target.absorb(rqs, host, gone);
    rqs.merge_back(host, gone);
    target.merge_index().add(rqs, host);
}

/// The queued requests by where they end and where they start.
#[derive(Clone, Debug, Default)]
pub(crate) struct MergeIndex {
    ends: SectorHash,
    starts: SectorHash,
    /// The request that merged last (`q->last_merge`).
    last: Option<RequestId>,
}

impl MergeIndex {
    /// An empty index.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Adds a queued request, if it can merge.
    pub(crate) fn add(&mut self, rqs: &Requests, id: RequestId) {
        let rq = &rqs[id];
        if mergeable(rq) {
            self.ends.insert(rq.end(), id);
            self.starts.insert(rq.lba, id);
            // The first request to arrive is tried first until one merges, as in `elv_insert`.
            self.last.get_or_insert(id);
        }
    }

    /// Removes a request with the extent it was added with.
    pub(crate) fn remove(&mut self, rqs: &Requests, id: RequestId) {
        let rq = &rqs[id];
        if mergeable(rq) {
            self.ends.remove(rq.end(), id);
            self.starts.remove(rq.lba, id);
        }
        if self.last == Some(id) {
            self.last = None;
        }
    }
}

/// Requests by a sector: a hash table with chains through the requests. It grows with the number of queued requests.
#[derive(Clone, Debug, Default)]
struct SectorHash {
    heads: Vec<Option<RequestId>>,
    next: Vec<Option<RequestId>>,
    sectors: Vec<Lba>,
    len: usize,
}

impl SectorHash {
    fn bucket(&self, sector: Lba) -> usize {
        // Fibonacci hashing; the number of buckets is a power of two of at least 2.
        let shift = 64 - self.heads.len().trailing_zeros();
        (sector.0.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> shift) as usize
    }

    fn insert(&mut self, sector: Lba, id: RequestId) {
        if self.len >= self.heads.len() {
            self.grow();
        }
        if id.index() >= self.next.len() {
            self.next.resize(id.index() + 1, None);
            self.sectors.resize(id.index() + 1, Lba(0));
        }
        let bucket = self.bucket(sector);
        self.sectors[id.index()] = sector;
        self.next[id.index()] = self.heads[bucket];
        self.heads[bucket] = Some(id);
        self.len += 1;
    }

    fn remove(&mut self, sector: Lba, id: RequestId) {
        let bucket = self.bucket(sector);
        let after = self.next[id.index()].take();
        if self.heads[bucket] == Some(id) {
            self.heads[bucket] = after;
        } else {
            let mut at = self.heads[bucket].expect("a request is removed under the sector it was added with");
            while self.next[at.index()] != Some(id) {
                at = self.next[at.index()].expect("a request is removed under the sector it was added with");
            }
            self.next[at.index()] = after;
        }
        self.len -= 1;
    }

    /// The first request of the chain for `sector`. Requests at other sectors may be in the same chain.
    fn first(&self, sector: Lba) -> Option<RequestId> {
        if self.len == 0 { None } else { self.heads[self.bucket(sector)] }
    }

    fn next(&self, id: RequestId) -> Option<RequestId> {
        self.next[id.index()]
    }

    fn grow(&mut self) {
        let queued: Vec<RequestId> = self
            .heads
            .iter()
            .rev()
            .flat_map(|&head| {
                let mut chain: Vec<_> = std::iter::successors(head, |id| self.next[id.index()]).collect();
                chain.reverse(); // re-insertion puts the newest first again
                chain
            })
            .collect();
        self.heads = vec![None; (self.heads.len() * 2).max(64)];
        self.len = 0;
        for id in queued {
            self.insert(self.sectors[id.index()], id);
        }
    }
}
