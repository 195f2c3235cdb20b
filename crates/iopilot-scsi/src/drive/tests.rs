//! The effect of each parameter, in times worked out by hand. The drive has two heads, ten cylinders and 100 sectors
//! a track. A revolution takes 10 ms, so a sector takes 0.1 ms, and the index mark passes at 0, 10, 20 ... ms.

use super::*;
use iopilot_block::{Lba, Sectors};
use iopilot_device::{Completion, Device, Geometry, Mechanics, SeekCurve, TrackLayout, Zone};

/// A millisecond, ns.
const MS: f64 = 1e6;

fn mechanics() -> Mechanics {
    let zone = Zone {
        first_cylinder: 0,
        cylinders: 10,
        sectors_per_track: 100,
        offset: 0.0,
        track_skew: 0.1,
        cylinder_skew: 0.2,
        band_skew: 0.0,
    };
    Mechanics {
        geometry: Geometry::new(2, TrackLayout::Cylinder, vec![zone], None),
        seek: SeekCurve::Table(vec![(1, 2.0 * MS), (9, 5.0 * MS)]),
        period: 10.0 * MS,
        initial_angle: 0.0,
        head_switch: MS,
        write_settle: 0.5 * MS,
    }
}

/// Equal to half a microsecond.
macro_rules! assert_ms {
    ($left:expr, $right:expr $(,)?) => {
        let (left, right): (f64, f64) = ($left, $right);
        assert!((left - right).abs() < 0.5e-3, "{left} is not {right}");
    };
}

/// A plain drive with some parameters changed.
struct Rig {
    drive: SingleDrive,
    now: Nanos,
    out: Vec<Completion>,
    names: usize,
}

impl Rig {
    fn new(change: impl FnOnce(&mut DriveModel)) -> Self {
        let mut model = DriveModel::plain(mechanics());
        change(&mut model);
        Self { drive: SingleDrive::new(model), now: Nanos::ZERO, out: Vec::new(), names: 0 }
    }

    fn send(&mut self, op: Op, lba: u64, sectors: u32, at_ms: f64) -> RequestId {
        self.until(Nanos::from_millis_f64(at_ms));
        let id = RequestId::from_index(self.names);
        self.names += 1;
        let flags = Flags::empty();
        self.drive.submit(DeviceRequest { id, op, lba: Lba(lba), sectors: Sectors(sectors), flags }, self.now);
        id
    }

    fn until(&mut self, time: Nanos) {
        while let Some(at) = self.drive.next_event().filter(|&at| at <= time) {
            assert!(at >= self.now, "time went back");
            self.now = at;
            self.drive.advance(at, &mut self.out);
        }
        self.now = self.now.max(time);
    }

    /// When `id` completes, ms.
    fn end(&mut self, id: RequestId) -> f64 {
        for _ in 0..100_000 {
            if let Some(i) = self.out.iter().position(|c| c.id == id) {
                return self.out.remove(i).at.as_millis_f64();
            }
            self.now = self.drive.next_event().expect("the request was lost");
            self.drive.advance(self.now, &mut self.out);
        }
        panic!("no end");
    }

    fn read(&mut self, lba: u64, sectors: u32, at_ms: f64) -> f64 {
        let id = self.send(Op::Read, lba, sectors, at_ms);
        self.end(id)
    }

    fn write(&mut self, lba: u64, sectors: u32, at_ms: f64) -> f64 {
        let id = self.send(Op::Write, lba, sectors, at_ms);
        self.end(id)
    }

    fn flush(&mut self, at_ms: f64) -> f64 {
        let id = self.send(Op::Flush, 0, 0, at_ms);
        self.end(id)
    }
}

fn blocks_cost(model: &mut DriveModel, ms: f64) {
    model.bus.block_times = BlockTimes { read: ms * MS, write: ms * MS };
}

mod queue;
mod reads;
mod writes;
