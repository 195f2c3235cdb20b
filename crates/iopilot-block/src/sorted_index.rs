//! [`SortedIndex`]: requests in sector order.

use crate::{Lba, RequestId};

/// A chunk of this many entries is split: a search takes seven steps, and an insertion moves at most 1.5 KiB.
const SPLIT: usize = 128;
/// A chunk of fewer entries joins the next one, if that has room.
const JOIN: usize = SPLIT / 4;

/// A part of the order. Sectors are stored apart from names: a search reads sectors only, a few cache lines of them.
#[derive(Clone, Debug)]
struct Chunk<I> {
    sectors: Vec<u64>,
    ids: Vec<I>,
}

impl<I> Chunk<I> {
    fn new() -> Self {
        Self { sectors: Vec::with_capacity(SPLIT), ids: Vec::with_capacity(SPLIT) }
    }

    fn len(&self) -> usize {
        self.ids.len()
    }
}

/// Requests, or other things named by an `I`, in order of their first sector. Requests that start at the same sector
/// are in order of insertion, as in the kernel's red-black trees.
///
/// A sorted list of short sorted arrays. A look-up is `O(log n)`. So is a change, with a small move of memory. For the
/// queue lengths of real disks this is faster than a tree. It allocates nothing once its chunks exist. The caller keeps
/// no position, but must remove a request under the sector it was inserted with. A search among requests of one sector
/// is linear.
#[derive(Clone, Debug)]
pub struct SortedIndex<I = RequestId> {
    /// Not empty, each sorted, and in order.
    chunks: Vec<Chunk<I>>,
    spare: Vec<Chunk<I>>,
    len: usize,
}

/// A chunk, and an entry in it or its end.
type Position = (usize, usize);

impl<I: Copy + PartialEq> SortedIndex<I> {
    /// An empty index.
    pub const fn new() -> Self {
        Self { chunks: Vec::new(), spare: Vec::new(), len: 0 }
    }

    /// How many requests there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no request.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds `id` at `lba`.
    pub fn insert(&mut self, lba: Lba, id: I) {
        self.len += 1;
        if self.chunks.is_empty() {
            let chunk = self.spare.pop().unwrap_or_else(Chunk::new);
            self.chunks.push(chunk);
        }
        let (c, at) = self.upper(lba);
        let chunk = &mut self.chunks[c];
        chunk.sectors.insert(at, lba.0);
        chunk.ids.insert(at, id);
        if chunk.len() == SPLIT {
            let mut upper = self.spare.pop().unwrap_or_else(Chunk::new);
            upper.sectors.extend(self.chunks[c].sectors.drain(SPLIT / 2..));
            upper.ids.extend(self.chunks[c].ids.drain(SPLIT / 2..));
            self.chunks.insert(c + 1, upper);
        }
    }

    /// Removes `id`, which was inserted at `lba`.
    ///
    /// # Panics
    /// If it is not there.
    pub fn remove(&mut self, lba: Lba, id: I) {
        self.remove_for_next(lba, id);
    }

    /// As [`SortedIndex::remove`]; returns the request after it.
    ///
    /// # Panics
    /// If it is not there.
    pub fn remove_for_next(&mut self, lba: Lba, id: I) -> Option<I> {
        let (c, at) = self.find(lba, id);
        let next = self.entry((c, at + 1));
        let chunk = &mut self.chunks[c];
        chunk.sectors.remove(at);
        chunk.ids.remove(at);
        self.len -= 1;
        if chunk.len() < JOIN {
            self.shrink(c);
        }
        next
    }

    /// The first request at or above `lba`.
    pub fn at_or_after(&self, lba: Lba) -> Option<I> {
        self.entry(self.lower(lba))
    }

    /// The first request that starts at `lba`.
    pub fn at(&self, lba: Lba) -> Option<I> {
        let (mut c, mut at) = self.lower(lba);
        if at == self.chunks.get(c)?.len() {
            (c, at) = (c + 1, 0);
        }
        let chunk = self.chunks.get(c)?;
        (chunk.sectors[at] == lba.0).then(|| chunk.ids[at])
    }

    /// The last request below `lba`.
    pub fn before(&self, lba: Lba) -> Option<I> {
        self.entry_before(self.lower(lba))
    }

    /// The request after `id`, which was inserted at `lba`.
    pub fn next(&self, lba: Lba, id: I) -> Option<I> {
        let (c, at) = self.find(lba, id);
        self.entry((c, at + 1))
    }

    /// The request before `id`, which was inserted at `lba`.
    pub fn prev(&self, lba: Lba, id: I) -> Option<I> {
        self.entry_before(self.find(lba, id))
    }

    /// Whether `other` comes right before or right after `id`, which was inserted at `lba`.
    pub fn adjacent(&self, lba: Lba, id: I, other: I) -> bool {
        self.next(lba, id) == Some(other) || self.prev(lba, id) == Some(other)
    }

    /// The lowest request.
    pub fn first(&self) -> Option<I> {
        self.chunks.first().map(|c| c.ids[0])
    }

    /// The highest request.
    pub fn last(&self) -> Option<I> {
        self.chunks.last().and_then(|c| c.ids.last()).copied()
    }

    /// All requests in sector order.
    pub fn iter(&self) -> impl Iterator<Item = I> + '_ {
        self.chunks.iter().flat_map(|c| &c.ids).copied()
    }

    /// The requests at or above `lba` with their sectors, in ascending order.
    pub fn upwards_from(&self, lba: Lba) -> Upwards<'_, I> {
        Upwards { index: self, at: self.lower(lba) }
    }

    /// The requests below `lba` with their sectors, in descending order; of those at one sector the newest first.
    pub fn downwards_from(&self, lba: Lba) -> Downwards<'_, I> {
        Downwards { index: self, at: self.lower(lba) }
    }

    /// The position of the first entry at or above `lba`, or the end of the chunk before it.
    fn lower(&self, lba: Lba) -> Position {
        let c = match self.chunks.len() {
            0 | 1 => 0,
            _ => self.chunks.partition_point(|c| c.sectors[0] < lba.0).saturating_sub(1),
        };
        (c, self.chunks.get(c).map_or(0, |chunk| chunk.sectors.partition_point(|&s| s < lba.0)))
    }

    /// The position for a new entry at `lba`, after all others at that sector.
    fn upper(&self, lba: Lba) -> Position {
        let c = match self.chunks.len() {
            0 | 1 => 0,
            _ => self.chunks.partition_point(|c| c.sectors[0] <= lba.0).saturating_sub(1),
        };
        (c, self.chunks[c].sectors.partition_point(|&s| s <= lba.0))
    }

    /// The position of `id`, which was inserted at `lba`.
    fn find(&self, lba: Lba, id: I) -> Position {
        let (mut c, mut at) = self.lower(lba);
        loop {
            if self.chunks.get(c).is_some_and(|chunk| at == chunk.len()) {
                (c, at) = (c + 1, 0);
            }
            let chunk = self.chunks.get(c).filter(|chunk| chunk.sectors[at] == lba.0);
            let chunk = chunk.expect("a request is looked for under the sector it was inserted with");
            if chunk.ids[at] == id {
                return (c, at);
            }
            at += 1;
        }
    }

    /// The entry at a position; at the end of a chunk, the next one.
    fn entry(&self, (c, at): Position) -> Option<I> {
        match self.chunks.get(c)?.ids.get(at) {
            Some(&id) => Some(id),
            None => self.chunks.get(c + 1).map(|next| next.ids[0]),
        }
    }

    fn entry_before(&self, (c, at): Position) -> Option<I> {
        match at.checked_sub(1) {
            Some(before) => self.chunks.get(c)?.ids.get(before).copied(),
            None => self.chunks.get(c.checked_sub(1)?)?.ids.last().copied(),
        }
    }

    /// Drops chunk `c` if it is empty. Joins it to the next one if both fit in half a chunk.
    fn shrink(&mut self, c: usize) {
        if self.chunks[c].len() == 0 {
            let chunk = self.chunks.remove(c);
            self.spare.push(chunk);
        } else if c + 1 < self.chunks.len() && self.chunks[c].len() + self.chunks[c + 1].len() < SPLIT / 2 {
            let mut next = self.chunks.remove(c + 1);
            self.chunks[c].sectors.append(&mut next.sectors);
            self.chunks[c].ids.append(&mut next.ids);
            self.spare.push(next);
        }
    }
}

impl<I: Copy + PartialEq> Default for SortedIndex<I> {
    fn default() -> Self {
        Self::new()
    }
}

/// The iterator of [`SortedIndex::upwards_from`].
#[derive(Clone, Debug)]
pub struct Upwards<'a, I = RequestId> {
    index: &'a SortedIndex<I>,
    at: Position,
}

impl<I: Copy> Iterator for Upwards<'_, I> {
    type Item = (Lba, I);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let chunk = self.index.chunks.get(self.at.0)?;
            if let Some(&id) = chunk.ids.get(self.at.1) {
                let item = (Lba(chunk.sectors[self.at.1]), id);
                self.at.1 += 1;
                return Some(item);
            }
            self.at = (self.at.0 + 1, 0);
        }
    }
}

/// The iterator of [`SortedIndex::downwards_from`].
#[derive(Clone, Debug)]
pub struct Downwards<'a, I = RequestId> {
    index: &'a SortedIndex<I>,
    at: Position,
}

impl<I: Copy> Iterator for Downwards<'_, I> {
    type Item = (Lba, I);

    fn next(&mut self) -> Option<Self::Item> {
        if self.at.1 == 0 {
            self.at.0 = self.at.0.checked_sub(1)?;
            self.at.1 = self.index.chunks[self.at.0].len();
        }
        self.at.1 -= 1;
        let chunk = &self.index.chunks[self.at.0];
        Some((Lba(chunk.sectors[self.at.1]), chunk.ids[self.at.1]))
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
                prop_assert_eq!(index.at(Lba(lba)), model.range((lba, 0)..).next().filter(|(k, _)| k.0 == lba).map(|(_, &id)| id));
                prop_assert_eq!(index.before(Lba(lba)), model.range(..(lba, 0)).next_back().map(|(_, &id)| id));
                if let Some(key) = at[slot] {
                    prop_assert_eq!(index.next(Lba(key.0), id), model.range((key.0, key.1 + 1)..).next().map(|(_, &id)| id));
                    prop_assert_eq!(index.prev(Lba(key.0), id), model.range(..key).next_back().map(|(_, &id)| id));
                    for neighbour in [index.prev(Lba(key.0), id), index.next(Lba(key.0), id)].into_iter().flatten() {
                        prop_assert!(index.adjacent(Lba(key.0), id, neighbour));
                    }
                    prop_assert!(!index.adjacent(Lba(key.0), id, id));
                }
                prop_assert!(index.upwards_from(Lba(lba)).eq(model.range((lba, 0)..).map(|(k, &id)| (Lba(k.0), id))));
                prop_assert!(index.downwards_from(Lba(lba)).eq(model.range(..(lba, 0)).rev().map(|(k, &id)| (Lba(k.0), id))));
                prop_assert_eq!(index.first(), model.values().next().copied());
                prop_assert_eq!(index.last(), model.values().next_back().copied());
                prop_assert_eq!(index.len(), model.len());
            }
            prop_assert!(index.iter().eq(model.values().copied()));
        }
    }
}
