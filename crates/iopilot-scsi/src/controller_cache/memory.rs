//! [`MemoryCache`]: a controller's cache in memory: lines with valid bits, dirty bits and locks.
//!
//! An operation locks the blocks it needs in rising order, and allocates lines on its way. If it must wait, it keeps
//! what it has and is continued later. Operations are admitted only while the lines of all of them together fit the
//! cache. So an operation that waits for a line waits for write-backs or for operations that can finish.

use crate::controller_cache::lines::{CacheLines, Granule};
use crate::controller_cache::{
    CacheAccess, CacheAction, ControllerCacheReport, HostOperation, MemoryCacheModel, WriteScheme,
};
use iopilot_block::{Op, Slab};
use std::collections::VecDeque;

/// The progress of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OperationStage {
    /// It waits until admitted operations leave enough lines.
    Admission,
    /// It locks and fills.
    Preparing,
    /// Its data move between host and cache.
    Transferring,
    /// A fill or a store is in progress.
    Accessing,
}

#[derive(Clone, Debug)]
pub(crate) struct CacheOperation {
    pub(crate) host: HostOperation,
    pub(crate) stage: OperationStage,
    /// First block and end, widened to whole bits.
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// The locks of its granules from `start` on, as far as it has come.
    pub(crate) held: Vec<Granule>,
    /// The locks of blocks that a fill adds to those.
    pub(crate) extra: Vec<Granule>,
    /// The number of write-backs it waits for.
    pub(crate) write_backs: u32,
    pub(crate) missed: bool,
    /// The end of the part of a write that has been stored.
    stored: u64,
    replied: bool,
}

/// Why an access was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccessReason {
    /// To fill lines for an operation.
    Fill(u32),
    /// To store an operation's data.
    Store(u32),
    /// To make room for an operation, which waits for it.
    Room(u32),
    /// Background write-back; no operation waits for it.
    Background,
    /// Write-back while the device is idle.
    Idle,
}

#[derive(Clone, Debug)]
pub(crate) struct IssuedAccess {
    reason: AccessReason,
    pub(crate) device: usize,
    pub(crate) lba: u64,
    pub(crate) sectors: u64,
    locks: Vec<Granule>,
}

#[derive(Clone, Debug)]
pub(crate) struct MemoryCache {
    pub(crate) model: MemoryCacheModel,
    pub(crate) lines: CacheLines,
    /// By number; the controller's numbers are small and dense.
    pub(crate) operations: Vec<Option<CacheOperation>>,
    accesses: Slab<Option<IssuedAccess>>,
    /// Operations before admission, in order.
    admission: VecDeque<u32>,
    /// Lines that the admitted operations may need.
    reserved: u64,
    /// Operations that wait for any line to become free.
    pub(crate) line_waiters: VecDeque<u32>,
    /// Operations to be continued.
    pub(crate) runnable: VecDeque<u32>,
    /// Vectors to reuse.
    spare: Vec<(Vec<Granule>, Vec<Granule>)>,
    pub(crate) candidates: Vec<u32>,
    /// The part of the lines that is checked next for dirty data.
    pub(crate) flush_part: u32,
    pub(crate) report: ControllerCacheReport,
}

impl MemoryCache {
    /// An empty cache; the model must have no [`MemoryCacheModel::fault`].
    pub(crate) fn new(model: MemoryCacheModel) -> Self {
        Self {
            lines: CacheLines::new(&model),
            model,
            operations: Vec::new(),
            accesses: Slab::new(),
            admission: VecDeque::new(),
            reserved: 0,
            line_waiters: VecDeque::new(),
            runnable: VecDeque::new(),
            spare: Vec::new(),
            candidates: Vec::new(),
            flush_part: 0,
            report: ControllerCacheReport::default(),
        }
    }

    pub(crate) fn model(&self) -> &MemoryCacheModel {
        &self.model
    }

    pub(crate) fn report(&self) -> ControllerCacheReport {
        self.report
    }

    pub(crate) fn begin(&mut self, host: HostOperation, out: &mut Vec<CacheAction>) {
        let bits = u64::from(self.model.bit_granularity.max(1));
        let start = host.lba - host.lba % bits;
        let end = (host.lba + u64::from(host.sectors)).next_multiple_of(bits);
        let (held, extra) = self.spare.pop().unwrap_or_default();
        let operation = CacheOperation {
            host,
            stage: OperationStage::Admission,
            start,
            end,
            held,
            extra,
            write_backs: 0,
            missed: false,
            stored: start,
            replied: false,
        };
        let number = host.number as usize;
        if number >= self.operations.len() {
            self.operations.resize_with(number + 1, || None);
        }
        self.operations[number] = Some(operation);
        if host.op == Op::Read {
            self.report.reads += 1;
        } else {
            self.report.writes += 1;
        }
        self.admission.push_back(host.number);
        self.run(out);
    }

    /// The data of operation `number` have moved.
    pub(crate) fn transferred(&mut self, number: u32, out: &mut Vec<CacheAction>) {
        let Some(operation) = self.operations[number as usize].as_mut() else { return };
        let write = operation.host.op != Op::Read;
        let scheme = if operation.host.through { WriteScheme::Synchronous } else { self.model.write_scheme };
        if self.model.size == 0 {
            if write {
                operation.stage = OperationStage::Accessing;
                self.store(number, out);
            } else {
                self.finish(number, out);
            }
            return;
        }
        self.use_lines(number);
        if !write {
            self.finish(number, out);
        } else if scheme == WriteScheme::WriteBack {
            self.mark_written(number, true);
            self.finish(number, out);
        } else {
            self.mark_written(number, false);
            self.share_locks(number);
            if let Some(operation) = self.operations[number as usize].as_mut() {
                operation.stage = OperationStage::Accessing;
                if scheme == WriteScheme::WriteThrough {
                    operation.replied = true;
                    out.push(CacheAction::Reply(number));
                }
            }
            self.store(number, out);
        }
        self.run(out);
    }

    /// The access `number` has ended.
    pub(crate) fn accessed(&mut self, number: u32, out: &mut Vec<CacheAction>) {
        let Some(access) = self.accesses[number].take() else { return };
        self.accesses.remove(number);
        for &granule in &access.locks {
            self.lines.unlock(granule, &mut self.runnable);
        }
        match access.reason {
            AccessReason::Fill(operation) => self.filled(operation, &access, out),
            AccessReason::Store(operation) => self.store(operation, out),
            AccessReason::Room(operation) => {
                if let Some(o) = self.operations[operation as usize].as_mut() {
                    o.write_backs -= 1;
                    if o.write_backs == 0 {
                        self.runnable.push_back(operation);
                    }
                }
            }
            AccessReason::Background => {}
            AccessReason::Idle => out.push(CacheAction::StillIdle(access.device)),
        }
        self.run(out);
    }

    /// Continues all operations that can proceed.
    pub(crate) fn run(&mut self, out: &mut Vec<CacheAction>) {
        loop {
            while let Some(&number) = self.admission.front() {
                if !self.admit(number) {
                    break;
                }
                self.admission.pop_front();
                self.runnable.push_back(number);
            }
            // Operations that wait for a line retry whenever another operation has made progress.
            self.runnable.append(&mut self.line_waiters);
            let Some(number) = self.runnable.pop_front() else { return };
            let mut moved = self.proceed(number, out);
            while let Some(number) = self.runnable.pop_front() {
                moved |= self.proceed(number, out);
            }
            if !moved && self.runnable.is_empty() {
                return;
            }
        }
    }

    fn admit(&mut self, number: u32) -> bool {
        let Some(operation) = self.operations[number as usize].as_mut() else { return true };
        if self.model.size > 0 {
            let need = lines_of(operation.start, operation.end, self.model.line_size());
            if self.reserved > 0 && self.reserved + need > self.lines.len() as u64 {
                return false;
            }
            self.reserved += need;
        }
        operation.stage = OperationStage::Preparing;
        true
    }

    /// Continues an operation; returns whether it made progress.
    fn proceed(&mut self, number: u32, out: &mut Vec<CacheAction>) -> bool {
        let Some(operation) = self.operations[number as usize].as_ref() else { return false };
        if operation.stage != OperationStage::Preparing || operation.write_backs > 0 {
            return false;
        }
        if self.model.size == 0 {
            return self.pass_through(number, out);
        }
        let before = operation.held.len();
        let ready = self.prepare(number, out);
        if !ready {
            // It waits: for a lock, a line, a fill or a write-back.
            return self.operations[number as usize]
                .as_ref()
                .is_some_and(|o| o.held.len() > before || o.write_backs > 0);
        }
        if let Some(operation) = self.operations[number as usize].as_mut() {
            operation.stage = OperationStage::Transferring;
            if !operation.missed {
                let hits = if operation.host.op == Op::Read {
                    &mut self.report.read_hits
                } else {
                    &mut self.report.write_hits
                };
                *hits += 1;
                out.push(CacheAction::Hit(number));
            }
        }
        out.push(CacheAction::Transfer(number));
        true
    }

    /// Without a cache, data are only passed on.
    fn pass_through(&mut self, number: u32, out: &mut Vec<CacheAction>) -> bool {
        let Some(operation) = self.operations[number as usize].as_mut() else { return false };
        if operation.host.op == Op::Read && !operation.missed {
            operation.missed = true;
            operation.stage = OperationStage::Accessing;
            let HostOperation { device, lba, sectors, .. } = operation.host;
            self.report.fills += 1;
            self.report.filled += u64::from(sectors);
            self.access(AccessReason::Fill(number), device, lba, u64::from(sectors), Op::Read, Vec::new(), out);
        } else {
            operation.stage = OperationStage::Transferring;
            out.push(CacheAction::Transfer(number));
        }
        true
    }

    /// Sends the next part of a write to the device, or finishes it.
    fn store(&mut self, number: u32, out: &mut Vec<CacheAction>) {
        let Some(operation) = self.operations[number as usize].as_mut() else { return };
        let size = self.model.line_size();
        let (device, from) = (operation.host.device, operation.stored);
        if from >= operation.end {
            self.finish(number, out);
            return;
        }
        let mut to = operation.end;
        if self.model.size > 0 {
            if self.model.line_by_line {
                to = to.min(from - from % size + size);
            } else if self.model.max_gather > 0 {
                to = to.min((from / size + u64::from(self.model.max_gather) + 1) * size);
            }
        }
        operation.stored = to;
        self.report.write_backs += 1;
        self.report.written_back += to - from;
        self.access(AccessReason::Store(number), device, from, to - from, Op::Write, Vec::new(), out);
    }

    /// Records a use of every line of the operation.
    fn use_lines(&mut self, number: u32) {
        let Some(operation) = self.operations[number as usize].as_ref() else { return };
        let mut last = None;
        for granule in &operation.held {
            if last != Some(granule.line) {
                self.lines.touch(granule.line);
                last = Some(granule.line);
            }
        }
    }

    fn mark_written(&mut self, number: u32, dirty: bool) {
        let Some(operation) = self.operations[number as usize].as_ref() else { return };
        let size = self.model.line_size();
        let mut at = operation.start;
        while at < operation.end {
            let stop = operation.end.min(at - at % size + size);
            if let Some(line) = self.lines.find(operation.host.device, at) {
                let (_, first) = self.lines.place(line);
                let blocks = (at - first) as usize..(stop - first) as usize;
                self.lines.valid.set(line as usize, blocks.clone(), true);
                if dirty {
                    self.lines.dirty.set(line as usize, blocks, true);
                }
            }
            at = stop;
        }
    }

    fn share_locks(&mut self, number: u32) {
        let Some(operation) = self.operations[number as usize].as_mut() else { return };
        for granule in &mut operation.held {
            *granule = self.lines.downgrade(*granule, &mut self.runnable);
        }
    }

    /// Finishes an operation: releases its locks and its reserved lines.
    fn finish(&mut self, number: u32, out: &mut Vec<CacheAction>) {
        let Some(mut operation) = self.operations[number as usize].take() else { return };
        for granule in operation.held.drain(..) {
            self.lines.unlock(granule, &mut self.runnable);
        }
        if self.model.size > 0 {
            self.reserved -= lines_of(operation.start, operation.end, self.model.line_size());
        }
        if !operation.replied {
            out.push(CacheAction::Reply(number));
        }
        out.push(CacheAction::Forget(number));
        self.spare.push((operation.held, operation.extra));
        self.run(out);
    }

    /// Makes an access; its locks are released at its end.
    #[expect(clippy::too_many_arguments)]
    pub(crate) fn access(
        &mut self,
        reason: AccessReason,
        device: usize,
        lba: u64,
        sectors: u64,
        op: Op,
        locks: Vec<Granule>,
        out: &mut Vec<CacheAction>,
    ) {
        let access = IssuedAccess { reason, device, lba, sectors, locks };
        let through = match reason {
            AccessReason::Store(operation) => {
                self.operations[operation as usize].as_ref().is_some_and(|o| o.host.through)
            }
            _ => false,
        };
        let number = self.accesses.insert(Some(access));
        out.push(CacheAction::Access(CacheAccess { number, device, lba, sectors: sectors as u32, op, through }));
    }

    pub(crate) fn count_write_back(&mut self, blocks: u64) {
        self.report.write_backs += 1;
        self.report.written_back += blocks;
    }
}

fn lines_of(start: u64, end: u64, size: u64) -> u64 {
    (end - 1) / size - start / size + 1
}
