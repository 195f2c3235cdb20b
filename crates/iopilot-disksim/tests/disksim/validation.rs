//! The drives whose times were measured: our figures against DiskSim's, and what another clock makes of them.

use crate::data;
use iopilot_device::SingleDrive;
use iopilot_disksim::load_drive;
use iopilot_disksim::validate::{Clock, Validation, compare, replay, think_by_phase};
use iopilot_trace::{ThinkTime, read_validate};
use std::path::Path;

fn validate(data: &Path, name: &str, clock: Clock, think: ThinkTime) -> Validation {
    let disks = data.join("disks");
    let drive = load_drive(&disks.join(format!("{name}.parv"))).unwrap_or_else(|e| panic!("{e}"));
    let records = read_validate(&disks.join(format!("{name}.trace"))).unwrap_or_else(|e| panic!("{e}"));
    let rotation = drive.model.mechanics.period / 1e6;
    let replayed = replay(&mut SingleDrive::new(drive.model), &records, clock, think);
    assert_eq!(replayed.len(), records.len(), "{name}");
    compare(&replayed, rotation).expect("the trace is not empty")
}

/// Demerit figures of DiskSim 4.0, ms (Atlas 10K and C2247A also the mean): the same within 2 %, or better.
#[test]
fn demerit_figures_are_those_of_disksim_or_better() {
    let Some(data) = data() else { return };
    for (name, disksim, same) in [
        ("atlas10k", 0.2677, false),
        ("cheetah9LP", 0.107, true),
        ("barracuda", 0.348, true),
        ("hp_c2247a", 0.090, true),
        ("hp_c3323a", 0.306, true),
        ("dec_rz26", 0.340, true),
    ] {
        let v = validate(&data, name, Clock::Model, ThinkTime::After);
        let of_disksim = v.demerit_ms / disksim;
        eprintln!("{name}: {:.4} ms of {:.3} ms, {:.3} of DiskSim's", v.demerit_ms, v.mean_measured_ms, of_disksim);
        assert!(of_disksim < 1.02, "{name}: {v:?}");
        assert!(!same || of_disksim > 0.98, "{name}: {v:?}");
    }
    let mean = validate(&data, "hp_c2247a", Clock::Model, ThinkTime::After).mean_model_ms;
    assert!((mean - 15.315).abs() < 0.002, "{mean}");
}

/// What changing one parameter does to demerit figure and mean, in DiskSim 4.0 and here. Without free blocks, whose
/// parameter does nothing in 4.0.
#[test]
fn parameters_act_as_in_disksim() {
    let Some(data) = data() else { return };
    let disks = data.join("disks");
    let run = |name: &str, change: &dyn Fn(&mut iopilot_device::DriveModel)| {
        let drive = load_drive(&disks.join(format!("{name}.parv"))).unwrap_or_else(|e| panic!("{e}"));
        let records = read_validate(&disks.join(format!("{name}.trace"))).unwrap_or_else(|e| panic!("{e}"));
        let mut model = drive.model;
        model.read.free_blocks = false;
        change(&mut model);
        let replayed = replay(&mut SingleDrive::new(model), &records, Clock::Model, ThinkTime::After);
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

/// In the traces of the three later drives a think time is the one before its request, in the older ones
/// the one after it.
#[test]
fn the_spindle_tells_which_think_time_a_trace_has() {
    let Some(data) = data() else { return };
    for (name, think) in [
        ("atlas10k", Some(ThinkTime::Before)),
        ("cheetah9LP", Some(ThinkTime::Before)),
        ("barracuda", Some(ThinkTime::Before)),
        ("hp_c2247a", Some(ThinkTime::After)),
        ("dec_rz26", Some(ThinkTime::After)),
        // No phase was found in this one.
        ("hp_c3323a", None),
    ] {
        let disks = data.join("disks");
        let drive = load_drive(&disks.join(format!("{name}.parv"))).unwrap_or_else(|e| panic!("{e}"));
        let records = read_validate(&disks.join(format!("{name}.trace"))).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(think_by_phase(&drive.model.mechanics, &records), think, "{name}");
    }
}

#[test]
fn at_the_measured_clock_every_request_is_compared_too() {
    let Some(data) = data() else { return };
    for name in ["atlas10k", "hp_c2247a"] {
        let v = validate(&data, name, Clock::Measured, ThinkTime::After);
        eprintln!("{name}: {v:?}");
        assert!(v.errors.p95_ms >= v.errors.median_ms && v.errors.within_half_ms <= 1.0);
    }
}
