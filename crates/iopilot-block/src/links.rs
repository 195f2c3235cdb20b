//! Linked lists of requests that allocate nothing per request.

use iopilot_block::RequestId;

/// Storage for the links of lists in which a request is at most once. Any number of [`List`]s share one `Links` as
/// long as no request is in two of them.
#[derive(Clone, Debug, Default)]
pub struct Links {
    links: Vec<(Option<RequestId>, Option<RequestId>)>,
}

/// A doubly linked list of requests. All operations but [`List::iter`] are O(1).
#[derive(Clone, Copy, Debug, Default)]
pub struct List {
    front: Option<RequestId>,
    back: Option<RequestId>,
    len: usize,
}

impl Links {
    fn slot(&mut self, id: RequestId) -> &mut (Option<RequestId>, Option<RequestId>) {
        if id.index() >= self.links.len() {
            self.links.resize(id.index() + 1, (None, None));
        }
        &mut self.links[id.index()]
    }
}

impl List {
    /// An empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// The first request.
    pub fn front(&self) -> Option<RequestId> {
        self.front
    }

    /// The last request.
    pub fn back(&self) -> Option<RequestId> {
        self.back
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The request behind `id` in this list.
    pub fn next(&self, links: &Links, id: RequestId) -> Option<RequestId> {
        links.links[id.index()].1
    }

    /// The request before `id` in this list.
    pub fn prev(&self, links: &Links, id: RequestId) -> Option<RequestId> {
        links.links[id.index()].0
    }

    /// Moves all of `other` behind this list. O(1).
    pub fn append(&mut self, links: &mut Links, other: &mut Self) {
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
    pub fn push_back(&mut self, links: &mut Links, id: RequestId) {
        *links.slot(id) = (self.back, None);
        match self.back {
            Some(back) => links.slot(back).1 = Some(id),
            None => self.front = Some(id),
        }
        self.back = Some(id);
        self.len += 1;
    }

    /// Puts `id` first.
    pub fn push_front(&mut self, links: &mut Links, id: RequestId) {
        *links.slot(id) = (None, self.front);
        match self.front {
            Some(front) => links.slot(front).0 = Some(id),
            None => self.back = Some(id),
        }
        self.front = Some(id);
        self.len += 1;
    }

    /// Puts `id` before `at`, which is in this list.
    pub fn insert_before(&mut self, links: &mut Links, at: RequestId, id: RequestId) {
        let prev = links.slot(at).0.replace(id);
        *links.slot(id) = (prev, Some(at));
        match prev {
            Some(prev) => links.slot(prev).1 = Some(id),
            None => self.front = Some(id),
        }
        self.len += 1;
    }

    /// Takes the first request out.
    pub fn pop_front(&mut self, links: &mut Links) -> Option<RequestId> {
        let id = self.front?;
        self.remove(links, id);
        Some(id)
    }

    /// Takes `id`, which must be in this list, out.
    pub fn remove(&mut self, links: &mut Links, id: RequestId) {
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

    /// Puts `new` where `old` is and takes `old` out.
    pub fn replace(&mut self, links: &mut Links, old: RequestId, new: RequestId) {
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

    /// From front to back.
    pub fn iter<'a>(&self, links: &'a Links) -> impl Iterator<Item = RequestId> + use<'a> {
        std::iter::successors(self.front, move |id| links.links[id.index()].1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_survives_removal_and_replacement() {
        let id = RequestId::from_index;
        let (mut links, mut list) = (Links::default(), List::new());
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
