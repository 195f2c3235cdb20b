//! A modelled drive against the times that were measured on the drive itself (Ganger 5.4; the traces that DiskSim was
//! validated with).

use iopilot_block::{Flags, Nanos, Op, RequestId};
use iopilot_catalogue::load_disk;
use iopilot_device::{Completion, Device, DeviceRequest};
use iopilot_trace::{CacheOutcome, read_validate};
use std::path::Path;

/// A request: its times in milliseconds, measured and in the model, and whether each served it from the cache.
struct Served {
    op: Op,
    measured: f64,
    modelled: f64,
    hits: [bool; 2],
}

/// Serves the same requests with the same pauses by the model.
fn serve(trace: &Path, disk: &str) -> Vec<Served> {
    let mut device = load_disk(disk).unwrap().build().unwrap();
    let (mut now, mut done) = (Nanos::ZERO, Vec::new());
    let mut served = Vec::new();
    for r in read_validate(trace).unwrap() {
        let request = DeviceRequest {
            id: RequestId::from_index(0),
            op: r.op,
            lba: r.lba,
            sectors: r.sectors,
            flags: Flags::empty(),
        };
        // The drive's own events during the pause.
        while let Some(at) = device.next_event().filter(|&at| at <= now) {
            device.advance(at, &mut done);
        }
        device.submit(request, now);
        while done.is_empty() {
            let at = device.next_event().expect("a request is under way");
            device.advance(at, &mut done);
        }
        let Completion { at, service, .. } = done.remove(0);
        served.push(Served {
            op: r.op,
            measured: r.service.as_millis_f64(),
            modelled: (at - now).as_millis_f64(),
            hits: [r.cache == CacheOutcome::Hit, service.cache_hit],
        });
        now = at + r.think;
    }
    served
}

/// Means of both, and the root mean square distance between their distributions (the demerit of Ruemmler and Wilkes).
fn compare(times: &[(f64, f64)]) -> (f64, f64, f64) {
    let mut measured: Vec<f64> = times.iter().map(|t| t.0).collect();
    let mut modelled: Vec<f64> = times.iter().map(|t| t.1).collect();
    measured.sort_by(f64::total_cmp);
    modelled.sort_by(f64::total_cmp);
    let count = times.len() as f64;
    let squares: f64 = measured.iter().zip(&modelled).map(|(a, b)| (a - b).powi(2)).sum();
    (measured.iter().sum::<f64>() / count, modelled.iter().sum::<f64>() / count, (squares / count).sqrt())
}

#[test]
fn the_hp_c2247_takes_the_time_it_took() {
    let Some(trace) = iopilot_testing::data("disksim/disks/hp_c2247a.trace") else { return };
    let served = serve(&trace, "hp-c2247");
    let kinds: [(&str, &[Op]); 3] = [("all", &[Op::Read, Op::Write]), ("reads", &[Op::Read]), ("writes", &[Op::Write])];
    for (name, ops) in kinds {
        let of_kind: Vec<_> = served.iter().filter(|r| ops.contains(&r.op)).map(|r| (r.measured, r.modelled)).collect();
        let (measured, modelled, demerit) = compare(&of_kind);
        let close = of_kind.iter().filter(|t| (t.0 - t.1).abs() < 0.5).count() as f64 / of_kind.len() as f64;
        eprintln!(
            "{name}: {} requests, measured {measured:.2} ms, model {modelled:.2}, demerit {demerit:.2} ms, {:.1} % of \
             requests within 0.5 ms",
            of_kind.len(),
            100.0 * close
        );
        assert!((modelled / measured - 1.0).abs() < 0.01 && demerit < 0.015 * measured, "{name}");
    }
    let reads = || served.iter().filter(|r| r.op == Op::Read);
    let agree = reads().filter(|r| r.hits[0] == r.hits[1]).count();
    eprintln!("{agree} of {} reads are a hit or miss in the cache as they were", reads().count());
    assert!(agree * 1000 > reads().count() * 999);
}
