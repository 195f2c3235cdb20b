//! How an operation locks the blocks it needs in a memory cache, and finds the missing ones.

use crate::controller_cache::memory::{AccessReason, CacheOperation, MemoryCache};
use crate::controller_cache::{AllocationPolicy, CacheAction};
use iopilot_block::Op;

/// The outcome of locking.
enum Outcome {
    /// All blocks are locked and valid.
    Complete,
    /// The operation waits for a lock, a line or a write-back.
    Waits,
    /// These blocks have to be read.
    Missing(u64, u64),
}

enum Victim {
    /// A line is free now.
    Evicted,
    /// This many write-backs have to end first.
    WrittenBack(u32),
    /// All lines are locked.
    None,
}

impl MemoryCache {
    /// Locks the blocks of an operation and begins its next fill. Returns whether all is locked and valid.
    pub(crate) fn prepare(&mut self, number: u32, out: &mut Vec<CacheAction>) -> bool {
        let Some(mut operation) = self.operations[number as usize].take() else { return false };
        let outcome = self.lock_and_find_missing(&mut operation, out);
        self.operations[number as usize] = Some(operation);
        match outcome {
            Outcome::Complete => true,
            Outcome::Waits => false,
            Outcome::Missing(from, to) => {
                self.fill(number, from, to, out);
                false
            }
        }
    }

    fn lock_and_find_missing(&mut self, operation: &mut CacheOperation, out: &mut Vec<CacheAction>) -> Outcome {
        let (size, step) = (self.model.line_size(), u64::from(self.model.lock_granularity));
        let write = operation.host.op != Op::Read;
        let (lba, data_end) = (operation.host.lba, operation.host.lba + u64::from(operation.host.sectors));
        // A write needs a read only for the rest of its first and last bit's blocks.
        let needed = |block: u64| !write || block < lba || block >= data_end;
        let mut run: Option<(u64, u64)> = None;
        let mut at = operation.start;
        let mut granule = 0;
        while at < operation.end {
            let Some(line) = self.line(operation, at, out) else { return Outcome::Waits };
            let (_, first) = self.lines.place(line);
            let stop = operation.end.min(first + size);
            let inside = |block: u64| (block - first) as usize;
            while at < stop {
                let end = stop.min(at - at % step + step);
                let valid = self.lines.valid.all(line as usize, inside(at)..inside(end));
                if let Some(held) = operation.held.get_mut(granule) {
                    if !write && valid {
                        *held = self.lines.downgrade(*held, &mut self.runnable);
                    }
                } else {
                    let which = self.lines.granule(line, at);
                    match self.lines.try_lock(line, which, write || !valid) {
                        Some(held) => operation.held.push(held),
                        None => {
                            self.lines.wait(line, which, operation.host.number);
                            return Outcome::Waits;
                        }
                    }
                }
                if write && !valid {
                    operation.missed = true;
                }
                for block in at..end {
                    let missing = needed(block) && !self.lines.valid.get(line as usize, inside(block));
                    match &mut run {
                        Some((_, to)) if missing => *to = block + 1,
                        None if missing => run = Some((block, block + 1)),
                        Some((from, to)) if !write => return Outcome::Missing(*from, *to),
                        _ => {}
                    }
                }
                granule += 1;
                at = end;
            }
            if let Some((from, to)) = run {
                if write || self.model.line_by_line || !self.may_span(from, at) {
                    return Outcome::Missing(from, to);
                }
            }
        }
        match run {
            Some((from, to)) => Outcome::Missing(from, to),
            None => Outcome::Complete,
        }
    }

    /// Whether one access may go on from `from` beyond `to`.
    fn may_span(&self, from: u64, to: u64) -> bool {
        let line = self.model.line_size();
        self.model.max_gather == 0 || to / line - from / line <= u64::from(self.model.max_gather)
    }

    /// The line of `block`, allocated if there is none; `None` if the operation has to wait for it.
    fn line(&mut self, operation: &mut CacheOperation, block: u64, out: &mut Vec<CacheAction>) -> Option<u32> {
        let device = operation.host.device;
        if let Some(line) = self.lines.find(device, block) {
            return Some(line);
        }
        operation.missed = true;
        if let Some(line) = self.lines.allocate(device, block) {
            return Some(line);
        }
        match self.victim(operation.host.number, out) {
            Victim::Evicted => self.lines.allocate(device, block),
            Victim::WrittenBack(accesses) => {
                operation.write_backs += accesses;
                None
            }
            Victim::None => {
                self.line_waiters.push_back(operation.host.number);
                None
            }
        }
    }

    /// Makes room for one line.
    fn victim(&mut self, number: u32, out: &mut Vec<CacheAction>) -> Victim {
        let skip_dirty = self.model.allocation == AllocationPolicy::SkipDirty;
        if let Some(line) = self.lines.first_candidate() {
            if !self.lines.locked(line) && !self.lines.dirty.any(line as usize) {
                self.lines.evict(line);
                return Victim::Evicted;
            }
        }
        let mut candidates = std::mem::take(&mut self.candidates);
        self.lines.candidates(&mut candidates);
        let mut victim = Victim::None;
        for &line in &candidates {
            if self.lines.locked(line) {
                continue;
            }
            if !self.lines.dirty.any(line as usize) {
                self.lines.evict(line);
                victim = Victim::Evicted;
                break;
            }
            if skip_dirty {
                self.write_back_line(line, AccessReason::Background, out);
            } else {
                victim = Victim::WrittenBack(self.write_back_line(line, AccessReason::Room(number), out));
                break;
            }
        }
        self.candidates = candidates;
        victim
    }
}
