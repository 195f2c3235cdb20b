//! [`MemoryCache`]: a controller's cache in memory, of lines with valid and dirty bits and locks.
//!
//! An operation locks the blocks it needs in rising order, allocating lines on its way; where it must wait it keeps
//! what it has and is continued later. Operations are admitted only while the lines of all of them together fit the
//! cache: so one that waits for a line waits for write-backs or for operations that can finish.

use crate::subsystem::cache::lines::{Granule, Lines};
use crate::subsystem::cache::{
    AllocationPolicy, CacheAccess, CacheAction, CacheReport, HostOperation, MemoryCacheModel, Prefetch, WriteScheme,
};
use iopilot_block::Op;
use std::collections::VecDeque;

/// Where an operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Waits until the lines of those before it leave room.
    Admission,
    /// Locks and fills.
    Preparing,
    /// Its data move between host and cache.
    Transferring,
    /// A fill or a store is under way.
    Accessing,
}

#[derive(Clone, Debug)]
struct Operation {
    host: HostOperation,
    stage: Stage,
    /// First block and end, widened to whole bits.
    start: u64,
    end: u64,
    /// Lock of each granule from `start` on, as far as it has come.
    held: Vec<Granule>,
    /// Locks of blocks that a fill takes beyond those.
    extra: Vec<Granule>,
    /// Write-backs it waits for.
    write_backs: u32,
    missed: bool,
    /// How far a write has been stored.
    stored: u64,
    replied: bool,
}

/// Why an access was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    /// To bring data in for an operation.
    Fill(u32),
    /// To store an operation's data.
    Store(u32),
    /// To make room for an operation, which waits for it.
    Room(u32),
    /// Nobody waits for it.
    Background,
    /// A device was idle.
    Idle,
}

#[derive(Clone, Debug)]
struct Access {
    reason: Reason,
    device: usize,
    lba: u64,
    sectors: u64,
    locks: Vec<Granule>,
}

#[derive(Clone, Debug)]
pub(in crate::subsystem) struct MemoryCache {
    model: MemoryCacheModel,
    pub(super) lines: Lines,
    /// By number; the controller's numbers are small and dense.
    operations: Vec<Option<Operation>>,
    accesses: Vec<Option<Access>>,
    free_accesses: Vec<u32>,
    /// Operations before admission, in order.
    admission: VecDeque<u32>,
    /// Lines that admitted operations may need.
    reserved: u64,
    /// Operations that wait for any line to become free.
    line_waiters: VecDeque<u32>,
    /// Operations to be continued.
    runnable: VecDeque<u32>,
    /// Vectors to use again.
    spare: Vec<(Vec<Granule>, Vec<Granule>)>,
    pub(super) candidates: Vec<u32>,
    /// The part of the lines that is looked through next for dirty data.
    pub(super) flush_part: u32,
    report: CacheReport,
}

impl MemoryCache {
    /// An empty cache; the model has no [`MemoryCacheModel::fault`].
    pub(in crate::subsystem) fn new(model: MemoryCacheModel) -> Self {
        Self {
            lines: Lines::new(&model),
            model,
            operations: Vec::new(),
            accesses: Vec::new(),
            free_accesses: Vec::new(),
            admission: VecDeque::new(),
            reserved: 0,
            line_waiters: VecDeque::new(),
            runnable: VecDeque::new(),
            spare: Vec::new(),
            candidates: Vec::new(),
            flush_part: 0,
            report: CacheReport::default(),
        }
    }

    pub(in crate::subsystem) fn model(&self) -> &MemoryCacheModel {
        &self.model
    }

    pub(in crate::subsystem) fn report(&self) -> CacheReport {
        self.report
    }

    pub(in crate::subsystem) fn begin(&mut self, host: HostOperation, out: &mut Vec<CacheAction>) {
        let bits = u64::from(self.model.bit_granularity.max(1));
        let start = host.lba - host.lba % bits;
        let end = (host.lba + u64::from(host.sectors)).next_multiple_of(bits);
        let (held, extra) = self.spare.pop().unwrap_or_default();
        let operation = Operation {
            host,
            stage: Stage::Admission,
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

    /// The data of `operation` have moved.
    pub(in crate::subsystem) fn transferred(&mut self, number: u32, out: &mut Vec<CacheAction>) {
        let Some(operation) = self.operations[number as usize].as_mut() else { return };
        let write = operation.host.op != Op::Read;
        let scheme = if operation.host.through { WriteScheme::Synchronous } else { self.model.write_scheme };
        if self.model.size == 0 {
            if write {
                operation.stage = Stage::Accessing;
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
                operation.stage = Stage::Accessing;
                if scheme == WriteScheme::WriteThrough {
                    operation.replied = true;
                    out.push(CacheAction::Reply(number));
                }
            }
            self.store(number, out);
        }
        self.run(out);
    }

    /// An access has ended.
    pub(in crate::subsystem) fn accessed(&mut self, number: u32, out: &mut Vec<CacheAction>) {
        let Some(access) = self.accesses[number as usize].take() else { return };
        self.free_accesses.push(number);
        for &granule in &access.locks {
            self.lines.unlock(granule, &mut self.runnable);
        }
        match access.reason {
            Reason::Fill(operation) => self.filled(operation, &access, out),
            Reason::Store(operation) => self.store(operation, out),
            Reason::Room(operation) => {
                if let Some(o) = self.operations[operation as usize].as_mut() {
                    o.write_backs -= 1;
                    if o.write_backs == 0 {
                        self.runnable.push_back(operation);
                    }
                }
            }
            Reason::Background => {}
            Reason::Idle => out.push(CacheAction::StillIdle(access.device)),
        }
        self.run(out);
    }

    /// Continues whatever can be.
    pub(super) fn run(&mut self, out: &mut Vec<CacheAction>) {
        loop {
            while let Some(&number) = self.admission.front() {
                if !self.admit(number) {
                    break;
                }
                self.admission.pop_front();
                self.runnable.push_back(number);
            }
            // Those that waited for a line look again whenever something else has moved.
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
        operation.stage = Stage::Preparing;
        true
    }

    /// Continues an operation; whether it got any further.
    fn proceed(&mut self, number: u32, out: &mut Vec<CacheAction>) -> bool {
        let Some(operation) = self.operations[number as usize].as_ref() else { return false };
        if operation.stage != Stage::Preparing || operation.write_backs > 0 {
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
            operation.stage = Stage::Transferring;
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

    /// Without a cache, data only pass.
    fn pass_through(&mut self, number: u32, out: &mut Vec<CacheAction>) -> bool {
        let Some(operation) = self.operations[number as usize].as_mut() else { return false };
        if operation.host.op == Op::Read && !operation.missed {
            operation.missed = true;
            operation.stage = Stage::Accessing;
            let HostOperation { device, lba, sectors, .. } = operation.host;
            self.report.fills += 1;
            self.report.filled += u64::from(sectors);
            self.access(Reason::Fill(number), device, lba, u64::from(sectors), Op::Read, Vec::new(), out);
        } else {
            operation.stage = Stage::Transferring;
            out.push(CacheAction::Transfer(number));
        }
        true
    }

    /// Locks what the operation needs, and begins the fill that it needs next; whether it needs nothing more.
    fn prepare(&mut self, number: u32, out: &mut Vec<CacheAction>) -> bool {
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

    fn lock_and_find_missing(&mut self, operation: &mut Operation, out: &mut Vec<CacheAction>) -> Outcome {
        let (size, step) = (self.model.line_size(), u64::from(self.model.lock_granularity));
        let write = operation.host.op != Op::Read;
        let (lba, data_end) = (operation.host.lba, operation.host.lba + u64::from(operation.host.sectors));
        // Of a write, only the rest of its first and last bit's blocks has to be read.
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

    /// The line of `block`, allocated where there is none; `None` where the operation has to wait for it.
    fn line(&mut self, operation: &mut Operation, block: u64, out: &mut Vec<CacheAction>) -> Option<u32> {
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
                self.write_back_line(line, Reason::Background, out);
            } else {
                victim = Victim::WrittenBack(self.write_back_line(line, Reason::Room(number), out));
                break;
            }
        }
        self.candidates = candidates;
        victim
    }

    /// Begins the access that brings in `from..to`, and what is to come with it.
    fn fill(&mut self, number: u32, mut from: u64, mut to: u64, out: &mut Vec<CacheAction>) {
        let Some(mut operation) = self.operations[number as usize].take() else { return };
        let device = operation.host.device;
        operation.missed = true;
        operation.stage = Stage::Accessing;
        let read = operation.host.op == Op::Read;
        let prefetch = if read { self.model.read_prefetch } else { self.model.write_prefetch };
        (from, to) = self.extend(&mut operation, prefetch, from, to);
        self.operations[number as usize] = Some(operation);
        self.report.fills += 1;
        self.report.filled += to - from;
        self.access(Reason::Fill(number), device, from, to - from, Op::Read, Vec::new(), out);
    }

    /// Widens a fill to the ends of its lines, as far as blocks are missing and nobody has them locked.
    fn extend(&mut self, operation: &mut Operation, prefetch: Prefetch, mut from: u64, mut to: u64) -> (u64, u64) {
        let device = operation.host.device;
        let size = self.model.line_size();
        let mut take = |lines: &mut Lines, block: u64| -> bool {
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

    fn filled(&mut self, number: u32, access: &Access, out: &mut Vec<CacheAction>) {
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
        operation.stage = Stage::Preparing;
        if self.model.size == 0 {
            operation.stage = Stage::Transferring;
            out.push(CacheAction::Transfer(number));
        } else {
            // Ahead of those that were woken: it holds its locks.
            self.runnable.push_front(number);
        }
    }

    /// Sends the next part of a write to the device, or ends it.
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
        self.access(Reason::Store(number), device, from, to - from, Op::Write, Vec::new(), out);
    }

    /// Every line of the operation was used.
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

    /// The operation is done: its locks and its lines' places are free.
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

    /// Makes an access, with locks to be given back at its end.
    #[expect(clippy::too_many_arguments)]
    pub(super) fn access(
        &mut self,
        reason: Reason,
        device: usize,
        lba: u64,
        sectors: u64,
        op: Op,
        locks: Vec<Granule>,
        out: &mut Vec<CacheAction>,
    ) {
        let access = Access { reason, device, lba, sectors, locks };
        let through = match reason {
            Reason::Store(operation) => self.operations[operation as usize].as_ref().is_some_and(|o| o.host.through),
            _ => false,
        };
        let number = match self.free_accesses.pop() {
            Some(number) => {
                self.accesses[number as usize] = Some(access);
                number
            }
            None => {
                self.accesses.push(Some(access));
                self.accesses.len() as u32 - 1
            }
        };
        out.push(CacheAction::Access(CacheAccess { number, device, lba, sectors: sectors as u32, op, through }));
    }

    pub(super) fn count_write_back(&mut self, blocks: u64) {
        self.report.write_backs += 1;
        self.report.written_back += blocks;
    }
}

/// What locking came to.
enum Outcome {
    /// All is locked and valid.
    Complete,
    /// The operation waits for something.
    Waits,
    /// These blocks have to be read.
    Missing(u64, u64),
}

enum Victim {
    /// A line is free now.
    Evicted,
    /// So many write-backs have to end first.
    WrittenBack(u32),
    /// All are locked.
    None,
}

fn lines_of(start: u64, end: u64, size: u64) -> u64 {
    (end - 1) / size - start / size + 1
}
