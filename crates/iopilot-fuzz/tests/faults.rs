//! The fuzzer finds faults of every kind, keeps the input, and says how to reproduce them.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::{Command, Output};

fn fuzz(out: &Path, args: &str) -> Output {
    let program = Command::new(env!("CARGO_BIN_EXE_iopilot-fuzz")).arg("--out").arg(out).args(args.split(' ')).output();
    program.unwrap()
}

fn found(name: &str, options: &str, what: &str) {
    let out = tempfile::tempdir().unwrap();
    let done = fuzz(out.path(), &format!("{name} --iterations 10000 --seconds 60 {options}"));
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    assert_eq!(done.status.code(), Some(1), "{text}");
    assert!(text.contains("FAILED at input ") && text.contains(what), "{text}");
    let kept = text.rsplit_once(" --rerun ").unwrap().1.trim();
    assert!(std::fs::read(kept).unwrap().contains(&b'7'), "the input that fails is the one that is kept");
}

#[test]
fn a_panic_is_found_and_reproduced() {
    found("faulty-panic", "--hang 60", "this input is bad");
    let out = tempfile::tempdir().unwrap();
    let bad = out.path().join("bad");
    std::fs::write(&bad, "0.7").unwrap();
    let again = fuzz(out.path(), &format!("faulty-panic --rerun {}", bad.display()));
    assert!(!again.status.success() && String::from_utf8_lossy(&again.stderr).contains("this input is bad"));
}

#[test]
fn an_endless_loop_is_found() {
    found("faulty-loop", "--hang 1", "no answer in 1 s on a CPU");
}

#[test]
fn exhausted_memory_is_found() {
    found("faulty-memory", "--hang 60", "signal");
}

#[test]
fn a_stack_overflow_is_found() {
    found("faulty-recursion", "--hang 60", "overflowed its stack");
}

#[test]
fn a_target_without_a_fault_leaves_nothing() {
    let out = tempfile::tempdir().unwrap();
    let done = fuzz(out.path(), "scheduler spc --iterations 200 --seconds 60");
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(done.status.success() && text.matches(" kinds of answer").count() == 2, "{text}");
    assert_eq!(std::fs::read_dir(out.path()).unwrap().count(), 0);
    assert_eq!(fuzz(out.path(), "no-such-target").status.code(), Some(2));
}
