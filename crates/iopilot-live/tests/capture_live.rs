//! Captures real requests: of a loop device on a temporary file. Needs root, loop devices, and tracefs or BPF.
#![allow(clippy::unwrap_used)]

mod common;

use common::Loop;
use iopilot_block::{Flags, Lba, Nanos, Op, Sectors};
use iopilot_catalogue::{TableForm, Training};
use iopilot_device::TimedDevice;
use iopilot_live::{Backend, BlockQueue, Capture, CaptureOptions, LearnedDisk, LiveError, TimedDisk};
use iopilot_testing::{skipped, wait};
use iopilot_trace::TraceRecord;
use rustix::fs::OFlags;
use std::fs;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::Command;

fn set_scheduler(disk: &Loop, name: &str) {
    BlockQueue::open(disk.device.as_ref()).unwrap().set_scheduler(name).unwrap();
}

/// `None` where there can be no capture: the test then says that it is skipped.
fn capture(disk: &Loop, backend: Backend, buffer_kb: u32) -> Option<Capture> {
    let options = CaptureOptions { backend, buffer_kb, ..CaptureOptions::new(&disk.device) };
    match Capture::start(&options) {
        Ok(capture) => Some(capture),
        Err(e @ (LiveError::Bpf(_) | LiveError::NoTracefs(_) | LiveError::NotPermitted(_))) => {
            // The kernel's own words: what it was asked for differs each time.
            let e = e.to_string();
            skipped(&format!("cannot capture by {backend}: {}", e.rsplit(": ").next().unwrap_or(&e)));
            None
        }
        Err(e) => panic!("{e}"),
    }
}

fn shell(script: &str) {
    assert!(Command::new("sh").args(["-c", script]).status().unwrap().success(), "{script}");
}

/// All requests that completed, once nothing is in flight any more.
fn drain(capture: &mut Capture) -> Vec<TraceRecord> {
    let mut out = Vec::new();
    wait("all have completed", || {
        capture.poll(&mut out).unwrap();
        capture.pending() == 0 && !out.is_empty()
    });
    capture.poll(&mut out).unwrap();
    out
}

/// Reads and writes of all kinds: direct, read ahead, split (2 MiB are more than a request may be), merged, durable,
/// discarded, by several processes.
fn load(device: &str) -> String {
    format!(
        "dd if={device} of=/dev/null bs=64k count=20 iflag=direct status=none & \
         dd if=/dev/zero of={device} bs=4k count=40 seek=3000 oflag=direct status=none & wait; \
         dd if=/dev/zero of={device} bs=2M count=4 seek=4 oflag=direct status=none; \
         dd if=/dev/zero of={device} bs=4k count=300 seek=6000 status=none conv=fsync; \
         dd if={device} of=/dev/null bs=4k count=200 skip=1024 status=none; \
         dd if=/dev/zero of={device} bs=4k count=3 seek=7777 oflag=dsync status=none; \
         blkdiscard -o 1048576 -l 65536 {device} || true; sync"
    )
}

#[test]
fn both_backends_report_the_same() {
    let Some(disk) = Loop::attach(64 << 20) else { return };
    for scheduler in ["none", "mq-deadline"] {
        set_scheduler(&disk, scheduler);
        let Some(mut bpf) = capture(&disk, Backend::Ebpf, 8192) else { return };
        let Some(mut tracefs) = capture(&disk, Backend::Tracefs, 8192) else { return };
        assert_eq!((bpf.backend(), tracefs.backend()), (Backend::Ebpf, Backend::Tracefs));
        shell(&load(&disk.device));
        let (one, other) = (drain(&mut bpf), drain(&mut tracefs));
        assert_eq!((bpf.lost_events(), tracefs.lost_events(), bpf.given_up(), tracefs.given_up()), (0, 0, 0, 0));
        assert!(one.len() > 400, "{} requests", one.len());
        // The flags that the kernel's letters show.
        let told = Flags::SYNC | Flags::READ_AHEAD | Flags::META | Flags::FUA | Flags::PREFLUSH;
        // Two CPUs may take numbers and times crosswise, and splitting happens between two looks at the clock.
        let key = |r: &TraceRecord| {
            // The kernel's own request for a flush, which trace events report, has no priority.
            let priority = (r.op != Op::Flush).then_some(r.priority);
            (r.lba, r.sectors.0, r.op as u8, (r.flags & told).bits(), r.process, r.parent, r.cpu, priority)
        };
        let sorted = |records: &[TraceRecord]| {
            let mut records = records.to_vec();
            records.sort_by_key(|r| (r.lba, r.sectors, r.process, r.arrival));
            records
        };
        for seen in [&one, &other] {
            assert!(scheduler == "none" || seen.iter().any(|r| r.inserted.is_some()));
            assert!(seen.iter().any(|r| r.merged == Some(true)) && seen.iter().any(|r| r.merged == Some(false)));
            for r in seen.iter().filter(|r| r.merged == Some(true)) {
                let with = |o: &&TraceRecord| o.issue == r.issue && o.completion == r.completion;
                assert!(seen.iter().filter(with).count() > 1, "{r:?}");
            }
            for r in seen {
                let times = [Some(r.arrival), r.inserted, r.issue, r.completion];
                assert!(times.into_iter().flatten().is_sorted(), "{r:?}");
            }
        }
        // Only the programs see that there is no scheduler, although requests are inserted into the CPU's queue.
        assert!(scheduler != "none" || one.iter().all(|r| r.inserted.is_none()));
        assert!(one.iter().all(|r| r.thread_group.is_some()));
        let (one, other) = (sorted(&one), sorted(&other));
        for (a, b) in one.iter().zip(&other) {
            assert_eq!(key(a), key(b), "{scheduler}\n{a:?}\n{b:?}");
            let near = |x: Nanos, y: Nanos| x.0.abs_diff(y.0) < 100_000_000;
            assert!(near(a.arrival, b.arrival), "{a:?} {b:?}");
            assert!(near(a.completion.unwrap(), b.completion.unwrap()), "{a:?} {b:?}");
            assert_eq!(a.issue.is_some(), b.issue.is_some(), "{scheduler}\n{a:?}\n{b:?}");
            let merged = |r: &TraceRecord| r.merged == Some(true);
            assert_eq!(merged(a), merged(b), "{scheduler}\n{a:?}\n{b:?}");
        }
        assert_eq!(one.len(), other.len());
        assert!(one.iter().any(|r| r.op == Op::Flush) && one.iter().any(|r| r.flags.contains(Flags::READ_AHEAD)));
        assert_eq!(bpf.process_names(), tracefs.process_names());
    }
}

#[test]
fn events_without_room_are_counted_and_hold_nothing_up() {
    let Some(disk) = Loop::attach(16 << 20) else { return };
    for backend in [Backend::Ebpf, Backend::Tracefs] {
        // The smallest buffer that the kernel takes.
        let Some(mut capture) = capture(&disk, backend, 4) else { continue };
        let read = |blocks: u32| {
            shell(&format!("dd if={} of=/dev/null bs=4k count={blocks} iflag=direct status=none", disk.device));
        };
        read(2000);
        let mut out = Vec::new();
        capture.poll(&mut out).unwrap();
        assert!(capture.lost_events() > 0, "{backend}");
        assert!(out.len() < 2000, "{backend}: {}", out.len());
        read(10);
        // Those after the gap come once it has been waited for.
        wait(&format!("{backend}: the reads after the gap"), || {
            capture.poll(&mut out).unwrap();
            out.iter().rev().take(10).map(|r| r.lba.0 / 8).eq((0..10).rev())
        });
        assert!(out.windows(2).all(|pair| pair[0].arrival <= pair[1].arrival), "{backend}");
    }
}

#[test]
fn a_paused_capture_reports_nothing_of_the_pause() {
    let Some(disk) = Loop::attach(64 << 20) else { return };
    let queue = BlockQueue::open(disk.device.as_ref()).unwrap();
    for backend in [Backend::Ebpf, Backend::Tracefs] {
        let Some(mut capture) = capture(&disk, backend, 8192) else { continue };
        let read = |skip: u32, blocks: u32| {
            let dd = format!("dd if={} of=/dev/null bs=4k skip={skip} count={blocks} iflag=direct", disk.device);
            shell(&format!("{dd} status=none"));
        };
        let blocks = |records: &[TraceRecord]| records.iter().map(|r| r.lba.0 / 8).collect::<Vec<_>>();
        let mut seen = Vec::new();
        for round in 0..3 {
            read(1000 * round, 20);
            capture.pause().unwrap();
            let before = queue.traffic().unwrap();
            wait(&format!("{backend}: the pause"), || {
                capture.poll(&mut seen).unwrap();
                capture.is_paused()
            });
            let first = u64::from(1000 * round);
            assert_eq!(blocks(&seen), (first..first + 20).collect::<Vec<_>>(), "{backend}: what came before is told");
            read(1000 * round + 500, 300);
            let traffic = || queue.traffic().unwrap();
            wait("the kernel has counted them", || traffic().requests >= before.requests + 300);
            seen.clear();
            capture.poll(&mut seen).unwrap();
            assert_eq!(blocks(&seen), [] as [u64; 0], "{backend}");
            let after = traffic();
            assert_eq!((after.requests - before.requests, after.bytes - before.bytes), (300, 300 << 12), "{backend}");
            capture.resume().unwrap();
        }
        assert_eq!((capture.pending(), capture.lost_events(), capture.given_up()), (0, 0, 0), "{backend}");
    }
}

#[test]
fn a_disk_is_learnt_from_what_was_captured() {
    let Some(disk) = Loop::attach(64 << 20) else { return };
    let Some(mut capture) = capture(&disk, Backend::Auto, 8192) else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("learned.toml");
    let queue = BlockQueue::open(disk.device.as_ref()).unwrap();
    let mut learned = LearnedDisk::open(&queue, &path).unwrap();
    for kib in [4, 8, 16, 32, 64] {
        let every = "for i in 1 9 3 17 5 33 7 65 11 100 13 200; do";
        let dd = format!("dd if={} of=/dev/null bs={kib}k count=8 skip=$i iflag=direct status=none; done", disk.device);
        shell(&format!("{every} {dd}"));
    }
    drain(&mut capture).iter().for_each(|record| learned.observe(record));
    learned.settle();
    // 480 requests of one process, one after the other. The first has none before it, the last none after it.
    assert!(learned.samples() > 300, "{}", learned.samples());
    assert!(learned.device().is_some());
    learned.save().unwrap();
    assert!(LearnedDisk::open(&queue, &path).unwrap().samples() > 16);
}

#[test]
fn a_disk_is_trained_without_being_written_to() {
    let Some(disk) = Loop::attach(64 << 20) else { return };
    let path: &Path = disk.device.as_ref();
    let training = Training { form: TableForm::Two, samples: 1, seed: 1 };
    let mut real = TimedDisk::open(path, false, 1024).unwrap();
    assert_eq!(TimedDevice::capacity(&real), 131_072);
    let trained = training.run_reads(&mut real, || {}).unwrap();
    assert!(trained.tables.reads().coverage().filled > 400, "{:?}", trained.tables.reads().coverage());
    assert!(trained.time > Nanos::ZERO);
    real.restart().unwrap();
    assert!(real.serve(Op::Write, Lba(0), Sectors(8)).is_err(), "it is open for reading");
    assert!(fs::read(path).unwrap().iter().all(|&byte| byte == 0));

    // Another process has it exclusively.
    let holder = fs::OpenOptions::new().read(true).custom_flags(OFlags::EXCL.bits() as i32).open(path).unwrap();
    let error = TimedDisk::open(path, true, 0).unwrap_err();
    assert!(error.is_bad_input() && error.to_string().contains("in use"), "{error}");
    drop(holder);
    // A program that another test has just started holds all files that were open here until its `exec`.
    let mut free = None;
    wait("nobody holds it any more", || {
        free = match TimedDisk::open(path, true, 0) {
            Err(e) if e.is_bad_input() => None,
            opened => Some(opened.unwrap()),
        };
        free.is_some()
    });
    let mut real = free.unwrap();
    let trained = training.run(&mut real, || {}).unwrap();
    assert!(trained.tables.writes().coverage().filled > 400);
    drop(real);
    assert!(fs::read(path).unwrap().iter().any(|&byte| byte != 0));
}
