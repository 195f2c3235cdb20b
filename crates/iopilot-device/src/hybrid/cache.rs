//! [`HybridCache`]: the lines in flash, and the history of reads.

use super::line::{Division, HybridLine};
use super::model::HybridModel;
use iopilot_block::Lru;
use std::collections::VecDeque;

/// How many of the oldest lines are examined for a victim.
const CANDIDATES: usize = 64;

#[derive(Clone, Debug)]
pub(super) struct HybridCache {
    pub(super) division: Division,
    lines: Lru<u64, HybridLine>,
    /// How often lines that are not in flash were read.
    remembered: Lru<u64, u32>,
    /// Lines in the order in which they became dirty; some are clean again.
    dirty: VecDeque<u32>,
    pub(super) dirty_lines: u32,
    promote_after: u32,
    pub(super) evicted: u64,
    pub(super) refused: u64,
}

impl HybridCache {
    pub(super) fn new(model: &HybridModel) -> Self {
        let division = Division::new(model.line_sectors);
        let mut lines = Lru::new(model.lines);
        let all = u64::MAX >> (64 - division.parts());
        for &(first, sectors) in &model.pinned {
            for tag in first / division.line..(first + sectors).div_ceil(division.line) {
                if lines.find(tag).is_none() && !lines.is_full() {
                    lines.insert(tag, HybridLine { valid: all, pinned: true, ..HybridLine::default() });
                }
            }
        }
        Self {
            division,
            lines,
            remembered: Lru::new(model.remembered_lines.max(1)),
            dirty: VecDeque::new(),
            dirty_lines: 0,
            promote_after: model.promote_after,
            evicted: 0,
            refused: 0,
        }
    }

    pub(super) fn used(&self) -> u32 {
        self.lines.len()
    }

    pub(super) fn find(&self, tag: u64) -> Option<u32> {
        self.lines.find(tag)
    }

    pub(super) fn line(&self, at: u32) -> &HybridLine {
        self.lines.get(at)
    }

    pub(super) fn line_mut(&mut self, at: u32) -> &mut HybridLine {
        self.lines.get_mut(at)
    }

    /// The line's number on the disk.
    pub(super) fn tag(&self, at: u32) -> u64 {
        self.lines.key(at)
    }

    pub(super) fn touch(&mut self, at: u32) {
        self.lines.touch(at);
    }

    /// Counts a read of a line that was not served from flash.
    pub(super) fn remember(&mut self, tag: u64) {
        if let Some(at) = self.remembered.find(tag) {
            *self.remembered.get_mut(at) += 1;
            self.remembered.touch(at);
            return;
        }
        if self.remembered.is_full() {
            if let Some(at) = self.remembered.oldest() {
                self.remembered.remove(at);
            }
        }
        self.remembered.insert(tag, 1);
    }

    /// Whether a line was read often enough to be copied to flash.
    pub(super) fn deserves(&self, tag: u64) -> bool {
        let reads = self.remembered.find(tag).map_or(0, |at| *self.remembered.get(at));
        self.lines.find(tag).is_some() || reads >= self.promote_after
    }

    /// The line in flash, replacing another if necessary; `None` if there is no victim.
    pub(super) fn admit(&mut self, tag: u64) -> Option<u32> {
        if let Some(at) = self.lines.find(tag) {
            self.lines.touch(at);
            return Some(at);
        }
        if self.lines.is_full() {
            let idle = self.lines.oldest_first().take(CANDIDATES).find(|&at| self.lines.get(at).is_idle());
            let Some(at) = idle else {
                self.refused += 1;
                return None;
            };
            self.lines.remove(at);
            self.evicted += 1;
        }
        if let Some(at) = self.remembered.find(tag) {
            self.remembered.remove(at);
        }
        Some(self.lines.insert(tag, HybridLine::default()))
    }

    /// Marks parts of a line as present in flash only.
    pub(super) fn make_dirty(&mut self, at: u32, mask: u64) {
        let line = self.lines.get_mut(at);
        if line.dirty == 0 {
            self.dirty.push_back(at);
            self.dirty_lines += 1;
        }
        line.valid |= mask;
        line.dirty |= mask;
    }

    /// Marks parts of a line as present on the disk too.
    pub(super) fn make_clean(&mut self, at: u32, mask: u64) {
        let line = self.lines.get_mut(at);
        let was = line.dirty != 0;
        line.dirty &= !mask;
        self.dirty_lines -= u32::from(was && line.dirty == 0);
    }

    /// Invalidates parts of a line; frees the line if no part is left.
    pub(super) fn drop_parts(&mut self, at: u32, mask: u64) {
        self.make_clean(at, mask);
        let line = self.lines.get_mut(at);
        line.valid &= !mask;
        if line.valid == 0 && line.is_idle() {
            self.lines.remove(at);
        }
    }

    /// The line that has been dirty longest; its dirty parts are now being destaged.
    pub(super) fn next_dirty(&mut self) -> Option<(u32, u64)> {
        for _ in 0..self.dirty.len() {
            let at = self.dirty.pop_front()?;
            let line = self.lines.get_mut(at);
            if line.dirty == 0 {
                continue;
            }
            if line.destaging != 0 {
                self.dirty.push_back(at);
                continue;
            }
            let mask = std::mem::take(&mut line.dirty);
            line.destaging = mask;
            line.busy += 1;
            self.dirty_lines -= 1;
            return Some((at, mask));
        }
        None
    }
}
