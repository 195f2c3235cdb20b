//! Help, man pages and completions.

use crate::Sandbox;

#[test]
fn help_names_every_command_and_the_exit_codes() {
    let s = Sandbox::new();
    let help = s.ok("--help");
    for command in ["demo", "compare", "simulate", "disk", "scheduler", "trace", "completions", "man", "Exit codes"] {
        assert!(help.contains(command), "{command}: {help}");
    }
    assert!(s.ok("compare --help").contains("bfq:low_latency=0"));
    assert!(s.ok("--version").starts_with("iopilot "));
}

#[test]
fn without_a_command_help_is_shown_and_the_exit_code_tells() {
    let done = Sandbox::new().run("");
    assert_eq!(done.code, 2);
    assert!(done.stderr.contains("Usage"));
}

#[test]
fn completions_of_every_shell() {
    let s = Sandbox::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(s.ok(&format!("completions {shell}")).contains("scheduler"), "{shell}");
    }
}

#[test]
fn man_pages_of_every_command() {
    let s = Sandbox::new();
    assert!(s.ok("man").contains(".TH iopilot 1"));
    s.ok("man --out pages");
    for page in ["iopilot", "iopilot-compare", "iopilot-trace-record", "iopilot-disk-show"] {
        let text = std::fs::read_to_string(s.path().join(format!("pages/{page}.1"))).unwrap();
        assert!(text.contains(".SH SYNOPSIS"), "{page}");
    }
}
