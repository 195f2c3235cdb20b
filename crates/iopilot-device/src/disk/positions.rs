//! What schedulers may ask of the disk: [`Positions`](iopilot_block::Positions).

use super::mechanics::{Arm, Mechanics, TrackWalk};
use super::request::JobKind;
use super::{MechanicalDisk, SeekFloor};
use crate::{ArmModel, arm_positions};
use iopilot_block::{Cached, Lba, Nanos, Op, Sectors};

impl MechanicalDisk {
    /// An access whose arm starts at `start`, and the time to its first sector, ns.
    fn approach(&self, arm: Arm, start: f64, lba: Lba, op: Op) -> (TrackWalk, f64) {
        let mechanics = &self.model.mechanics;
        let track = mechanics.geometry.track_of(lba.0);
        let (stream, _) = TrackWalk::start(mechanics, arm, track, lba.0, start, start, op != Op::Read);
        let positioning = stream.at - start;
        (stream, positioning)
    }
}

impl ArmModel for MechanicalDisk {
    fn mechanics(&self) -> &Mechanics {
        &self.model.mechanics
    }

    fn seek_floor(&self) -> &SeekFloor {
        &self.seek_floor
    }

    fn free_arm(&self, at: Nanos) -> (Arm, f64) {
        let at = at.0 as f64;
        match (&self.job, &self.ahead) {
            (Some(job), _) => match &job.kind {
                JobKind::Read(read) => (read.stream.arm(), at.max(job.end)),
                JobKind::Write { .. } | JobKind::Destage => (self.arm, at.max(job.end)),
            },
            (None, Some(ahead)) => {
                let mut stream = ahead.stream;
                stream.run_until(&self.model.mechanics, at, ahead.limit);
                (stream.arm(), at.max(self.arm_free).max(stream.settled))
            }
            (None, None) => (self.arm, at.max(self.arm_free)),
        }
    }

    fn initiation_delay(&self, op: Op) -> f64 {
        match op {
            Op::Read => self.model.interface.read_overhead,
            _ => self.model.interface.write_overhead,
        }
    }

    fn positioning_from(&self, (arm, start): (Arm, f64), lba: Lba, _: Sectors, op: Op) -> f64 {
        self.approach(arm, start, lba, op).1
    }

    fn access_from(&self, (arm, start): (Arm, f64), lba: Lba, sectors: Sectors, op: Op) -> f64 {
        let (mut stream, _) = self.approach(arm, start, lba, op);
        stream.run_to(&self.model.mechanics, lba.0 + u64::from(sectors.0)) - start
    }

    fn in_cache(&self, lba: Lba, sectors: Sectors, op: Op) -> Cached {
        let (first, end) = (lba.0, lba.0 + u64::from(sectors.0));
        if op != Op::Read {
            let room = self.buffer.could_hold(end - first) && self.buffer.has_room(first, end - first);
            return if room { Cached::Full } else { Cached::None };
        }
        if self.buffer.contains(first, end) {
            return Cached::Full;
        }
        if let Some(held) = self.cache.find(first).map(|slot| self.cache.segment(slot).end).filter(|&held| first < held)
        {
            return if end <= held { Cached::Full } else { Cached::Partial };
        }
        let coming = self.ahead.as_ref().is_some_and(|ahead| (ahead.stream.next..ahead.limit).contains(&first));
        if coming { Cached::Partial } else { Cached::None }
    }
}

arm_positions!(MechanicalDisk);
