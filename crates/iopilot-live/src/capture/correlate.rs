//! [`BioCorrelator`]: follows bios through merging, issue and completion by operation and sectors alone.
//!
//! A request covers exactly the bios that were merged into it, end to end. When `[a, b)` is issued, its bios are found
//! by walking: the oldest not yet issued one of that operation that begins at `a`, then the oldest that begins where
//! that one ends, until `b`. The same walk over the issued ones serves completions, and since it may stop inside a bio,
//! also partial ones. Two bios of the same sectors in flight at once are thus taken in the order of their arrival. A
//! bio that the kernel splits becomes two records, for the scheduler sees two; the later part arrives when it is split
//! off. Flush requests carry no sectors: one serves all flushes that wait when it is issued.

use super::event::{BlockEvent, BlockEventKind, BlockIo};
use super::options::Delivery;
use super::tasks::{TaskOrigin, Tasks, comm_text};
use iopilot_block::{Flags, Lba, Nanos, Op, ProcessId, Sectors};
use iopilot_trace::TraceRecord;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A bio in flight; times are on the monotonic clock.
#[derive(Debug)]
struct Bio {
    record: TraceRecord,
    start: Nanos,
    /// The first sector that has not completed, and the first after the bio.
    next: u64,
    end: u64,
    done: bool,
    /// It never became a request, or has been emitted already: it is not to be emitted.
    hidden: bool,
}

/// Bios by (first sector not done, number).
type BySector = BTreeSet<(u64, u64)>;

/// The most bios kept behind an incomplete one. Its completion may have been lost, and a fast disk would fill memory.
const MAX_WAITING: usize = 1 << 17;

/// Turns events, in order of time, into records, in order of arrival or of completion.
#[derive(Debug)]
pub(super) struct BioCorrelator {
    tasks: Tasks,
    /// All bios from the oldest incomplete one on; `first` is the number of the front one.
    bios: VecDeque<Bio>,
    first: u64,
    queued: [BySector; 3],
    issued: [BySector; 3],
    /// Incomplete flushes without sectors.
    flushes: Vec<u64>,
    /// Writes that complete with the flush after them.
    flushing: Vec<u64>,
    flushes_after_fua: bool,
    /// A request without completion after this time is given up: its completion was lost.
    patience: Nanos,
    /// The arrival of the first request.
    origin: Option<Nanos>,
    /// Bios that arrive later are not recorded.
    closed: Option<Nanos>,
    /// How many of the bios are done.
    finished: usize,
    delivery: Delivery,
    /// Completed bios to emit at once.
    fresh: Vec<u64>,
    /// The names of the tasks that issued them.
    names: BTreeMap<u32, [u8; 16]>,
}

impl BioCorrelator {
    pub(super) fn new(tasks: Tasks, flushes_after_fua: bool, patience: Nanos, delivery: Delivery) -> Self {
        Self {
            tasks,
            bios: VecDeque::new(),
            first: 0,
            queued: Default::default(),
            issued: Default::default(),
            flushes: Vec::new(),
            flushing: Vec::new(),
            flushes_after_fua,
            patience,
            origin: None,
            closed: None,
            finished: 0,
            delivery,
            fresh: Vec::new(),
            names: BTreeMap::new(),
        }
    }

    /// Ignores bios that arrive after `time`.
    pub(super) fn close(&mut self, time: Nanos) {
        self.closed = Some(time);
    }

    /// Records arriving bios again.
    pub(super) fn reopen(&mut self) {
        self.closed = None;
    }

    /// The names of the tasks that issued bios.
    pub(super) fn names(&self) -> BTreeMap<u32, String> {
        self.names.iter().map(|(&pid, comm)| (pid, comm_text(comm))).filter(|(_, name)| !name.is_empty()).collect()
    }

    /// How many bios are in flight.
    pub(super) fn pending(&self) -> usize {
        self.bios.len() - self.finished
    }

    /// When the first one arrived.
    pub(super) fn origin(&self) -> Option<Nanos> {
        self.origin
    }

    /// Takes in `event`, which is no earlier than the ones before it.
    pub(super) fn take(&mut self, event: &BlockEvent) {
        match event.what {
            BlockEventKind::Fork { parent, child } => self.tasks.fork(parent, child, event.time),
            BlockEventKind::Exit { pid } => self.tasks.exit(pid),
            BlockEventKind::Queued(io) => self.queue(event, &io),
            BlockEventKind::Split { op, lba, at } => self.split(op, lba, at, event.time),
            BlockEventKind::Merged(io) => self.merge(&io),
            BlockEventKind::Inserted(io) => self.insert(&io, event.time),
            BlockEventKind::Issued(io) => self.issue(&io, event.time),
            BlockEventKind::Completed(io) => self.complete(&io, event.time),
            BlockEventKind::Refused(io) => self.refuse(&io, event.time),
        }
    }

    /// Emits completed bios: at once, or as soon as all that arrived before have completed.
    pub(super) fn emit(&mut self, now: Nanos, mut sink: impl FnMut(TraceRecord)) {
        for n in 0..self.fresh.len() {
            let (number, origin) = (self.fresh[n], self.origin.unwrap_or_default());
            let bio = self.bio(number);
            if !std::mem::replace(&mut bio.hidden, true) {
                sink(relative_to_origin(&bio.record, bio.start, bio.done, origin));
            }
        }
        self.fresh.clear();
        let patience = self.patience;
        let over = |f: &Bio| f.done || now.since(f.record.arrival) > patience;
        while self.bios.front().is_some_and(over) || self.bios.len() > MAX_WAITING {
            self.emit_front(&mut sink);
        }
    }

    /// Emits the rest, complete or not.
    pub(super) fn finish(&mut self, mut sink: impl FnMut(TraceRecord)) {
        while !self.bios.is_empty() {
            self.emit_front(&mut sink);
        }
    }

    fn emit_front(&mut self, sink: &mut impl FnMut(TraceRecord)) {
        let (Some(bio), Some(origin)) = (self.bios.pop_front(), self.origin) else { return };
        let number = self.first;
        self.first += 1;
        if !bio.done {
            for sets in [&mut self.queued, &mut self.issued] {
                sets[class(bio.record.op)].remove(&(bio.next, number));
            }
            self.flushes.retain(|&n| n != number);
            self.flushing.retain(|&n| n != number);
        } else {
            self.finished -= 1;
        }
        if !bio.hidden {
            sink(relative_to_origin(&bio.record, bio.start, bio.done, origin));
        }
    }

    fn bio(&mut self, number: u64) -> &mut Bio {
        &mut self.bios[(number - self.first) as usize]
    }

    fn push(&mut self, bio: Bio) -> u64 {
        self.bios.push_back(bio);
        self.first + self.bios.len() as u64 - 1
    }

    fn queue(&mut self, event: &BlockEvent, io: &BlockIo) {
        if self.closed.is_some_and(|t| event.time > t) {
            return;
        }
        self.origin.get_or_insert(event.time);
        let TaskOrigin { parent, start } = self.tasks.get(event.pid);
        // The last one counts: a child first has its parent's name.
        self.names.insert(event.pid, event.comm);
        // A bio without sectors is a flush, whatever it is called.
        let flush = io.sectors == Sectors(0);
        let lba = if flush { Lba(0) } else { io.lba };
        let mut record = TraceRecord::new(event.time, if flush { Op::Flush } else { io.op }, lba, io.sectors);
        record.flags = io.flags;
        record.process = Some(ProcessId(event.pid));
        record.parent = parent.map(ProcessId);
        record.cpu = Some(event.cpu);
        record.priority = io.priority.unwrap_or_default();
        let end = lba.0 + u64::from(io.sectors.0);
        let number = self.push(Bio { record, start, next: lba.0, end, done: false, hidden: false });
        if flush {
            self.flushes.push(number);
        } else {
            self.queued[class(io.op)].insert((lba.0, number));
        }
    }

    fn split(&mut self, op: Op, lba: Lba, at: Lba, time: Nanos) {
        // The youngest that begins there: splitting follows queueing at once.
        let Some(&(_, number)) = self.queued[class(op)].range((lba.0, 0)..(lba.0 + 1, 0)).next_back() else { return };
        let bio = self.bio(number);
        // The kernel's event holds only the low 32 bits. The high ones are those of the bio's start, or one more.
        let mut at = Lba(at.0 & 0xffff_ffff | bio.next & !0xffff_ffff);
        if at.0 < bio.next {
            at.0 += 1 << 32;
        }
        if at.0 <= bio.next || at.0 >= bio.end {
            return;
        }
        let end = std::mem::replace(&mut bio.end, at.0);
        bio.record.sectors = Sectors((at.0 - bio.next) as u32);
        let (mut record, start) = (bio.record.clone(), bio.start);
        record.arrival = time;
        record.lba = at;
        record.sectors = Sectors((end - at.0) as u32);
        let rest = self.push(Bio { record, start, next: at.0, end, done: false, hidden: false });
        self.queued[class(op)].insert((at.0, rest));
    }

    /// Marks the youngest bio queued there: a bio merges in the call that queued it.
    fn merge(&mut self, io: &BlockIo) {
        let found = self.queued[class(io.op)].range((io.lba.0, 0)..(io.lba.0 + 1, 0)).next_back().copied();
        if let Some((_, number)) = found {
            self.bio(number).record.merged = Some(true);
        }
    }

    fn insert(&mut self, io: &BlockIo, time: Nanos) {
        let (mut at, end) = (io.lba.0, io.lba.0 + u64::from(io.sectors.0));
        while let Some(&(_, number)) = self.queued[class(io.op)].range((at, 0)..(end, 0)).next() {
            let bio = self.bio(number);
            bio.record.inserted = Some(time);
            at = bio.end;
        }
    }

    fn issue(&mut self, io: &BlockIo, time: Nanos) {
        if io.op == Op::Flush {
            for n in 0..self.flushes.len() {
                let number = self.flushes[n];
                self.bio(number).record.issue.get_or_insert(time);
            }
            return;
        }
        let c = class(io.op);
        let (mut at, end) = (io.lba.0, io.lba.0 + u64::from(io.sectors.0));
        while let Some(&(next, number)) = self.queued[c].range((at, 0)..(end, 0)).next() {
            self.queued[c].remove(&(next, number));
            self.issued[c].insert((next, number));
            let bio = self.bio(number);
            bio.record.issue = Some(time);
            bio.record.merged.get_or_insert(false);
            bio.record.priority = io.priority.unwrap_or(bio.record.priority);
            at = bio.end;
        }
    }

    fn complete(&mut self, io: &BlockIo, time: Nanos) {
        if io.op == Op::Flush {
            // Flushes that came after the issue wait for the next one.
            for number in std::mem::take(&mut self.flushes) {
                if self.bio(number).record.issue.is_some() {
                    self.done(number, time);
                } else {
                    self.flushes.push(number);
                }
            }
            return;
        }
        if io.sectors == Sectors(0) {
            for number in std::mem::take(&mut self.flushing) {
                if self.bio(number).record.lba == io.lba {
                    self.done(number, time);
                } else {
                    self.flushing.push(number);
                }
            }
            return;
        }
        let c = class(io.op);
        let (mut at, end) = (io.lba.0, io.lba.0 + u64::from(io.sectors.0));
        while at < end {
            // A bio is not issued if its issue event was lost, or the device has no requests.
            let set = match self.issued[c].range((at, 0)..(end, 0)).next() {
                Some(_) => &mut self.issued[c],
                None => &mut self.queued[c],
            };
            let Some(&(next, number)) = set.range((at, 0)..(end, 0)).next() else { return };
            set.remove(&(next, number));
            let bio = &mut self.bios[(number - self.first) as usize];
            if bio.end > end {
                bio.next = end;
                set.insert((end, number));
                return;
            }
            at = bio.end;
            bio.next = at;
            if self.flushes_after_fua && bio.record.flags.contains(Flags::FUA) {
                self.flushing.push(number);
            } else {
                self.done(number, time);
            }
        }
    }

    fn done(&mut self, number: u64, time: Nanos) {
        let bio = self.bio(number);
        bio.record.completion = Some(time);
        bio.done = true;
        self.finished += 1;
        if self.delivery == Delivery::AtOnce {
            self.fresh.push(number);
        }
    }

    /// Ends the youngest bio queued there: a bio is refused in the call that queued it.
    fn refuse(&mut self, io: &BlockIo, time: Nanos) {
        let number = if io.sectors == Sectors(0) {
            let waiting =
                self.flushes.iter().rposition(|&n| self.bios[(n - self.first) as usize].record.issue.is_none());
            waiting.map(|at| self.flushes.remove(at))
        } else {
            let set = &mut self.queued[class(io.op)];
            let found = set.range((io.lba.0, 0)..(io.lba.0 + 1, 0)).next_back().copied();
            found.filter(|key| set.remove(key)).map(|(_, number)| number)
        };
        if let Some(number) = number {
            self.bio(number).hidden = true;
            self.done(number, time);
        }
    }
}

/// `record` with times relative to `origin`.
fn relative_to_origin(record: &TraceRecord, start: Nanos, done: bool, origin: Nanos) -> TraceRecord {
    let since = |t: Nanos| t.since(origin);
    TraceRecord {
        arrival: since(record.arrival),
        inserted: record.inserted.map(since),
        issue: record.issue.map(since),
        completion: record.completion.filter(|_| done).map(since),
        process_start: Some(since(start)),
        ..record.clone()
    }
}

/// Operations never share a request.
fn class(op: Op) -> usize {
    match op {
        Op::Read => 0,
        Op::Write | Op::Flush => 1,
        Op::Discard => 2,
    }
}

#[cfg(test)]
mod tests;
