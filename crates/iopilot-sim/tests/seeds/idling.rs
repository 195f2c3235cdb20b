//! The gain and the cost of idling for a process that may issue a near request (Carroll 4.3.5, 5.3 and 6.4).

use crate::rig::{CARROLLS_DISK, fio, machine, serve};

/// The MB/s of a process that reads runs of 64 blocks of 16 KiB and thinks after each block, and the MB/s of it and of the random
/// readers beside it together.
fn one_sequential(scheduler: &str, think_us: u32, random: u32) -> (f64, f64) {
    let load = fio(&format!(
        "[global]\nioengine=sync\ndirect=1\nbs=16k\nruntime=30\ntime_based\n\
         [sequential]\nrw=randread:64\nthinktime={think_us}us\n[random]\nrw=randread\nnumjobs={random}\n"
    ));
    let report = serve(&machine(CARROLLS_DISK, 1), &load, scheduler);
    (report.processes[0].bytes as f64 / 1e6 / report.elapsed_s, report.throughput_mb_s)
}

#[test]
fn anticipation_gains_while_the_sequential_reader_thinks_for_less_than_antic_expire() {
    let gain = |think_us: u32| {
        let with = one_sequential("as", think_us, 16);
        let without = one_sequential("as:antic_expire=0", think_us, 16);
        eprintln!("think {think_us} us: as {with:.2?}, without anticipation {without:.2?} (MB/s sequential, total)");
        (with.0 / without.0, with.1 / without.1)
    };
    let (sequential, total) = gain(100);
    assert!(sequential > 5.0 && total > 1.5, "{sequential}, {total}");
    let (sequential, total) = gain(2_000);
    assert!(sequential > 3.0 && total > 1.1, "{sequential}, {total}");
    for think_us in [8_000, 20_000] {
        let (sequential, total) = gain(think_us);
        assert!((sequential - 1.0).abs() < 0.1 && (total - 1.0).abs() < 0.05, "{sequential}, {total}");
    }
}

/// The MB/s of 16 readers, sequential at separate places or random.
fn readers(scheduler: &str, rw: &str) -> f64 {
    let place = if rw == "read" { "filename=/dev/sdX\noffset_increment=4g\nsize=4g" } else { "" };
    let load = fio(&format!(
        "[readers]\nioengine=sync\ndirect=1\nbs=16k\nrw={rw}\nnumjobs=16\n{place}\nruntime=30\ntime_based\n"
    ));
    let rate = serve(&machine(CARROLLS_DISK, 1), &load, scheduler).throughput_mb_s;
    eprintln!("{scheduler}, {rw}: {rate:.2} MB/s");
    rate
}

/// Carroll 6.4 for the cost, 2.4.5 for the purpose.
#[test]
fn slice_idle_pays_for_sequential_readers_and_costs_random_ones() {
    let gain = |rw: &str| readers("cfq", rw) / readers("cfq:slice_idle=0", rw);
    let (sequential, random) = (gain("read"), gain("randread"));
    assert!(sequential > 1.5, "{sequential}");
    assert!(random < 0.95, "{random}");
}
