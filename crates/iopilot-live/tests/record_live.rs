//! Records a real block device: a loop device on a temporary file. Needs root and loop devices.
#![allow(clippy::unwrap_used)]

mod common;

use common::Loop;
use iopilot_block::{Flags, Lba, Op, Sectors};
use iopilot_live::{LiveError, RecordOptions, TracefsMount, record};
use iopilot_testing::skipped;
use iopilot_trace::{InferOptions, infer};
use std::ffi::OsString;
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

fn our_instances(tracefs: &TracefsMount) -> usize {
    let own = format!("iopilot-{}-", std::process::id());
    let names = fs::read_dir(tracefs.instances()).unwrap().flatten();
    names.filter(|e| e.file_name().to_string_lossy().starts_with(&own)).count()
}

fn shell(script: &str) -> Option<Vec<OsString>> {
    Some(["sh", "-c", script].map(OsString::from).to_vec())
}

/// One test, so that no other recording of this process shows up among the instances.
#[test]
fn records_what_a_program_did_to_a_device() {
    let Some(disk) = Loop::attach(16 << 20) else { return };
    let tracefs = match TracefsMount::open() {
        Ok(tracefs) => tracefs,
        Err(e) => return skipped(&e.to_string()),
    };
    let script = format!(
        "dd if={0} of=/dev/null bs=64k count=20 iflag=direct status=none; \
         dd if=/dev/zero of={0} bs=4k count=5 oflag=direct seek=1000 status=none; exit 3",
        disk.device
    );
    let mut options = RecordOptions::new(&disk.device);
    options.command = shell(&script);
    options.duration = Some(Duration::from_secs(60));
    let mut records = Vec::new();
    let summary = record(&options, &mut |r| {
        records.push(r);
        ControlFlow::Continue(())
    })
    .unwrap();
    assert_eq!(summary.exit_status.unwrap().code(), Some(3));
    assert_eq!((summary.lost_events, summary.incomplete, summary.signal), (0, 0, None));
    assert_eq!(summary.requests, records.len() as u64);

    // Others (udev) may look at the device, too.
    let reader = records.iter().find(|r| r.sectors == Sectors(128)).unwrap().process;
    assert_eq!(summary.process_names[&reader.unwrap().0], "dd");
    let reads: Vec<_> = records.iter().filter(|r| r.process == reader).collect();
    let places: Vec<_> = reads.iter().map(|r| (r.op, r.lba, r.sectors)).collect();
    let expected: Vec<_> = (0..20).map(|i| (Op::Read, Lba(i * 128), Sectors(128))).collect();
    assert_eq!(places, expected);
    let writes: Vec<_> = records.iter().filter(|r| r.op == Op::Write).collect();
    assert_eq!(writes.iter().map(|r| r.lba).collect::<Vec<_>>(), (1000..1005).map(|i| Lba(i * 8)).collect::<Vec<_>>());
    assert!(writes.iter().all(|r| r.flags.contains(Flags::SYNC) && r.process != reader && r.parent == reads[0].parent));
    for pair in records.windows(2) {
        assert!(pair[0].arrival <= pair[1].arrival);
    }
    for r in &records {
        let (issue, completion) = (r.issue.unwrap(), r.completion.unwrap());
        assert!(r.arrival <= issue && issue < completion, "{r:?}");
        assert!(r.process_start.unwrap() <= r.arrival);
    }
    for pair in reads.windows(2) {
        assert!(pair[0].completion.unwrap() < pair[1].arrival, "each direct read waits for the one before");
    }
    let deps = infer(&records, &InferOptions::default()).unwrap();
    let first_write = records.iter().position(|r| r.op == Op::Write).unwrap() as u32;
    let awaited: Vec<_> = deps.cross_process(first_write).map(|i| records[i as usize].lba).collect();
    assert_eq!(awaited, [reads[19].lba], "the shell started the second dd after the first had ended");
    assert_eq!(our_instances(&tracefs), 0, "nothing is left in the kernel");

    // A signal ends it in order; the next recorder removes what a killed one left.
    let leftover = tracefs.instances().join("iopilot-4194305-0");
    let made = fs::create_dir(&leftover).is_ok();
    options.command = shell("kill -TERM $PPID; exec sleep 60");
    let summary = record(&options, &mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!((summary.signal, summary.exit_status.unwrap().code()), (Some(15), None));
    assert_eq!(our_instances(&tracefs), 0);
    assert!(made && !leftover.exists(), "no process has a number above 4194304");

    // A command that cannot be started leaves nothing, either.
    options.command = Some(vec!["/no/such/program".into()]);
    let error = record(&options, &mut |_| ControlFlow::Continue(())).unwrap_err();
    assert!(matches!(error, LiveError::Command { .. }), "{error}");
    assert!(error.to_string().starts_with("/no/such/program: No such file"));
    assert_eq!(our_instances(&tracefs), 0);

    // Nor does a sink that panics, or one that ends the recording.
    options.command = shell(&script);
    let panicked = std::panic::catch_unwind(|| record(&options, &mut |_| panic!("on purpose")));
    assert!(panicked.is_err());
    assert_eq!(our_instances(&tracefs), 0);
    options.command =
        shell(&format!("dd if={} of=/dev/null bs=4k iflag=direct status=none; exec sleep 60", disk.device));
    let summary = record(&options, &mut |_| ControlFlow::Break(())).unwrap();
    assert_eq!(summary.exit_status.unwrap().code(), None, "the command was ended by a signal");
    assert!(Path::new(&disk.device).exists());
}
