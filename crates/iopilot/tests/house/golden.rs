//! The scripts of `tests/golden`: the figures of a result, and the comparison of two lists of results.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Runs run.sh with these arguments and this input. Returns what it prints and its exit code.
fn run(arguments: &[&str], input: &str) -> (String, Option<i32>) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/run.sh");
    let mut child = Command::new("bash")
        .arg(script)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("bash runs");
    // The script may end before it has read everything.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let done = child.wait_with_output().unwrap();
    (String::from_utf8(done.stdout).unwrap(), done.status.code())
}

fn compared(before: &str, after: &str) -> (String, Option<i32>) {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    run(&["compare", &path("before", before), &path("after", after)], "")
}

#[test]
fn figures_are_those_of_the_simulations() {
    let simulated = r#"{
  "machine": {
    "queue_depth": 32
  },
  "runs": [
    {
      "scheduler": "bfq",
      "requests": 230,
      "elapsed_s": 0.975699723,
      "response_ms": {
        "mean": 11.9
      },
      "wait_ms_mean": 9.333227295698926,
      "processes": [
        {
          "process": 301,
          "requests": 110
        }
      ]
    },
    {
      "scheduler": "prio(clook):limited=1",
      "requests": 0,
      "elapsed_s": 0.0,
      "wait_ms_mean": null
    }
  ],
  "verdict": {
    "elapsed_s": 3.0
  }
}
"#;
    let expected = "    0.9757 s  9.33323 ms  230  bfq\n    0 s  - ms  0  prio(clook):limited=1\n";
    assert_eq!(run(&["figures"], simulated).0, expected);
    let of_a_system = r#"{
  "requests": 100,
  "response_ms": {
    "mean": 7.5
  },
  "overall": {
    "response_ms": {
      "mean": 9.28529857
    },
    "read_response_ms": {
      "mean": 12.1
    }
  },
  "simulated_ms": 1548.86
}
"#;
    assert_eq!(run(&["figures"], of_a_system).0, "    1.54886 s  9.2853 ms  100  disksim\n");
    let listing = "{\n  \"schedulers\": [\n    {\n      \"requests\": 1\n    }\n  ]\n}\n";
    assert_eq!(run(&["figures"], listing).0, "");
}

const BEFORE: &str = "\
1111111111111111  iopilot simulate a
    12.3 s  4 ms  100  bfq
    20 s  5 ms  200  none
2222222222222222  iopilot simulate b
    1 s  - ms  10  none
3333333333333333  iopilot disk list
4444444444444444  iopilot disk show x
";

#[test]
fn equal_results_are_equal() {
    let (told, code) = compared(BEFORE, BEFORE);
    assert_eq!((told.as_str(), code), ("golden: 4 runs: 4 equal, 0 differ, 0 failed, 0 new, 0 gone\n", Some(0)));
}

#[test]
fn what_moved_is_told_with_both_figures_and_the_percent() {
    let after = "\
1111111111111112  iopilot simulate a
    12.34 s  4 ms  100  bfq
    19 s  5.5 ms  200  none
2222222222222223  iopilot simulate b
    1 s  - ms  10  none
3333333333333334  iopilot disk list
5555555555555555  iopilot disk show y
";
    let (told, code) = compared(BEFORE, after);
    let expected = "\
differs  iopilot simulate a
             bfq: elapsed 12.3 -> 12.34 s (+0.33 %)
             none: elapsed 20 -> 19 s (-5 %), wait 5 -> 5.5 ms (+10 %)
differs  iopilot simulate b
             elapsed, wait and requests as before: another part of the result moved
differs  iopilot disk list
new      iopilot disk show y
gone     iopilot disk show x
golden: 3 simulations: elapsed -1.6 % on the mean, at most -5 %; wait +5 % on the mean, at most +10 %; \
requests as before
golden: 4 runs: 0 equal, 3 differ, 0 failed, 1 new, 1 gone
";
    assert_eq!((told.as_str(), code), (expected, Some(1)));
}

#[test]
fn simulations_come_and_go_and_runs_fail() {
    let after = "\
1111111111111112  iopilot simulate a
    12.3 s  4 ms  100  cfq
2222222222222223  iopilot simulate b
    1 s  2 ms  10  none
    3 s  4 ms  10  bfq
FAILED            iopilot disk list
4444444444444444  iopilot disk show x
";
    let (told, code) = compared(BEFORE, after);
    let expected = "\
differs  iopilot simulate a
             cfq: scheduler bfq -> cfq
             gone: 20 s  5 ms  200  none
differs  iopilot simulate b
             none: wait - -> 2 ms
             new: 3 s  4 ms  10  bfq
golden: 2 simulations: elapsed as before; wait as before; requests as before
golden: 4 runs: 1 equal, 2 differ, 1 failed, 0 new, 0 gone
";
    assert_eq!((told.as_str(), code), (expected, Some(2)));
}
