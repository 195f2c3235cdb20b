//! [`Lru`]: entries by number, in order of use.

use super::NONE;
use iopilot_block::NumberMap;

#[derive(Clone, Debug)]
struct Node<V> {
    key: u64,
    value: V,
    older: u32,
    newer: u32,
}

/// A bounded map from numbers to values; all operations are O(1). Its order does not depend on the hash.
#[derive(Clone, Debug)]
pub(super) struct Lru<V> {
    nodes: Vec<Node<V>>,
    index: NumberMap<u64, u32>,
    oldest: u32,
    newest: u32,
    free: Vec<u32>,
    capacity: u32,
}

impl<V> Lru<V> {
    pub(super) fn new(capacity: u32) -> Self {
        Self { nodes: Vec::new(), index: NumberMap::default(), oldest: NONE, newest: NONE, free: Vec::new(), capacity }
    }

    pub(super) fn len(&self) -> u32 {
        self.index.len() as u32
    }

    pub(super) fn is_full(&self) -> bool {
        self.len() >= self.capacity
    }

    pub(super) fn find(&self, key: u64) -> Option<u32> {
        self.index.get(&key).copied()
    }

    pub(super) fn key(&self, at: u32) -> u64 {
        self.nodes[at as usize].key
    }

    pub(super) fn get(&self, at: u32) -> &V {
        &self.nodes[at as usize].value
    }

    pub(super) fn get_mut(&mut self, at: u32) -> &mut V {
        &mut self.nodes[at as usize].value
    }

    /// Adds an entry as the newest. There must be room, and no entry of this number.
    pub(super) fn insert(&mut self, key: u64, value: V) -> u32 {
        let node = Node { key, value, older: NONE, newer: NONE };
        let at = match self.free.pop() {
            Some(at) => {
                self.nodes[at as usize] = node;
                at
            }
            None => {
                self.nodes.push(node);
                self.nodes.len() as u32 - 1
            }
        };
        self.index.insert(key, at);
        self.link(at);
        at
    }

    pub(super) fn remove(&mut self, at: u32) {
        self.unlink(at);
        self.index.remove(&self.nodes[at as usize].key);
        self.free.push(at);
    }

    /// Makes an entry the newest.
    pub(super) fn touch(&mut self, at: u32) {
        if at != self.newest {
            self.unlink(at);
            self.link(at);
        }
    }

    /// The entries, the oldest first.
    pub(super) fn oldest_first(&self) -> impl Iterator<Item = u32> + '_ {
        std::iter::successors((self.oldest != NONE).then_some(self.oldest), |&at| {
            let newer = self.nodes[at as usize].newer;
            (newer != NONE).then_some(newer)
        })
    }

    fn link(&mut self, at: u32) {
        let newest = self.newest;
        let node = &mut self.nodes[at as usize];
        (node.older, node.newer) = (newest, NONE);
        match newest {
            NONE => self.oldest = at,
            other => self.nodes[other as usize].newer = at,
        }
        self.newest = at;
    }

    fn unlink(&mut self, at: u32) {
        let (older, newer) = (self.nodes[at as usize].older, self.nodes[at as usize].newer);
        match older {
            NONE => self.oldest = newer,
            other => self.nodes[other as usize].newer = newer,
        }
        match newer {
            NONE => self.newest = older,
            other => self.nodes[other as usize].older = older,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_is_the_oldest() {
        let mut lru = Lru::new(3);
        let [a, b, c] = [10, 20, 30].map(|key| lru.insert(key, key));
        assert!(lru.is_full());
        lru.touch(a);
        assert_eq!(lru.oldest_first().collect::<Vec<_>>(), [b, c, a]);
        lru.remove(c);
        assert_eq!((lru.find(30), lru.len()), (None, 2));
        assert_eq!(lru.insert(40, 40), c);
        assert_eq!(lru.oldest_first().map(|at| lru.key(at)).collect::<Vec<_>>(), [20, 10, 40]);
    }
}
