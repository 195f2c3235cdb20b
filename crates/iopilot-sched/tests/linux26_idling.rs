//! What `as` and `cfq` gain and lose by keeping the disk idle (Carroll 2.2.5 and 2.4; Iyer and Druschel 2001), and what
//! merging is worth to `noop`.

mod common;

use common::{Bench, CAPACITY, Event, Io};
use iopilot_block::Nanos;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

const SECS: u64 = 60;

/// MiB/s of process 0, which reads sequentially and thinks `think` between two reads, and of `others` that read at
/// random without thinking.
fn sequential_against_random(spec: &str, others: u32, think: Nanos) -> (f64, f64) {
    let mut bench = Bench::new(spec, 1);
    let mut rng = Pcg64Mcg::seed_from_u64(1);
    let mut place = move || rng.random_range(CAPACITY / 2..CAPACITY - 128);
    bench.submit(Nanos::ZERO, Io::read(0, 0, 128));
    for p in 1..=others {
        bench.submit(Nanos::ZERO, Io::read(p, place(), 8));
    }
    let mut moved = [0.0; 2];
    bench.run(Nanos::from_secs(SECS), |done, out| {
        let p = done.io.process.0;
        moved[usize::from(p > 0)] += done.io.sectors.bytes() as f64 / f64::from(1 << 20) / SECS as f64;
        out.push(match p {
            0 => (think, Event::Submit(Io::read(0, done.io.lba.0 + 128, 128))),
            _ => (Nanos::from_micros(100), Event::Submit(Io::read(p, place(), 8))),
        });
    });
    (moved[0], moved[1])
}

#[test]
fn anticipation_saves_the_sequential_reader_while_it_thinks_fast() {
    let total = |spec: &str, think: u64| {
        let (sequential, random) = sequential_against_random(spec, 4, Nanos::from_micros(think));
        sequential + random
    };
    let gain = |think: u64| total("as", think) / total("as:antic_expire=0", think);
    assert!(gain(500) > 3.0, "{}", gain(500));
    assert!(gain(3_000) > 1.5, "{}", gain(3_000));
    // With more than 6.7 ms the scheduler knows that the process is too late, and does not wait for it.
    assert!((gain(12_000) - 1.0).abs() < 0.1, "{}", gain(12_000));
    assert!(total("as", 500) > 3.0 * total("deadline", 500));
    // With a longer wait, the gain is back.
    let patient = total("as:antic_expire=15", 12_000) / total("as:antic_expire=0", 12_000);
    assert!(patient > 1.2, "{patient}");
}

/// MiB/s of `n` processes; each reads `sectors` on from its last place, or anywhere.
fn readers(spec: &str, n: u32, random: bool) -> f64 {
    let mut bench = Bench::new(spec, 1);
    let mut rng = Pcg64Mcg::seed_from_u64(2);
    let mut place = move || rng.random_range(0..CAPACITY - 128);
    let mut moved = 0.0;
    for p in 0..n {
        bench.submit(Nanos::ZERO, Io::read(p, place(), 32));
    }
    bench.run(Nanos::from_secs(SECS), |done, out| {
        moved += done.io.sectors.bytes() as f64 / f64::from(1 << 20) / SECS as f64;
        let lba = if random { place() } else { done.io.lba.0 + 32 };
        out.push((Nanos::from_micros(300), Event::Submit(Io::read(done.io.process.0, lba, 32))));
    });
    moved
}

#[test]
fn idling_pays_for_sequential_readers_and_costs_random_ones() {
    let gain = |random| readers("cfq", 8, random) / readers("cfq:slice_idle=0", 8, random);
    assert!(gain(false) > 3.0, "{}", gain(false));
    assert!(gain(true) < 0.95, "{}", gain(true));
}

/// The longest response of a process' asynchronous writes while `n` others read without pause.
fn worst_write(spec: &str, depth: usize, n: u32) -> Nanos {
    let mut bench = Bench::new(spec, depth);
    let mut rng = Pcg64Mcg::seed_from_u64(4);
    let mut place = move || rng.random_range(0..CAPACITY - 128);
    for p in 0..n {
        bench.submit(Nanos::ZERO, Io::read(p, place(), 8));
    }
    for i in 0..20 {
        bench.submit(Nanos::from_secs(i), Io::write(99, 7_000_000 * (i % 30), 8));
    }
    let (mut worst, mut writes) = (Nanos::ZERO, 0);
    bench.run(Nanos::from_secs(40), |done, out| {
        if done.io.process.0 == 99 {
            worst = worst.max(done.response());
            writes += 1;
        } else {
            out.push((Nanos::from_micros(50), Event::Submit(Io::read(done.io.process.0, place(), 8))));
        }
    });
    assert_eq!(writes, 20, "{spec}: a write starved");
    worst
}

#[test]
fn writes_do_not_starve_behind_readers() {
    for depth in [1, 4] {
        for spec in ["noop", "fifo", "deadline", "as", "cfq", "vr"] {
            let worst = worst_write(spec, depth, 12);
            assert!(worst < Nanos::from_secs(8), "{spec} depth {depth}: {worst}");
        }
    }
}

/// Carroll 3.1: `noop` and `fifo` differ only in merging.
#[test]
fn noop_is_fifo_with_merging() {
    let run = |spec: &str, sequential: bool| {
        let mut bench = Bench::new(spec, 1);
        let mut rng = Pcg64Mcg::seed_from_u64(6);
        for i in 0..2_000u64 {
            let lba =
                if sequential { (i % 2) * 90_000_000 + i / 2 * 8 } else { rng.random_range(0..CAPACITY - 8) & !7 };
            bench.submit(Nanos::from_micros(i * 20), Io::read((i % 2) as u32, lba, 8));
        }
        bench.drain();
        (bench.order.clone(), bench.now)
    };
    assert_eq!(run("noop", false), run("fifo", false));
    let (noop, fifo) = (run("noop", true), run("fifo", true));
    assert_eq!(fifo.0.len(), 2_000);
    assert!(noop.0.len() < 100, "{}", noop.0.len());
    assert!(noop.1.0 * 5 < fifo.1.0, "{} against {}", noop.1, fifo.1);
}
