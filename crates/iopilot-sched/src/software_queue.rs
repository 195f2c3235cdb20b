//! Merging into the software queue of a CPU, for `none` and kyber.

use crate::merge::mergeable;
use crate::{MergeLimits, Merged};
use iopilot_block::{Links, List, RequestId, Requests};

/// How many requests the kernel looks at.
const LOOK_BACK: usize = 8;

/// Merges `new` with one of the last eight requests of `queue`, newest first, at either end (`blk_bio_list_merge`).
/// Neighbours never coalesce. A request that touches but would grow too long ends the search. `nomerges=1` has no
/// effect here.
pub(crate) fn merge_recent(
    queue: &List,
    links: &Links,
    rqs: &mut Requests,
    new: RequestId,
    limits: &MergeLimits,
) -> Option<Merged> {
    if limits.nomerges >= 2 || !mergeable(&rqs[new]) {
        return None;
    }
    let rq = &rqs[new];
    let mut recent = std::iter::successors(queue.back(), |&id| queue.prev(links, id)).take(LOOK_BACK);
    let host = recent.find(|&id| {
        let host = &rqs[id];
        let touches = host.end() == rq.lba || rq.end() == host.lba;
        touches && host.op == rq.op && host.priority == rq.priority && mergeable(host)
    })?;
    if u64::from(rqs[host].sectors.0) + u64::from(rq.sectors.0) > u64::from(limits.max_sectors) {
        return None;
    }
    if rqs[host].end() == rq.lba {
        rqs.merge_back(host, new);
    } else {
        rqs.merge_front(host, new);
    }
    Some(Merged { host, absorbed: None })
}
