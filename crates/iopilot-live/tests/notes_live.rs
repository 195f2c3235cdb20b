//! What bfq notes of itself for blktrace, of a loop device on a temporary file. Needs root, loop devices and bfq.
#![allow(clippy::unwrap_used)]

mod common;

use common::Loop;
use iopilot_live::{Blktrace, BlockQueue, Noted, TracefsMount};
use iopilot_testing::skipped;
use std::fs;
use std::path::Path;
use std::process::Command;

const JOURNAL: &str = "/run/iopilot/blktrace.json";

/// A loop device under bfq, on a machine whose tracer is free; says what is missing.
fn disk() -> Option<(Loop, TracefsMount)> {
    let disk = Loop::attach(16 << 20)?;
    let tracefs = TracefsMount::open().inspect_err(|e| skipped(&e.to_string())).ok()?;
    let tracer = fs::read_to_string(tracefs.path().join("current_tracer")).unwrap();
    if tracer.trim() != "nop" {
        skipped("somebody else uses the machine's one tracer");
        return None;
    }
    if !Path::new("/sys/block").join(disk.device.trim_start_matches("/dev/")).join("trace").exists() {
        skipped("the kernel has no blktrace (CONFIG_BLK_DEV_IO_TRACE)");
        return None;
    }
    let set = BlockQueue::open(Path::new(&disk.device)).and_then(|queue| queue.set_scheduler("bfq"));
    set.inspect_err(|e| skipped(&e.to_string())).ok()?;
    Some((disk, tracefs))
}

/// The clock that is set, of all that there are.
fn clock(tracefs: &TracefsMount) -> String {
    let all = fs::read_to_string(tracefs.path().join("trace_clock")).unwrap();
    all.split_once('[').unwrap().1.split_once(']').unwrap().0.to_owned()
}

/// One test: there is one tracer.
#[test]
fn bfq_tells_when_it_is_asked_and_everything_is_put_back() {
    let Some((disk, tracefs)) = disk() else { return };
    let before = clock(&tracefs);
    // What a process that was killed left: its number is another's, or nobody's.
    fs::create_dir_all("/run/iopilot").unwrap();
    let left = format!(r#"{{"pid":{},"started":0,"before":[["trace_clock","local"]]}}"#, u32::MAX);
    fs::write(JOURNAL, left).unwrap();

    let mut trace = Blktrace::start(Path::new(&disk.device)).unwrap();
    assert_eq!(clock(&tracefs), "mono");
    let second = Blktrace::start(Path::new(&disk.device)).map(|_| ()).unwrap_err().to_string();
    assert!(second.contains("current_tracer is blk, expected nop"), "{second}");
    let reads = Command::new("dd")
        .arg(format!("if={}", disk.device))
        .args(["of=/dev/null", "bs=64k", "count=8", "iflag=direct", "status=none"])
        .status();
    assert!(reads.unwrap().success());
    trace.poll().unwrap();
    let notes = trace.finish().unwrap();

    assert_eq!(clock(&tracefs), "local", "what was put back for the one before");
    fs::write(tracefs.path().join("trace_clock"), before).unwrap();
    assert_eq!(fs::read_to_string(tracefs.path().join("current_tracer")).unwrap().trim(), "nop");
    assert!(!Path::new(JOURNAL).exists());
    let enabled = fs::read_to_string(format!("/sys/block/{}/trace/enable", disk.device.rsplit('/').next().unwrap()));
    assert_eq!(enabled.unwrap().trim(), "0");

    assert!(notes.is_sorted_by_key(|note| note.time));
    // Each of the eight gets a tag, is handed to bfq, chosen, and sent; others (udev) may read, too.
    let count = |is: fn(Noted) -> bool| notes.iter().filter(|note| is(note.what)).count();
    let counts = [
        count(|what| matches!(what, Noted::Tagged(_))),
        count(|what| matches!(what, Noted::Inserted(_))),
        count(|what| what == Noted::Asked),
        count(|what| what == Noted::Gave),
        count(|what| matches!(what, Noted::Issued(_))),
        count(|what| matches!(what, Noted::Completed(_))),
        count(|what| what == Noted::LetGo),
    ];
    assert!(counts.iter().all(|&n| n >= 8), "{counts:?}");
    assert!(count(|what| what == Noted::InService) >= 1);
}
