//! [`CacheBody`]: carries out the cache's policy, with its frames and the requests above and below it.

mod sizes;
mod transfers;
mod warm;

use super::frames::Frames;
use super::ring::Ring;
use super::streams::AddressStreams;
use super::tally::CacheTally;
use crate::block_server::{Answer, BlockRequest, monotonic};
use iopilot_block::{Arrival, Criticality, Flags, IoPriority, Lba, Nanos, SECTOR_BYTES, Sectors, Slab, SourceHandle};
use iopilot_redcap::{CacheGeometry, CopyId, PartTimes, Redcap, RedcapAction, RedcapSpec, RequestPart, Role};
use iopilot_sim::RedcapReferenceDisk;
use iopilot_trace::TraceRecord;
use std::io;
use std::ops::Range;
use std::sync::Arc;

/// The real time, as the policy gets it.
pub(super) fn now() -> Nanos {
    Nanos(monotonic())
}

/// The most requests that are kept for one check of `adaptive`.
const MOST_RECORDS: usize = 50_000;

/// A request from above.
struct Original {
    /// `None` once a [`CacheHit`] has it.
    answer: Option<Answer>,
    io: Arrival,
    durable: bool,
    arrived: Nanos,
    /// The error number that is answered if a part fails.
    errno: i32,
}

/// A request that the cache answers as a whole.
pub(super) struct CacheHit {
    answer: Answer,
    copy: CopyId,
    data: *const u8,
    length: usize,
}

impl CacheHit {
    /// Answers it. Returns the copy to [report](CacheBody::copied) afterwards.
    pub(super) fn answer(self) -> CopyId {
        // SAFETY: the frames hold that many bytes. The policy keeps them unchanged until the copy is reported.
        self.answer.send_data(unsafe { std::slice::from_raw_parts(self.data, self.length) });
        self.copy
    }
}

/// The places of a part's data: in the frames before the original's sectors, in the original's buffer, in the frames
/// after them.
type Vectors = [libc::iovec; 3];

/// A request to the disk below.
#[derive(Clone, Copy)]
struct InFlight {
    part: RequestPart,
    sent: Nanos,
    /// Whether it is the second attempt, sent alone.
    again: bool,
}

/// The policy, with a simulated disk where its algorithm needs one.
pub(super) type CachePolicy = Redcap<Option<RedcapReferenceDisk>>;

/// The policy, and what carries it out. All methods are called under one lock.
pub(super) struct CacheBody {
    pub(super) cache: CachePolicy,
    pub(super) frames: Frames,
    pub(super) tally: CacheTally,
    /// The segments that the frames are divided into.
    geometry: CacheGeometry,
    segment_sectors: u64,
    /// Bytes that the cache may hold now.
    limit: u64,
    ring: Arc<Ring>,
    actions: Vec<RedcapAction>,
    originals: Slab<Option<Original>, SourceHandle>,
    /// By the index of the part.
    parts: Vec<Option<InFlight>>,
    /// By the index of the part; boxed, since the kernel reads them after others were added.
    #[expect(clippy::vec_box, reason = "their places must not change while the kernel has yet to read them")]
    vectors: Vec<Box<Vectors>>,
    in_flight: usize,
    /// When the last request from above came.
    arrived: Nanos,
    /// When the disk last completed a part.
    completed: Nanos,
    streams: AddressStreams,
    /// The requests that completed since [`Self::take_window`]; `None` before its first call.
    window: Option<TrafficWindow>,
    /// Answers that are ready.
    done: Vec<Answer>,
    /// Whether the ring has something to submit.
    unsubmitted: bool,
    /// Whether the disk was given up.
    closed: bool,
}

/// The requests that completed in a window of time.
#[derive(Debug, Default)]
pub(super) struct TrafficWindow {
    /// Requests from above.
    pub(super) above: Vec<TraceRecord>,
    /// Requests to the disk.
    pub(super) below: Vec<TraceRecord>,
    /// Requests from above in flight.
    pub(super) pending: usize,
}

// SAFETY: the vectors point to the frames and to buffers of answers, which it owns.
unsafe impl Send for CacheBody {}

impl CacheBody {
    pub(super) fn new(
        mut cache: CachePolicy,
        spec: &RedcapSpec,
        frames: Frames,
        ring: Arc<Ring>,
        requests: u32,
    ) -> Self {
        cache.set_queue_limit(requests);
        Self {
            cache,
            frames,
            tally: CacheTally::default(),
            geometry: spec.geometry,
            segment_sectors: u64::from(spec.geometry.segment_sectors().0),
            limit: spec.most_bytes(),
            ring,
            actions: Vec::new(),
            originals: Slab::new(),
            parts: Vec::new(),
            vectors: Vec::new(),
            in_flight: 0,
            arrived: Nanos::ZERO,
            completed: Nanos::ZERO,
            streams: AddressStreams::default(),
            window: None,
            done: Vec::new(),
            unsubmitted: false,
            closed: false,
        }
    }

    /// Makes all later requests fail.
    pub(super) fn close(&mut self) {
        self.closed = true;
    }

    /// The queue of the disk takes so many requests before a process sleeps.
    pub(super) fn set_queue_limit(&mut self, requests: u32) {
        self.cache.set_queue_limit(requests);
    }

    /// Takes a request from above.
    ///
    /// Returns a hit if the cache holds the whole request in one piece. The caller answers it without the lock, and
    /// then [reports](Self::copied) it.
    pub(super) fn submit(&mut self, request: BlockRequest, answer: Answer, now: Nanos) -> Option<CacheHit> {
        if self.closed {
            // An answer is an error until it is set.
            self.done.push(answer);
            return None;
        }
        self.arrived = now;
        let BlockRequest { op, durable, offset, length } = request;
        let (lba, sectors) = (Lba(offset / SECTOR_BYTES), Sectors((length / SECTOR_BYTES) as u32));
        let process = self.streams.of(lba, sectors);
        let handle = self.originals.insert(None);
        let flags = if durable { Flags::FUA } else { Flags::empty() };
        let (priority, criticality, cpu) = (IoPriority::default(), Criticality::default(), 0);
        let io = Arrival { handle, op, lba, sectors, flags, process, priority, criticality, cpu };
        let original = Original { answer: Some(answer), io, durable, arrived: now, errno: libc::EIO };
        self.originals[handle] = Some(original);
        let mut actions = std::mem::take(&mut self.actions);
        self.cache.submit(&io, now, &mut actions);
        self.follow_geometry();
        if let [RedcapAction::Copy { copy, slot, lba: first, sectors: length, .. }] = actions[..] {
            if (first, length) == (lba, sectors) {
                actions.clear();
                self.actions = actions;
                return self.hit(handle, copy, slot);
            }
        }
        self.act(actions, now);
        None
    }

    fn hit(&mut self, handle: SourceHandle, copy: CopyId, slot: u32) -> Option<CacheHit> {
        let original = self.originals[handle].as_mut()?;
        let (lba, length) = (original.io.lba, original.io.sectors.bytes() as usize);
        let answer = original.answer.take()?;
        let offset = (lba.0 % self.segment_sectors * SECTOR_BYTES) as usize;
        Some(CacheHit { answer, copy, data: self.frames.place(slot, offset, length), length })
    }

    /// Reports that a [`CacheHit`] was answered.
    pub(super) fn copied(&mut self, copy: CopyId, now: Nanos) {
        let mut actions = std::mem::take(&mut self.actions);
        self.cache.copied(copy, now, &mut actions);
        self.act(actions, now);
    }

    /// Takes a completion of the disk: the part `name`, with the bytes that were moved, or an error.
    pub(super) fn completed(&mut self, name: u64, result: i32, now: Nanos) {
        let in_flight = self.parts.get_mut(name as usize).and_then(Option::take);
        let Some(InFlight { part, sent, again }) = in_flight else { return };
        self.in_flight -= 1;
        let bytes = if part.op.transfers() { part.sectors.bytes() } else { 0 };
        // A short transfer counts as an error.
        let good = u64::try_from(result).is_ok_and(|moved| moved >= bytes);
        self.tally.below(&part, good);
        if !good && !again && self.read_alone(part, now).is_ok() {
            return;
        }
        if let Some(window) = self.window.as_mut().filter(|window| window.below.len() < MOST_RECORDS) {
            let mut record = TraceRecord::new(sent, part.op, part.lba, part.sectors);
            (record.issue, record.completion, record.process) = (Some(sent), Some(now), Some(part.process));
            window.below.push(record);
        }
        if result < 0 && part.role != Role::Prefetch {
            if let Some(original) = self.originals[part.io].as_mut() {
                original.errno = -result;
            }
        }
        let mut actions = std::mem::take(&mut self.actions);
        // The simulated disk advances first, so that each of its requests uses only what the real disk had shown by
        // then.
        self.cache.advance(now, &mut actions);
        // The disk serves one part at a time: the service of a part begins when the one before it ends.
        let simulated_disk = self.cache.reference_disk().and_then(Option::as_mut);
        let dispatched = match simulated_disk {
            Some(disk) => disk.learn(part.op, (part.lba, part.sectors), sent, now),
            None => sent.max(self.completed),
        };
        self.completed = now;
        let served = PartTimes { inserted: sent, dispatched, completed: now, merged: Sectors(0) };
        match good {
            true => self.cache.served(part.id, served, &mut actions),
            false => self.cache.failed(part.id, served, &mut actions),
        }
        self.act(actions, now);
    }

    /// Turns the cache on or off, from outside.
    pub(super) fn set_active(&mut self, active: bool, now: Nanos) {
        let mut actions = std::mem::take(&mut self.actions);
        self.cache.set_active(active, now, &mut actions);
        self.act(actions, now);
    }

    /// Turns the cache off for these ranges of sectors, and on for all others.
    pub(super) fn set_off_regions(&mut self, sectors: &[Range<u64>], now: Nanos) {
        let mut actions = std::mem::take(&mut self.actions);
        self.cache.set_off_regions(sectors, now, &mut actions);
        self.act(actions, now);
    }

    /// Moves the ready answers to `into`, to be sent without the lock. Returns whether the ring has something to
    /// submit.
    pub(super) fn take_done(&mut self, into: &mut Vec<Answer>) -> bool {
        into.append(&mut self.done);
        std::mem::take(&mut self.unsubmitted)
    }

    /// Requests from above in flight.
    pub(super) fn pending(&self) -> usize {
        self.originals.len()
    }

    /// Parts in flight.
    pub(super) fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// The requests that completed since the last call; none at the first call.
    pub(super) fn take_window(&mut self, spare: TrafficWindow) -> TrafficWindow {
        let pending = self.pending();
        let window = self.window.replace(spare).unwrap_or_default();
        TrafficWindow { pending, ..window }
    }

    /// How many requests from above completed since [`Self::take_window`].
    pub(super) fn window_length(&self) -> usize {
        self.window.as_ref().map_or(0, |window| window.above.len())
    }

    /// Carries out what the policy asks for.
    fn act(&mut self, mut actions: Vec<RedcapAction>, mut at: Nanos) {
        let mut next = 0;
        self.follow_geometry();
        while let Some(&action) = actions.get(next) {
            next += 1;
            match action {
                RedcapAction::Send(part) => {
                    if self.send(part, at).is_err() {
                        let served = PartTimes { inserted: at, dispatched: at, completed: at, merged: Sectors(0) };
                        self.cache.failed(part.id, served, &mut actions);
                    }
                }
                RedcapAction::Copy { copy, io, slot, lba, sectors } => {
                    let offset = (lba.0 % self.segment_sectors * SECTOR_BYTES) as usize;
                    let (first, length) = (self.offset_in(io, lba), sectors.bytes() as usize);
                    if let Some(original) = self.originals[io].as_mut() {
                        if let Ok(data) = original
                            .answer
                            .as_mut()
                            .ok_or(())
                            .and_then(|answer| answer.data(first + length).map_err(drop))
                        {
                            self.frames.copy_to(slot, offset, &mut data[first..]);
                        }
                    }
                    at = now();
                    self.cache.copied(copy, at, &mut actions);
                }
                RedcapAction::Done { io, failed } => self.finish(io, failed, at),
                // The kernel knows no criticality.
                RedcapAction::Raise { .. } => {}
            }
            self.follow_geometry();
        }
        actions.clear();
        self.actions = actions;
    }

    /// Where a sector of an original is in its buffer, in bytes.
    fn offset_in(&self, io: SourceHandle, lba: Lba) -> usize {
        let first = self.originals[io].as_ref().map_or(lba, |original| original.io.lba);
        ((lba.0 - first.0) * SECTOR_BYTES) as usize
    }

    /// Completes an original request.
    fn finish(&mut self, io: SourceHandle, failed: bool, now: Nanos) {
        let Some(Original { answer, io: Arrival { op, lba, sectors, process, .. }, arrived, errno, .. }) =
            self.originals[io].take()
        else {
            return;
        };
        self.originals.remove(io);
        self.tally.above(op, sectors, now.since(arrived), failed);
        if let Some(window) = self.window.as_mut().filter(|window| window.above.len() < MOST_RECORDS) {
            let mut record = TraceRecord::new(arrived, op, lba, sectors);
            record.process = Some(process);
            (record.inserted, record.issue, record.completion) = (Some(arrived), Some(arrived), Some(now));
            window.above.push(record);
        }
        // The answer of a hit was sent already.
        let Some(mut answer) = answer else { return };
        answer.set(match failed {
            true => Err(io::Error::from_raw_os_error(errno)),
            false if op.transfers() => Ok(sectors.bytes() as usize),
            false => Ok(0),
        });
        self.done.push(answer);
    }
}
