//! What schedulers, and the drive's own queue, may ask of a drive: [`Positions`].

use super::gate::Gate;
use super::model::FastWrite;
use super::stream::{MediaAccess, MediaStream, SectorOrder, Stay};
use super::{Drive, SingleDrive};
use iopilot_block::{Cached, Lba, Nanos, Op, Positions, Sectors};
use iopilot_device::SeekFloor;
use iopilot_device::{Arm, Mechanics};
use iopilot_device::{ArmModel, arm_positions};

impl Drive {
    /// An access whose arm starts at `start`.
    fn approach(&self, arm: Arm, start: f64, lba: Lba, sectors: Sectors, op: Op) -> MediaStream {
        let write = op != Op::Read;
        let limit = lba.0 + u64::from(sectors.0).max(1);
        let immediate = if write { self.model.write.immediate } else { self.model.read.immediate };
        let access = MediaAccess {
            segment: usize::MAX,
            write,
            first: lba.0,
            limit,
            asked: limit,
            stay: Stay::Anywhere,
            order: SectorOrder { immediate, ..SectorOrder::default() },
            direct: true,
        };
        let least = if write { self.model.write.min_seek_delay } else { 0.0 };
        MediaStream::start(&self.model.mechanics, &Gate::OPEN, access, arm, start, least)
    }
}

impl ArmModel for Drive {
    fn mechanics(&self) -> &Mechanics {
        &self.model.mechanics
    }

    fn seek_floor(&self) -> &SeekFloor {
        &self.seek_floor
    }

    fn free_arm(&self, at: Nanos) -> (Arm, f64) {
        let at = at.0 as f64;
        let Some(stream) = &self.stream else { return (self.arm, at.max(self.arm_free)) };
        let m = &self.model.mechanics;
        if self.can_stop(at) {
            let mut stream = stream.clone();
            let free = stream.stop(m, &Gate::OPEN, at, self.model.read.stop_in_sector);
            return (stream.arm(), free);
        }
        let mut rest = stream.clone();
        rest.sync(m, &Gate::OPEN, f64::MAX);
        (rest.arm(), at.max(rest.at()))
    }

    fn initiation_delay(&self, op: Op) -> f64 {
        let overheads = &self.model.overheads;
        let before = match op {
            Op::Read => overheads.read_miss,
            _ if self.model.write.fast == FastWrite::Off => overheads.write_miss,
            _ => overheads.write_hit,
        };
        overheads.per_request + before.of(self.last)
    }

    fn positioning_from(&self, (arm, start): (Arm, f64), lba: Lba, sectors: Sectors, op: Op) -> f64 {
        self.approach(arm, start, lba, sectors, op).run_start() - start
    }

    fn access_from(&self, (arm, start): (Arm, f64), lba: Lba, sectors: Sectors, op: Op) -> f64 {
        let mut stream = self.approach(arm, start, lba, sectors, op);
        stream.sync(&self.model.mechanics, &Gate::OPEN, f64::MAX);
        stream.at() - start
    }

    fn in_cache(&self, lba: Lba, sectors: Sectors, op: Op) -> Cached {
        let (first, end) = (lba.0, lba.0 + u64::from(sectors.0));
        if op != Op::Read {
            let continues = |s: usize| self.segments.of(s).is_dirty() && self.segments.of(s).end == first;
            let joins = self.model.write.combine && self.segments.near(first, first).any(continues);
            let room = self.segments.may_dirty();
            let buffered = self.model.write.fast != FastWrite::Off && (joins || room);
            return if buffered { Cached::Full } else { Cached::None };
        }
        let held = self.segments.near(first, first).map(|s| (s, self.segments.of(s))).filter(|(s, segment)| {
            let readable = !segment.is_dirty() || self.model.read.hits_on_written;
            readable && self.segments.serves_reads(*s) && segment.holds(first)
        });
        match held.map(|(_, segment)| segment.end).max() {
            Some(held) if end <= held => Cached::Full,
            Some(_) => Cached::Partial,
            None => Cached::None,
        }
    }
}

arm_positions!(Drive);

/// The positions of a drive for one choice of its own queue. The position of the arm is computed once, not for every
/// request.
pub(super) struct ArmForecast<'a> {
    drive: &'a Drive,
    /// For reads, writes and now: the moment the arm would start, its position then, and from when on it is free.
    free: [(Nanos, (Arm, f64)); 3],
}

impl<'a> ArmForecast<'a> {
    pub(super) fn new(drive: &'a Drive, now: Nanos) -> Self {
        let after = |delay: f64| {
            let at = now.saturating_add(Nanos(delay.round() as u64));
            (at, drive.free_arm(at))
        };
        Self { drive, free: [drive.initiation_delay(Op::Read), drive.initiation_delay(Op::Write), 0.0].map(after) }
    }
}

impl ArmModel for ArmForecast<'_> {
    fn mechanics(&self) -> &Mechanics {
        self.drive.mechanics()
    }

    fn seek_floor(&self) -> &SeekFloor {
        self.drive.seek_floor()
    }

    fn free_arm(&self, at: Nanos) -> (Arm, f64) {
        let known = self.free.iter().find(|(then, _)| *then == at);
        known.map_or_else(|| self.drive.free_arm(at), |&(_, free)| free)
    }

    fn initiation_delay(&self, op: Op) -> f64 {
        self.drive.initiation_delay(op)
    }

    fn positioning_from(&self, from: (Arm, f64), lba: Lba, sectors: Sectors, op: Op) -> f64 {
        self.drive.positioning_from(from, lba, sectors, op)
    }

    fn access_from(&self, from: (Arm, f64), lba: Lba, sectors: Sectors, op: Op) -> f64 {
        self.drive.access_from(from, lba, sectors, op)
    }

    fn in_cache(&self, lba: Lba, sectors: Sectors, op: Op) -> Cached {
        self.drive.in_cache(lba, sectors, op)
    }
}

arm_positions!(ArmForecast<'_>);

impl SingleDrive {
    pub(super) fn as_positions(&self) -> &dyn Positions {
        self.drive()
    }
}
