//! In the steady state a drive allocates nothing per request, whatever its queue policy.

use iopilot_block::{Flags, Lba, Nanos, Op, RequestId, Sectors};
use iopilot_device::{Completion, Device, DeviceRequest, Geometry, Mechanics, SeekCurve, TrackLayout, Zone};
use iopilot_sched::{IoQueueConfig, IoQueuePolicy};
use iopilot_scsi::{DriveModel, FastWrite, ReadAheadRule, SingleDrive};
use std::alloc::{GlobalAlloc, Layout as Size, System};
use std::cell::Cell;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: every call goes to the system's allocator; the counter is a plain thread-local without a destructor.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, size: Size) -> *mut u8 {
        ALLOCATIONS.with(|n| n.set(n.get() + 1));
        unsafe { System.alloc(size) }
    }

    unsafe fn dealloc(&self, at: *mut u8, size: Size) {
        unsafe { System.dealloc(at, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn drive(change: impl FnOnce(&mut DriveModel)) -> SingleDrive {
    let zone = Zone {
        first_cylinder: 0,
        cylinders: 1000,
        sectors_per_track: 200,
        offset: 0.0,
        track_skew: 0.1,
        cylinder_skew: 0.2,
        band_skew: 0.0,
    };
    let mut model = DriveModel::plain(Mechanics {
        geometry: Geometry::new(4, TrackLayout::Cylinder, vec![zone], None),
        seek: SeekCurve::Table(vec![(1, 1e6), (999, 9e6)]),
        period: 6e6,
        initial_angle: 0.0,
        head_switch: 0.5e6,
        write_settle: 0.3e6,
    });
    (model.buffer.segments, model.read.ahead, model.read.free_blocks) = (8, ReadAheadRule::Adaptive, true);
    (model.write.fast, model.write.combine) = (FastWrite::Always, true);
    change(&mut model);
    SingleDrive::new(model)
}

/// Keeps `depth` requests in the drive until `count` have ended: reads and writes, every third one continuing the
/// previous one.
fn run(drive: &mut SingleDrive, names: &mut Vec<usize>, out: &mut Vec<Completion>, now: &mut Nanos, count: usize) {
    let mut seed = now.0 | 1;
    let (mut ended, mut last) = (0, 0);
    while ended < count {
        while let Some(name) = names.pop() {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let op = if seed >> 63 == 0 { Op::Read } else { Op::Write };
            let lba = if (seed >> 60) % 3 == 0 { last + 8 } else { (seed >> 33) % (drive.capacity() - 16) };
            last = lba.min(drive.capacity() - 16);
            let (id, sectors, flags) = (RequestId::from_index(name), Sectors(8), Flags::empty());
            drive.submit(DeviceRequest { id, op, lba: Lba(last), sectors, flags }, *now);
        }
        *now = drive.next_event().expect("requests are inside");
        drive.advance(*now, out);
        ended += out.len();
        names.extend(out.drain(..).map(|completion| completion.id.index()));
    }
}

#[test]
fn a_drive_allocates_nothing_per_request() {
    for (depth, policy) in [
        (1, IoQueuePolicy::Fcfs),
        (16, IoQueuePolicy::Fcfs),
        (16, IoQueuePolicy::SstfLbn),
        (16, IoQueuePolicy::Sptf),
        (16, IoQueuePolicy::Asptf),
    ] {
        let mut drive = drive(|m| {
            (m.queue_depth, m.queue) =
                (depth, IoQueueConfig { age_weight: 30.0, max_wait: 30.0, ..IoQueueConfig::with_policy(policy) });
        });
        let mut names: Vec<usize> = (0..depth as usize).collect();
        let (mut out, mut now) = (Vec::with_capacity(64), Nanos::ZERO);
        run(&mut drive, &mut names, &mut out, &mut now, 4000);
        let before = ALLOCATIONS.with(Cell::get);
        run(&mut drive, &mut names, &mut out, &mut now, 4000);
        let made = ALLOCATIONS.with(Cell::get) - before;
        assert_eq!(made, 0, "{policy} at depth {depth}");
    }
}
