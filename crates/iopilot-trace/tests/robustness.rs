//! Bad input gives one line that names file, place, field and expectation; nothing panics.
#![allow(clippy::unwrap_used)]

mod common;

use common::{config, samples, some_records};
use iopilot_block::{Lba, Nanos};
use iopilot_trace::{Format, ReadOptions, TraceReader, TraceRecord, TraceWriter, read_all};
use proptest::collection::vec;
use proptest::prelude::*;
use std::io::Cursor;

/// Reads `bytes` as `format`, or whatever they look like.
fn read(bytes: &[u8], format: Option<Format>) -> Result<Vec<TraceRecord>, String> {
    let options = ReadOptions { format, ..ReadOptions::default() };
    let reader =
        TraceReader::from_reader("t.trace", Cursor::new(bytes.to_vec()), &options).map_err(|e| e.to_string())?;
    reader.collect::<Result<_, _>>().map_err(|e| e.to_string())
}

fn vscsi(records: &[(u32, u16, u64, u64)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for &(length, command, block, time) in records {
        bytes.extend(1u32.to_le_bytes());
        bytes.extend(length.to_le_bytes());
        bytes.extend(1u32.to_le_bytes());
        bytes.extend(command.to_le_bytes());
        bytes.extend(0x100u16.to_le_bytes());
        bytes.extend(block.to_le_bytes());
        bytes.extend(time.to_le_bytes());
    }
    bytes
}

fn srt(records: &[[i32; 14]]) -> Vec<u8> {
    let mut bytes = b"$$TR_IOREC-1.3\ndisks = { 0 -> { disktype = hp335h, sectorsize = 256 } };\n\x0c".to_vec();
    records.iter().flatten().for_each(|word| bytes.extend(word.to_be_bytes()));
    bytes
}

/// A request: 4 KiB at block 16 of disk 0.
fn srt_record(sec: i32) -> [i32; 14] {
    [56, 0x4_0001, sec, 5, 174, 19_687, 4096, 16, 8, 4, 1, 27, 0, 1]
}

/// Events `(time, sector, bytes, action and category)`.
fn blktrace(events: &[(u64, u64, u32, u32)], swapped: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    for &(time, sector, length, action) in events {
        let words = [length, action, 77, 8 << 20, 0];
        if swapped {
            bytes.extend(0x6561_7407u32.to_be_bytes());
            bytes.extend(1u32.to_be_bytes());
            bytes.extend(time.to_be_bytes());
            bytes.extend(sector.to_be_bytes());
            words.iter().for_each(|w| bytes.extend(w.to_be_bytes()));
        } else {
            bytes.extend(0x6561_7407u32.to_le_bytes());
            bytes.extend(1u32.to_le_bytes());
            bytes.extend(time.to_le_bytes());
            bytes.extend(sector.to_le_bytes());
            words.iter().for_each(|w| bytes.extend(w.to_le_bytes()));
        }
        bytes.extend([0; 4]);
    }
    bytes
}

const QUEUE: u32 = 1 | 1 << 16 | 1 << 20;
const ISSUE: u32 = 7 | 1 << 16 | 1 << 22;
const COMPLETE: u32 = 8 | 1 << 16 | 1 << 23;

fn parquet() -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    let mut writer = TraceWriter::create(&path, Format::Parquet).unwrap();
    some_records().iter().for_each(|r| writer.write(r).unwrap());
    writer.finish().unwrap();
    std::fs::read(path).unwrap()
}

/// A Parquet file whose second row arrives before its first.
fn unordered_parquet() -> Vec<u8> {
    use parquet::data_type::{ByteArray, ByteArrayType, Int32Type, Int64Type};
    let schema = "message t { required int64 arrival_ns; required binary op (STRING); required int64 lba; \
                  required int32 sectors; }";
    let schema = std::sync::Arc::new(parquet::schema::parser::parse_message_type(schema).unwrap());
    let mut out = Vec::new();
    let mut writer = parquet::file::writer::SerializedFileWriter::new(&mut out, schema, Default::default()).unwrap();
    let mut rows = writer.next_row_group().unwrap();
    let mut column = rows.next_column().unwrap().unwrap();
    column.typed::<Int64Type>().write_batch(&[9_000_000_000, 4_000_000_000], None, None).unwrap();
    column.close().unwrap();
    let mut column = rows.next_column().unwrap().unwrap();
    column
        .typed::<ByteArrayType>()
        .write_batch(&[ByteArray::from("read"), ByteArray::from("read")], None, None)
        .unwrap();
    column.close().unwrap();
    let mut column = rows.next_column().unwrap().unwrap();
    column.typed::<Int64Type>().write_batch(&[8, 16], None, None).unwrap();
    column.close().unwrap();
    let mut column = rows.next_column().unwrap().unwrap();
    column.typed::<Int32Type>().write_batch(&[8, 8], None, None).unwrap();
    column.close().unwrap();
    rows.close().unwrap();
    writer.close().unwrap();
    out
}

#[test]
fn every_format_is_found_out_and_read() {
    for (format, name, bytes) in samples() {
        let all = read(&bytes, None).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(all, read(&bytes, Some(format)).unwrap(), "{name}");
        assert!(!all.is_empty() && all[0].arrival == Nanos::ZERO, "{name}");
    }
}

#[test]
fn both_byte_orders_of_blktrace_say_the_same() {
    let events = [(100, 8, 4096, QUEUE), (200, 8, 4096, ISSUE), (300, 8, 4096, COMPLETE)];
    let little = read(&blktrace(&events, false), None).unwrap();
    assert_eq!(little, read(&blktrace(&events, true), None).unwrap());
    assert_eq!((little[0].issue, little[0].completion), (Some(Nanos(100)), Some(Nanos(200))));
}

#[test]
fn bad_input_is_named_in_one_line() {
    let times = |time: u64| vscsi(&[(512, 0x28, 8, 200), (512, 0x28, 8, time)]);
    let negative_block = {
        let mut r = srt_record(0);
        r[7] = -1;
        r
    };
    let negative_size = {
        let mut r = srt_record(0);
        r[6] = -4096;
        r
    };
    let cases: Vec<(Format, Vec<u8>, &str)> = vec![
        // Truncated.
        (
            Format::Blkparse,
            b"8,0 1 1 0.1 300 Q R 64 +".to_vec(),
            "t.trace:1: sectors: got the end of the line, expected",
        ),
        (Format::Blktrace, blktrace(&[(1, 8, 512, QUEUE)], false)[..40].to_vec(), "t.trace:1: record: got 40 bytes"),
        (Format::FioIolog, b"fio version 3 iolog\n1 x read 0".to_vec(), "t.trace:2: length: got the end of the line"),
        (Format::Disksim, b"0.5 0 8 16 1\n0.6 0 8".to_vec(), "t.trace:2: blocks: got the end of the line"),
        (Format::DisksimValidate, b"R Hit 8 16 5.0".to_vec(), "t.trace:1: think time: got the end of the line"),
        (
            Format::HpSrt,
            {
                let mut b = srt(&[srt_record(0)]);
                b.pop();
                b
            },
            "t.trace:1: record: got 51 bytes",
        ),
        (Format::HpSrt, b"$$TR_IOREC-1.3".to_vec(), "t.trace: header: got no end, expected a form feed"),
        (Format::Msr, b"1,usr,0,Read,0,512".to_vec(), "t.trace:1: response: got the end of the line"),
        (Format::MsrMs, b"0.0 0 0 512".to_vec(), "t.trace:1: type: got the end of the line"),
        (Format::Spc, b"0,8,4096,R".to_vec(), "t.trace:1: timestamp: got the end of the line"),
        (Format::Vscsi, times(300)[..50].to_vec(), "t.trace:2: record: got 18 bytes and the end of the file"),
        (Format::Cloudphysics, b"1,100,2a,512".to_vec(), "t.trace:1: lbn: got the end of the line"),
        (Format::Mqsim, b"1 0 8".to_vec(), "t.trace:1: blocks: got the end of the line"),
        (Format::Alibaba, b"1,R,0,512".to_vec(), "t.trace:1: timestamp: got the end of the line"),
        (
            Format::Parquet,
            {
                let mut b = parquet();
                b.truncate(b.len() / 2);
                b
            },
            "t.trace: parquet: got ",
        ),
        (Format::Fiu, b"1 2 sh 8 16 R 6".to_vec(), "t.trace:1: lba: got sh, expected a whole number"),
        (Format::Tencent, b"1538323199,75784,8,1".to_vec(), "t.trace:1: volume: got the end of the line"),
        (Format::Systor17, b"1456135200.5,0.1,W,4,4096".to_vec(), "t.trace:1: size: got the end of the line"),
        (Format::Vscsi2, vec![0; 39], "t.trace:1: record: got 39 bytes and the end of the file, expected 40"),
        (Format::OracleGeneral, vec![0; 23], "t.trace:1: record: got 23 bytes and the end of the file, expected 24"),
        (
            Format::BlockEvents,
            b" a-1 [0] 1.0: block_rq_issue: 8,0 R 4096 () 8 +".to_vec(),
            "t.trace:1: sectors: got the end of the line",
        ),
        (Format::Biosnoop, b"0.1 sh 7 sda R 8 4096 0.5".to_vec(), "t.trace:1: header: got 0.1 sh 7"),
        (Format::Columns, b"1,2,3".to_vec(), "t.trace:1: columns: got a text without names of its columns, expected"),
        (
            Format::Columns,
            b"# columns: time_s lba sectors op\n1 8 8 R\n1 8 8".to_vec(),
            "t.trace:3: op: got the end of the line",
        ),
        // Negative sizes.
        (Format::Blkparse, b"8,0 1 1 0.1 300 Q R 64 + -8 [a]".to_vec(), "t.trace:1: sectors: got -8, expected a whole"),
        (Format::FioIolog, b"fio version 2 iolog\nx read 0 -1".to_vec(), "t.trace:2: length: got -1, expected"),
        (Format::Disksim, b"0.5 0 8 -16 1".to_vec(), "t.trace:1: blocks: got -16, expected"),
        (Format::DisksimValidate, b"R Hit 8 -1 5.0 1".to_vec(), "t.trace:1: blocks: got -1, expected"),
        (Format::HpSrt, srt(&[negative_size]), "t.trace:1: bytes: got -4096, expected"),
        (Format::Msr, b"1,usr,0,Read,0,-512,1".to_vec(), "t.trace:1: size: got -512, expected"),
        (Format::MsrMs, b"0.0 0 0 -512 1".to_vec(), "t.trace:1: size: got -512, expected"),
        (Format::Spc, b"0,8,-1,R,0.5".to_vec(), "t.trace:1: size: got -1, expected"),
        (Format::Vscsi, vscsi(&[(u32::MAX, 0x28, 8, 1)]), "t.trace:1: length: got -1, expected"),
        (Format::Cloudphysics, b"1,100,2a,-1,8".to_vec(), "t.trace:1: size: got -1, expected"),
        (Format::Mqsim, b"1 0 8 -1 1".to_vec(), "t.trace:1: blocks: got -1, expected"),
        (Format::Alibaba, b"1,R,0,-1,5".to_vec(), "t.trace:1: length: got -1, expected"),
        (Format::Fiu, b"1 2 sh 8 -16 R 6 0".to_vec(), "t.trace:1: blocks: got -16, expected"),
        (Format::Tencent, b"1538323199,75784,-8,1,1".to_vec(), "t.trace:1: size: got -8, expected"),
        (Format::Systor17, b"1456135200.5,0.1,W,4,4096,-1".to_vec(), "t.trace:1: size: got -1, expected"),
        // Addresses beyond any device.
        (Format::Fiu, b"1 2 sh 9223372036854775808 16 R 6 0".to_vec(), "t.trace:1: lba: got 9223372036854775808"),
        (Format::Tencent, b"1538323199,9223372036854775808,8,1,1".to_vec(), "t.trace:1: lba: got 9223372036854775808"),
        (
            Format::OracleGeneral,
            [&[0; 4][..], &[0xff; 8], &[1, 0, 0, 0], &[0xff; 8]].concat(),
            "t.trace:1: object: got 18446744073709551615, expected the address of a block",
        ),
        (
            Format::Blkparse,
            b"8,0 1 1 0.1 3 Q R 9223372036854775808 + 8 [a]".to_vec(),
            "t.trace:1: lba: got 9223372036854775808",
        ),
        (
            Format::Blktrace,
            blktrace(&[(1, 1 << 63, 512, QUEUE)], false),
            "t.trace:1: lba: got 9223372036854775808 + 1, ",
        ),
        (
            Format::FioIolog,
            b"fio version 2 iolog\nx read 9223372036854775808 1".to_vec(),
            "t.trace:2: offset: got 9223372036854775808",
        ),
        (
            Format::Disksim,
            b"0.5 0 9223372036854775808 16 1".to_vec(),
            "t.trace:1: lba: got 9223372036854775808 + 16, expected",
        ),
        (Format::DisksimValidate, b"R Hit 9223372036854775808 1 5.0 1".to_vec(), "t.trace:1: lba: got "),
        (Format::HpSrt, srt(&[negative_block]), "t.trace:1: block: got -1, expected"),
        (Format::Msr, b"1,usr,0,Read,9223372036854775808,512,1".to_vec(), "t.trace:1: offset: got 9223372036854775808"),
        (Format::MsrMs, b"0.0 0 9223372036854775808 512 1".to_vec(), "t.trace:1: offset: got 9223372036854775808"),
        (Format::Spc, b"0,9223372036854775808,512,R,0.5".to_vec(), "t.trace:1: lba: got 9223372036854775808"),
        (Format::Vscsi, vscsi(&[(512, 0x28, 1 << 63, 1)]), "t.trace:1: lba: got 9223372036854775808"),
        (Format::Cloudphysics, b"1,100,2a,512,9223372036854775808".to_vec(), "t.trace:1: lba: got 9223372036854775808"),
        (
            Format::Mqsim,
            b"1 0 99999999999999999999 1 1".to_vec(),
            "t.trace:1: block: got 99999999999999999999, expected",
        ),
        (Format::Alibaba, b"1,R,9223372036854775808,512,5".to_vec(), "t.trace:1: offset: got 9223372036854775808"),
        // Times that go back.
        (
            Format::FioIolog,
            b"fio version 3 iolog\n9 x read 0 512\n8 x read 0 512".to_vec(),
            "t.trace:3: time: got 1.000 us before",
        ),
        (
            Format::Disksim,
            b"0.5 0 8 16 1\n0.4 0 8 16 1".to_vec(),
            "t.trace:2: time: got 100.000 us before an earlier record, expected times that do not go back",
        ),
        (Format::MsrMs, b"1.0 0 0 512 1\n0.5 0 0 512 1".to_vec(), "t.trace:2: time: got 500.000 us before"),
        (Format::Vscsi, times(100), "t.trace:2: time: got 100.000 us before"),
        (Format::Cloudphysics, b"1,100,2a,512,8\n1,99,2a,512,8".to_vec(), "t.trace:2: time: got 1.000 s before"),
        (Format::Mqsim, b"5 0 8 1 1\n4 0 8 1 1".to_vec(), "t.trace:2: time: got 1 ns before"),
        (Format::HpSrt, srt(&[srt_record(1), srt_record(0)]), "t.trace:2: time: got 1.000 s before"),
        (
            Format::Msr,
            b"90,usr,0,Read,0,512,1\n80,usr,0,Read,0,512,1".to_vec(),
            "t.trace:2: time: got 1.000 us before an earlier record, expected times that do not go back (--reorder",
        ),
        (Format::Spc, b"0,8,512,R,0.5\n0,8,512,R,0.4".to_vec(), "t.trace:2: time: got 100.000 ms before"),
        (Format::Alibaba, b"1,R,0,512,5\n1,R,0,512,4".to_vec(), "t.trace:2: time: got 1.000 us before"),
        (
            Format::Blkparse,
            b"8,0 1 1 0.5 3 Q R 8 + 8 [a]\n8,0 1 2 0.4 3 Q R 16 + 8 [a]".to_vec(),
            "t.trace:2: time: got 100.000 ms before an earlier event of CPU 1, expected times that do not go back on one",
        ),
        (
            Format::Blktrace,
            blktrace(&[(9, 8, 512, QUEUE), (8, 16, 512, QUEUE)], false),
            "t.trace:2: time: got 1 ns before an earlier event of CPU 0",
        ),
        (Format::Parquet, unordered_parquet(), "t.trace:2: time: got 5.000 s before"),
        // Times so late that no event can follow.
        (
            Format::Mqsim,
            b"100 0 8 16 0\n18446744073709551615 1 16 8 1".to_vec(),
            "t.trace:2: time: got 18446744073.710 s behind the first request, expected a time within 146 years",
        ),
        // The wrong kind of file.
        (Format::Blktrace, vec![7; 48], "t.trace:1: magic: got 0x07070707, expected 0x65617407"),
        (Format::Vscsi, vec![7; 32], "t.trace:1: version: got 7, expected 1"),
        (Format::Blkparse, b"hello world".to_vec(), "t.trace:1: device: got hello, expected major,minor"),
    ];
    for (format, bytes, expected) in cases {
        let e = read(&bytes, Some(format)).expect_err(expected);
        assert!(e.starts_with(expected), "{format}: {e}");
        assert!(e.contains(", expected ") && !e.contains('\n') && e.len() < 300, "{format}: {e}");
    }
}

#[test]
fn late_records_are_put_in_order_where_that_is_asked_for() {
    let line = |t: u64| format!("1,R,{},512,{t}\n", t * 512);
    let reordered = |text: &str, window: usize| {
        let options = ReadOptions { reorder: Some(window), ..ReadOptions::default() };
        let mut reader = TraceReader::from_reader("t.trace", Cursor::new(text.to_owned()), &options).unwrap();
        let times: Result<Vec<_>, _> = reader.by_ref().map(|r| r.map(|r| r.arrival.0 / 1000)).collect();
        times.map(|times| (times, reader.notes().reordered)).map_err(|e| e.to_string())
    };
    let late: String = [5, 7, 6, 3].map(line).concat();
    assert_eq!(reordered(&late, 3).unwrap(), (vec![0, 2, 3, 4], 2));
    let e = reordered(&late, 1).unwrap_err();
    let expected = "t.trace:4: time: got 3.000 us before an earlier record, expected times that go back by at most 1 \
                    record (--reorder=N allows more)";
    assert_eq!(e, expected);
    assert!(read(late.as_bytes(), None).unwrap_err().starts_with("t.trace:3: "));
}

#[test]
fn cpus_that_recorded_on_their_own_need_not_agree_but_each_keeps_order() {
    let line = |cpu: u64, us: u64| format!("8,0 {cpu} 1 0.{us:06} 3 Q R {} + 8 [a]\n", us * 8);
    let two: String = [(0, 5), (1, 3), (0, 7), (1, 6)].map(|(cpu, us)| line(cpu, us)).concat();
    let times: Vec<_> = read(two.as_bytes(), None).unwrap().iter().map(|r| r.arrival.0 / 1000).collect();
    assert_eq!(times, [0, 2, 3, 4]);
    let far: String = (10_000..20_000).map(|us| line(0, us)).chain([line(1, 1)]).collect();
    let e = read(far.as_bytes(), None).unwrap_err();
    assert!(
        e.contains("time: got 1") && e.contains("go back by at most 8192 records (--reorder=N allows more)"),
        "{e}"
    );
    // With --reorder, no order is expected of a CPU either.
    let one: String = [5, 3].map(|us| line(0, us)).concat();
    assert!(read(one.as_bytes(), None).unwrap_err().starts_with("t.trace:2: time: "));
    let options = ReadOptions { reorder: Some(1), ..ReadOptions::default() };
    assert_eq!(TraceReader::from_reader("t", Cursor::new(one), &options).unwrap().map(Result::unwrap).count(), 2);
}

#[test]
fn an_empty_file_is_no_trace_in_any_format() {
    let packed = zstd::encode_all(&b""[..], 1).unwrap();
    for bytes in [&b""[..], &packed] {
        for format in Format::ALL.iter().copied().map(Some).chain([None]) {
            assert_eq!(read(bytes, format).unwrap_err(), "t.trace: trace: got an empty file, expected a trace");
        }
    }
    // One CPU may have nothing to record, but not all of them.
    let folder = tempfile::tempdir().unwrap();
    let cpu = |n: usize| folder.path().join(format!("t.blktrace.{n}"));
    std::fs::write(cpu(0), "").unwrap();
    std::fs::write(cpu(1), "").unwrap();
    let e = read_all(folder.path(), &ReadOptions::default()).unwrap_err().to_string();
    assert!(e.ends_with("t.blktrace.0: trace: got an empty file, expected a trace"), "{e}");
    std::fs::write(cpu(1), blktrace(&[(1, 8, 512, QUEUE)], false)).unwrap();
    assert_eq!(read_all(folder.path(), &ReadOptions::default()).unwrap().len(), 1);
}

#[test]
fn empty_transfers_are_left_out_and_counted() {
    let options = ReadOptions::default();
    let text = b"0,8,0,R,0.5\n0,8,512,R,0.6\n".to_vec();
    let mut reader = TraceReader::from_reader("t", Cursor::new(text), &options).unwrap();
    assert_eq!(reader.by_ref().count(), 1);
    assert_eq!(reader.notes().empty, 1);
}

#[test]
fn one_device_can_be_picked() {
    let options = ReadOptions { device: Some(1), ..ReadOptions::default() };
    let text = b"0100 0 8 16 0\n0200 1 16 8 1\n".to_vec();
    let all: Vec<_> = TraceReader::from_reader("t", Cursor::new(text), &options).unwrap().map(Result::unwrap).collect();
    assert_eq!((all.len(), all[0].lba, all[0].arrival), (1, Lba(16), Nanos(100)));
}

proptest! {
    #![proptest_config(config())]

    /// A brief fuzz of every parser: arbitrary bytes.
    #[test]
    fn nothing_panics_on_noise(bytes in vec(any::<u8>(), 0..400)) {
        let _ = read(&bytes, None);
        for &format in Format::ALL {
            let _ = read(&bytes, Some(format));
        }
    }

    /// A brief fuzz of every parser: valid traces with some bytes replaced, removed or repeated.
    #[test]
    fn nothing_panics_on_damaged_traces(damage in vec((any::<prop::sample::Index>(), any::<u8>(), 0..4u8), 1..8)) {
        for (format, _, mut bytes) in samples() {
            for (at, byte, kind) in &damage {
                if bytes.is_empty() { break; }
                let at = at.index(bytes.len());
                match kind {
                    0 => bytes[at] = *byte,
                    1 => drop(bytes.drain(at..(at + 1 + *byte as usize % 9).min(bytes.len()))),
                    2 => { let piece = bytes[at..(at + 40).min(bytes.len())].to_vec(); bytes.splice(at..at, piece); }
                    _ => bytes[at] ^= 1 << (byte % 8),
                }
            }
            if let Ok(all) = read(&bytes, Some(format)) {
                prop_assert!(all.windows(2).all(|p| p[0].arrival <= p[1].arrival));
            }
            let _ = read(&bytes, None);
        }
    }
}

#[test]
fn a_byte_order_mark_is_no_part_of_a_trace() {
    for (format, name, bytes) in samples() {
        let marked = [&b"\xef\xbb\xbf"[..], &bytes].concat();
        if std::str::from_utf8(&bytes).is_ok_and(|text| !text.contains('\0')) {
            assert_eq!(read(&marked, None), read(&bytes, Some(format)), "{name}");
        }
    }
}

#[test]
fn what_several_formats_could_be_is_asked_for() {
    let lines: String = (0..40).map(|i| format!("{} 0 {} 4096 {}\n", i * 10, 512_000 + i * 4096, i % 2)).collect();
    let e = read(lines.as_bytes(), None).unwrap_err();
    assert!(e.starts_with("t.trace: trace format: got lines of five numbers that fit several formats"), "{e}");
    let bytes =
        |format| -> u64 { read(lines.as_bytes(), Some(format)).unwrap().iter().map(|r| r.sectors.bytes()).sum() };
    assert_eq!((bytes(Format::MsrMs), bytes(Format::Disksim)), (40 * 4096, 40 * 2_097_152));
}

#[test]
fn completions_alone_are_told_of() {
    let line = |us: u64| format!("8,0 0 1 0.{us:06} 0 C R {} + 8 [0]\n", us * 8);
    let text: String = [100, 200, 300].map(line).concat();
    let mut reader = TraceReader::from_reader("t", Cursor::new(text), &ReadOptions::default()).unwrap();
    let times: Vec<_> = reader.by_ref().map(|r| r.unwrap().arrival.0).collect();
    assert_eq!((times, reader.notes().unknown_arrivals), (vec![0, 100_000, 200_000], 3));
    let lines = reader.notes().lines();
    assert!(lines[0].starts_with("3 records of a completion alone: "), "{lines:?}");
    // The same in binary.
    let events = [(100, 8, 4096, COMPLETE), (200, 64, 4096, COMPLETE)];
    let all = read(&blktrace(&events, false), None).unwrap();
    assert_eq!(all.iter().map(|r| (r.arrival.0, r.completion)).collect::<Vec<_>>(), [(0, None), (100, None)]);
}
