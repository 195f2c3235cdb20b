//! [`Links`] and [`List`]: linked lists of the values in a slab, without an allocation per entry.

use crate::{IoIndex, RequestId, SourceHandle};

/// A name that is a small, dense number, so that data about it can be kept in a `Vec`.
pub trait SlotIndex: Copy + Eq {
    /// The number.
    fn index(self) -> usize;

    /// The name with this number.
    ///
    /// # Panics
    /// Where the number does not fit.
    fn from_index(index: usize) -> Self;
}

impl SlotIndex for RequestId {
    #[inline]
    fn index(self) -> usize {
        Self::index(self)
    }

    #[inline]
    fn from_index(index: usize) -> Self {
        Self::from_index(index)
    }
}

impl SlotIndex for IoIndex {
    #[inline]
    fn index(self) -> usize {
        self.0 as usize
    }

    #[inline]
    fn from_index(index: usize) -> Self {
        Self(u32::from_index(index))
    }
}

impl SlotIndex for SourceHandle {
    #[inline]
    fn index(self) -> usize {
        self.0 as usize
    }

    #[inline]
    fn from_index(index: usize) -> Self {
        Self(index as u64)
    }
}

impl SlotIndex for usize {
    #[inline]
    fn index(self) -> usize {
        self
    }

    #[inline]
    fn from_index(index: usize) -> Self {
        index
    }
}

impl SlotIndex for u32 {
    #[inline]
    fn index(self) -> usize {
        self as usize
    }

    #[inline]
    fn from_index(index: usize) -> Self {
        Self::try_from(index).expect("fewer than 2^32 slots")
    }
}

impl SlotIndex for u16 {
    #[inline]
    fn index(self) -> usize {
        usize::from(self)
    }

    #[inline]
    fn from_index(index: usize) -> Self {
        Self::try_from(index).expect("fewer than 2^16 slots")
    }
}

/// The links between the entries of lists. Any number of [`List`]s share one `Links`, as long as no entry is in two of
/// them. It grows to the largest index used and allocates nothing more.
#[derive(Clone, Debug)]
pub struct Links<I = RequestId> {
    /// The previous and the next entry.
    links: Vec<(Option<I>, Option<I>)>,
}

/// A doubly linked list of requests, or of other values in a slab. An entry is in it at most once. All operations but
/// [`List::iter`] are O(1).
#[derive(Clone, Copy, Debug)]
pub struct List<I = RequestId> {
    front: Option<I>,
    back: Option<I>,
    len: usize,
}

impl<I: SlotIndex> Links<I> {
    /// No links yet.
    pub const fn new() -> Self {
        Self { links: Vec::new() }
    }

    fn slot(&mut self, id: I) -> &mut (Option<I>, Option<I>) {
        if id.index() >= self.links.len() {
            self.links.resize(id.index() + 1, (None, None));
        }
        &mut self.links[id.index()]
    }
}

impl<I: SlotIndex> Default for Links<I> {
    fn default() -> Self {
        Self::new()
    }
}

impl<I: SlotIndex> Default for List<I> {
    fn default() -> Self {
        Self::new()
    }
}

impl<I: SlotIndex> List<I> {
    /// An empty list.
    pub const fn new() -> Self {
        Self { front: None, back: None, len: 0 }
    }

    /// The first entry.
    pub fn front(&self) -> Option<I> {
        self.front
    }

    /// The last entry.
    pub fn back(&self) -> Option<I> {
        self.back
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The entry after `id`, which must be in this list.
    pub fn next(&self, links: &Links<I>, id: I) -> Option<I> {
        links.links[id.index()].1
    }

    /// The entry before `id`, which must be in this list.
    pub fn prev(&self, links: &Links<I>, id: I) -> Option<I> {
        links.links[id.index()].0
    }

    /// Moves all entries of `other` to the end of this list. O(1).
    pub fn append(&mut self, links: &mut Links<I>, other: &mut Self) {
        let (Some(front), Some(back)) = (other.front, other.back) else { return };
        match self.back {
            Some(last) => {
                links.slot(last).1 = Some(front);
                links.slot(front).0 = Some(last);
            }
            None => self.front = Some(front),
        }
        self.back = Some(back);
        self.len += other.len;
        *other = Self::default();
    }

    /// Appends `id`.
    pub fn push_back(&mut self, links: &mut Links<I>, id: I) {
        *links.slot(id) = (self.back, None);
        match self.back {
            Some(back) => links.slot(back).1 = Some(id),
            None => self.front = Some(id),
        }
        self.back = Some(id);
        self.len += 1;
    }

    /// Prepends `id`.
    pub fn push_front(&mut self, links: &mut Links<I>, id: I) {
        *links.slot(id) = (None, self.front);
        match self.front {
            Some(front) => links.slot(front).0 = Some(id),
            None => self.back = Some(id),
        }
        self.front = Some(id);
        self.len += 1;
    }

    /// Inserts `id` before `at`, which must be in this list.
    pub fn insert_before(&mut self, links: &mut Links<I>, at: I, id: I) {
        let prev = links.slot(at).0.replace(id);
        *links.slot(id) = (prev, Some(at));
        match prev {
            Some(prev) => links.slot(prev).1 = Some(id),
            None => self.front = Some(id),
        }
        self.len += 1;
    }

    /// Removes the first entry and returns it.
    pub fn pop_front(&mut self, links: &mut Links<I>) -> Option<I> {
        let id = self.front?;
        self.remove(links, id);
        Some(id)
    }

    /// Removes `id`, which must be in this list.
    pub fn remove(&mut self, links: &mut Links<I>, id: I) {
        let (prev, next) = std::mem::take(links.slot(id));
        match prev {
            Some(prev) => links.slot(prev).1 = next,
            None => self.front = next,
        }
        match next {
            Some(next) => links.slot(next).0 = prev,
            None => self.back = prev,
        }
        self.len -= 1;
    }

    /// Removes `old` and puts `new` in its position.
    pub fn replace(&mut self, links: &mut Links<I>, old: I, new: I) {
        let (prev, next) = std::mem::take(links.slot(old));
        *links.slot(new) = (prev, next);
        match prev {
            Some(prev) => links.slot(prev).1 = Some(new),
            None => self.front = Some(new),
        }
        match next {
            Some(next) => links.slot(next).0 = Some(new),
            None => self.back = Some(new),
        }
    }

    /// The entries from front to back.
    pub fn iter<'a>(&self, links: &'a Links<I>) -> impl Iterator<Item = I> + use<'a, I> {
        std::iter::successors(self.front, move |id| links.links[id.index()].1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_survives_removal_and_replacement() {
        let id = RequestId::from_index;
        let (mut links, mut list) = (Links::new(), List::new());
        for i in [3, 1, 4, 5] {
            list.push_back(&mut links, id(i));
        }
        list.push_front(&mut links, id(9));
        list.remove(&mut links, id(1));
        list.replace(&mut links, id(5), id(2));
        assert_eq!(list.iter(&links).map(RequestId::index).collect::<Vec<_>>(), [9, 3, 4, 2]);
        assert_eq!((list.len(), list.back()), (4, Some(id(2))));
        let mut tail = List::new();
        tail.push_back(&mut links, id(7));
        list.append(&mut links, &mut tail);
        assert_eq!((list.back(), list.prev(&links, id(7)), tail.len()), (Some(id(7)), Some(id(2)), 0));
        list.insert_before(&mut links, id(9), id(8));
        list.insert_before(&mut links, id(7), id(6));
        assert_eq!(list.iter(&links).map(RequestId::index).collect::<Vec<_>>(), [8, 9, 3, 4, 2, 6, 7]);
        assert_eq!(list.prev(&links, id(6)), Some(id(2)));
        while list.pop_front(&mut links).is_some() {}
        assert!(list.is_empty() && list.back().is_none());
    }
}
