//! Filling lines of a memory cache.

use crate::controller_cache::lines::{CacheLines, Granule};
use crate::controller_cache::memory::{AccessReason, CacheOperation, IssuedAccess, MemoryCache, OperationStage};
use crate::controller_cache::{CacheAction, Prefetch};
use iopilot_block::Op;

impl MemoryCache {
    /// Begins the access that fills `from..to`, with its prefetch.
    pub(crate) fn fill(&mut self, number: u32, mut from: u64, mut to: u64, out: &mut Vec<CacheAction>) {
        let Some(mut operation) = self.operations[number as usize].take() else { return };
        let device = operation.host.device;
        operation.missed = true;
        operation.stage = OperationStage::Accessing;
        let read = operation.host.op == Op::Read;
        let prefetch = if read { self.model.read_prefetch } else { self.model.write_prefetch };
        (from, to) = self.extend(&mut operation, prefetch, from, to);
        self.operations[number as usize] = Some(operation);
        self.report.fills += 1;
        self.report.filled += to - from;
        self.access(AccessReason::Fill(number), device, from, to - from, Op::Read, Vec::new(), out);
    }

    /// Extends a fill to the ends of its lines, as far as blocks are missing and not locked.
    fn extend(&mut self, operation: &mut CacheOperation, prefetch: Prefetch, mut from: u64, mut to: u64) -> (u64, u64) {
        let device = operation.host.device;
        let size = self.model.line_size();
        let mut take = |lines: &mut CacheLines, block: u64| -> bool {
            let Some(line) = lines.find(device, block) else { return false };
            let (_, first) = lines.place(line);
            if lines.valid.get(line as usize, (block - first) as usize) {
                return false;
            }
            let number = lines.granule(line, block);
            let mine = |g: &Granule| g.line == line && g.number == number;
            if operation.held.iter().chain(&operation.extra).any(mine) {
                return true;
            }
            match lines.try_lock(line, number, true) {
                Some(granule) => {
                    operation.extra.push(granule);
                    true
                }
                None => false,
            }
        };
        if prefetch.front {
            while from % size != 0 && take(&mut self.lines, from - 1) {
                from -= 1;
            }
        }
        if prefetch.rest {
            while to % size != 0 && take(&mut self.lines, to) {
                to += 1;
            }
        }
        (from, to)
    }

    pub(crate) fn filled(&mut self, number: u32, access: &IssuedAccess, out: &mut Vec<CacheAction>) {
        if self.model.size > 0 {
            let size = self.model.line_size();
            let mut at = access.lba;
            let end = access.lba + access.sectors;
            while at < end {
                let stop = end.min(at - at % size + size);
                if let Some(line) = self.lines.find(access.device, at) {
                    let (_, first) = self.lines.place(line);
                    self.lines.valid.set(line as usize, (at - first) as usize..(stop - first) as usize, true);
                }
                at = stop;
            }
        }
        let Some(operation) = self.operations[number as usize].as_mut() else { return };
        for granule in operation.extra.drain(..) {
            self.lines.unlock(granule, &mut self.runnable);
        }
        operation.stage = OperationStage::Preparing;
        if self.model.size == 0 {
            operation.stage = OperationStage::Transferring;
            out.push(CacheAction::Transfer(number));
        } else {
            // It goes before the operations that were woken, because it holds its locks.
            self.runnable.push_front(number);
        }
    }
}
