//! A reader of large requests, several in flight, beside a random reader of small ones. Linux 6.18 served the same job file
//! on virtual disks of the same models.

use crate::rig::{fio, machine, serve};
use iopilot_block::Nanos;
use iopilot_sim::{Machine, RunReport};

const JOBS: &str = "
    [global]
    direct=1
    ioengine=libaio
    runtime=20
    time_based
    filename=/dev/sdb
    [sequential]
    rw=read
    bs=1m
    iodepth=10
    size=20g
    [random]
    rw=randread
    bs=4k
    iodepth=1
    offset=40g
    size=60g
    norandommap
";

/// A loop device with `depth` tags, whose requests have at most 128 pages.
fn loop_device(disk: &str, depth: u32) -> Machine {
    let mut machine = machine(disk, depth);
    machine.block.host_tags = Some(depth);
    machine.block.nr_requests = Some(256);
    machine.block.max_sectors_kb = Some(512);
    machine
}

fn requests(report: &RunReport) -> [u64; 2] {
    [0, 1].map(|process| report.processes[process].requests)
}

/// The random reader's first request is in the queue before the large one, whose pages take longer to pin. So bfq takes
/// the two for one job soon after (`bfq_setup_cooperator`), and the sequential reader keeps the disk. Where the large
/// request was first, the kernel sometimes did not merge them (in 2 of 31 runs), and served nothing but the random reader
/// for ten seconds.
#[test]
fn bfq_serves_both_as_the_kernel_does() {
    for (depth, scheduler, kernel) in [
        (4, "bfq", [1442, 34]),
        (4, "bfq:low_latency=0", [1424, 49]),
        (4, "mq-deadline", [1505, 21]),
        (8, "bfq", [1455, 34]),
        (32, "bfq", [1465, 49]),
    ] {
        let ours = requests(&serve(&loop_device("hd-500-16", depth), &fio(JOBS), scheduler));
        eprintln!("depth {depth}, {scheduler}: {ours:?}, the kernel {kernel:?}");
        for (ours, kernel) in ours.into_iter().zip(kernel) {
            assert!((0.8..1.2).contains(&(ours as f64 / f64::from(kernel))), "{depth} {scheduler} {ours} {kernel}");
        }
    }
}

/// Of two tasks that start at the same time, that with the smaller request is first.
#[test]
fn a_small_request_reaches_the_queue_before_a_large_one() {
    let report = serve(&loop_device("hd-500-16", 4), &fio(JOBS), "none");
    let log = report.log.unwrap();
    let first = |sectors: u32| log.iter().find(|r| r.sectors.0 == sectors).unwrap().arrival;
    assert_eq!([first(8), first(2048)], [Nanos::ZERO, Nanos::from_micros(51)], "255 pages of 0.2 us");
}
