//! Schedulers by distance: V(R) and its extremes (Geist and Daniel 1987; Carroll 3.2).

use crate::rig::{bare_machine, fio, ganger, machine, serve};
use iopilot_trace::TraceRecord;

/// Random reads and writes, one request at a time each, on the same machine under both schedulers. Compares the times of every
/// request, and so the order of dispatch.
fn same(vr: &str, classic: &str) {
    let load = fio("
        [mixed]
        ioengine=sync
        direct=1
        bs=8k
        rw=randrw
        numjobs=24
        number_ios=400
    ");
    for disk in ["dg072a4951", "hp-c2247"] {
        let log = |scheduler: &str| -> Vec<TraceRecord> { serve(&bare_machine(disk), &load, scheduler).log.unwrap() };
        let (vr, classic) = (log(vr), log(classic));
        assert_eq!(vr.len(), 24 * 400);
        let differ = vr.iter().zip(&classic).position(|(a, b)| a != b);
        assert_eq!(differ, None, "{disk}");
    }
}

#[test]
fn vr_with_a_penalty_of_one_is_sstf() {
    same("vr:rev_penalty=1:sync_expire=0:async_expire=0", "sstf");
}

/// Carroll's SCAN turns at the last request, which is `look` in the older names.
#[test]
fn vr_with_an_infinite_penalty_is_scan() {
    same("vr:rev_penalty=0:sync_expire=0:async_expire=0", "scan");
    same("vr:rev_penalty=0:sync_expire=0:async_expire=0", "look");
}

/// Geist and Daniel: a larger R raises the mean a little and lowers the variance. This holds for loads with an occasionally short
/// queue. With a queue that is always long, there is a near request in any direction, and the means do not differ.
#[test]
fn vscan_with_a_larger_r_lowers_the_variance_and_with_a_smaller_one_the_mean() {
    let load = ganger(
        "
        requests = 60000
        [[generator]]
        blocking_factor = 8
        read_probability = 1.0
        size_sectors = 8
        general_time_ms = { distribution = \"exponential\", mean = 19.0 }
    ",
    );
    let results = [0.0, 0.2, 0.4, 1.0].map(|r| {
        let report = serve(&machine("hp-c2247", 1), &load, &format!("vscan:r={r}"));
        let (mean, deviation) = (report.response_ms.mean, report.response_stddev_ms);
        eprintln!("vscan R={r}: response {mean:.2} ms, standard deviation {deviation:.2}");
        (mean, deviation)
    });
    let [sstf, v02, v04, scan] = results;
    assert!(sstf.0 < v02.0 && v02.0 < scan.0, "the mean rises with R: {results:?}");
    assert!(sstf.1 > 1.05 * v02.1 && v02.1 > scan.1, "the deviation falls with R: {results:?}");
    // Above 0.4 it behaves as SCAN.
    assert!((v04.0 / scan.0 - 1.0).abs() < 0.02 && (v04.1 / scan.1 - 1.0).abs() < 0.02, "{results:?}");
}
