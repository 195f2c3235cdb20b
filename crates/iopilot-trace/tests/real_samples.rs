//! Every real trace at hand loads, with the number of requests that its page states.
#![allow(clippy::unwrap_used)]

use iopilot_block::{Nanos, Op};
use iopilot_trace::{CacheOutcome, Format, ReadOptions, TraceReader, TraceRecord, detect, read_all, read_validate};
use std::path::{Path, PathBuf};

/// The folder of real traces; `None`, with a note on standard error, if it is absent.
fn data() -> Option<PathBuf> {
    iopilot_testing::data("")
}

/// Reads a sample, whose format must be recognised, and checks what holds for every trace.
fn load(path: &Path, format: Format) -> Vec<TraceRecord> {
    assert_eq!(detect(path).unwrap(), format, "{}", path.display());
    let all = read_all(path, &ReadOptions::default()).unwrap();
    assert_eq!(all[0].arrival, Nanos::ZERO, "{}", path.display());
    assert!(all.windows(2).all(|pair| pair[0].arrival <= pair[1].arrival), "{}", path.display());
    for r in &all {
        assert!(r.sectors.0 > 0 || r.op == Op::Flush);
        assert!(r.issue.is_none_or(|t| t >= r.arrival) && r.completion.is_none_or(|t| t >= r.arrival), "{r:?}");
    }
    all
}

fn completed(all: &[TraceRecord]) -> usize {
    all.iter().filter(|r| r.completion.is_some()).count()
}

#[test]
fn cloudphysics_in_both_formats_is_the_same() {
    let Some(data) = data() else { return };
    let folder = data.join("traces/cloudphysics");
    let binary = load(&folder.join("cloudPhysicsIO.vscsi"), Format::Vscsi);
    let text = load(&folder.join("pymimircache-trace.csv.gz"), Format::Cloudphysics);
    assert_eq!(binary.len(), 113_872);
    assert_eq!(binary, text);
    let reads = binary.iter().filter(|r| r.op == Op::Read).count();
    assert_eq!(reads, 46_974);
}

#[test]
fn msr_mqsim_and_disksim() {
    let Some(data) = data() else { return };
    let msr = load(&data.join("traces/msr/msr.cut.per_10k.rw_20_80.105.trace"), Format::MsrMs);
    assert_eq!(msr.len(), 10_000);
    assert_eq!(msr[1].arrival, Nanos(223_412_000));
    let mqsim = load(&data.join("traces/mqsim/tpcc-small.trace"), Format::Mqsim);
    assert_eq!(mqsim.len(), 6_999);
    let ascii = load(&data.join("disksim/runs/ascii.trace"), Format::Disksim);
    assert_eq!(ascii.len(), 100_000);
    assert_eq!(ascii[1].arrival, Nanos(17_829_285 - 13_191_135));
}

#[test]
fn hadoop_blkparse_keeps_every_queue_event() {
    let Some(data) = data() else { return };
    let path = data.join("traces/blkparse/apress-hadoop-blkparse.txt");
    let all = load(&path, Format::Blkparse);
    assert_eq!(all.len(), 15_524);
    let mut reader = TraceReader::open(&path, &ReadOptions::default()).unwrap();
    assert_eq!(reader.by_ref().count(), 15_524);
    assert_eq!(reader.process_names()[&18_615], "java");
    assert_eq!(reader.device_names(), ["8,16"]);
    assert_eq!(reader.bytes_read(), reader.total_bytes());
    // 170 requests were issued; each brings the bios merged into it.
    let issued = all.iter().filter(|r| r.issue.is_some()).count();
    assert!(issued > 5_000, "{issued}");
    assert!(completed(&all) > 5_000 && completed(&all) <= issued + 64, "{} of {issued}", completed(&all));
}

#[test]
fn blktrace_from_any_of_its_names() {
    let Some(data) = data() else { return };
    let folder = data.join("traces/blktrace");
    let all = load(&folder.join("keks"), Format::Blktrace);
    assert_eq!(load(&folder.join("keks.blktrace.3"), Format::Blktrace), all);
    assert_eq!(load(&folder, Format::Blktrace), all);
    // 2,398 events: 1,192 issues, of which 24 are flushes and 10 repeat one that the driver had refused, and 1,206
    // completions, of which 48 are of flushes.
    assert_eq!((all.len(), completed(&all)), (1_158, 1_158));
    let mut reader = TraceReader::open(&folder, &ReadOptions::default()).unwrap();
    let _ = reader.by_ref().count();
    assert_eq!(reader.process_names()[&276], "kworker/0:1H");
    assert_eq!(reader.device_names(), ["8,52"]);
}

#[test]
fn blktrace_in_one_file_is_the_same_as_in_eight() {
    let Some(data) = data() else { return };
    let folder = data.join("traces/blktrace");
    let mut bytes = Vec::new();
    for cpu in (0..8).rev() {
        bytes.extend(std::fs::read(folder.join(format!("keks.blktrace.{cpu}"))).unwrap());
    }
    let merged = TraceReader::from_reader("merged", std::io::Cursor::new(bytes), &ReadOptions::default()).unwrap();
    assert_eq!(merged.format(), Format::Blktrace);
    let merged: Vec<_> = merged.collect::<Result<_, _>>().unwrap();
    assert_eq!(merged, read_all(&folder, &ReadOptions::default()).unwrap());
}

#[test]
fn hp_srt_has_every_time() {
    let Some(data) = data() else { return };
    let all = load(&data.join("traces/hp/ajw.1week.srt"), Format::HpSrt);
    assert_eq!((all.len(), completed(&all)), (44_519, 44_519));
    assert_eq!((all[0].issue, all[0].completion), (Some(Nanos(174_000)), Some(Nanos(19_687_000))));
    assert_eq!((all[0].op, all[0].lba.0, all[0].sectors.0), (Op::Read, 1056 / 2, 8));
    assert!(all.iter().all(|r| r.device <= 1));
}

#[test]
fn validation_traces_keep_their_measurements() {
    let Some(data) = data() else { return };
    let traces = [
        ("atlas10k", 10_000),
        ("cheetah9LP", 10_000),
        ("barracuda", 10_000),
        ("hp_c2247a", 9_999),
        ("hp_c3323a", 9_074),
        ("dec_rz26", 7_980),
    ];
    for (name, requests) in traces {
        let path = data.join(format!("disksim/disks/{name}.trace"));
        let all = load(&path, Format::DisksimValidate);
        assert_eq!((all.len(), completed(&all)), (requests, requests), "{name}");
        let measured = read_validate(&path).unwrap();
        assert_eq!(measured.len(), requests);
        for (r, m) in all.iter().zip(&measured) {
            assert_eq!(r.completion.unwrap() - r.arrival, m.service);
        }
        let not_hits = measured.iter().filter(|m| m.cache != CacheOutcome::Hit).count();
        assert_eq!(not_hits > 0, name == "hp_c2247a", "{name}");
    }
}

#[test]
fn packed_address_streams_are_not_taken_for_traces() {
    let Some(data) = data() else { return };
    for name in ["w106.trace.xz", "OLTP.lis.zst"] {
        let e = detect(&data.join("traces/address-only").join(name)).unwrap_err().to_string();
        assert!(e.contains(name) && e.contains("expected a trace"), "{e}");
    }
}
