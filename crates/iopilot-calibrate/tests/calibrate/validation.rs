//! The measured drives: our figures against DiskSim's, and the effect of another clock.

use crate::data;
use iopilot_block::{Lba, Nanos, Op, Sectors};
use iopilot_calibrate::{PartValidation, ReplayClock, Validation, compare, replay, think_by_phase};
use iopilot_disksim::{Reading, load_drive, load_drive_as};
use iopilot_scsi::{DriveModel, SingleDrive};
use iopilot_trace::{CacheOutcome, ThinkTime, ValidateRecord, read_validate};
use std::path::Path;

fn validate(data: &Path, name: &str, reading: Reading) -> Validation {
    let disks = data.join("disks");
    let drive = load_drive_as(&disks.join(format!("{name}.parv")), reading).unwrap_or_else(|e| panic!("{e}"));
    let records = read_validate(&disks.join(format!("{name}.trace"))).unwrap_or_else(|e| panic!("{e}"));
    let rotation = drive.model.mechanics.period / 1e6;
    let replayed = replay(&mut SingleDrive::new(drive.model), &records, ReplayClock::Model, ThinkTime::After);
    assert_eq!(replayed.len(), records.len(), "{name}");
    compare(&replayed, rotation).expect("the trace is not empty")
}

/// Demerit figures of DiskSim 4.0: in ms; of reads and of writes in percent of their own mean.
const OF_DISKSIM: [(&str, f64, f64, f64); 6] = [
    ("atlas10k", 0.2677, 7.0, 14.9),
    ("cheetah9LP", 0.107, 2.1, 8.5),
    ("barracuda", 0.348, 5.4, 13.9),
    ("hp_c2247a", 0.090, 1.0, 0.8),
    ("hp_c3323a", 0.306, 1.4, 4.6),
    ("dec_rz26", 0.340, 1.8, 5.9),
];

fn percent(part: Option<&PartValidation>) -> f64 {
    part.map_or(f64::NAN, |part| part.demerit_percent)
}

#[test]
fn with_disksims_reading_a_file_gives_disksims_figures() {
    let Some(data) = data() else { return };
    for (name, all, reads, writes) in OF_DISKSIM {
        let v = validate(&data, name, Reading::DiskSim);
        let (r, w) = (percent(v.reads.as_ref()), percent(v.writes.as_ref()));
        eprintln!("{name}: {:.4} ms of {:.3} ms, reads {r:.2} %, writes {w:.2} %", v.demerit_ms, v.mean_measured_ms);
        assert!((v.demerit_ms / all - 1.0).abs() < 0.01, "{name}: {v:?}");
        // To the last known digit of DiskSim's figure.
        assert!((r - reads).abs() < 0.051 && (w - writes).abs() < 0.051, "{name}: {v:?}");
    }
    for (name, mean) in [("hp_c2247a", 15.315), ("atlas10k", 3.971)] {
        let ours = validate(&data, name, Reading::DiskSim).mean_model_ms;
        assert!((ours - mean).abs() < 0.002, "{name}: {ours}");
    }
}

/// Never worse than DiskSim, in total and for reads and writes separately. Better where the drive does what DiskSim
/// does not model.
#[test]
fn with_the_drives_reading_a_file_comes_nearer_to_the_drive() {
    let Some(data) = data() else { return };
    let mut better = [0; 3];
    for (name, all, reads, writes) in OF_DISKSIM {
        let v = validate(&data, name, Reading::Drive);
        let (r, w) = (percent(v.reads.as_ref()), percent(v.writes.as_ref()));
        eprintln!("{name}: {:.4} ms of {:.3} ms, reads {r:.2} %, writes {w:.2} %", v.demerit_ms, v.mean_measured_ms);
        for (i, (ours, disksim, rounding)) in
            [(v.demerit_ms, all, 0.0005), (r, reads, 0.05), (w, writes, 0.05)].into_iter().enumerate()
        {
            assert!(ours < 1.02 * (disksim + rounding), "{name}: {v:?}");
            better[i] += usize::from(ours < 0.95 * disksim);
        }
    }
    assert!(better[0] >= 5 && better[1] >= 4 && better[2] >= 3, "{better:?}");
}

/// The effect of changing one parameter on demerit figure and mean, in DiskSim 4.0 and here.
#[test]
fn parameters_act_as_in_disksim() {
    let Some(data) = data() else { return };
    let disks = data.join("disks");
    let run = |name: &str, change: &dyn Fn(&mut DriveModel)| {
        let path = disks.join(format!("{name}.parv"));
        let drive = load_drive_as(&path, Reading::DiskSim).unwrap_or_else(|e| panic!("{e}"));
        let records = read_validate(&disks.join(format!("{name}.trace"))).unwrap_or_else(|e| panic!("{e}"));
        let mut model = drive.model;
        change(&mut model);
        let replayed = replay(&mut SingleDrive::new(model), &records, ReplayClock::Model, ThinkTime::After);
        let v = compare(&replayed, 10.0).expect("the trace is not empty");
        (v.demerit_ms, v.mean_model_ms)
    };
    let near = |what: &str, (demerit, mean): (f64, f64), expected: (f64, f64)| {
        eprintln!("{what}: {demerit:.4} {mean:.4}, DiskSim {expected:?}");
        assert!((demerit / expected.0 - 1.0).abs() < 0.02 && (mean / expected.1 - 1.0).abs() < 0.001, "{what}");
    };
    const MS: f64 = 1e6;
    let atlas = "atlas10k";
    near("atlas10k", run(atlas, &|_| {}), (0.268, 3.971));
    near("first reselect", run(atlas, &|m| m.overheads.first_reselect += MS), (0.792, 4.425));
    near("data preparation", run(atlas, &|m| m.overheads.data_preparation += MS), (1.08, 4.952));
    near("per request", run(atlas, &|m| m.overheads.per_request += 0.1 * MS), (0.316, 4.073));
    near("read-ahead on hit", run(atlas, &|m| m.read.ahead_on_hit = true), (0.266, 3.969));
    near("other reselect", run(atlas, &|m| m.overheads.other_reselect += MS), (0.268, 3.971));
    near("hold bus", run(atlas, &|m| (m.bus.hold_read, m.bus.hold_write) = (true, true)), (0.268, 3.971));
    let hp = "hp_c2247a";
    near("hp_c2247a", run(hp, &|_| {}), (0.090, 15.315));
    near("hp other reselect", run(hp, &|m| m.overheads.other_reselect += 0.87 * MS), (0.217, 15.466));
    near("hp extra disconnect", run(hp, &|m| m.write.extra_disconnect = None), (0.168, 15.211));
    near("hp minimum seek", run(hp, &|m| m.write.min_seek_delay = 0.0), (0.094, 15.309));
}

/// In the traces of the three later drives a think time precedes its request; in the older ones it follows.
#[test]
fn the_spindle_shows_the_side_of_the_think_times() {
    let Some(data) = data() else { return };
    for (name, think) in [
        ("atlas10k", Some(ThinkTime::Before)),
        ("cheetah9LP", Some(ThinkTime::Before)),
        ("barracuda", Some(ThinkTime::Before)),
        ("hp_c2247a", Some(ThinkTime::After)),
        ("dec_rz26", Some(ThinkTime::After)),
        // No phase was found in this trace.
        ("hp_c3323a", None),
    ] {
        let disks = data.join("disks");
        let drive = load_drive(&disks.join(format!("{name}.parv"))).unwrap_or_else(|e| panic!("{e}"));
        let records = read_validate(&disks.join(format!("{name}.trace"))).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(think_by_phase(&drive.model.mechanics, &records), think, "{name}");
    }
}

/// The evidence for the buffer rules, from the traces alone. It counts how many reads came from the buffer, of blocks
/// that had just been read or that lie closely before those. If "Read-ahead over requested" lets read-ahead overwrite
/// such blocks, they are gone. If "Read any free blocks" keeps blocks that pass before a request, they are there.
#[test]
fn repeated_reads_tell_what_a_buffer_keeps() {
    let Some(data) = data() else { return };
    for (name, repeated, behind) in [
        ("atlas10k", 0.95..=1.0, 0.85..=1.0),
        ("cheetah9LP", 0.0..=0.2, 0.0..=0.25),
        ("barracuda", 0.0..=0.2, 0.0..=0.05),
    ] {
        let drive = load_drive(&data.join(format!("disks/{name}.parv"))).unwrap_or_else(|e| panic!("{e}"));
        let records = read_validate(&data.join(format!("disks/{name}.trace"))).unwrap_or_else(|e| panic!("{e}"));
        let model = drive.model;
        let end = |r: &ValidateRecord| r.lba.0 + u64::from(r.sectors.0);
        // A quarter of a revolution plus the transfer: few reads from the medium are as fast.
        let from_buffer = |r: &ValidateRecord| {
            let transfer = f64::from(r.sectors.0) * model.bus.block_times.read;
            (r.service.0 as f64) < 0.25 * model.mechanics.period + transfer
        };
        let share = |like: &dyn Fn(&ValidateRecord, &ValidateRecord) -> bool| {
            let reads = records.windows(2).filter(|pair| pair.iter().all(|r| r.op == Op::Read));
            let those: Vec<_> = reads.filter(|pair| like(&pair[0], &pair[1])).collect();
            let hits = those.iter().filter(|pair| from_buffer(&pair[1])).count();
            (hits, those.len())
        };
        let again = share(&|a, b| b.lba >= a.lba && end(b) <= end(a));
        let before = share(&|a, b| b.lba < a.lba && end(b) <= a.lba.0 && a.lba.0 - b.lba.0 <= 64);
        eprintln!("{name}: {} of {} repeated, {} of {} before the last", again.0, again.1, before.0, before.1);
        for ((hits, of), expected) in [(again, repeated), (before, behind)] {
            assert!(of > 30 && expected.contains(&(hits as f64 / of as f64)), "{name}: {hits} of {of}");
        }
    }
}

fn tiny() -> DriveModel {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../iopilot-disksim/tests/files/tiny.diskspecs");
    load_drive(&path).unwrap_or_else(|e| panic!("{e}")).model
}

/// Reads of single blocks over the whole tiny drive, measured on `truth`.
fn measured_on(truth: DriveModel) -> Vec<ValidateRecord> {
    let capacity = truth.mechanics.geometry.capacity();
    let record = |i: u64| ValidateRecord {
        op: Op::Read,
        lba: Lba(i * 7919 % (capacity - 8)),
        sectors: Sectors(1),
        cache: CacheOutcome::Hit,
        service: Nanos::ZERO,
        think: Nanos(3_000_000 + i * 100_003 % 20_000_000),
    };
    let mut records: Vec<_> = (0..300).map(record).collect();
    let times = replay(&mut SingleDrive::new(truth), &records, ReplayClock::Model, ThinkTime::After);
    for (record, time) in records.iter_mut().zip(times) {
        record.service = Nanos((time.model_ms * 1e6).round() as u64);
    }
    records
}

/// This drive behaves like the model but reports completion a millisecond later. If each request is issued at its
/// measured time, the spindle's angle is right and every request is a millisecond off. After the modelled completions
/// the angle is wrong.
#[test]
fn at_the_measured_times_the_angle_of_the_spindle_is_kept() {
    let mut truth = tiny();
    truth.overheads.read_completion += 1e6;
    let records = measured_on(truth);
    let off = |clock| {
        let replayed = replay(&mut SingleDrive::new(tiny()), &records, clock, ThinkTime::After);
        replayed.iter().filter(|r| (r.measured_ms - r.model_ms - 1.0).abs() > 1e-5).count()
    };
    assert_eq!(off(ReplayClock::Measured), 0);
    assert!(off(ReplayClock::Model) > 200, "{}", off(ReplayClock::Model));
}

/// The think time of a line follows its request, or precedes it.
#[test]
fn think_times_are_read_on_the_given_side() {
    let records = measured_on(tiny());
    let wrong = |think| {
        let replayed = replay(&mut SingleDrive::new(tiny()), &records, ReplayClock::Model, think);
        replayed.iter().filter(|r| (r.measured_ms - r.model_ms).abs() > 1e-5).count()
    };
    assert_eq!(wrong(ThinkTime::After), 0);
    assert!(wrong(ThinkTime::Before) > 200, "{}", wrong(ThinkTime::Before));
}
