//! Programs at the other end of standard output.

use crate::Sandbox;
use std::process::Stdio;

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let s = Sandbox::new();
    for line in ["completions bash", "scheduler list", "--help", "compare --help"] {
        let mut child =
            s.command().args(line.split_whitespace()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert!(output.stderr.is_empty(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.status.code(), Some(0), "{line}");
    }
}

#[test]
fn what_is_not_a_terminal_gets_no_colours_and_no_progress() {
    let s = Sandbox::new();
    let done = s.run("compare small.trace --disk hd-250-32");
    assert!(!done.stdout.contains('\x1b') && !done.stderr.contains('\x1b'));
    assert!(done.stderr.is_empty(), "{}", done.stderr);
}
