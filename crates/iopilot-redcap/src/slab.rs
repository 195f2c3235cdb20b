//! [`Slab`]: values in slots that are reused.

use std::ops::{Index, IndexMut};

/// Stands for no slot of a [`Slab`].
pub(crate) const NONE: u32 = u32::MAX;

/// Values by slot. It allocates nothing once the number of values has peaked.
#[derive(Clone, Debug)]
pub(crate) struct Slab<T> {
    slots: Vec<T>,
    free: Vec<u32>,
}

impl<T: Copy> Slab<T> {
    pub(crate) const fn new() -> Self {
        Self { slots: Vec::new(), free: Vec::new() }
    }

    pub(crate) fn insert(&mut self, value: T) -> u32 {
        match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = value;
                slot
            }
            None => {
                self.slots.push(value);
                self.slots.len() as u32 - 1
            }
        }
    }

    pub(crate) fn remove(&mut self, slot: u32) -> T {
        self.free.push(slot);
        self.slots[slot as usize]
    }

    pub(crate) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    pub(crate) fn clear(&mut self) {
        self.slots.clear();
        self.free.clear();
    }
}

impl<T> Index<u32> for Slab<T> {
    type Output = T;
    fn index(&self, slot: u32) -> &T {
        &self.slots[slot as usize]
    }
}

impl<T> IndexMut<u32> for Slab<T> {
    fn index_mut(&mut self, slot: u32) -> &mut T {
        &mut self.slots[slot as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_used_again() {
        let mut slab = Slab::new();
        let [a, b] = ['a', 'b'].map(|value| slab.insert(value));
        assert_eq!((slab.remove(a), slab.len()), ('a', 1));
        assert_eq!((slab.insert('c'), slab[b], slab[a]), (a, 'b', 'c'));
    }
}
