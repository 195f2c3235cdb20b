//! What `blktrace(8)` stores: 48-byte events of version 7 (magic 0x65617407) in the byte order of the traced machine,
//! each perhaps followed by a payload; one file a CPU (`NAME.blktrace.N`), or all in one (`blktrace -o -`).
//!
//! Events become requests in [`crate::correlate`]. Files of one CPU each are merged by time. A file of several CPUs
//! holds their buffers one after another, so its events are sorted in a buffer of 65,536.

mod files;

use super::spec::{Detect, FileSet, FormatSpec, Records};
use crate::block_events::without_submitter;
use crate::correlate::{Correlator, Extent};
use crate::fields::extent;
use crate::format::detect::empty;
use crate::metadata::TraceMetadata;
use crate::reader::TraceReader;
use crate::reorder::CpuOrder;
use crate::source::{Binary, ByteSource, ReadProgress};
use crate::{TraceError, TraceRecord};
use iopilot_block::{Flags, InputError, Nanos, Op, ProcessId, SECTOR_BYTES};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::PathBuf;

/// The magic number without the version in its lowest byte.
const MAGIC: u32 = 0x6561_7400;
const VERSION: u32 = 7;
const EVENT: usize = 48;

/// How many places an event may be out of order in a file of several CPUs: some sub-buffers of `blktrace` (512 KiB
/// each).
const SORT_BUFFER: usize = 1 << 16;

/// Categories, in the upper half of the action (`BLK_TC_*`).
const WRITE: u32 = 1 << 1;
const FLUSH: u32 = 1 << 2;
const SYNC: u32 = 1 << 3;
const PC: u32 = 1 << 9;
const NOTIFY: u32 = 1 << 10;
const AHEAD: u32 = 1 << 11;
const META: u32 = 1 << 12;
const DISCARD: u32 = 1 << 13;
const FUA: u32 = 1 << 15;

/// Set in the lower half where an 8-byte control-group id precedes the payload.
const CGROUP: u32 = 1 << 8;

/// Actions, in the lower half (`__BLK_TA_*`).
mod action {
    pub(super) const QUEUE: u32 = 1;
    pub(super) const BACK_MERGE: u32 = 2;
    pub(super) const FRONT_MERGE: u32 = 3;
    pub(super) const REQUEUE: u32 = 6;
    pub(super) const ISSUE: u32 = 7;
    pub(super) const COMPLETE: u32 = 8;
    pub(super) const SPLIT: u32 = 13;
}

/// An event, ordered by time and place in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Event {
    time: u64,
    place: u64,
    sector: u64,
    bytes: u32,
    action: u32,
    pid: u32,
    device: u32,
    cpu: u32,
    /// The first 8 bytes of the payload: where a split cuts.
    payload: u64,
}

/// One file.
struct File {
    input: Binary,
    swapped: Option<bool>,
    payload: Vec<u8>,
    /// The order of each CPU; `None` if records may be late.
    order: Option<CpuOrder>,
    next: Option<Event>,
}

pub(super) const SPEC: FormatSpec = FormatSpec {
    name: "blktrace",
    summary: "binary of blktrace(8), version 7, either byte order",
    endings: &[],
    detect: &[Detect::Magic(|head| {
        let magic = head.first_chunk::<4>().map(|bytes| [u32::from_le_bytes(*bytes), u32::from_be_bytes(*bytes)]);
        magic.is_some_and(|orders| orders.iter().any(|magic| magic & !0xff == MAGIC))
    })],
    open: |input| Ok(Box::new(Reader::merged(input.source, input.reorder))),
    file_set: Some(FileSet {
        find: files::per_cpu_files,
        open: |paths, progress, reorder| Ok(Box::new(Reader::open(paths, progress, reorder)?)),
    }),
    sample: "",
    writing: None,
};

struct Reader {
    files: Vec<File>,
    /// The file that was read last, for messages.
    current: usize,
    /// Events held back to be sorted, where one file has those of several CPUs.
    sorting: BinaryHeap<Reverse<Event>>,
    sort_buffer: usize,
    started: bool,
    at_end: bool,
    correlator: Correlator,
}

impl Reader {
    /// All per-CPU files of a trace.
    fn open(paths: &[PathBuf], progress: &mut ReadProgress, reorder: Option<usize>) -> Result<Self, TraceError> {
        let sources = paths.iter().map(|path| ByteSource::open(path, progress)).collect::<Result<Vec<_>, _>>()?;
        Ok(Self::new(sources, 0, reorder))
    }

    /// One file with the events of all CPUs.
    fn merged(source: ByteSource, reorder: Option<usize>) -> Self {
        Self::new(vec![source], SORT_BUFFER, reorder)
    }

    fn new(sources: Vec<ByteSource>, sort_buffer: usize, reorder: Option<usize>) -> Self {
        let file = |source| File {
            input: Binary::buffered(source),
            swapped: None,
            payload: Vec::new(),
            order: reorder.is_none().then(CpuOrder::default),
            next: None,
        };
        Self {
            files: sources.into_iter().map(file).collect(),
            current: 0,
            sorting: BinaryHeap::new(),
            sort_buffer: sort_buffer.max(reorder.unwrap_or(0)),
            started: false,
            at_end: false,
            correlator: Correlator::new(),
        }
    }

    /// The earliest event of all files.
    fn merge(&mut self, metadata: &mut TraceMetadata) -> Result<Option<Event>, TraceError> {
        if !self.started {
            self.started = true;
            for i in 0..self.files.len() {
                self.current = i;
                self.files[i].advance(metadata)?;
            }
        }
        let heads = self.files.iter().enumerate().filter_map(|(i, f)| f.next.map(|e| (e.time, i)));
        let Some((_, i)) = heads.min() else { return Ok(None) };
        self.current = i;
        let event = self.files[i].next;
        self.files[i].advance(metadata)?;
        Ok(event)
    }

    /// The next event in order of time.
    fn event(&mut self, metadata: &mut TraceMetadata) -> Result<Option<Event>, TraceError> {
        if self.sort_buffer == 0 {
            return self.merge(metadata);
        }
        while self.sorting.len() <= self.sort_buffer {
            match self.merge(metadata)? {
                Some(event) => self.sorting.push(Reverse(event)),
                None => break,
            }
        }
        Ok(self.sorting.pop().map(|Reverse(event)| event))
    }

    fn take(&mut self, e: Event, metadata: &mut TraceMetadata) -> Result<(), InputError> {
        let category = e.action >> 16;
        if category & (NOTIFY | PC) != 0 {
            metadata.notes.other_commands += u64::from(category & PC != 0 && e.action & 0xff == action::ISSUE);
            return Ok(());
        }
        let (lba, sectors) = extent(e.sector, u64::from(e.bytes).div_ceil(SECTOR_BYTES))?;
        let device = metadata.device(format!("{},{}", e.device >> 20, e.device & 0xf_ffff).as_bytes());
        let op = match category {
            c if c & DISCARD != 0 => Op::Discard,
            c if c & WRITE != 0 => Op::Write,
            _ => Op::Read,
        };
        let what = Extent { device, op, start: lba.0, sectors: sectors.0 };
        let now = Nanos(e.time);
        let record = |op| {
            let mut record = TraceRecord::new(now, op, lba, sectors);
            record.device = device;
            record.flags = flags(category);
            record.process = Some(ProcessId(e.pid));
            record.cpu = u16::try_from(e.cpu).ok();
            record
        };
        match e.action & 0xff {
            action::QUEUE if sectors.0 > 0 => self.correlator.queue(record(op)),
            action::QUEUE if category & FLUSH != 0 => self.correlator.queue(record(Op::Flush)),
            action::QUEUE => metadata.notes.empty += 1,
            action::BACK_MERGE => self.correlator.merge(what, true),
            action::FRONT_MERGE => self.correlator.merge(what, false),
            action::REQUEUE => self.correlator.requeue(what),
            action::ISSUE => self.correlator.issue(what, now, || record(op)),
            // Without the write bit it is the flush machinery's own request, not the submitter's.
            action::COMPLETE if sectors.0 > 0 || category & WRITE != 0 => {
                let alone = || if sectors.0 > 0 { Some(record(op)) } else { None };
                self.correlator.complete(what, now, || alone().map(without_submitter));
            }
            action::SPLIT => self.correlator.split(device, e.sector, e.payload),
            _ => {}
        }
        metadata.notes.unmatched_completions = self.correlator.unmatched_completions;
        Ok(())
    }
}

fn flags(category: u32) -> Flags {
    let named = [
        (FLUSH, Flags::PREFLUSH),
        (SYNC, Flags::SYNC),
        (AHEAD, Flags::READ_AHEAD),
        (META, Flags::META),
        (FUA, Flags::FUA),
    ];
    named.into_iter().filter(|(bit, _)| category & bit != 0).map(|(_, flag)| flag).collect()
}

impl File {
    /// Reads the next event that is not a notification.
    fn advance(&mut self, metadata: &mut TraceMetadata) -> Result<(), TraceError> {
        loop {
            self.next = None;
            let mut b = [0; EVENT];
            if !self.input.begin(&mut b)? {
                return Ok(());
            }
            let event = self.decode(&b).map_err(|e| self.input.locate(e))?;
            let swapped = self.swapped == Some(true);
            let length = half([b[46], b[47]], swapped);
            self.payload.resize(usize::from(length), 0);
            self.input.more(&mut self.payload)?;
            let skip = if event.action & CGROUP != 0 { 8 } else { 0 };
            let payload = self.payload.get(skip..).unwrap_or_default();
            if event.action >> 16 & NOTIFY != 0 {
                if event.action & 0xff == 0 {
                    let end = memchr::memchr(0, payload).unwrap_or(payload.len());
                    metadata.name_process(event.pid, &payload[..end]);
                }
                continue;
            }
            if let Some(order) = &mut self.order {
                order.check(event.device, event.cpu, Nanos(event.time)).map_err(|e| self.input.locate(e))?;
            }
            let first = payload.first_chunk::<8>().map_or(0, |bytes| u64::from_be_bytes(*bytes));
            self.next = Some(Event { payload: first, ..event });
            return Ok(());
        }
    }

    fn decode(&mut self, b: &[u8; EVENT]) -> Result<Event, InputError> {
        let magic = u32::from_le_bytes([b[0], b[1], b[2], b[3]]);
        let swapped = *self.swapped.get_or_insert(magic.swap_bytes() & !0xff == MAGIC);
        let magic = if swapped { magic.swap_bytes() } else { magic };
        if magic != MAGIC | VERSION {
            return Err(InputError::new("magic", format!("{magic:#010x}"), "0x65617407 (blktrace version 7)"));
        }
        let word = |at: usize| {
            let bytes = [b[at], b[at + 1], b[at + 2], b[at + 3]];
            if swapped { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
        };
        let long = |at: usize| {
            let (first, second) = (u64::from(word(at)), u64::from(word(at + 4)));
            if swapped { first << 32 | second } else { second << 32 | first }
        };
        Ok(Event {
            time: long(8),
            place: self.input.record,
            sector: long(16),
            bytes: word(24),
            action: word(28),
            pid: word(32),
            device: word(36),
            cpu: word(40),
            payload: 0,
        })
    }
}

fn half(bytes: [u8; 2], swapped: bool) -> u16 {
    if swapped { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) }
}

impl Records for Reader {
    fn next(&mut self, metadata: &mut TraceMetadata) -> Result<Option<TraceRecord>, TraceError> {
        loop {
            if let Some(record) = self.correlator.pop(self.at_end) {
                metadata.notes.unknown_arrivals = self.correlator.unknown_arrivals;
                return Ok(Some(record));
            }
            if self.at_end {
                return Ok(None);
            }
            match self.event(metadata)? {
                // A CPU may have recorded nothing, but not all of them.
                None if self.files.iter().all(|f| f.input.record == 0) => {
                    return Err(empty().in_file(self.files[0].input.name()).into());
                }
                None => self.at_end = true,
                Some(event) => self.take(event, metadata).map_err(|e| self.locate(e))?,
            }
        }
    }

    fn locate(&self, e: InputError) -> TraceError {
        self.files[self.current].input.locate(e)
    }

    fn reorder_limit(&self) -> usize {
        TraceReader::CPU_REORDER
    }
}
