//! Captures real requests: of a loop device on a temporary file. Needs root, loop devices, and tracefs or BPF.
#![allow(clippy::unwrap_used)]

use iopilot_block::{Flags, Nanos, Op};
use iopilot_live::{Backend, Capture, CaptureOptions, LiveError};
use iopilot_trace::TraceRecord;
use std::fs;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

struct Loop {
    device: String,
    _file: tempfile::NamedTempFile,
}

impl Loop {
    /// `None`, having said why, where there can be none.
    fn attach(bytes: u64) -> Option<Self> {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(bytes).unwrap();
        match Command::new("losetup").args(["-f", "--show"]).arg(file.path()).output() {
            Ok(out) if out.status.success() => {
                let device = String::from_utf8(out.stdout).unwrap().trim().to_owned();
                Some(Self { device, _file: file })
            }
            other => {
                eprintln!("skipped: no loop device: {other:?}");
                None
            }
        }
    }

    fn scheduler(&self, name: &str) {
        let sysfs = self.device.replace("/dev", "/sys/block");
        fs::write(format!("{sysfs}/queue/scheduler"), name).unwrap();
    }

    /// `None`, having said why, where it cannot be.
    fn capture(&self, backend: Backend, buffer_kb: u32) -> Option<Capture> {
        let options = CaptureOptions { device: self.device.clone().into(), backend, buffer_kb };
        match Capture::start(&options) {
            Ok(capture) => Some(capture),
            Err(e @ (LiveError::Bpf(_) | LiveError::NoTracefs | LiveError::NotPermitted(_))) => {
                eprintln!("skipped: {e}");
                None
            }
            Err(e) => panic!("{e}"),
        }
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["-d", &self.device]).status();
    }
}

fn shell(script: &str) {
    assert!(Command::new("sh").args(["-c", script]).status().unwrap().success(), "{script}");
}

/// All that completed, when nothing is under way any more.
fn drain(capture: &mut Capture) -> Vec<TraceRecord> {
    let mut out = Vec::new();
    for _ in 0..500 {
        capture.poll(&mut out).unwrap();
        if capture.pending() == 0 && !out.is_empty() {
            break;
        }
        sleep(Duration::from_millis(10));
    }
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
fn both_ways_tell_the_same() {
    let Some(disk) = Loop::attach(64 << 20) else { return };
    for scheduler in ["none", "mq-deadline"] {
        disk.scheduler(scheduler);
        let Some(mut bpf) = disk.capture(Backend::Ebpf, 8192) else { return };
        let Some(mut tracefs) = disk.capture(Backend::Tracefs, 8192) else { return };
        assert_eq!((bpf.backend(), tracefs.backend()), (Backend::Ebpf, Backend::Tracefs));
        shell(&load(&disk.device));
        let (one, other) = (drain(&mut bpf), drain(&mut tracefs));
        assert_eq!((bpf.lost_events(), tracefs.lost_events(), bpf.given_up(), tracefs.given_up()), (0, 0, 0, 0));
        assert!(one.len() > 400, "{} requests", one.len());
        // The flags that the kernel's letters tell.
        let told = Flags::SYNC | Flags::READ_AHEAD | Flags::META | Flags::FUA | Flags::PREFLUSH;
        // Two CPUs may take numbers and times crosswise, and splitting happens between two looks at the clock.
        let key = |r: &TraceRecord| {
            // The kernel's own request for a flush, which trace events tell of, has no priority.
            let priority = (r.op != Op::Flush).then_some(r.priority);
            (r.lba, r.sectors.0, r.op as u8, (r.flags & told).bits(), r.process, r.parent, r.cpu, priority)
        };
        let sorted = |records: &[TraceRecord]| {
            let mut records = records.to_vec();
            records.sort_by_key(|r| (r.lba, r.sectors, r.process, r.arrival));
            records
        };
        let (one, other) = (sorted(&one), sorted(&other));
        for (a, b) in one.iter().zip(&other) {
            assert_eq!(key(a), key(b), "{scheduler}\n{a:?}\n{b:?}");
            let near = |x: Nanos, y: Nanos| x.0.abs_diff(y.0) < 100_000_000;
            assert!(near(a.arrival, b.arrival), "{a:?} {b:?}");
            assert!(near(a.completion.unwrap(), b.completion.unwrap()), "{a:?} {b:?}");
            assert_eq!(a.issue.is_some(), b.issue.is_some(), "{scheduler}\n{a:?}\n{b:?}");
        }
        assert_eq!(one.len(), other.len());
        assert!(one.iter().any(|r| r.op == Op::Discard) || !disk.device.contains("loop"));
        assert_eq!(bpf.process_names(), tracefs.process_names());
    }
}
