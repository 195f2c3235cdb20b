//! `noop` is `fifo` with merging (Carroll 2.4.2 and 3.1).

use crate::rig::{CARROLLS_DISK, fio, machine, serve};
use iopilot_sim::RunReport;

fn run(scheduler: &str, rw: &str, jobs: u32) -> RunReport {
    let load = fio(&format!(
        "[readers]\nfilename=/dev/sdX\nioengine=libaio\niodepth=16\ndirect=1\nbs=16k\nrw={rw}\nnumjobs={jobs}\nsize=2g\n\
         offset_increment=7g\nruntime=20\ntime_based\n"
    ));
    let report = serve(&machine(CARROLLS_DISK, 1), &load, scheduler);
    eprintln!("{scheduler}, {rw}: {:.2} MB/s, {} of {} merged", report.throughput_mb_s, report.merged, report.requests);
    report
}

#[test]
fn noop_and_fifo_are_alike_on_random_reads() {
    let (noop, fifo) = (run("noop", "randread", 4), run("fifo", "randread", 4));
    assert_eq!(noop.merged, 0);
    assert_eq!(noop.log, fifo.log, "request for request");
}

#[test]
fn noop_and_fifo_are_apart_where_requests_merge() {
    let (noop, fifo) = (run("noop", "read", 4), run("fifo", "read", 4));
    assert_eq!(fifo.merged, 0);
    assert!(noop.throughput_mb_s > 2.0 * fifo.throughput_mb_s);
}
