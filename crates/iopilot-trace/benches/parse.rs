//! How fast traces are parsed. The blkparse text follows each request through six events: `A`, `Q`, `G`, `I`,
//! `D` and `C`.
#![allow(missing_docs)] // of what criterion's macros make

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use iopilot_trace::{Format, ReadOptions, TraceReader};
use std::fmt::Write;
use std::io::Cursor;

/// What `blkparse` prints for `requests` scattered reads of 128 KiB, up to 32 of them in flight.
fn blkparse(requests: u64) -> String {
    let mut text = String::new();
    let mut sequence = 0;
    let mut line = |text: &mut String, at: u64, action: char, sector: u64, tail: &str| {
        sequence += 1;
        let (s, ns) = (at / 1_000_000_000, at % 1_000_000_000);
        let cpu = sequence % 4;
        writeln!(text, "  8,16  {cpu:2} {sequence:8} {s:5}.{ns:09} 18615  {action}   R {sector} + 256{tail}")
    };
    let sector = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33;
    for i in 0..requests + 32 {
        let at = i * 100_000;
        if i < requests {
            let from = format!(" <- (8,17) {}", sector(i));
            let events = [('A', from.as_str()), ('Q', " [java]"), ('G', " [java]"), ('I', " [java]"), ('D', " [java]")];
            for (step, (action, tail)) in events.into_iter().enumerate() {
                line(&mut text, at + step as u64 * 2000, action, sector(i), tail).expect("strings grow");
            }
        }
        if let Some(done) = i.checked_sub(32) {
            line(&mut text, at + 50_000, 'C', sector(done), " [0]").expect("strings grow");
        }
    }
    text
}

fn disksim(requests: u64) -> String {
    (0..requests).fold(String::new(), |mut text, i| {
        writeln!(text, "{}.{:06} {} {} 8 {}", i / 10, i % 10 * 100_000, i % 14, i * 7919 % 4_000_000, i % 2)
            .expect("strings grow");
        text
    })
}

fn parse(c: &mut Criterion) {
    let mut group = c.benchmark_group("parse");
    group.sample_size(10);
    let traces = [(Format::Blkparse, blkparse(100_000)), (Format::Disksim, disksim(500_000))];
    for (format, text) in traces {
        let bytes = text.into_bytes();
        group.throughput(Throughput::Bytes(bytes.len() as u64));
        group.bench_function(format.name(), |b| {
            b.iter(|| {
                let options = ReadOptions { format: Some(format), ..ReadOptions::default() };
                let reader = TraceReader::from_reader("bench", Cursor::new(bytes.clone()), &options);
                reader.expect("the trace is valid").filter(|r| r.as_ref().is_ok_and(|r| r.sectors.0 > 0)).count()
            });
        });
    }
    group.finish();
}

criterion_group!(benches, parse);
criterion_main!(benches);
