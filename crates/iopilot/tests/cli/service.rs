//! The systemd unit and its configuration, as they are shipped: systemd takes them, and the daemon can fly with what the
//! unit leaves it.
#![cfg(target_os = "linux")]

use crate::Sandbox;
use crate::flying::{Flight, Readers, is_as_before, status, tuned};
use iopilot_live::{Backend, Capture, CaptureOptions};
use iopilot_testing::{has, skipped, wait};
use std::process::{Command, Stdio};

const UNIT: &str = include_str!("../../../../contrib/iopilot-dads.service");

/// What the unit sets `key` to.
fn set_to(key: &str) -> &'static str {
    let value = |line: &'static str| line.strip_prefix(key)?.strip_prefix('=');
    UNIT.lines().find_map(value).unwrap_or_else(|| panic!("the unit has no {key}"))
}

#[test]
fn systemd_takes_the_unit() {
    let s = Sandbox::new();
    // Where systemd looks for the program, it is.
    s.write("iopilot-dads.service", UNIT.replace("/usr/bin/iopilot", env!("CARGO_BIN_EXE_iopilot")));
    let verify = ["verify", "--man=no", "./iopilot-dads.service"];
    if !has(&["systemd-analyze"]) {
        return;
    }
    let done = Command::new("systemd-analyze").args(verify).current_dir(s.path()).output().unwrap();
    let told = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.success() && told.is_empty(), "{told}");
}

#[test]
fn systemd_takes_the_unit_of_a_cached_disk() {
    let s = Sandbox::new();
    let unit = include_str!("../../../../contrib/iopilot-redcap@.service");
    s.write("iopilot-redcap@dev-sdb1.service", unit.replace("/usr/bin/iopilot", env!("CARGO_BIN_EXE_iopilot")));
    if !has(&["systemd-analyze"]) {
        return;
    }
    let mut verify = Command::new("systemd-analyze");
    verify.args(["verify", "--man=no", "./iopilot-redcap@dev-sdb1.service"]).current_dir(s.path());
    let done = verify.output().unwrap();
    let told = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.success() && told.is_empty(), "{told}");
}

#[test]
fn its_commands_are_commands_of_this_program() {
    let s = Sandbox::new();
    for key in ["ExecStart", "ExecStopPost"] {
        let words = set_to(key).strip_prefix("/usr/bin/iopilot ").unwrap();
        let subcommand: Vec<&str> = words.split(' ').take(2).collect();
        let options = words.split(' ').filter(|word| word.starts_with("--"));
        let help = s.ok(&format!("{} --help", subcommand.join(" ")));
        options.for_each(|option| assert!(help.contains(option), "{key}: {option}"));
    }
}

#[test]
fn what_the_unit_leaves_the_daemon_is_enough_to_fly() {
    let names = set_to("CapabilityBoundingSet").split(' ').map(|cap| cap.trim_start_matches("CAP_").to_lowercase());
    let bounding: String =
        std::iter::once("--bounding-set=-all".to_owned()).chain(names.map(|c| format!(",+{c}"))).collect();
    let confined = |what: &[&str]| {
        let mut command = Command::new("setpriv");
        command.args([&bounding, "--no-new-privs"]).args(what);
        command
    };
    let works = confined(&["true"]).stderr(Stdio::null()).status().is_ok_and(|status| status.success());
    let Some((s, disk)) = tuned() else { return };
    if !has(&["root", "setpriv", "/sys/kernel/btf/vmlinux"]) {
        return;
    }
    if !works {
        return skipped("this root may not give up capabilities");
    }
    let options = CaptureOptions { backend: Backend::Ebpf, ..CaptureOptions::new(&disk.0) };
    if let Err(e) = Capture::start(&options) {
        let e = e.to_string();
        return skipped(&format!("cannot capture by ebpf: {}", e.rsplit(": ").next().unwrap_or(&e)));
    }
    let mut daemon = confined(&[env!("CARGO_BIN_EXE_iopilot")]);
    daemon.current_dir(s.path());
    let flight = Flight::start_as(daemon, &s, &[&disk.0], "--disk hd-500-16", "");
    assert_eq!(status(&s)["capture"], "ebpf", "{}", status(&s));
    let readers = Readers::start(&disk.0);
    wait("bfq takes over", || disk.queue("scheduler").contains("[bfq]"));
    drop(readers);
    assert_eq!(flight.end("-TERM"), Some(0));
    assert!(is_as_before(&disk));
}
