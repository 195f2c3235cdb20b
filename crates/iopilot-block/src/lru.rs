//! [`Lru`]: a bounded map in order of use, for caches.

use crate::{NumberMap, Slab};
use std::hash::Hash;

const NONE: u32 = u32::MAX;

#[derive(Clone, Debug)]
struct Entry<K, V> {
    key: K,
    value: V,
    /// How many pins are not yet undone. A pinned entry is not in the order of use.
    pins: u32,
    older: u32,
    newer: u32,
}

/// A bounded map from numbers (or newtypes of one) to values, in order of use.
///
/// An entry is named by its slot: a small, dense number that stays the same while the entry is in the map, and is
/// reused afterwards. Look up the slot once with [`Lru::find`]; all other methods take slots. All operations but
/// [`Lru::oldest_first`] are O(1). The order of use is a linked list through the entries, and does not depend on the
/// hash. Nothing is allocated in the steady state.
///
/// The caller chooses the victim of an eviction: [`Lru::oldest`] or one of [`Lru::oldest_first`]. A pinned entry is
/// never among these, until it is unpinned as often as it was pinned.
///
/// A slot passed to a method must belong to an entry that is still in the map.
///
/// # Examples
/// ```
/// use iopilot_block::Lru;
///
/// let mut cache = Lru::new(2);
/// let one = cache.insert(1u64, "one");
/// let two = cache.insert(2u64, "two");
/// cache.touch(one);
/// assert_eq!(cache.oldest(), Some(two));
/// cache.pin(two);
/// assert_eq!(cache.oldest(), Some(one));
/// cache.remove(one);
/// assert_eq!((cache.find(1), cache.find(2)), (None, Some(two)));
/// ```
#[derive(Clone, Debug)]
pub struct Lru<K, V> {
    entries: Slab<Entry<K, V>>,
    slots: NumberMap<K, u32>,
    oldest: u32,
    newest: u32,
    capacity: u32,
}

impl<K: Copy + Eq + Hash, V> Lru<K, V> {
    /// An empty map for `capacity` entries. It allocates as it fills.
    pub fn new(capacity: u32) -> Self {
        Self { entries: Slab::new(), slots: NumberMap::default(), oldest: NONE, newest: NONE, capacity }
    }

    /// How many entries there are.
    pub fn len(&self) -> u32 {
        self.slots.len() as u32
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Whether there is no room for another entry.
    pub fn is_full(&self) -> bool {
        self.len() >= self.capacity
    }

    /// The slot of `key`. A look-up does not count as a use: see [`Lru::touch`].
    pub fn find(&self, key: K) -> Option<u32> {
        self.slots.get(&key).copied()
    }

    /// The key of an entry.
    pub fn key(&self, slot: u32) -> K {
        self.entries[slot].key
    }

    /// The value of an entry.
    pub fn get(&self, slot: u32) -> &V {
        &self.entries[slot].value
    }

    /// The mutable value of an entry.
    pub fn get_mut(&mut self, slot: u32) -> &mut V {
        &mut self.entries[slot].value
    }

    /// Adds an entry as the newest. There must be room, and no entry with this key.
    pub fn insert(&mut self, key: K, value: V) -> u32 {
        debug_assert!(!self.is_full() && self.find(key).is_none(), "there is room, and no entry with this key");
        let slot = self.entries.insert(Entry { key, value, pins: 0, older: NONE, newer: NONE });
        self.slots.insert(key, slot);
        self.link(slot);
        slot
    }

    /// Removes an entry, pinned or not. Its value is dropped when the slot is reused.
    pub fn remove(&mut self, slot: u32) {
        if !self.is_pinned(slot) {
            self.unlink(slot);
        }
        let key = self.entries.remove(slot).key;
        self.slots.remove(&key);
    }

    /// Notes a use: the entry becomes the newest. A pinned entry becomes the newest when it is unpinned, used or not.
    pub fn touch(&mut self, slot: u32) {
        if slot != self.newest && !self.is_pinned(slot) {
            self.unlink(slot);
            self.link(slot);
        }
    }

    /// Protects an entry from eviction, until it is unpinned as often as it was pinned.
    pub fn pin(&mut self, slot: u32) {
        if !self.is_pinned(slot) {
            self.unlink(slot);
        }
        self.entries[slot].pins += 1;
    }

    /// Undoes one [`Lru::pin`]. Undoing the last makes the entry the newest.
    pub fn unpin(&mut self, slot: u32) {
        self.entries[slot].pins -= 1;
        if !self.is_pinned(slot) {
            self.link(slot);
        }
    }

    /// Whether an entry is pinned.
    pub fn is_pinned(&self, slot: u32) -> bool {
        self.entries[slot].pins > 0
    }

    /// The least recently used entry of those that are not pinned.
    pub fn oldest(&self) -> Option<u32> {
        (self.oldest != NONE).then_some(self.oldest)
    }

    /// The entries that are not pinned, the least recently used first. O(1) for each.
    pub fn oldest_first(&self) -> impl Iterator<Item = u32> + '_ {
        std::iter::successors(self.oldest(), |&slot| {
            let newer = self.entries[slot].newer;
            (newer != NONE).then_some(newer)
        })
    }

    fn link(&mut self, slot: u32) {
        let newest = self.newest;
        let entry = &mut self.entries[slot];
        (entry.older, entry.newer) = (newest, NONE);
        match newest {
            NONE => self.oldest = slot,
            other => self.entries[other].newer = slot,
        }
        self.newest = slot;
    }

    fn unlink(&mut self, slot: u32) {
        let Entry { older, newer, .. } = self.entries[slot];
        match older {
            NONE => self.oldest = newer,
            other => self.entries[other].newer = newer,
        }
        match newer {
            NONE => self.newest = older,
            other => self.entries[other].older = older,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_least_recently_used_is_the_oldest() {
        let mut lru = Lru::new(3);
        let [a, b, c] = [10u64, 20, 30].map(|key| lru.insert(key, key));
        assert!(lru.is_full());
        lru.touch(a);
        assert_eq!(lru.oldest_first().collect::<Vec<_>>(), [b, c, a]);
        lru.remove(c);
        assert_eq!((lru.find(30), lru.len()), (None, 2));
        assert_eq!(lru.insert(40, 40), c);
        assert_eq!(lru.oldest_first().map(|slot| lru.key(slot)).collect::<Vec<_>>(), [20, 10, 40]);
    }

    #[test]
    fn a_pinned_entry_is_no_victim_until_it_is_unpinned_as_often() {
        let mut lru = Lru::new(3);
        let [a, b, c] = [10u64, 20, 30].map(|key| lru.insert(key, ()));
        lru.pin(a);
        lru.pin(a);
        lru.touch(a);
        assert_eq!(lru.oldest_first().collect::<Vec<_>>(), [b, c]);
        lru.unpin(a);
        assert!(lru.is_pinned(a));
        lru.unpin(a);
        assert_eq!(lru.oldest_first().collect::<Vec<_>>(), [b, c, a]);
        lru.pin(b);
        lru.pin(c);
        lru.pin(a);
        assert_eq!((lru.oldest(), lru.len(), lru.is_full()), (None, 3, true));
        lru.remove(b);
        assert_eq!((lru.insert(40, ()), lru.oldest()), (b, Some(b)));
        assert!(!lru.is_pinned(b), "a slot's new entry inherits no pins");
    }

    #[derive(Clone, Copy, Debug)]
    enum Step {
        Use,
        Pin,
        Unpin,
        Remove,
    }

    proptest! {
        #[test]
        fn agrees_with_a_plain_list(steps in prop::collection::vec((0u8..6, 0u64..12), 1..300)) {
            let mut lru = Lru::new(6);
            // Key and pins, the least recently used first.
            let mut model: Vec<(u64, u32)> = Vec::new();
            for (kind, key) in steps {
                let step = match kind {
                    0..=2 => Step::Use,
                    3 => Step::Pin,
                    4 => Step::Unpin,
                    _ => Step::Remove,
                };
                let place = model.iter().position(|&(k, _)| k == key);
                match (step, place) {
                    (Step::Use, Some(place)) => {
                        lru.touch(lru.find(key).unwrap());
                        let entry = model.remove(place);
                        model.push(entry);
                    }
                    (Step::Use, None) => {
                        if lru.is_full() {
                            let victim = model.iter().position(|&(_, pins)| pins == 0);
                            prop_assert_eq!(lru.oldest().map(|slot| lru.key(slot)), victim.map(|at| model[at].0));
                            let Some(victim) = victim else { continue };
                            lru.remove(lru.oldest().unwrap());
                            model.remove(victim);
                        }
                        lru.insert(key, key * 7);
                        model.push((key, 0));
                    }
                    (Step::Pin, Some(place)) => {
                        lru.pin(lru.find(key).unwrap());
                        model[place].1 += 1;
                    }
                    (Step::Unpin, Some(place)) if model[place].1 > 0 => {
                        lru.unpin(lru.find(key).unwrap());
                        model[place].1 -= 1;
                        if model[place].1 == 0 {
                            let entry = model.remove(place);
                            model.push(entry);
                        }
                    }
                    (Step::Remove, Some(place)) => {
                        lru.remove(lru.find(key).unwrap());
                        model.remove(place);
                    }
                    _ => {}
                }
                let order = lru.oldest_first().map(|slot| lru.key(slot));
                prop_assert!(order.eq(model.iter().filter(|(_, pins)| *pins == 0).map(|&(k, _)| k)));
                prop_assert_eq!(lru.len() as usize, model.len());
                for &(key, pins) in &model {
                    let slot = lru.find(key).unwrap();
                    prop_assert_eq!((*lru.get(slot), lru.is_pinned(slot)), (key * 7, pins > 0));
                }
            }
        }
    }
}
