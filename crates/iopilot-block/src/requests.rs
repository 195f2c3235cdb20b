//! [`Requests`]: the slab that all requests in flight live in.

use crate::{Criticality, IoIndex, Request, RequestId, Slab};
use std::ops::{Index, IndexMut};

/// All requests in flight. Slots are reused, so that nothing is allocated once the number in flight has peaked.
#[derive(Clone, Debug, Default)]
pub struct Requests(Slab<Request, RequestId>);

impl Requests {
    /// An empty slab.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds `request` and names it. O(1).
    pub fn insert(&mut self, request: Request) -> RequestId {
        self.0.insert(request)
    }

    /// Frees the slot of `id`; the name is reused for another request. Its merged parts stay: remove them one by one.
    pub fn remove(&mut self, id: RequestId) {
        // The slot of the request that it was merged into may be reused before this one.
        self.0.remove(id).whole = None;
    }

    /// How many requests are in the slab.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether the slab is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many slots there are: one more than the largest index ever handed out.
    pub fn slots(&self) -> usize {
        self.0.slots()
    }

    /// Appends `part` to the end of `host` (a back merge).
    ///
    /// # Panics
    /// If they are not adjacent or not of one operation: bytes would be lost.
    pub fn merge_back(&mut self, host: RequestId, part: RequestId) {
        let (h, p) = (&self[host], &self[part]);
        assert!(h.end() == p.lba && h.op == p.op, "a back merge needs adjacent requests of one operation");
        let sectors = p.sectors;
        self[host].sectors += sectors;
        self.chain(host, part);
    }

    /// Prepends `part` to `host` (a front merge).
    ///
    /// # Panics
    /// If they are not adjacent or not of one operation.
    pub fn merge_front(&mut self, host: RequestId, part: RequestId) {
        let (h, p) = (&self[host], &self[part]);
        assert!(p.end() == h.lba && h.op == p.op, "a front merge needs adjacent requests of one operation");
        let (lba, sectors) = (p.lba, p.sectors);
        self[host].lba = lba;
        self[host].sectors += sectors;
        self.chain(host, part);
    }

    fn chain(&mut self, host: RequestId, part: RequestId) {
        let last = self[host].last_part.unwrap_or(host);
        self[last].next_part = Some(part);
        self[host].last_part = Some(self[part].last_part.unwrap_or(part));
        self[part].whole = Some(host);
    }

    /// The request that `id` is a part of, after all merges; `id` itself if it was merged into none.
    pub fn whole(&self, id: RequestId) -> RequestId {
        let mut whole = id;
        while let Some(host) = self[whole].whole {
            whole = host;
        }
        whole
    }

    /// The criticality of the most urgent part of `id`. O(parts).
    pub fn urgency(&self, id: RequestId) -> Criticality {
        let parts = std::iter::successors(Some(id), |&part| self.next_part(part));
        parts.map(|part| self[part].criticality).min().unwrap_or_default()
    }

    /// The requests of the I/O `io`, among them removed ones whose slots are not reused yet. O(slots).
    pub fn of_io(&self, io: IoIndex) -> impl Iterator<Item = RequestId> + '_ {
        (0..self.slots()).map(RequestId::from_index).filter(move |&id| self[id].io == io)
    }

    /// The request merged behind `id` in its host's list, if any. Start at the host itself.
    pub fn next_part(&self, id: RequestId) -> Option<RequestId> {
        self[id].next_part
    }
}

impl Index<RequestId> for Requests {
    type Output = Request;
    fn index(&self, id: RequestId) -> &Request {
        &self.0[id]
    }
}

impl IndexMut<RequestId> for Requests {
    fn index_mut(&mut self, id: RequestId) -> &mut Request {
        &mut self.0[id]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Lba, Op, ProcessId, Sectors};

    fn read(slab: &mut Requests, lba: u64, sectors: u32) -> RequestId {
        slab.insert(Request::new(Op::Read, Lba(lba), Sectors(sectors), ProcessId(1)))
    }

    fn parts(slab: &Requests, host: RequestId) -> Vec<u64> {
        std::iter::successors(Some(host), |&id| slab.next_part(id)).map(|id| slab[id].own_lba.0).collect()
    }

    #[test]
    fn merging_keeps_every_part_and_the_whole_extent() {
        let mut slab = Requests::new();
        let a = read(&mut slab, 8, 8);
        let b = read(&mut slab, 16, 8);
        let c = read(&mut slab, 0, 8);
        let d = read(&mut slab, 24, 8);
        let e = read(&mut slab, 32, 8);
        slab.merge_back(a, b);
        slab.merge_front(a, c);
        slab.merge_back(d, e);
        slab.merge_back(a, d); // coalescing two requests that have parts of their own
        assert_eq!((slab[a].lba, slab[a].sectors), (Lba(0), Sectors(40)));
        assert_eq!(parts(&slab, a), [8, 16, 0, 24, 32]);
        assert_eq!([a, b, c, d, e].map(|id| slab.whole(id)), [a; 5]);
    }

    #[test]
    fn a_merged_request_is_as_urgent_as_its_most_urgent_part() {
        let mut slab = Requests::new();
        let ids = [0, 8, 16].map(|lba| read(&mut slab, lba, 8));
        let classes = [Criticality::TimeNonCritical, Criticality::TimeCritical, Criticality::TimeLimited];
        for (id, class) in ids.into_iter().zip(classes) {
            slab[id].criticality = class;
        }
        slab.merge_back(ids[1], ids[2]);
        slab.merge_back(ids[0], ids[1]);
        assert_eq!(slab.urgency(ids[0]), Criticality::TimeCritical);
        assert_eq!(slab[ids[0]].criticality, Criticality::TimeNonCritical, "its own criticality stays");
    }

    #[test]
    fn a_removed_request_is_a_part_of_nothing() {
        let mut slab = Requests::new();
        let (a, b) = (read(&mut slab, 0, 8), read(&mut slab, 8, 8));
        slab.merge_back(a, b);
        slab.remove(a);
        slab.remove(b);
        assert_eq!(read(&mut slab, 100, 8), b);
        assert_eq!(slab.whole(b), b);
        assert_eq!(slab.whole(a), a, "not the request that reused a slot");
    }

    #[test]
    fn slots_are_reused() {
        let mut slab = Requests::new();
        let a = read(&mut slab, 0, 1);
        slab.remove(a);
        assert_eq!(read(&mut slab, 9, 1), a);
        assert_eq!((slab.len(), slab.slots()), (1, 1));
    }

    #[test]
    #[should_panic(expected = "adjacent")]
    fn requests_that_do_not_touch_do_not_merge() {
        let mut slab = Requests::new();
        let a = read(&mut slab, 0, 8);
        let b = read(&mut slab, 9, 8);
        slab.merge_back(a, b);
    }
}
