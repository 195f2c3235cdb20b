//! [`SortedIndex`]: the queued requests in sector order.

use iopilot_block::{Lba, RequestId};

/// A chunk is split when it has grown to this many entries: two cache lines of binary search, 2 KiB of moving.
const SPLIT: usize = 128;
/// A chunk this small joins a neighbour that has room.
const JOIN: usize = SPLIT / 4;

type Key = (Lba, u64);

#[derive(Clone, Copy, Debug)]
struct Entry {
    key: Key,
    id: RequestId,
}

/// Requests in order of their first sector; those that start at the same sector in order of insertion, as in the
/// kernel's red-black trees.
///
/// A sorted list of short sorted arrays. `O(log n)` to look up, and to change with a small move of memory: faster than
/// a tree for the queue lengths of real disks, and free of allocation once its chunks exist. The caller remembers
/// nothing, but must remove a request under the sector it was inserted with.
#[derive(Clone, Debug, Default)]
pub struct SortedIndex {
    /// Non-empty, sorted, and sorted among each other.
    chunks: Vec<Vec<Entry>>,
    spare: Vec<Vec<Entry>>,
    /// Insertion number of each request, by its index.
    order: Vec<u64>,
    next_order: u64,
    len: usize,
}

impl SortedIndex {
    /// An empty index.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many requests there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds `id` at `lba`.
    pub fn insert(&mut self, lba: Lba, id: RequestId) {
        if id.index() >= self.order.len() {
            self.order.resize(id.index() + 1, 0);
        }
        let key = (lba, self.next_order);
        self.order[id.index()] = self.next_order;
        self.next_order += 1;
        self.len += 1;
        let entry = Entry { key, id };
        if self.chunks.is_empty() {
            let mut chunk = self.spare.pop().unwrap_or_else(|| Vec::with_capacity(SPLIT));
            chunk.push(entry);
            self.chunks.push(chunk);
            return;
        }
        let c = self.chunk_of(key);
        let chunk = &mut self.chunks[c];
        let at = chunk.partition_point(|e| e.key < key);
        chunk.insert(at, entry);
        if chunk.len() == SPLIT {
            let mut upper = self.spare.pop().unwrap_or_else(|| Vec::with_capacity(SPLIT));
            upper.extend(self.chunks[c].drain(SPLIT / 2..));
            self.chunks.insert(c + 1, upper);
        }
    }

    /// Removes `id`, which was inserted at `lba`.
    ///
    /// # Panics
    /// Where it is not there.
    pub fn remove(&mut self, lba: Lba, id: RequestId) {
        let key = (lba, self.order[id.index()]);
        let c = self.chunk_of(key);
        let at = self.chunks[c].partition_point(|e| e.key < key);
        assert_eq!(self.chunks[c][at].id, id, "a request is removed under the sector it was inserted with");
        self.chunks[c].remove(at);
        self.len -= 1;
        if self.chunks[c].len() < JOIN {
            self.shrink(c);
        }
    }

    /// The first request at or above `lba`.
    pub fn at_or_after(&self, lba: Lba) -> Option<RequestId> {
        self.lower_bound((lba, 0)).map(|e| e.id)
    }

    /// The last request below `lba`.
    pub fn before(&self, lba: Lba) -> Option<RequestId> {
        self.last_below((lba, 0)).map(|e| e.id)
    }

    /// The request after `id`, which was inserted at `lba`.
    pub fn next(&self, lba: Lba, id: RequestId) -> Option<RequestId> {
        self.lower_bound((lba, self.order[id.index()] + 1)).map(|e| e.id)
    }

    /// The request before `id`, which was inserted at `lba`.
    pub fn prev(&self, lba: Lba, id: RequestId) -> Option<RequestId> {
        self.last_below((lba, self.order[id.index()])).map(|e| e.id)
    }

    /// The lowest request.
    pub fn first(&self) -> Option<RequestId> {
        self.chunks.first().map(|c| c[0].id)
    }

    /// The highest request.
    pub fn last(&self) -> Option<RequestId> {
        self.chunks.last().and_then(|c| c.last()).map(|e| e.id)
    }

    /// All of them in sector order.
    pub fn iter(&self) -> impl Iterator<Item = RequestId> + '_ {
        self.chunks.iter().flatten().map(|e| e.id)
    }

    /// The chunk that holds, or would hold, `key`.
    fn chunk_of(&self, key: Key) -> usize {
        if self.chunks.len() == 1 {
            return 0;
        }
        self.chunks.partition_point(|c| c[0].key <= key).saturating_sub(1)
    }

    fn lower_bound(&self, key: Key) -> Option<&Entry> {
        if self.chunks.is_empty() {
            return None;
        }
        let c = self.chunk_of(key);
        let at = self.chunks[c].partition_point(|e| e.key < key);
        self.chunks[c].get(at).or_else(|| self.chunks.get(c + 1).map(|next| &next[0]))
    }

    fn last_below(&self, key: Key) -> Option<&Entry> {
        if self.chunks.is_empty() {
            return None;
        }
        let c = self.chunk_of(key);
        match self.chunks[c].partition_point(|e| e.key < key) {
            0 => c.checked_sub(1).and_then(|p| self.chunks[p].last()),
            at => self.chunks[c].get(at - 1),
        }
    }

    /// Drops chunk `c` where it is empty, and joins it to the next where both fit in half a chunk.
    fn shrink(&mut self, c: usize) {
        if self.chunks[c].is_empty() {
            let chunk = self.chunks.remove(c);
            self.spare.push(chunk);
        } else if c + 1 < self.chunks.len() && self.chunks[c].len() + self.chunks[c + 1].len() < SPLIT / 2 {
            let mut next = self.chunks.remove(c + 1);
            self.chunks[c].append(&mut next);
            self.spare.push(next);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn agrees_with_a_btree(ops in prop::collection::vec((any::<bool>(), 0u64..50, 0usize..400), 1..2000)) {
            let mut index = SortedIndex::new();
            let mut model = BTreeMap::new();
            let mut at = vec![None; 400];
            for (order, (add, lba, slot)) in ops.into_iter().enumerate() {
                let id = RequestId::from_index(slot);
                match at[slot] {
                    None if add => {
                        index.insert(Lba(lba), id);
                        model.insert((lba, order), id);
                        at[slot] = Some((lba, order));
                    }
                    Some(key) if !add => {
                        index.remove(Lba(key.0), id);
                        model.remove(&key);
                        at[slot] = None;
                    }
                    _ => {}
                }
                prop_assert_eq!(index.at_or_after(Lba(lba)), model.range((lba, 0)..).next().map(|(_, &id)| id));
                prop_assert_eq!(index.before(Lba(lba)), model.range(..(lba, 0)).next_back().map(|(_, &id)| id));
                if let Some(key) = at[slot] {
                    prop_assert_eq!(index.next(Lba(key.0), id), model.range((key.0, key.1 + 1)..).next().map(|(_, &id)| id));
                    prop_assert_eq!(index.prev(Lba(key.0), id), model.range(..key).next_back().map(|(_, &id)| id));
                }
                prop_assert_eq!(index.first(), model.values().next().copied());
                prop_assert_eq!(index.last(), model.values().next_back().copied());
                prop_assert_eq!(index.len(), model.len());
            }
            prop_assert!(index.iter().eq(model.values().copied()));
        }
    }
}
