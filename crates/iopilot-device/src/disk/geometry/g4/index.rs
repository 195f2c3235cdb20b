//! [`Index`]: the nested repetitions, from place to block and back.

use super::layout::{G4Child, G4Entry, G4Layout};
use crate::disk::geometry::divisor::Divisor;
use crate::disk::geometry::starts::Starts;

/// The nodes, prepared for descending.
#[derive(Clone, Debug)]
pub(super) struct Index {
    nodes: Box<[Node]>,
}

#[derive(Clone, Debug)]
struct Node {
    starts: Starts,
    entries: Box<[Entry]>,
}

/// One cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Entry {
    blocks: Divisor,
    run_blocks: u64,
    offset: f64,
    turn: f64,
    cylinder: u32,
    /// Negative if the entry descends.
    cylinders: i32,
    head: u32,
    low: u32,
    per_turn: u32,
    /// The child; [`TRACK`] for a track.
    node: u32,
}

const TRACK: u32 = u32::MAX;

/// A track in the index. Places are numbers in the nodes' own count, with slips included.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leaf {
    /// The entry of the root.
    pub(super) zone: u32,
    pub(super) cylinder: u32,
    pub(super) head: u32,
    /// Its first place, and the end of its places.
    pub(super) first: u64,
    pub(super) end: u64,
    /// The sector of its first place, and the angle of that, in revolutions that may exceed 1.
    pub(super) sector: u32,
    pub(super) angle: f64,
    pub(super) per_turn: u32,
}

impl Index {
    /// The layout must have been checked.
    pub(super) fn new(layout: &G4Layout) -> Self {
        let node = |entries: &Vec<G4Entry>| {
            let end = entries.last().map_or(0, |e| e.first + e.run_blocks);
            let entry = |e: &G4Entry| {
                // Without repetitions it may be any number and has no effect.
                let cylinders = e.cylinders.min(i32::MAX as u32) as i32;
                let (node, head, pattern) = match e.child {
                    G4Child::Node(node) => (node as u32, 0, None),
                    G4Child::Track { pattern, head } => (TRACK, head, layout.patterns.get(pattern)),
                };
                Entry {
                    blocks: Divisor::new(e.blocks, e.run_blocks),
                    run_blocks: e.run_blocks,
                    offset: e.offset,
                    turn: e.turn,
                    cylinder: e.cylinder,
                    cylinders: if e.run_cylinders < 0 { -cylinders } else { cylinders },
                    head,
                    low: pattern.map_or(0, |p| p.low),
                    per_turn: pattern.map_or(1, |p| p.per_turn),
                    node,
                }
            };
            Node {
                starts: Starts::new(entries.iter().map(|e| e.first).collect(), end),
                entries: entries.iter().map(entry).collect(),
            }
        };
        Self { nodes: layout.nodes.iter().map(node).collect() }
    }

    fn root(&self) -> u32 {
        self.nodes.len() as u32 - 1
    }

    /// The track of `place`, which is in the index. O(depth).
    #[inline]
    pub(super) fn leaf_of(&self, place: u64) -> Leaf {
        let mut at = self.root();
        let (mut within, mut left) = (place, u64::MAX);
        let (mut cylinder, mut angle) = (0u32, 0.0);
        let mut zone = None;
        loop {
            let node = &self.nodes[at as usize];
            let i = node.starts.find(within);
            let entry = &node.entries[i];
            let y = within - node.starts.first(i);
            let (repetition, rest) = if y < entry.blocks.get() { (0, y) } else { entry.blocks.divide(y) };
            left = left.min(entry.blocks.get() - rest).min(entry.run_blocks - y);
            // In range, as was checked: wrapping subtracts the cylinders of a descending entry.
            cylinder = cylinder
                .wrapping_add(entry.cylinder)
                .wrapping_add((repetition as u32).wrapping_mul(entry.cylinders as u32));
            angle += entry.offset + repetition as f64 * entry.turn;
            let zone = *zone.get_or_insert(i as u32);
            if entry.node == TRACK {
                return Leaf {
                    zone,
                    cylinder,
                    head: entry.head,
                    first: place - rest,
                    end: place + left,
                    sector: entry.low,
                    angle,
                    per_turn: entry.per_turn,
                };
            }
            (at, within) = (entry.node, rest);
        }
    }

    /// The place of a sector. O(entries) of the nodes on the way.
    pub(super) fn place_at(&self, cylinder: u32, head: u32, sector: u32) -> Option<u64> {
        self.place_in(self.root(), u64::MAX, i64::from(cylinder), head, Some(sector))
    }

    /// The first place on a track.
    pub(super) fn track_at(&self, cylinder: u32, head: u32) -> Option<u64> {
        self.place_in(self.root(), u64::MAX, i64::from(cylinder), head, None)
    }

    /// Like [`Index::place_at`], in the first `left` places of a node; without a sector the first place of the track.
    fn place_in(&self, node: u32, left: u64, cylinder: i64, head: u32, sector: Option<u32>) -> Option<u64> {
        let node = &self.nodes[node as usize];
        node.entries.iter().enumerate().find_map(|(i, entry)| {
            let left = left.checked_sub(node.starts.first(i))?.min(entry.run_blocks);
            let (step, d) = (i64::from(entry.cylinders), cylinder - i64::from(entry.cylinder));
            // A descending entry fills the cylinders from its start upwards, like the others.
            let repetition = match step {
                _ if entry.run_blocks <= entry.blocks.get() => 0,
                ..0 => (-d - step - 1).div_euclid(-step),
                _ => d.div_euclid(step.max(1)),
            };
            let at = i64::from(entry.cylinder) + repetition * step;
            let from = u64::try_from(repetition).ok()?.checked_mul(entry.blocks.get())?;
            let left = left.checked_sub(from).filter(|&left| left > 0)?.min(entry.blocks.get());
            let inside = if entry.node != TRACK {
                self.place_in(entry.node, left, cylinder - at, head, sector)?
            } else if cylinder == at && head == entry.head {
                let inside = sector.map_or(Some(0), |s| s.checked_sub(entry.low))?;
                Some(u64::from(inside)).filter(|&inside| inside < left)?
            } else {
                return None;
            };
            Some(node.starts.first(i) + from + inside)
        })
    }
}
