//! `iopilot trace`.

use crate::Sandbox;
use serde_json::Value;

#[test]
fn stat_counts_what_is_there() {
    let s = Sandbox::new();
    let json: Value = serde_json::from_str(&s.ok("trace stat small.trace --json")).unwrap();
    assert_eq!(json["requests"], 400);
    assert!(s.ok("trace stat small.trace").contains("400"));
}

#[test]
fn a_converted_trace_replays_the_same() {
    let s = Sandbox::new();
    s.ok("trace convert small.trace small.parquet");
    let runs = |trace: &str| {
        let json = s.ok(&format!("simulate -w {trace} --disk hd-250-32 -s noop --mode open --json"));
        serde_json::from_str::<Value>(&json).unwrap()["runs"].clone()
    };
    assert_eq!(runs("small.trace"), runs("small.parquet"));
}

#[test]
fn formats_that_can_be_written_are_marked() {
    let s = Sandbox::new();
    let formats = s.ok("trace formats");
    assert!(formats.contains("blkparse") && formats.contains("parquet"), "{formats}");
    let line = s.refused("trace convert small.trace out.x --to blkparse");
    assert!(line.contains("blkparse"), "{line}");
}

#[test]
fn recording_without_a_device_is_refused() {
    let s = Sandbox::new();
    let line = s.refused("trace record /dev/nowhere -o out.parquet -- true");
    assert!(line.contains("/dev/nowhere"), "{line}");
}

/// Runs `iopilot` with `input` on its standard input: exit code, standard output, standard error.
fn piped(s: &Sandbox, line: &str, input: &[u8]) -> (i32, String, String) {
    use std::io::Write;
    use std::process::Stdio;
    let mut command = s.command();
    command.args(line.split_whitespace()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn a_dash_is_standard_input() {
    let s = Sandbox::new();
    let trace = std::fs::read(s.path().join("small.trace")).unwrap();
    let (code, out, err) = piped(&s, "trace stat - --json", &trace);
    assert_eq!(code, 0, "{err}");
    assert_eq!(serde_json::from_str::<Value>(&out).unwrap()["requests"], 400);
    let (code, _, err) = piped(&s, "trace convert - out.parquet", &trace);
    assert_eq!(code, 0, "{err}");
    let (code, _, err) = piped(&s, "simulate -w - -d hd-250-32 -s none --json", &trace);
    assert_eq!(code, 0, "{err}");
    let job = b"[a]\nfilename=/dev/x\ndirect=1\nrw=randread\nnumber_ios=50\n";
    let (code, out, err) = piped(&s, "simulate -w - --format fio -d hd-250-32 -s none --json", job);
    assert_eq!(code, 0, "{err}");
    assert_eq!(serde_json::from_str::<Value>(&out).unwrap()["runs"][0]["requests"], 50);
    let (code, _, err) = piped(&s, "trace stat -", b"hello\n");
    assert_eq!((code, err.starts_with("iopilot: standard input: trace format: got hello")), (2, true), "{err}");
}

#[test]
fn columns_are_named_where_no_format_fits() {
    let s = Sandbox::new();
    s.write("mine.csv", "when,what,at,size\n5,Read,4096,512\n9,Write,8192,4096\n");
    let json: Value =
        serde_json::from_str(&s.ok("trace stat mine.csv --columns time_us,op,offset,bytes --json")).unwrap();
    assert_eq!((&json["reads"], &json["written_bytes"]), (&Value::from(1), &Value::from(4096)));
    s.ok("simulate -w mine.csv --columns time_us,op,offset,bytes -d hd-250-32 -s none");
    let line = s.refused("trace stat mine.csv --columns time_us,op,offset");
    assert!(line.contains("exactly one of sectors or bytes"), "{line}");
    let line = s.refused("trace stat mine.csv --format msr --columns time_us,op,offset,bytes");
    assert!(line.contains("--format: got msr, expected columns, or no --columns"), "{line}");
}

#[test]
fn what_several_formats_fit_is_asked_for_and_what_is_assumed_is_told() {
    let s = Sandbox::new();
    let lines: String = (0..40).map(|i| format!("{}.5 0 {} 512 {}\n", i * 10, i * 512, i % 2)).collect();
    s.write("aligned.trace", lines);
    let line = s.refused("trace stat aligned.trace");
    assert!(line.contains("--format disksim (requests up to 256 KiB") && line.contains("--format msr-ms"), "{line}");
    s.ok("trace stat aligned.trace --format disksim");
    s.write("seconds.csv", "version,time,op,size,lbn\n1,5000000,2a,4096,1000\n1,5007200,28,4096,9000\n");
    let done = s.run("trace stat seconds.csv --json");
    assert_eq!(serde_json::from_str::<Value>(&done.stdout).unwrap()["span_s"], 7200.0);
    assert!(done.stderr.contains("taken for whole seconds"), "{}", done.stderr);
    s.write("ends.txt", "8,0 0 1 0.1 0 C R 8 + 8 [0]\n8,0 0 2 0.2 0 C W 64 + 8 [0]\n");
    let done = s.run("compare ends.txt -d hd-250-32 -s none");
    assert_eq!(done.code, 0, "{}", done.stderr);
    assert!(format!("{}{}", done.stdout, done.stderr).contains("2 records of a completion alone"), "{}", done.stderr);
}
