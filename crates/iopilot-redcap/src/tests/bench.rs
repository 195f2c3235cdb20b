//! [`Bench`]: a cache that a test drives step by step.

use crate::{
    CacheGeometry, CopyId, NoReferenceDisk, PartId, PartTimes, Redcap, RedcapAction, RedcapSpec, ReferenceDisk, Role,
};
use iopilot_block::{Arrival, Criticality, Flags, IoPriority, Lba, Nanos, Op, ProcessId, Sectors, SourceHandle};

/// A request of process 7.
pub(super) fn io(handle: u64, op: Op, lba: u64, sectors: u32) -> Arrival {
    Arrival {
        handle: SourceHandle(handle),
        op,
        lba: Lba(lba),
        sectors: Sectors(sectors),
        flags: Flags::META | Flags::PRIO,
        process: ProcessId(7),
        priority: IoPriority::default(),
        criticality: Criticality::TimeCritical,
        cpu: 1,
    }
}

/// An action of the cache, in short. Addresses and lengths are in sectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The original, the role, the address and the length.
    Send(u64, Role, u64, u32),
    /// The original, the address and the length.
    Copy(u64, u64, u32),
    Done(u64),
    Failed(u64),
}

pub(super) struct Bench<V = NoReferenceDisk> {
    pub(super) cache: Redcap<V>,
    pub(super) now: u64,
    /// The length of the disk requests into which parts are merged.
    pub(super) merged: Sectors,
    out: Vec<RedcapAction>,
    /// Parts and copies in flight, by first sector.
    parts: Vec<(u64, Role, PartId)>,
    copies: Vec<(u64, CopyId)>,
    /// The addresses of parts that became time-critical.
    raised: Vec<u64>,
}

/// The sectors of the disk: 15 segments of 32 KiB and 43 sectors, which are five blocks and a part of one.
pub(super) const CAPACITY: u64 = 15 * 64 + 43;

impl Bench {
    pub(super) fn new(spec: &str) -> Self {
        Self::with(spec, NoReferenceDisk)
    }
}

impl<V: ReferenceDisk> Bench<V> {
    pub(super) fn with(spec: &str, disk: V) -> Self {
        let cache = Redcap::with_reference_disk(&RedcapSpec::parse(spec).unwrap(), CAPACITY, disk).unwrap();
        let merged = Sectors(0);
        Self { cache, now: 0, merged, out: Vec::new(), parts: Vec::new(), copies: Vec::new(), raised: Vec::new() }
    }

    pub(super) fn actions(&mut self) -> Vec<RedcapAction> {
        std::mem::take(&mut self.out)
    }

    fn steps(&mut self) -> Vec<Step> {
        let actions = self.actions();
        let steps = actions.iter().filter_map(|action| {
            Some(match *action {
                RedcapAction::Send(part) => {
                    self.parts.push((part.lba.0, part.role, part.id));
                    Step::Send(part.io.0, part.role, part.lba.0, part.sectors.0)
                }
                RedcapAction::Copy { copy, io, lba, sectors, .. } => {
                    self.copies.push((lba.0, copy));
                    Step::Copy(io.0, lba.0, sectors.0)
                }
                RedcapAction::Raise { part } => {
                    self.raised.push(self.parts.iter().find(|other| other.2 == part).expect("it is in flight").0);
                    return None;
                }
                RedcapAction::Done { io, failed: false } => Step::Done(io.0),
                RedcapAction::Done { io, failed: true } => Step::Failed(io.0),
            })
        });
        steps.collect()
    }

    pub(super) fn submit(&mut self, io: &Arrival) -> Vec<Step> {
        self.cache.submit(io, Nanos(self.now), &mut self.out);
        self.steps()
    }

    pub(super) fn read(&mut self, handle: u64, lba: u64, sectors: u32) -> Vec<Step> {
        self.submit(&io(handle, Op::Read, lba, sectors))
    }

    pub(super) fn write(&mut self, handle: u64, lba: u64, sectors: u32) -> Vec<Step> {
        self.submit(&io(handle, Op::Write, lba, sectors))
    }

    fn take(&mut self, lba: u64, role: Role) -> PartId {
        let at = self.parts.iter().position(|part| (part.0, part.1) == (lba, role)).expect("it is in flight");
        self.parts.remove(at).2
    }

    /// The times of a part that was dispatched at `dispatched` and completes now.
    fn times(&self, dispatched: u64) -> PartTimes {
        let (dispatched, completed) = (Nanos(dispatched), Nanos(self.now));
        PartTimes { inserted: dispatched, dispatched, completed, merged: self.merged }
    }

    /// A part that was dispatched at `dispatched` is served.
    pub(super) fn served_from(&mut self, dispatched: u64, lba: u64, role: Role) -> Vec<Step> {
        let part = self.take(lba, role);
        let times = self.times(dispatched);
        self.cache.served(part, times, &mut self.out);
        self.cache.check();
        self.steps()
    }

    pub(super) fn served(&mut self, lba: u64, role: Role) -> Vec<Step> {
        self.served_from(self.now, lba, role)
    }

    pub(super) fn failed(&mut self, lba: u64, role: Role) -> Vec<Step> {
        self.failed_from(self.now, lba, role)
    }

    /// A part that was dispatched at `dispatched` fails.
    pub(super) fn failed_from(&mut self, dispatched: u64, lba: u64, role: Role) -> Vec<Step> {
        let part = self.take(lba, role);
        let times = self.times(dispatched);
        self.cache.failed(part, times, &mut self.out);
        self.cache.check();
        self.steps()
    }

    pub(super) fn dropped(&mut self, lba: u64, role: Role) -> Vec<Step> {
        let part = self.take(lba, role);
        self.cache.dropped(part, Nanos(self.now), &mut self.out);
        self.cache.check();
        self.steps()
    }

    /// The body could not send a prefetch.
    pub(super) fn put_off(&mut self, lba: u64) -> Vec<Step> {
        let part = self.take(lba, Role::Prefetch);
        self.cache.put_off(part, Nanos(self.now), &mut self.out);
        self.cache.check();
        self.steps()
    }

    /// A process waits for an original. Returns the addresses of the parts that become time-critical.
    pub(super) fn waits(&mut self, handle: u64) -> Vec<u64> {
        self.cache.waits(SourceHandle(handle), &mut self.out);
        assert_eq!(self.steps(), []);
        self.raised()
    }

    /// The addresses of the parts that became time-critical since the last call.
    pub(super) fn raised(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.raised)
    }

    pub(super) fn copied(&mut self, lba: u64) -> Vec<Step> {
        let at = self.copies.iter().position(|copy| copy.0 == lba).expect("it is under way");
        let copy = self.copies.remove(at).1;
        self.cache.copied(copy, Nanos(self.now), &mut self.out);
        self.cache.check();
        self.steps()
    }

    pub(super) fn set_active(&mut self, active: bool) -> Vec<Step> {
        self.cache.set_active(active, Nanos(self.now), &mut self.out);
        self.steps()
    }

    pub(super) fn set_region(&mut self, segments: std::ops::Range<u64>, active: bool) -> Vec<Step> {
        self.cache.set_region(segments, active, Nanos(self.now), &mut self.out);
        self.steps()
    }

    /// Warms the cache with a segment; `None` if the cache does not read it.
    pub(super) fn warm(&mut self, lba: u64) -> Option<Vec<Step>> {
        let warmed = self.cache.warm(&io(u64::MAX, Op::Read, lba, 1), Nanos(self.now), &mut self.out);
        self.cache.check();
        let steps = self.steps();
        warmed.then_some(steps)
    }

    pub(super) fn set_geometry(&mut self, geometry: CacheGeometry) {
        self.cache.set_geometry(geometry, Nanos(self.now), &mut self.out).unwrap();
    }

    /// Completes everything in flight, the oldest first, and its consequences. A part takes 1000 ns, a copy 1 ns.
    pub(super) fn settle(&mut self) {
        while !self.parts.is_empty() || !self.copies.is_empty() {
            if let Some(&(lba, _)) = self.copies.first() {
                self.now += 1;
                self.copied(lba);
            } else {
                let (lba, role, _) = self.parts[0];
                self.now += 1_000;
                self.served_from(self.now - 1_000, lba, role);
            }
        }
    }

    /// Reads and settles. Returns whether the disk was used.
    pub(super) fn read_whole(&mut self, lba: u64, sectors: u32) -> bool {
        let sent = self.read(99, lba, sectors).iter().any(|step| matches!(step, Step::Send(..)));
        self.settle();
        sent
    }
}
