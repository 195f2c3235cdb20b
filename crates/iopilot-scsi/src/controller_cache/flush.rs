//! Write-back of dirty data from a memory cache.

use crate::controller_cache::memory::{AccessReason, MemoryCache};
use crate::controller_cache::{CacheAction, lines::Granule};
use iopilot_block::Op;

impl MemoryCache {
    /// Writes back the dirty data in the next part of the lines, except blocks locked by writers. After as many calls
    /// as there are parts, all lines have been checked.
    pub(crate) fn flush_part(&mut self, out: &mut Vec<CacheAction>) {
        let (lines, parts) = (self.lines.len() as u64, u64::from(self.model().flush_wakeups.max(1)));
        let first = |part: u64| (lines * part / parts) as u32;
        let part = u64::from(self.flush_part);
        let looked_at = first(part)..first(part + 1);
        self.flush_part = ((part + 1) % parts) as u32;
        let mut candidates = std::mem::take(&mut self.candidates);
        self.lines.candidates(&mut candidates);
        for &line in &candidates {
            if looked_at.contains(&line) && self.lines.dirty.any(line as usize) {
                self.write_back_line(line, AccessReason::Background, out);
            }
        }
        self.candidates = candidates;
        self.run(out);
    }

    /// Whether any line is dirty. O(lines).
    pub(crate) fn is_dirty(&self) -> bool {
        (0..self.lines.len()).any(|line| self.lines.dirty.any(line))
    }

    /// Writes back one dirty run of `device`, the first in victim order.
    pub(crate) fn flush_idle(&mut self, device: usize, out: &mut Vec<CacheAction>) {
        let mut candidates = std::mem::take(&mut self.candidates);
        self.lines.candidates(&mut candidates);
        for &line in &candidates {
            if self.lines.place(line).0 == device
                && self.lines.dirty.any(line as usize)
                && self.write_back_line(line, AccessReason::Idle, out) > 0
            {
                break;
            }
        }
        self.candidates = candidates;
        self.run(out);
    }

    /// Writes back the dirty runs of `line` and returns the number of accesses. Runs at its ends are joined with
    /// dirty runs in the adjoining lines. Valid blocks between dirty ones are written too. An idle write-back stops
    /// after one run.
    pub(crate) fn write_back_line(&mut self, line: u32, reason: AccessReason, out: &mut Vec<CacheAction>) -> u32 {
        let (device, first) = self.lines.place(line);
        let size = self.model().line_size();
        let mut accesses = 0;
        let mut run: Option<(u64, u64)> = None;
        // Only the line's first run is joined with runs in adjoining lines.
        let mut joins = true;
        for block in first..=first + size {
            let state = if block < first + size { self.state(line, block) } else { CachedBlockState::Closed };
            match state {
                CachedBlockState::Dirty => {
                    self.clean(line, block);
                    run = Some((run.map_or(block, |(from, _)| from), block + 1));
                }
                CachedBlockState::Clean => {}
                CachedBlockState::Closed => {
                    let Some((mut from, mut to)) = run.take() else { continue };
                    if joins {
                        let start = from;
                        from = self.cluster_down(device, from);
                        if start == first && to == first + size {
                            to = self.cluster_up(device, to, 1 + (start - from).div_ceil(size));
                        }
                    }
                    joins = false;
                    self.write_back(device, from, to, reason, out);
                    accesses += 1;
                    if reason == AccessReason::Idle {
                        return accesses;
                    }
                }
            }
        }
        accesses
    }

    fn state(&self, line: u32, block: u64) -> CachedBlockState {
        let inside = (block - self.lines.place(line).1) as usize;
        if self.lines.exclusively_locked(line, block) || !self.lines.valid.get(line as usize, inside) {
            CachedBlockState::Closed
        } else if self.lines.dirty.get(line as usize, inside) {
            CachedBlockState::Dirty
        } else {
            CachedBlockState::Clean
        }
    }

    fn clean(&mut self, line: u32, block: u64) {
        let inside = (block - self.lines.place(line).1) as usize;
        self.lines.dirty.set(line as usize, inside..inside + 1, false);
    }

    /// The start of a run from `from`, extended by dirty blocks in the lines before.
    fn cluster_down(&mut self, device: usize, mut from: u64) -> u64 {
        let (size, mut lines) = (self.model().line_size(), 1);
        while lines < u64::from(self.model().flush_cluster) && from % size == 0 && from > 0 {
            let Some(line) = self.lines.find(device, from - 1) else { break };
            lines += 1;
            let joined = from;
            for block in (joined - size..joined).rev() {
                match self.state(line, block) {
                    CachedBlockState::Dirty => {
                        self.clean(line, block);
                        from = block;
                    }
                    CachedBlockState::Clean => {}
                    CachedBlockState::Closed => break,
                }
            }
            if from == joined {
                break;
            }
        }
        from
    }

    /// The end of a run before `to`, extended by dirty blocks in the lines behind.
    fn cluster_up(&mut self, device: usize, mut to: u64, mut lines: u64) -> u64 {
        let size = self.model().line_size();
        while lines < u64::from(self.model().flush_cluster) && to % size == 0 {
            let Some(line) = self.lines.find(device, to) else { break };
            lines += 1;
            let joined = to;
            for block in joined..joined + size {
                match self.state(line, block) {
                    CachedBlockState::Dirty => {
                        self.clean(line, block);
                        to = block + 1;
                    }
                    CachedBlockState::Clean => {}
                    CachedBlockState::Closed => break,
                }
            }
            if to == joined {
                break;
            }
        }
        to
    }

    /// Writes back `from..to`, which stays readable meanwhile.
    fn write_back(&mut self, device: usize, from: u64, to: u64, reason: AccessReason, out: &mut Vec<CacheAction>) {
        let step = u64::from(self.model().lock_granularity);
        let mut locks: Vec<Granule> = Vec::new();
        let mut at = from;
        while at < to {
            if let Some(line) = self.lines.find(device, at) {
                let number = self.lines.granule(line, at);
                locks.extend(self.lines.try_lock(line, number, false));
            }
            at = at - at % step + step;
        }
        self.count_write_back(to - from);
        self.access(reason, device, from, to - from, Op::Write, locks, out);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CachedBlockState {
    Dirty,
    Clean,
    /// Not valid, or locked by a writer: a run ends here.
    Closed,
}
