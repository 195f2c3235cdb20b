//! Written traces read back, as far as the format can express them.
#![allow(clippy::unwrap_used)]

mod common;

use common::{config, some_records};
use iopilot_block::{Flags, IoPriority, Lba, Nanos, Op, PriorityClass, ProcessId, Sectors};
use iopilot_trace::{Format, KeptFields, ReadOptions, TraceReader, TraceRecord, TraceWriter, read_all};
use proptest::collection::vec;
use proptest::prelude::*;

#[test]
fn an_unfinished_file_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.spc");
    let mut writer = TraceWriter::create(&path, Format::Spc).unwrap();
    some_records().iter().for_each(|r| writer.write(r).unwrap());
    assert!(!path.exists());
    drop(writer);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    let e = TraceWriter::create(&path, Format::Vscsi).err().unwrap().to_string();
    assert!(e.contains("trace format: got vscsi, expected one that can be written: fio-iolog"), "{e}");
}

#[test]
fn names_and_packed_text_read_back() {
    let folder = tempfile::tempdir().unwrap();
    for (name, format) in [("a.spc.gz", Format::Spc), ("a.spc.zst", Format::Spc), ("a.parquet", Format::Parquet)] {
        let path = folder.path().join(name);
        let mut writer = TraceWriter::create(&path, format).unwrap();
        writer.set_process_names(&[(7, "cc1".to_owned())].into());
        writer.set_device_names(&["8,0".to_owned()]);
        some_records().iter().for_each(|r| writer.write(r).unwrap());
        writer.finish().unwrap();
        assert_eq!(read_all(&path, &ReadOptions::default()).unwrap(), some_records(), "{name}");
        if format == Format::Parquet {
            let reader = TraceReader::open(&path, &ReadOptions::default()).unwrap();
            assert_eq!((&reader.process_names()[&7][..], &reader.device_names()[0][..]), ("cc1", "8,0"));
        }
    }
}

prop_compose! {
    fn any_record()(
        (gap, issue, service) in (0u64..5_000_000, proptest::option::of(0u64..1_000_000), proptest::option::of(0u64..9_000_000)),
        op in prop_oneof![4 => Just(Op::Read), 4 => Just(Op::Write), 1 => Just(Op::Flush), 1 => Just(Op::Discard)],
        (lba, sectors, device) in (0u64..1 << 40, 1u32..5000, 0u32..3),
        (process, parent, cpu) in (any::<Option<u32>>(), any::<Option<u32>>(), any::<Option<u16>>()),
        start in proptest::option::of(0u64..1 << 50),
        (flags, level) in (any::<u16>(), 0u8..8),
        (inserted, group, merged) in (proptest::option::of(0u64..1 << 50), any::<Option<u32>>(), any::<Option<bool>>()),
    ) -> TraceRecord {
        let mut r = TraceRecord::new(Nanos(gap), op, Lba(lba), Sectors(sectors));
        if op == Op::Flush {
            (r.lba, r.sectors) = (Lba(0), Sectors(0));
        }
        (r.issue, r.completion) = (issue.map(Nanos), service.map(Nanos));
        r.device = device;
        (r.process, r.parent, r.cpu) = (process.map(ProcessId), parent.map(ProcessId), cpu);
        r.process_start = start.map(Nanos);
        (r.inserted, r.thread_group, r.merged) = (inserted.map(Nanos), group.map(ProcessId), merged);
        r.flags = Flags::from_bits_truncate(flags);
        r.priority = IoPriority::new(PriorityClass::BestEffort, level).unwrap();
        r
    }
}

/// Records in arrival order that begin at zero.
fn any_trace() -> impl Strategy<Value = Vec<TraceRecord>> {
    vec(any_record(), 1..60).prop_map(|mut all| {
        let mut now = Nanos::ZERO;
        for (i, r) in all.iter_mut().enumerate() {
            now = if i == 0 { now } else { now + r.arrival };
            r.arrival = now;
            (r.issue, r.completion) = (r.issue.map(|t| now + t), r.completion.map(|t| now + t));
        }
        all
    })
}

/// What `format` keeps of `all`, as its table says.
fn expressible(all: &[TraceRecord], format: Format) -> Vec<TraceRecord> {
    let writing = format.spec().writing.expect("it is written");
    let keeps = |column| writing.keeps.contains(column);
    if keeps(KeptFields::EVERY_FIELD) {
        return all.to_vec();
    }
    let unit = writing.time_unit.0;
    let rounded = |t: Nanos| Nanos((t.0 + unit / 2) / unit * unit);
    let mut names = Vec::new();
    let mut out: Vec<TraceRecord> = Vec::new();
    for r in all.iter().filter(|r| writing.knows(r.op)) {
        let mut k = TraceRecord::new(rounded(r.arrival), r.op, r.lba, r.sectors);
        if keeps(KeptFields::DEVICE_NUMBER) {
            k.device = r.device;
        }
        if keeps(KeptFields::DEVICE_NAME) {
            k.device = match names.iter().position(|d| *d == r.device) {
                Some(at) => at as u32,
                None => {
                    names.push(r.device);
                    names.len() as u32 - 1
                }
            };
        }
        if keeps(KeptFields::COMPLETION) {
            k.completion = Some(r.completion.map_or(k.arrival, |c| rounded(c).max(k.arrival)));
        }
        if keeps(KeptFields::SYNC_AND_READ_AHEAD) {
            k.flags.set(Flags::SYNC, r.op == Op::Write && r.flags.contains(Flags::SYNC));
            k.flags.set(Flags::READ_AHEAD, r.op == Op::Read && r.flags.contains(Flags::READ_AHEAD));
        }
        out.push(k);
    }
    let base = out.first().map_or(Nanos::ZERO, |r| r.arrival);
    for r in &mut out {
        r.arrival = r.arrival - base;
        r.completion = r.completion.map(|c| c - base);
    }
    out
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn what_is_written_reads_back(all in any_trace()) {
        let folder = tempfile::tempdir().unwrap();
        for &format in Format::ALL.iter().filter(|f| f.is_writable()) {
            let name = format.name();
            let expected = expressible(&all, format);
            let path = folder.path().join(name);
            let mut writer = TraceWriter::create(&path, format).unwrap();
            for r in &all {
                writer.write(r).unwrap();
            }
            prop_assert_eq!((writer.written() + writer.skipped()) as usize, all.len());
            prop_assert_eq!(writer.written() as usize, expected.len());
            writer.finish().unwrap();
            // Without a format option: written files must be recognised.
            let found = read_all(&path, &ReadOptions::default());
            if std::fs::metadata(&path).unwrap().len() == 0 {
                // Nothing but flushes, in a format that knows none.
                prop_assert!(expected.is_empty() && found.is_err(), "{}", name);
            } else {
                prop_assert_eq!(found.unwrap(), expected, "{}", name);
            }
        }
    }
}
