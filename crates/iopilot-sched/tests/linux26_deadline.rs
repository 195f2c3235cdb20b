//! `deadline` of Linux 2.6: the two faults that Carroll found and their costs, and the guarantee of the deadlines.

mod common;

use common::{Bench, Disk, Event, Io, Scenario, scenario};
use iopilot_block::{Nanos, jain_index};
use proptest::prelude::*;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::collections::HashSet;

/// A disk of 15,000 rpm and 75 MB/s, like Carroll's.
fn fast_disk() -> Disk {
    Disk {
        settle: Nanos::from_micros(500),
        full_stroke: Nanos::from_millis(7),
        half_turn: Nanos::from_millis(2),
        per_sector: Nanos(6_500),
        ..Disk::default()
    }
}

/// MiB read and written by two processes, one of which reads and one writes, after 60 s (Carroll 3.4.1). Each keeps two
/// transfers of 8 MiB outstanding, submitted in chunks of 16 KiB, which merge to requests of up to 512 KiB: 16 to a
/// transfer, as many as a batch has. `gap` sectors lie between the transfers.
fn read_and_written(spec: &str, gap: u64) -> (f64, f64) {
    const TRANSFER: u64 = 16_384;
    const CHUNK: u32 = 32;
    const CHUNKS: u64 = TRANSFER / CHUNK as u64;
    let mut bench = Bench::new(spec, 1);
    bench.disk = fast_disk();
    let chunks = move |process: u32, n: u64| {
        let from = u64::from(process) * 100_000_000 + n * (TRANSFER + gap);
        (0..CHUNKS).map(move |i| {
            let lba = from + i * u64::from(CHUNK);
            if process == 0 { Io::read(process, lba, CHUNK) } else { Io::sync_write(process, lba, CHUNK) }
        })
    };
    // The chunks done, which complete in order within a process, and the transfers begun.
    let (mut done_chunks, mut begun) = ([0u64; 2], [2u64; 2]);
    for process in 0..2 {
        (0..2).flat_map(|n| chunks(process, n)).for_each(|io| bench.submit(Nanos::ZERO, io));
    }
    bench.run(Nanos::from_secs(60), |done, out| {
        let p = done.io.process.0 as usize;
        done_chunks[p] += 1;
        if done_chunks[p] % CHUNKS == 0 {
            let next = chunks(done.io.process.0, begun[p]);
            out.extend(next.map(|io| (Nanos::from_micros(300), Event::Submit(io))));
            begun[p] += 1;
        }
    });
    let mib = |p: usize| done_chunks[p] as f64 * f64::from(CHUNK) / 2048.0;
    (mib(0), mib(1))
}

/// Carroll, table 3.2: a ratio of 2.000 with the fault mended, which is `writes_starved`.
#[test]
fn reads_get_writes_starved_times_what_writes_get() {
    for gap in [0, 20_000] {
        let (read, written) = read_and_written("deadline", gap);
        assert!((read / written - 2.0).abs() < 0.03, "{read} / {written} MiB");
    }
}

/// Carroll, table 3.2: below one with the fault; he measured 0.806. The counter that is not reset makes the second
/// batch of reads a single request, so 16 + 1 requests are read for 16 written: 1.06 where reads go on without a gap.
/// That one request also puts the batches out of step with the transfers; where a transfer's end breaks a batch, the
/// next batch of reads is one short and reads fall back to what writes get. His device left read batches shorter still.
#[test]
fn in_2_6_23_writes_got_as_much_as_reads() {
    let (read, written) = read_and_written("deadline:linux_2_6_23=1", 0);
    assert!((read / written - 17.0 / 16.0).abs() < 0.02, "{read} / {written} MiB");
    let (read, written) = read_and_written("deadline:linux_2_6_23=1", 20_000);
    assert!((read / written - 1.0).abs() < 0.02, "{read} / {written} MiB");
}

/// MiB/s of ten processes that read sequentially from positions 7 GiB apart, with a random writer (Carroll 3.4.2).
fn ten_readers(spec: &str) -> Vec<f64> {
    const APART: u64 = 7 << 21;
    const SECS: u64 = 60;
    let mut bench = Bench::new(spec, 1);
    bench.disk = fast_disk();
    let mut rng = Pcg64Mcg::seed_from_u64(3);
    for p in 0..10 {
        bench.submit(Nanos::ZERO, Io::read(p, u64::from(p) * APART, 8));
    }
    let mut write = move || Io::sync_write(99, rng.random_range(0..10 * APART), 8);
    for _ in 0..8 {
        bench.submit(Nanos::ZERO, write());
    }
    let mut moved = vec![0.0; 10];
    bench.run(Nanos::from_secs(SECS), |done, out| {
        let p = done.io.process.0;
        let again = match moved.get_mut(p as usize) {
            Some(moved) => {
                *moved += done.io.sectors.bytes() as f64 / f64::from(1 << 20) / SECS as f64;
                Io::read(p, done.io.lba.0 + 8, 8)
            }
            None => write(),
        };
        out.push((Nanos::from_micros(50), Event::Submit(again)));
    });
    moved
}

/// Carroll, figure 3.1.
#[test]
fn in_2_6_23_the_lowest_sectors_were_served_most() {
    let old = ten_readers("deadline:linux_2_6_23=1");
    let new = ten_readers("deadline");
    assert!(jain_index(new.iter().copied()) > 0.999, "{new:?}");
    assert!(jain_index(old.iter().copied()) < 0.6, "{old:?}");
    assert!(old[0] > 10.0 * old[9], "{old:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// Once a request has expired, no more goes before it than the batch under way, and for each older request of its
    /// direction a batch each way (reads), or `writes_starved` batches of reads and one of writes (writes).
    #[test]
    fn an_expired_request_is_served_soon(
        s in scenario(), fifo_batch in 1u64..20, writes_starved in 1u64..4, expire in 0u64..200,
    ) {
        // Of requests that start alike all but the last leave at once, as in the kernel; spread out, they are few.
        let s = Scenario { span: common::CAPACITY - 300, depth: 1, nomerges: 2, gap_us: s.gap_us.min(8_000), ..s };
        let spec = format!(
            "deadline:fifo_batch={fifo_batch}:writes_starved={writes_starved}:read_expire={expire}:write_expire={expire}"
        );
        let done = s.bench(&spec).drain();
        let starts: HashSet<_> = done.iter().map(|d| (d.io.lba, d.io.request().is_write())).collect();
        let twins = (done.len() - starts.len()) as u64;
        for late in &done {
            let expiry = late.arrived + Nanos::from_millis(expire);
            let before = || done.iter().filter(|d| d.issued > expiry && d.issued < late.issued);
            let write = late.io.request().is_write();
            let older = before().filter(|d| d.io.request().is_write() == write && d.arrived <= late.arrived).count() as u64;
            let batches = 1 + (older + 1) * if write { writes_starved + 1 } else { 2 };
            let most = batches * fifo_batch + twins;
            prop_assert!(before().count() as u64 <= most, "{} before {:?}", before().count(), late);
        }
    }
}
