//! [`Body`]: a cache above a small disk with real contents. Events occur in random order.

use super::bench::io;
use crate::{
    CacheGeometry, CopyId, PartId, PartTimes, Redcap, RedcapAction, RedcapSpec, ReferenceDisk, RequestPart, Role,
};
use iopilot_block::{Arrival, Nanos, Op, SourceHandle};
use rand::Rng;
use rand::seq::IndexedRandom;
use rand_pcg::Pcg64Mcg;

/// The content of a sector: the number of writes to it. Frames start as garbage.
type Version = u32;
const GARBAGE: Version = u32::MAX;

/// A part in flight.
struct InFlight {
    part: RequestPart,
    /// Whether the disk has carried it out. Its end is reported later.
    applied: bool,
    data: Vec<Version>,
    dispatched: u64,
    fails: bool,
}

struct CopyUnderWay {
    copy: CopyId,
    io: SourceHandle,
    slot: u32,
    from: u64,
    to: u64,
}

/// An original in flight.
struct Running {
    io: Arrival,
    buffer: Vec<Option<Version>>,
    /// The oldest content of each sector that a read may return.
    floor: Vec<Version>,
    /// Whether a part on which it depends has failed.
    failed: bool,
}

pub(super) struct Body<V> {
    pub(super) cache: Redcap<V>,
    now: u64,
    geometry: CacheGeometry,
    segment: u64,
    disk: Vec<Version>,
    /// The contents after the last write whose end was reported.
    reported: Vec<Version>,
    frames: Vec<Version>,
    parts: Vec<InFlight>,
    copies: Vec<CopyUnderWay>,
    running: Vec<Running>,
    next: u64,
    rng: Pcg64Mcg,
    pub(super) operations: u64,
    /// Whether parts fail.
    pub(super) errors: bool,
    /// The extra time of copies, and of disk reads other than prefetches, so that algorithms change the state.
    pub(super) slow: (u64, u64),
    /// Whether the test changes the state, the regions and the geometry at random.
    pub(super) flips: bool,
    /// The number of changes of geometry.
    pub(super) rebuilt: u32,
    /// The limit of the queue below.
    limit: usize,
}

impl<V: ReferenceDisk> Body<V> {
    pub(super) fn new(spec: &RedcapSpec, sectors: u64, disk: V, rng: Pcg64Mcg) -> Self {
        let segment = u64::from(spec.geometry.segment_sectors().0);
        Self {
            cache: Redcap::with_reference_disk(spec, sectors, disk).unwrap(),
            now: 0,
            geometry: spec.geometry,
            segment,
            disk: vec![0; sectors as usize],
            reported: vec![0; sectors as usize],
            frames: vec![GARBAGE; (segment * u64::from(spec.geometry.segments)) as usize],
            parts: Vec::new(),
            copies: Vec::new(),
            running: Vec::new(),
            next: 0,
            rng,
            operations: 0,
            errors: false,
            slow: (0, 0),
            flips: false,
            rebuilt: 0,
            limit: usize::MAX,
        }
    }

    /// Limits the queue below.
    pub(super) fn set_limit(&mut self, requests: u32) {
        self.limit = requests as usize;
        self.cache.set_queue_limit(requests);
    }

    /// One random event.
    pub(super) fn step(&mut self) {
        self.now += self.rng.random_range(0..50);
        self.operations += 1;
        match self.rng.random_range(0..100) {
            0..20 if self.running.len() < 12 => self.submit(),
            20..45 if !self.copies.is_empty() => self.copy(),
            45..99 if !self.parts.is_empty() => self.part(),
            99 if self.flips => self.flip(),
            _ if self.running.is_empty() => self.advance(),
            _ => self.wait(),
        }
        self.cache.check();
    }

    /// Runs until nothing is in flight.
    pub(super) fn drain(&mut self) {
        while !self.parts.is_empty() || !self.copies.is_empty() {
            self.now += 10;
            if self.copies.is_empty() { self.part() } else { self.copy() }
        }
        assert!(self.running.is_empty(), "each original completes");
        self.cache.check_idle();
    }

    /// Submits a request.
    pub(super) fn request(&mut self, op: Op, lba: u64, sectors: u32) {
        self.next += 1;
        let io = io(self.next, op, lba, sectors);
        let extent = lba as usize..lba as usize + sectors as usize;
        let floor = self.reported[extent].to_vec();
        self.running.push(Running { io, buffer: vec![None; floor.len()], floor, failed: false });
        let active = self.cache.state().is_active();
        let mut out = Vec::new();
        self.cache.submit(&io, Nanos(self.now), &mut out);
        if !active && !self.cache.state().is_active() {
            let [RedcapAction::Send(part)] = &out[..] else { panic!("one request when inactive, not {out:?}") };
            let original = (part.op, part.lba, part.sectors, part.flags, part.process, part.criticality, part.cpu);
            assert_eq!(original, (io.op, io.lba, io.sectors, io.flags, io.process, io.criticality, io.cpu));
        }
        self.act(out);
    }

    fn submit(&mut self) {
        let capacity = self.disk.len() as u64;
        // Two thirds of the requests are in a quarter of the disk, so that they overlap.
        let within = if self.rng.random_range(0..3) == 0 { capacity } else { capacity / 4 };
        let mut lba = self.rng.random_range(0..within);
        let mut sectors = match self.rng.random_range(0..10) {
            0..6 => 8,
            6 => self.rng.random_range(1..24),
            7 => self.segment,
            8 => self.rng.random_range(1..3 * self.segment),
            _ => 16,
        };
        if self.rng.random_range(0..4) > 0 {
            (lba, sectors) = (lba / 8 * 8, sectors.next_multiple_of(8));
        }
        let sectors = sectors.min(capacity - lba) as u32;
        match self.rng.random_range(0..20) {
            0..14 => self.request(Op::Read, lba, sectors),
            14..18 => self.request(Op::Write, lba, sectors),
            18 => self.request(Op::Discard, lba, sectors),
            _ => self.request(Op::Flush, 0, 0),
        }
    }

    fn act(&mut self, actions: Vec<RedcapAction>) {
        let geometry = self.cache.geometry();
        if geometry != self.geometry {
            // No frame is in use.
            self.geometry = geometry;
            self.segment = u64::from(geometry.segment_sectors().0);
            self.frames = vec![GARBAGE; (self.segment * u64::from(geometry.segments)) as usize];
            self.rebuilt += 1;
        }
        for action in actions {
            match action {
                RedcapAction::Send(part) => {
                    assert!(part.lba.0 + u64::from(part.sectors.0) <= self.disk.len() as u64);
                    assert!(!part.is_optional() || self.parts.len() < self.limit, "the queue below is full");
                    assert!(self.parts.iter().all(|other| other.part.id != part.id), "nothing is sent twice");
                    let fails = self.errors && self.rng.random_range(0..12) == 0;
                    self.parts.push(InFlight { part, applied: false, data: Vec::new(), dispatched: 0, fails });
                }
                RedcapAction::Copy { copy, io, slot, lba, sectors } => {
                    let (from, to) = (lba.0, lba.0 + u64::from(sectors.0));
                    self.copies.push(CopyUnderWay { copy, io, slot, from, to });
                }
                RedcapAction::Raise { part } => {
                    assert!(self.parts.iter().any(|other| other.part.id == part), "it is in flight");
                }
                RedcapAction::Done { io, failed } => self.done(io, failed),
            }
        }
    }

    fn done(&mut self, handle: SourceHandle, failed: bool) {
        let at = self.running.iter().position(|running| running.io.handle == handle).expect("it completes once");
        let Running { io, buffer, floor, failed: expected } = self.running.swap_remove(at);
        assert_eq!(failed, expected);
        if failed || io.op != Op::Read {
            return;
        }
        for (i, (&value, &floor)) in buffer.iter().zip(&floor).enumerate() {
            let sector = io.lba.0 as usize + i;
            let value = value.expect("every sector comes");
            let newest = self.disk[sector];
            assert!((floor..=newest).contains(&value), "sector {sector}: {value}, not {floor} to {newest}");
        }
    }

    fn frame(&self, slot: u32, sector: u64) -> usize {
        (u64::from(slot) * self.segment + sector % self.segment) as usize
    }

    fn fill(&mut self, io: SourceHandle, sector: u64, value: Version) {
        let running = self.running.iter_mut().find(|running| running.io.handle == io).expect("it is not done");
        let place = &mut running.buffer[(sector - running.io.lba.0) as usize];
        assert_eq!(*place, None, "each sector comes once");
        *place = Some(value);
    }

    fn copy(&mut self) {
        let at = self.rng.random_range(0..self.copies.len());
        let CopyUnderWay { copy, io, slot, from, to } = self.copies.swap_remove(at);
        self.now += self.slow.0;
        for sector in from..to {
            self.fill(io, sector, self.frames[self.frame(slot, sector)]);
        }
        let mut out = Vec::new();
        self.cache.copied(copy, Nanos(self.now), &mut out);
        self.act(out);
    }

    /// The next step of a part: the disk carries it out, or its end is reported, or it is dropped.
    fn part(&mut self) {
        let at = self.rng.random_range(0..self.parts.len());
        let prefetch = self.parts[at].part.role == Role::Prefetch;
        if self.parts[at].applied {
            self.report(at);
        } else if prefetch && self.rng.random_range(0..8) == 0 {
            let part = self.parts.swap_remove(at).part;
            let mut out = Vec::new();
            if part.is_optional() && self.rng.random() {
                self.cache.put_off(part.id, Nanos(self.now), &mut out);
            } else {
                self.cache.dropped(part.id, Nanos(self.now), &mut out);
                self.cache.settle(Nanos(self.now), &mut out);
            }
            self.act(out);
        } else {
            self.apply(at);
        }
    }

    fn apply(&mut self, at: usize) {
        self.parts[at].applied = true;
        self.parts[at].dispatched = self.now;
        let InFlight { part, fails, .. } = self.parts[at];
        let sectors = part.lba.0..part.lba.0 + u64::from(part.sectors.0);
        match part.op {
            Op::Flush => {}
            // A failed write may or may not have changed the disk.
            Op::Write | Op::Discard if fails && self.rng.random() => {}
            Op::Write | Op::Discard => sectors.for_each(|sector| self.disk[sector as usize] += 1),
            Op::Read => {
                let data: Vec<Version> =
                    sectors.clone().map(|s| if fails { GARBAGE } else { self.disk[s as usize] }).collect();
                for (sector, &value) in sectors.zip(&data) {
                    if let Some(slot) = part.frames {
                        let frame = self.frame(slot, sector);
                        self.frames[frame] = value;
                    }
                }
                self.parts[at].data = data;
            }
        }
    }

    fn report(&mut self, at: usize) {
        let InFlight { part, data, dispatched, fails, .. } = self.parts.swap_remove(at);
        let sectors = part.lba.0..part.lba.0 + u64::from(part.sectors.0);
        if matches!(part.op, Op::Write | Op::Discard) {
            sectors.clone().for_each(|s| self.reported[s as usize] = self.disk[s as usize]);
        }
        let depends = matches!(part.role, Role::Whole | Role::Missed | Role::Hole);
        if fails && depends {
            let running = self.running.iter_mut().find(|running| running.io.handle == part.io).unwrap();
            running.failed = true;
        } else if part.op == Op::Read && !fails && part.role != Role::Prefetch {
            let io = self.running.iter().find(|running| running.io.handle == part.io).unwrap().io;
            let asked = io.lba.0..io.lba.0 + u64::from(io.sectors.0);
            for (sector, &value) in sectors.zip(&data) {
                if asked.contains(&sector) && self.is_of(&part, sector) {
                    self.fill(part.io, sector, value);
                }
            }
        }
        let longer = if part.role == Role::Prefetch { 0 } else { self.slow.1 };
        let dispatched = Nanos(dispatched.saturating_sub(longer));
        let merged = iopilot_block::Sectors(0);
        let served = PartTimes { inserted: dispatched, dispatched, completed: Nanos(self.now), merged };
        let mut out = Vec::new();
        let report: fn(&mut Redcap<V>, PartId, PartTimes, &mut Vec<RedcapAction>) =
            if fails { Redcap::failed } else { Redcap::served };
        report(&mut self.cache, part.id, served, &mut out);
        self.act(out);
    }

    /// Whether a sector of an original belongs to this part. A combined part belongs to one segment.
    fn is_of(&self, part: &RequestPart, sector: u64) -> bool {
        part.role != Role::Combined || sector / self.segment == part.lba.0 / self.segment
    }

    fn flip(&mut self) {
        let (now, mut out) = (Nanos(self.now), Vec::new());
        let segments = self.disk.len() as u64 / self.segment;
        let first = self.rng.random_range(0..segments);
        match [0, 1, 2, 3, 4].choose(&mut self.rng) {
            Some(0) => {
                self.cache.set_region(0..segments + 1, false, now, &mut out);
                self.cache.set_region(0..segments + 1, true, now, &mut out);
            }
            Some(1) => {
                let on = self.rng.random_range(0..3) > 0;
                self.cache.set_region(first..first + self.rng.random_range(0..8), on, now, &mut out);
            }
            Some(2) => {
                let segment_blocks = 8 << self.rng.random_range(0..4);
                let geometry = CacheGeometry { segments: self.rng.random_range(1..12), segment_blocks };
                self.cache.set_geometry(geometry, now, &mut out).unwrap();
            }
            _ => self.cache.set_active(!self.cache.state().is_active(), now, &mut out),
        }
        self.act(out);
    }

    /// A process waits for an original.
    fn wait(&mut self) {
        let mut out = Vec::new();
        let at = self.rng.random_range(0..self.running.len());
        self.cache.waits(self.running[at].io.handle, &mut out);
        self.act(out);
        self.advance();
    }

    fn advance(&mut self) {
        let mut out = Vec::new();
        self.cache.advance(Nanos(self.now), &mut out);
        self.act(out);
    }
}
