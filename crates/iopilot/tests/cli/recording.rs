//! `iopilot trace record` on a loop device. Needs root and loop devices; prints a line if they are missing.
#![cfg(target_os = "linux")]

use crate::Sandbox;
use crate::loop_device::Loop;
use iopilot_live::TracefsMount;
use iopilot_testing::{has, skipped, wait};
use serde_json::Value;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// For a shell in a mount namespace of its own: tracefs is where it is looked for.
pub(crate) const MOUNT_TRACEFS: &str =
    "[ -e /sys/kernel/tracing/instances ] || mount -t tracefs tracefs /sys/kernel/tracing";

/// The instance of the process `pid`.
fn instance(tracefs: &TracefsMount, pid: u32) -> PathBuf {
    tracefs.instances().join(format!("iopilot-{pid}-0"))
}

/// Starts a recording without end, and waits until it runs.
fn start(s: &Sandbox, tracefs: &TracefsMount, device: &str, output: &str) -> Child {
    let mut command = s.command();
    // BPF leaves nothing that could be seen.
    command.args(["trace", "record", device, "-o", output, "--backend", "tracefs"]);
    let mut child = command.stderr(Stdio::null()).spawn().unwrap();
    let on = instance(tracefs, child.id()).join("tracing_on");
    wait("the recording starts", || {
        assert!(child.try_wait().unwrap().is_none(), "the recording ended at once");
        fs::read_to_string(&on).is_ok_and(|t| t.trim() == "1")
    });
    child
}

fn signal(name: &str, child: &Child) {
    assert!(Command::new("kill").args([name, &child.id().to_string()]).status().unwrap().success());
}

/// One test for all, as its parts share the machine's tracing.
#[test]
fn records_what_a_command_does_and_leaves_nothing() {
    let s = Sandbox::new();
    if !has(&["root", "kill"]) {
        return;
    }
    let Some(disk) = Loop::attach(&s, 8 << 20) else { return };
    let tracefs = match TracefsMount::open() {
        Ok(tracefs) => tracefs,
        Err(e) => return skipped(&e.to_string()),
    };
    let device = disk.0.as_str();

    // The exit code is the command's.
    let read = format!("dd if={device} of=/dev/null bs=4k count=16 iflag=direct status=none; exit 7");
    let record = |output: &str, script: &str| {
        s.command().args(["trace", "record", device, "-o", output, "--", "sh", "-c", script]).output().unwrap()
    };
    assert_eq!(record("out.parquet", &read).status.code(), Some(7));
    let stat: Value = serde_json::from_str(&s.ok("trace stat out.parquet --json")).unwrap();
    assert!(stat["reads"].as_u64().unwrap() >= 16, "{stat}");
    let mut names = stat["processes"].as_array().unwrap().iter().map(|p| &p["name"]);
    assert!(names.any(|n| n == "dd"), "{stat}");
    s.ok("compare out.parquet --disk wd1200bb --scheduler none,bfq");
    assert_eq!(record("killed.parquet", "kill -9 $$").status.code(), Some(137));
    let done = s.run(&format!("trace record {device} -o timed.parquet --duration 1 -- sleep 60"));
    assert_eq!(done.code, 0, "ended as asked for: {}", done.stderr);

    // A failed recording leaves no file.
    s.refused(&format!("trace record {device} -o none.parquet -- /no/such/program"));
    s.refused("trace record small.trace -o none.parquet -- true");
    s.refused("trace record /dev/null -o none.parquet -- true");

    // ctrl-C ends it in order.
    let mut child = start(&s, &tracefs, device, "interrupted.parquet");
    signal("-INT", &child);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(!instance(&tracefs, child.id()).exists());
    s.ok("trace stat interrupted.parquet");

    // The next recorder removes what a killed one left.
    let mut child = start(&s, &tracefs, device, "lost.parquet");
    signal("-KILL", &child);
    child.wait().unwrap();
    assert!(instance(&tracefs, child.id()).exists() && !s.path().join("lost.parquet").exists());
    let next = s.run(&format!("trace record {device} -o next.parquet --backend tracefs -- true"));
    assert_eq!(next.code, 0, "{}", next.stderr);
    assert!(!instance(&tracefs, child.id()).exists());

    // Where programs may not be loaded, trace events do; but not where programs were asked for.
    // They cannot mount tracefs for themselves then.
    let without_bpf = |backend: &str| {
        let mut command = Command::new("unshare");
        let denied = "--bounding-set=-sys_admin,-bpf,-perfmon --inh-caps=-sys_admin,-bpf,-perfmon";
        let script = format!("{MOUNT_TRACEFS}; exec setpriv {denied} -- \"$0\" \"$@\"");
        command.args(["--mount", "sh", "-c", &script, env!("CARGO_BIN_EXE_iopilot")]).current_dir(s.path());
        command.args(["trace", "record", device, "-o", "denied.parquet", "--backend", backend, "--"]);
        command.args([
            "dd",
            &format!("if={device}"),
            "of=/dev/null",
            "bs=4k",
            "count=5",
            "iflag=direct",
            "status=none",
        ]);
        command.output().unwrap()
    };
    if has(&["unshare", "setpriv"]) {
        let out = without_bpf("auto");
        let told = String::from_utf8(out.stderr).unwrap();
        assert_eq!(out.status.code(), Some(0), "{told}");
        assert!(!told.contains("BPF"), "trace events need none: {told}");
        let stat: Value = serde_json::from_str(&s.ok("trace stat denied.parquet --json")).unwrap();
        assert!(stat["reads"].as_u64().unwrap() >= 5, "{stat}");
        fs::remove_file(s.path().join("denied.parquet")).unwrap();
        let out = without_bpf("ebpf");
        let told = String::from_utf8(out.stderr).unwrap();
        assert_eq!(out.status.code(), Some(2), "{told}");
        assert!(told.lines().count() == 1 && told.contains("BPF: "), "{told}");
        assert!(!s.path().join("denied.parquet").exists());
    }
    assert!(!s.path().join("none.parquet").exists());
}

#[test]
fn without_root_recording_says_what_it_needs() {
    let s = Sandbox::new();
    let device = fs::read_dir("/sys/block").ok().and_then(|mut devices| devices.next());
    let Some(device) = device else { return skipped("there is no block device") };
    let device = Path::new("/dev").join(device.unwrap().file_name());
    let program = s.path().join("iopilot");
    fs::copy(env!("CARGO_BIN_EXE_iopilot"), &program).unwrap();
    for path in [s.path(), &program] {
        fs::set_permissions(path, Permissions::from_mode(0o777)).unwrap();
    }
    let mut command = Command::new(program);
    command.args(["trace".as_ref(), "record".as_ref(), device.as_os_str()]).args(["-o", "out.parquet", "--", "true"]);
    if fs::metadata("/proc/self").unwrap().uid() == 0 {
        command.uid(65534).gid(65534);
    }
    let out = command.current_dir(s.path()).output().unwrap();
    let line = String::from_utf8(out.stderr).unwrap();
    assert_eq!(out.status.code(), Some(2), "{line}");
    assert!(line.lines().count() == 1 && line.contains("needs root"), "{line}");
    s.holds_nothing_but(&["small.trace", "iopilot"]);
}
