//! Formats that are only read: no request of a trace is lost, and each keeps its address, length and operation.
#![allow(clippy::unwrap_used)]

use iopilot_block::{Lba, Nanos, Op, Sectors};
use iopilot_trace::{Format, ReadOptions, TraceReader, TraceRecord};
use proptest::collection::vec;
use proptest::prelude::*;
use std::fmt::Write;
use std::io::Cursor;

/// A request: what it does, where, and how long it is.
type Request = (Op, Lba, Sectors);

fn any_requests() -> impl Strategy<Value = Vec<Request>> {
    let op = prop_oneof![Just(Op::Read), Just(Op::Write)];
    vec((op, (0u64..1 << 40).prop_map(Lba), (1u32..4096).prop_map(Sectors)), 1..80)
}

/// Reads `bytes`, whose format must be recognised.
fn read(bytes: Vec<u8>, format: Format) -> Vec<TraceRecord> {
    let reader = TraceReader::from_reader("t", Cursor::new(bytes), &ReadOptions::default()).unwrap();
    assert_eq!(reader.format(), format);
    reader.map(Result::unwrap).collect()
}

fn requests(records: &[TraceRecord]) -> Vec<Request> {
    records.iter().map(|r| (r.op, r.lba, r.sectors)).collect()
}

/// A text with a line for each request, which arrive a millisecond apart.
fn text(header: &str, all: &[Request], line: impl Fn(u64, &Request) -> String) -> Vec<u8> {
    let mut text = header.to_owned();
    all.iter().zip(1u64..).for_each(|(request, ms)| writeln!(text, "{}", line(ms, request)).unwrap());
    text.into_bytes()
}

fn letter(op: Op) -> char {
    if op == Op::Read { 'R' } else { 'W' }
}

proptest! {
    #[test]
    fn lines_keep_every_request(all in any_requests()) {
        let fiu = text("", &all, |ms, (op, lba, n)| {
            format!("{} 7 my app {lba} {n} {} 8 0 {:032x}", ms * 1_000_000, letter(*op), 5)
        });
        let tencent = text("", &all, |ms, (op, lba, n)| {
            format!("{},{lba},{n},{},3", 1_538_323_199 + ms, u8::from(*op == Op::Write))
        });
        let systor = text("", &all, |ms, (op, lba, n)| {
            format!("1456135200.{:09},0.5,{},1,{},{}", ms * 1_000_000, letter(*op), lba.0 * 512, n.bytes())
        });
        let columns = text("# columns: time_ms,lba,sectors,write\n", &all, |ms, (op, lba, n)| {
            format!("{ms},{lba},{n},{}", u8::from(*op == Op::Write))
        });
        let snoop = text("TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n", &all, |ms, (op, lba, n)| {
            format!("{}.{:06} my app 7 sda {} {lba} {} 0.25", ms / 1000, ms % 1000 * 1000, letter(*op), n.bytes())
        });
        let written = [
            (Format::Fiu, fiu),
            (Format::Tencent, tencent),
            (Format::Systor17, systor),
            (Format::Columns, columns),
            (Format::Biosnoop, snoop),
        ];
        for (format, bytes) in written {
            prop_assert_eq!(&requests(&read(bytes, format)), &all, "{}", format);
        }
    }

    #[test]
    fn binary_records_keep_every_request(all in any_requests()) {
        let mut vscsi = Vec::new();
        for ((op, lba, n), ms) in all.iter().zip(1u64..) {
            vscsi.extend(if *op == Op::Read { 0x28u16 } else { 0x2a }.to_le_bytes());
            vscsi.extend(0x200u16.to_le_bytes());
            vscsi.extend([0; 4]);
            vscsi.extend((n.bytes() as u32).to_le_bytes());
            vscsi.extend([0; 4]);
            [lba.0, ms * 1000, 250].iter().for_each(|field| vscsi.extend(field.to_le_bytes()));
        }
        let found = read(vscsi, Format::Vscsi2);
        prop_assert_eq!(&requests(&found), &all);
        prop_assert!(found.iter().all(|r| r.completion == Some(r.arrival + Nanos(250_000))));
        let mut oracle = Vec::new();
        for ((_, lba, n), s) in all.iter().zip(1u32..) {
            oracle.extend(s.to_le_bytes());
            oracle.extend(lba.0.to_le_bytes());
            oracle.extend((n.bytes() as u32).to_le_bytes());
            oracle.extend((-1i64).to_le_bytes());
        }
        let reads: Vec<Request> = all.iter().map(|&(_, lba, n)| (Op::Read, lba, n)).collect();
        prop_assert_eq!(requests(&read(oracle, Format::OracleGeneral)), reads);
    }

    /// Each request is queued, issued and complete before the next.
    #[test]
    fn events_keep_every_request(all in any_requests()) {
        let events = text("", &all, |ms, (op, lba, n)| {
            let (s, us, op) = (ms / 1000, ms % 1000 * 1000, letter(*op));
            format!(
                "fio 7 [001] {s}.{us:06}: block:block_bio_queue: 8,0 {op} {lba} + {n} [fio]\n\
                 fio 7 [001] {s}.{:06}: block:block_rq_issue: 8,0 {op} {} () {lba} + {n} [fio]\n\
                 swapper 0 [001] {s}.{:06}: block:block_rq_complete: 8,0 {op} () {lba} + {n} [0]",
                us + 10, n.bytes(), us + 300,
            )
        });
        let layout = text("# columns: %D %a %T.%t %p %d %S %n\n", &all, |ms, (op, lba, n)| {
            let (s, ns, op) = (ms / 1000, ms % 1000 * 1_000_000, letter(*op));
            let line = |action: char, ns: u64| format!("8,0 {action} {s}.{ns:09} 7 {op} {lba} {n}");
            [line('Q', ns), line('D', ns + 10_000), line('C', ns + 300_000)].join("\n")
        });
        for (format, bytes) in [(Format::BlockEvents, events), (Format::Columns, layout)] {
            let found = read(bytes, format);
            prop_assert_eq!(&requests(&found), &all, "{}", format);
            prop_assert!(found.iter().all(|r| r.completion == Some(r.arrival + Nanos(300_000))), "{}", format);
        }
    }
}
