//! [`Slab`]: values named by small, dense numbers that are reused.

use crate::SlotIndex;
use std::ops::{Index, IndexMut};

/// Values in numbered slots. The number of a slot is the name of the value in it.
///
/// [`Slab::insert`] reuses the slot that was freed last, so that names stay small and dense. Data about the values can
/// be kept beside them in a `Vec` ([`SlotIndex`]). All operations are O(1). Nothing is allocated once the number of
/// values has peaked.
///
/// A removed value stays readable under its name until the slot is reused. It is dropped then.
///
/// # Examples
/// ```
/// use iopilot_block::Slab;
///
/// let mut slab: Slab<&str> = Slab::new();
/// let [read, write] = ["read", "write"].map(|name| slab.insert(name));
/// slab.remove(read);
/// assert_eq!(slab[read], "read", "until the slot is reused");
/// assert_eq!(slab.insert("flush"), read);
/// assert_eq!((slab[read], slab[write], slab.len()), ("flush", "write", 2));
/// ```
#[derive(Clone, Debug)]
pub struct Slab<T, I = u32> {
    slots: Vec<T>,
    /// The slots without a value, the one freed last at the end.
    free: Vec<I>,
}

impl<T, I: SlotIndex> Slab<T, I> {
    /// An empty slab.
    pub const fn new() -> Self {
        Self { slots: Vec::new(), free: Vec::new() }
    }

    /// An empty slab that allocates nothing until it holds more than `capacity` values.
    pub fn with_capacity(capacity: usize) -> Self {
        Self { slots: Vec::with_capacity(capacity), free: Vec::with_capacity(capacity) }
    }

    /// Adds `value` and names it.
    #[inline]
    pub fn insert(&mut self, value: T) -> I {
        self.insert_with(|_| value)
    }

    /// Adds the value that `make` returns and names it. `make` is given the removed value of the slot, if the slot is
    /// reused: it can take allocated memory from it.
    #[inline]
    pub fn insert_with(&mut self, make: impl FnOnce(Option<&mut T>) -> T) -> I {
        match self.free.pop() {
            Some(id) => {
                let slot = &mut self.slots[id.index()];
                *slot = make(Some(&mut *slot));
                id
            }
            None => {
                self.slots.push(make(None));
                I::from_index(self.slots.len() - 1)
            }
        }
    }

    /// Frees the slot of `id`, which must have a value. Returns that value, which stays there until the slot is reused.
    #[inline]
    pub fn remove(&mut self, id: I) -> &mut T {
        self.free.push(id);
        &mut self.slots[id.index()]
    }

    /// Drops all values and slots. The first names are handed out again.
    pub fn clear(&mut self) {
        self.slots.clear();
        self.free.clear();
    }

    /// How many values there are.
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many slots there are: one more than the largest index ever handed out.
    pub fn slots(&self) -> usize {
        self.slots.len()
    }

    /// All slots, among them those whose value was removed.
    pub fn as_slice(&self) -> &[T] {
        &self.slots
    }

    /// All slots, among them those whose value was removed.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        &mut self.slots
    }
}

impl<T, I: SlotIndex> Default for Slab<T, I> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T, I: SlotIndex> Index<I> for Slab<T, I> {
    type Output = T;

    #[inline]
    fn index(&self, id: I) -> &T {
        &self.slots[id.index()]
    }
}

impl<T, I: SlotIndex> IndexMut<I> for Slab<T, I> {
    #[inline]
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.slots[id.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_cleared_slab_hands_out_the_first_names_again() {
        let mut slab: Slab<char> = Slab::new();
        let [a, b] = ['a', 'b'].map(|value| slab.insert(value));
        slab.remove(a);
        slab.clear();
        assert_eq!((slab.len(), slab.slots()), (0, 0));
        assert_eq!(['c', 'd'].map(|value| slab.insert(value)), [a, b]);
    }

    #[test]
    fn a_slice_shows_removed_values_too() {
        let mut slab: Slab<char> = Slab::with_capacity(2);
        let [a, _] = ['a', 'b'].map(|value| slab.insert(value));
        slab.remove(a);
        slab.as_mut_slice()[1] = 'c';
        assert_eq!(slab.as_slice(), ['a', 'c']);
    }

    #[test]
    fn a_new_value_can_take_memory_from_the_removed_one() {
        let mut slab: Slab<Vec<u8>> = Slab::new();
        let id = slab.insert(Vec::with_capacity(100));
        slab.remove(id).clear();
        assert_eq!(slab.insert_with(|old| old.map(std::mem::take).unwrap_or_default()), id);
        assert!(slab[id].capacity() >= 100);
    }

    proptest! {
        /// The model: slots that may be empty, and a stack of those that were freed.
        #[test]
        fn agrees_with_a_stack_of_free_slots(ops in prop::collection::vec(prop::option::of(0usize..20), 1..200)) {
            let mut slab: Slab<usize, u32> = Slab::new();
            let (mut model, mut free): (Vec<Option<usize>>, Vec<usize>) = (Vec::new(), Vec::new());
            for (value, op) in ops.into_iter().enumerate() {
                let taken: Vec<usize> = (0..model.len()).filter(|&slot| model[slot].is_some()).collect();
                match op {
                    Some(nth) if !taken.is_empty() => {
                        let slot = taken[nth % taken.len()];
                        prop_assert_eq!(Some(*slab.remove(slot as u32)), model[slot].take());
                        free.push(slot);
                    }
                    _ => {
                        let slot = free.pop().unwrap_or(model.len());
                        model.resize(model.len().max(slot + 1), None);
                        model[slot] = Some(value);
                        prop_assert_eq!(slab.insert(value), slot as u32);
                    }
                }
                prop_assert_eq!((slab.len(), slab.slots()), (model.iter().flatten().count(), model.len()));
                prop_assert_eq!(slab.is_empty(), model.iter().flatten().next().is_none());
                for (slot, value) in model.iter().enumerate() {
                    prop_assert!(value.is_none_or(|value| slab[slot as u32] == value));
                }
            }
        }
    }
}
