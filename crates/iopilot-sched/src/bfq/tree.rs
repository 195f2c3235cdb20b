//! [`ActiveTree`]: the active queues of a class by finish time, each with the earliest start time in its subtree.
//!
//! A red-black tree like the kernel's, not a list: which queue the kernel's search finds depends on the shape of the
//! tree. The search goes left wherever an eligible queue is there. Where it can go no further, it returns the last
//! eligible queue that it passed, although a queue further right and below may have an earlier finish time. That cannot
//! happen with three queues, and is common with thirty.

use super::queue::QueueId;

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Node {
    finish: u64,
    start: u64,
    /// The earliest start in the subtree.
    earliest: u64,
    parent: u32,
    left: u32,
    right: u32,
    red: bool,
}

const ABSENT: Node = Node { finish: 0, start: 0, earliest: 0, parent: NONE, left: NONE, right: NONE, red: false };

/// A red-black tree of queues, as the module describes it. All operations but the iteration are O(log n).
#[derive(Clone, Debug)]
pub(super) struct ActiveTree {
    /// By the queue's number.
    nodes: Vec<Node>,
    root: u32,
}

impl Default for ActiveTree {
    fn default() -> Self {
        Self { nodes: Vec::new(), root: NONE }
    }
}

impl ActiveTree {
    pub(super) fn is_empty(&self) -> bool {
        self.root == NONE
    }

    /// All queues, by finish time.
    pub(super) fn iter(&self) -> impl Iterator<Item = QueueId> + '_ {
        std::iter::successors(self.leftmost(self.root), |&n| self.next(n)).map(QueueId)
    }

    /// The earliest start of all.
    pub(super) fn earliest_start(&self) -> Option<u64> {
        (self.root != NONE).then(|| self.nodes[self.root as usize].earliest)
    }

    /// The next queue to serve, if one has started by `vtime` (`bfq_first_active_entity`).
    pub(super) fn first(&self, vtime: u64) -> Option<QueueId> {
        let mut found = None;
        let mut at = self.root;
        while at != NONE {
            let node = &self.nodes[at as usize];
            if node.start <= vtime {
                found = Some(QueueId(at));
            }
            if node.left != NONE && self.nodes[node.left as usize].earliest <= vtime {
                at = node.left;
            } else if found.is_some() {
                break;
            } else {
                at = node.right;
            }
        }
        found
    }

    /// Inserts `q`. Of equal finish times, the older comes first.
    pub(super) fn insert(&mut self, q: QueueId, start: u64, finish: u64) {
        let n = q.0;
        if n as usize >= self.nodes.len() {
            self.nodes.resize(n as usize + 1, ABSENT);
        }
        let (mut parent, mut at, mut left) = (NONE, self.root, false);
        while at != NONE {
            parent = at;
            left = self.nodes[at as usize].finish > finish;
            at = self.child(at, left);
        }
        self.nodes[n as usize] = Node { finish, start, earliest: start, parent, red: true, ..ABSENT };
        match parent {
            NONE => self.root = n,
            _ => *self.child_mut(parent, left) = n,
        }
        self.balance_inserted(n);
        let node = &self.nodes[n as usize];
        let from = [node.left, node.right, n].into_iter().find(|&x| x != NONE);
        self.update_up(from.unwrap_or(n));
    }

    /// Removes `q`, which must be in the tree.
    pub(super) fn remove(&mut self, q: QueueId) {
        let n = q.0;
        let Node { left, right, parent, red, .. } = self.nodes[n as usize];
        // The lowest node whose subtree has changed; the child that moves up, and its parent; whether a black node is
        // removed.
        let (changed, child, above, black) = if left == NONE || right == NONE {
            let child = if left == NONE { right } else { left };
            self.replace(n, child);
            (if child == NONE { parent } else { child }, child, parent, !red)
        } else {
            let next = self.leftmost(right).unwrap_or(right);
            let Node { right: child, parent: above, red: next_red, .. } = self.nodes[next as usize];
            let changed = match child {
                NONE if above == n => next,
                NONE => above,
                child => child,
            };
            let above = if above == n {
                next
            } else {
                self.replace(next, child);
                self.nodes[next as usize].right = right;
                self.nodes[right as usize].parent = next;
                above
            };
            self.replace(n, next);
            let node = &mut self.nodes[next as usize];
            (node.left, node.red) = (left, red);
            self.nodes[left as usize].parent = next;
            (changed, child, above, !next_red)
        };
        if black {
            self.balance_removed(child, above);
        }
        if changed != NONE {
            self.update_up(changed);
        }
    }

    fn child(&self, of: u32, left: bool) -> u32 {
        let node = &self.nodes[of as usize];
        if left { node.left } else { node.right }
    }

    fn child_mut(&mut self, of: u32, left: bool) -> &mut u32 {
        let node = &mut self.nodes[of as usize];
        if left { &mut node.left } else { &mut node.right }
    }

    fn red(&self, n: u32) -> bool {
        n != NONE && self.nodes[n as usize].red
    }

    fn paint(&mut self, n: u32, red: bool) {
        if n != NONE {
            self.nodes[n as usize].red = red;
        }
    }

    fn is_left(&self, n: u32, parent: u32) -> bool {
        self.nodes[parent as usize].left == n
    }

    fn leftmost(&self, mut n: u32) -> Option<u32> {
        if n == NONE {
            return None;
        }
        while self.nodes[n as usize].left != NONE {
            n = self.nodes[n as usize].left;
        }
        Some(n)
    }

    fn next(&self, mut n: u32) -> Option<u32> {
        if let Some(next) = self.leftmost(self.nodes[n as usize].right) {
            return Some(next);
        }
        loop {
            let parent = self.nodes[n as usize].parent;
            if parent == NONE {
                return None;
            }
            if self.is_left(n, parent) {
                return Some(parent);
            }
            n = parent;
        }
    }

    /// Replaces `n` below its parent with `by`, which may be `NONE`.
    fn replace(&mut self, n: u32, by: u32) {
        let parent = self.nodes[n as usize].parent;
        match parent {
            NONE => self.root = by,
            _ => {
                let left = self.is_left(n, parent);
                *self.child_mut(parent, left) = by;
            }
        }
        if by != NONE {
            self.nodes[by as usize].parent = parent;
        }
    }

    /// Rotates `n` down, to the left or to the right. Its child on the other side moves up.
    fn rotate(&mut self, n: u32, left: bool) {
        let up = self.child(n, !left);
        let inner = self.child(up, left);
        self.replace(n, up);
        *self.child_mut(up, left) = n;
        *self.child_mut(n, !left) = inner;
        self.nodes[n as usize].parent = up;
        if inner != NONE {
            self.nodes[inner as usize].parent = n;
        }
    }

    fn balance_inserted(&mut self, mut n: u32) {
        loop {
            let parent = self.nodes[n as usize].parent;
            if !self.red(parent) {
                break;
            }
            let grand = self.nodes[parent as usize].parent;
            let left = self.is_left(parent, grand);
            let uncle = self.child(grand, !left);
            if self.red(uncle) {
                self.paint(parent, false);
                self.paint(uncle, false);
                self.paint(grand, true);
                n = grand;
                continue;
            }
            let top = if self.is_left(n, parent) == left {
                parent
            } else {
                self.rotate(parent, left);
                n
            };
            self.paint(top, false);
            self.paint(grand, true);
            self.rotate(grand, !left);
            break;
        }
        self.paint(self.root, false);
    }

    /// Restores the balance: below `parent`, at `n`, which may be `NONE`, a black node is missing.
    fn balance_removed(&mut self, mut n: u32, mut parent: u32) {
        while n != self.root && !self.red(n) {
            let left = self.is_left(n, parent);
            let mut sibling = self.child(parent, !left);
            if self.red(sibling) {
                self.paint(sibling, false);
                self.paint(parent, true);
                self.rotate(parent, left);
                sibling = self.child(parent, !left);
            }
            let (near, far) = (self.child(sibling, left), self.child(sibling, !left));
            if !self.red(near) && !self.red(far) {
                self.paint(sibling, true);
                (n, parent) = (parent, self.nodes[parent as usize].parent);
                continue;
            }
            if !self.red(far) {
                self.paint(near, false);
                self.paint(sibling, true);
                self.rotate(sibling, !left);
                sibling = near;
            }
            self.paint(sibling, self.red(parent));
            self.paint(parent, false);
            self.paint(self.child(sibling, !left), false);
            self.rotate(parent, left);
            return;
        }
        self.paint(n, false);
    }

    fn update(&mut self, n: u32) {
        let node = &self.nodes[n as usize];
        let below = [node.left, node.right].into_iter().filter(|&c| c != NONE);
        let earliest = below.map(|c| self.nodes[c as usize].earliest).fold(node.start, u64::min);
        self.nodes[n as usize].earliest = earliest;
    }

    /// Updates the earliest starts of `n`, its ancestors and their other children (`bfq_update_active_tree`).
    fn update_up(&mut self, mut n: u32) {
        loop {
            self.update(n);
            let parent = self.nodes[n as usize].parent;
            if parent == NONE {
                return;
            }
            let other = self.child(parent, !self.is_left(n, parent));
            if other != NONE {
                self.update(other);
            }
            n = parent;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    impl ActiveTree {
        /// Checks the subtree of `n`. Returns the number of black nodes on each path down, and the earliest start.
        fn check(&self, n: u32, parent: u32) -> (u32, u64) {
            if n == NONE {
                return (0, u64::MAX);
            }
            let node = self.nodes[n as usize];
            assert_eq!(node.parent, parent);
            assert!(!(node.red && self.red(parent)), "two red nodes in a row");
            let (left, right) = (self.check(node.left, n), self.check(node.right, n));
            assert_eq!(left.0, right.0, "as many black nodes on each side");
            let earliest = node.start.min(left.1).min(right.1);
            assert_eq!(node.earliest, earliest);
            (left.0 + u32::from(!node.red), earliest)
        }
    }

    proptest! {
        #[test]
        fn it_is_a_sorted_list_and_a_balanced_tree(steps in prop::collection::vec((0u32..40, 0u64..60, 0u64..30), 1..400)) {
            let mut tree = ActiveTree::default();
            let mut list: BTreeMap<(u64, usize), u32> = BTreeMap::new();
            for (n, (q, start, length)) in steps.into_iter().enumerate() {
                if let Some(&key) = list.iter().find(|(_, x)| **x == q).map(|(key, _)| key) {
                    tree.remove(QueueId(q));
                    list.remove(&key);
                } else {
                    tree.insert(QueueId(q), start, start + length);
                    list.insert((start + length, n), q);
                }
                tree.check(tree.root, NONE);
                prop_assert!(!tree.red(tree.root));
                prop_assert!(tree.iter().map(|q| q.0).eq(list.values().copied()));
                let least = list.values().map(|&q| tree.nodes[q as usize].start).min();
                prop_assert_eq!(tree.earliest_start(), least);
                for vtime in [0, 15, 30, 60] {
                    let found = tree.first(vtime);
                    prop_assert_eq!(found.is_some(), least.is_some_and(|least| least <= vtime));
                    prop_assert!(found.is_none_or(|q| tree.nodes[q.0 as usize].start <= vtime), "it is eligible");
                }
            }
        }
    }

    #[test]
    fn the_search_may_miss_a_queue_that_finishes_earlier() {
        // 3 is at the top. Below it to the left is 1, which is not eligible. To the right of that is 2, which is.
        let mut tree = ActiveTree::default();
        for (q, start, finish) in [(3, 0, 30), (1, 9, 10), (4, 9, 40), (2, 0, 20)] {
            tree.insert(QueueId(q), start, finish);
        }
        assert_eq!(tree.first(5), Some(QueueId(3)), "as the kernel's does: 2 would finish earlier");
        tree.remove(QueueId(1));
        assert_eq!(tree.first(5), Some(QueueId(2)));
    }
}
