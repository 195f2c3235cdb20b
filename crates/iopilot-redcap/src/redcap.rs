//! [`Redcap`]: the policy of the cache.

mod activity;
mod complete;
mod inactive;
mod invalidate;
#[cfg(test)]
mod invariants;
mod put_off;
mod read;
mod rebuild;
mod warm;

use self::rebuild::Rebuild;
use crate::ada::Ada;
use crate::block_time::BlockTime;
use crate::check::Checks;
use crate::directory::Directory;
use crate::geometry::SegmentLayout;
use crate::prefetch_queue::PrefetchQueue;
use crate::records::{Fetch, Handling, Original, PartRecord, Partial};
use crate::regions::OffRegions;
use crate::sums::Sums;
use crate::{
    ActivationCheck, Algorithm, CacheCounters, CacheGeometry, CacheState, Miss, NoReferenceDisk, PartId, RedcapAction,
    RedcapSpec, ReferenceDisk, RequestPart, Role,
};
use iopilot_block::{Arrival, Criticality, Flags, InputError, Links, Nanos, Op, Sectors, Slab};
use std::collections::VecDeque;

/// A disk cache in RAM with prefetching in disk order (GF 2.3, 3.3), as a pure policy: it holds no data, and has no clock.
///
/// The body submits requests, carries out the [`RedcapAction`]s in `out`, in order, and reports their ends. The body owns the
/// frames: one segment of bytes for each slot. Each operation is O(1) for each partial request, and allocates nothing in the
/// steady state.
#[derive(Clone, Debug)]
pub struct Redcap<V = NoReferenceDisk> {
    geometry: CacheGeometry,
    layout: SegmentLayout,
    miss: Miss,
    strict: bool,
    max_sectors: u64,
    cache: Directory,
    /// The simulated directory of an inactive cache. Some algorithms do not use it.
    simulated: Directory,
    regions: OffRegions,
    originals: Slab<Original>,
    partials: Slab<Partial>,
    fetches: Slab<Fetch>,
    parts: Slab<PartRecord>,
    /// The parts among them that wait to be sent.
    prefetches: PrefetchQueue,
    /// Whether blocks were taken out of a segment whose prefetch waits.
    blocks_taken_out: bool,
    /// The lists of waiting partial reads, one for each segment.
    waiters: Links<u32>,
    state: CacheState,
    /// The number of changes of the state.
    epoch: u32,
    /// While pending, the number of originals in flight that the state before has handled.
    awaited: usize,
    /// The number of reads through the cache that are in flight, or whose prefetches are.
    cached: usize,
    /// A change of geometry that is pending until there are none of them.
    rebuild: Option<Rebuild>,
    /// The number of reads that have ended.
    ended_reads: u64,
    block_time: BlockTime,
    ada: Ada<V>,
    counters: CacheCounters,
    checks: Checks,
}

impl Redcap {
    /// An empty cache above a disk of `capacity` sectors. It is active unless the algorithm is `never`.
    ///
    /// # Errors
    /// If a number of the specification is out of range, or the algorithm needs a reference disk.
    pub fn new(spec: &RedcapSpec, capacity: u64) -> Result<Self, InputError> {
        if spec.algorithm.needs_reference_disk() {
            let got = spec.algorithm.name();
            return Err(InputError::new(
                "redcap: algorithm",
                got,
                "one that needs no reference disk: there is none here",
            ));
        }
        Self::with_reference_disk(spec, capacity, NoReferenceDisk)
    }
}

impl<V: ReferenceDisk> Redcap<V> {
    /// As [`Redcap::new`], for the algorithms that need a reference disk.
    ///
    /// # Errors
    /// If a number of the specification is out of range.
    pub fn with_reference_disk(spec: &RedcapSpec, capacity: u64, disk: V) -> Result<Self, InputError> {
        spec.check()?;
        Ok(Self {
            geometry: spec.geometry,
            layout: SegmentLayout::new(spec.geometry, capacity),
            miss: spec.miss_or_default(),
            strict: spec.strict,
            max_sectors: u64::from(spec.max_sectors) / 8 * 8,
            cache: Directory::new(spec.geometry.segments),
            simulated: Directory::new(spec.geometry.segments),
            regions: OffRegions::default(),
            originals: Slab::new(),
            partials: Slab::new(),
            fetches: Slab::new(),
            parts: Slab::new(),
            prefetches: PrefetchQueue::new(spec.geometry.segments),
            blocks_taken_out: false,
            waiters: Links::new(),
            state: CacheState::main(spec.algorithm != Algorithm::Never),
            epoch: 0,
            awaited: 0,
            cached: 0,
            rebuild: None,
            ended_reads: 0,
            block_time: BlockTime::default(),
            ada: Ada::new(spec, disk),
            counters: CacheCounters::default(),
            checks: Checks::default(),
        })
    }

    /// Takes a request.
    pub fn submit(&mut self, io: &Arrival, now: Nanos, out: &mut Vec<RedcapAction>) {
        self.run_reference_disk(now, out);
        let (from, to) = (io.lba.0, io.lba.0.saturating_add(u64::from(io.sectors.0)));
        let inside = from < to && to <= self.layout.capacity();
        match io.op {
            Op::Read if inside => {
                self.read(io, (from, to), now, out);
                return self.settle(now, out);
            }
            Op::Read => self.counters.reads += 1,
            Op::Flush => {}
            Op::Write | Op::Discard => {
                self.counters.writes += 1;
                if let Some(comparison) = self.ada.comparison() {
                    comparison.mirror(io, 0, 0, now);
                }
                self.invalidate((from, to), now, out);
            }
        }
        let original = self.original(io, Handling::Plain, 1);
        self.send(PartRecord::new(Role::Whole, original, (from, to)), out);
        self.settle(now, out);
    }

    /// The time of the next call of [`Redcap::advance`]; `None` without a reference disk.
    pub fn next_event(&self) -> Option<Nanos> {
        self.ada.next_event()
    }

    /// Runs the reference disk to `now`.
    pub fn advance(&mut self, now: Nanos, out: &mut Vec<RedcapAction>) {
        self.run_reference_disk(now, out);
        self.settle(now, out);
    }

    fn run_reference_disk(&mut self, now: Nanos, out: &mut Vec<RedcapAction>) {
        let verdict = self.ada.advance(now, self.state);
        self.follow(verdict, now, out);
    }

    /// The reference disk, so that it can learn; `None` if the algorithm has none.
    pub fn reference_disk(&mut self) -> Option<&mut V> {
        self.ada.comparison().map(|comparison| comparison.disk())
    }

    /// How a segment that is absent is read.
    pub const fn miss(&self) -> Miss {
        self.miss
    }

    /// Changes how a segment that is absent is read, from the next miss on.
    pub const fn set_miss(&mut self, miss: Miss) {
        self.miss = miss;
    }

    /// The state.
    pub const fn state(&self) -> CacheState {
        self.state
    }

    /// What the cache has done so far.
    pub const fn counters(&self) -> &CacheCounters {
        &self.counters
    }

    /// The latest checks of the algorithm, the oldest first: up to 4096.
    pub const fn checks(&self) -> &VecDeque<ActivationCheck> {
        self.checks.all()
    }

    /// The number of segments in use.
    pub fn segments(&self) -> u32 {
        self.cache.len()
    }

    /// Limits the number of segments, to one at least, where memory is short. Evicts the least recently used ones beyond that;
    /// busy ones are evicted when they are no longer busy.
    pub fn set_limit(&mut self, segments: u32) {
        self.cache.set_limit(segments);
        self.simulated.set_limit(segments);
        self.counters.evictions = self.cache.evictions();
    }

    /// Whether a slot holds a segment. If not, its frames need no memory.
    pub fn is_slot_used(&self, slot: u32) -> bool {
        slot < self.cache.slots() && self.cache.get(slot).is_present()
    }

    /// The number of originals that are not done, or whose prefetch is in flight.
    pub fn in_flight(&self) -> usize {
        self.originals.len()
    }

    fn original(&mut self, io: &Arrival, handling: Handling, parts: u32) -> u32 {
        self.cached += usize::from(handling == Handling::Cached);
        self.originals.insert(Original {
            io: *io,
            handling,
            epoch: self.epoch,
            unanswered: parts,
            unended: parts,
            failed: false,
            sums: Sums::default(),
            batch: crate::comparison::NO_BATCH,
            model_time: Nanos::ZERO,
        })
    }

    /// Sends a part of an original.
    fn send(&mut self, record: PartRecord, out: &mut Vec<RedcapAction>) {
        let part = self.parts.insert(record);
        self.dispatch(part, None, out);
    }

    /// Sends a part: for the `reader` that waits for it, if there is one.
    fn dispatch(&mut self, part: u32, reader: Option<u32>, out: &mut Vec<RedcapAction>) {
        self.parts[part].in_flight = true;
        let record = &self.parts[part];
        let &Arrival { handle, op, lba, sectors, flags, process, priority, criticality, cpu } =
            &self.originals[reader.unwrap_or(record.original)].io;
        let extent = match record.role {
            Role::Whole => (lba, sectors),
            _ => crate::geometry::extent((record.from, record.to)),
        };
        let (flags, criticality) = match record.role {
            Role::Prefetch if reader.is_none() => {
                ((flags & PREFETCH_KEEPS) | Flags::READ_AHEAD, Criticality::TimeNonCritical)
            }
            _ => (flags, criticality),
        };
        let frames = matches!(record.role, Role::Prefetch | Role::Combined).then_some(record.slot);
        let (role, id) = (record.role, PartId(part));
        let (lba, sectors): (_, Sectors) = extent;
        out.push(RedcapAction::Send(RequestPart {
            id,
            role,
            op,
            lba,
            sectors,
            flags,
            process,
            priority,
            criticality,
            cpu,
            io: handle,
            frames,
        }));
    }
}

/// The flags of an original that its prefetch keeps.
const PREFETCH_KEEPS: Flags = Flags::META.union(Flags::IDLE);
