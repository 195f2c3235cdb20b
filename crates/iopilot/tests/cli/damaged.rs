//! Damaged traces of every format: one line that names file and line, exit code 2, and nothing half-written.

use crate::Sandbox;

/// A text format, a line that is right and four that are not: cut short, with a negative size, past the end of every
/// disk, and before the line ahead of it.
const LINES: [(&str, &str, [&str; 4]); 13] = [
    ("disksim", "9.0 0 1000 8 1", ["9.5 0 1000 8", "9.5 0 1000 -8 1", "9.5 0 99999999999999 8 1", "8.0 0 1000 8 1"]),
    ("mqsim", "9000 0 1000 8 1", ["9500 0 1000 8", "9500 0 1000 -8 1", "9500 0 99999999999999 8 1", "8000 0 1000 8 1"]),
    (
        "msr",
        "90000,host,0,Read,512000,4096,0",
        [
            "95000,host,0,Read,512000",
            "95000,host,0,Read,512000,-4096,0",
            "95000,host,0,Read,99999999999999488,4096,0",
            "80000,host,0,Read,512000,4096,0",
        ],
    ),
    (
        "msr-ms",
        "9.0 0 512000 4096 1",
        ["9.5 0 512000 4096", "9.5 0 512000 -4096 1", "9.5 0 99999999999999488 4096 1", "8.0 0 512000 4096 1"],
    ),
    (
        "spc",
        "0,1000,4096,R,0.009",
        ["0,1000,4096,R", "0,1000,-4096,R,0.0095", "0,99999999999999,4096,R,0.0095", "0,1000,4096,R,0.008"],
    ),
    (
        "cloudphysics",
        "1,9.0,28,4096,1000",
        ["1,9.5,28,4096", "1,9.5,28,-4096,1000", "1,9.5,28,4096,99999999999999", "1,8.0,28,4096,1000"],
    ),
    (
        "alibaba",
        "0,R,512000,4096,9000",
        ["0,R,512000,4096", "0,R,512000,-4096,9500", "0,R,99999999999999488,4096,9500", "0,R,512000,4096,8000"],
    ),
    (
        "fiu",
        "9000 7 sh 1000 8 R 8 0",
        ["9500 7 sh 1000 8", "9500 7 sh 1000 -8 R 8 0", "9500 7 sh 99999999999999 8 R 8 0", "8000 7 sh 1000 8 R 8 0"],
    ),
    (
        "tencent",
        "1538323199,1000,8,0,1",
        ["1538323200,1000,8", "1538323200,1000,-8,0,1", "1538323200,99999999999999,8,0,1", "1538323198,1000,8,0,1"],
    ),
    (
        "systor17",
        "9.0,0.1,R,0,512000,4096",
        [
            "9.5,0.1,R,0,512000",
            "9.5,0.1,R,0,512000,-4096",
            "9.5,0.1,R,0,99999999999999488,4096",
            "8.0,0.1,R,0,512000,4096",
        ],
    ),
    ("columns", "9000,R,1000,8", ["9500,R,1000", "9500,R,1000,-8", "9500,R,99999999999999,8", "8000,R,1000,8"]),
    (
        "fio-iolog",
        "9000 dev read 512000 4096",
        [
            "9500 dev read 512000",
            "9500 dev read 512000 -4096",
            "9500 dev read 99999999999999488 4096",
            "8000 dev read 0 4096",
        ],
    ),
    (
        "blkparse",
        "  8,16   5        1     0.000009000 18615  Q   R 1000 + 8 [java]",
        [
            "  8,16   5        2     0.000009500 18615  Q   R 1000 +",
            "  8,16   5        2     0.000009500 18615  Q   R 1000 + -8 [java]",
            "  8,16   5        2     0.000009500 18615  Q   R 99999999999999 + 8 [java]",
            "  8,16   5        2     0.000008000 18615  Q   R 1000 + 8 [java]",
        ],
    ),
];

/// What comes before the first request.
fn header(format: &str) -> &'static str {
    match format {
        "fio-iolog" => "fio version 3 iolog\n0 dev add\n0 dev open\n",
        "columns" => "# columns: time_us,op,lba,sectors\n",
        "cloudphysics" => "version,time,op,size,lbn\n",
        _ => "",
    }
}

#[test]
fn damaged_lines_of_every_text_format_are_named() {
    let s = Sandbox::new();
    for (format, good, bad) in LINES {
        let start = format!("{}{good}\n", header(format));
        s.write("good", &start);
        s.ok(&format!("trace stat good --format {format}"));
        for bad in bad {
            s.write("bad", format!("{start}{bad}\n"));
            let line =
                s.refused(&format!("compare bad --disk hd-250-32 --scheduler noop --mode open --format {format}"));
            assert!(line.starts_with("iopilot: bad:"), "{format}: {line}");
            assert!(line.contains(": got ") && line.contains(", expected "), "{format}: {line}");
            if !bad.contains("9999999") {
                let at = start.lines().count() + 1;
                assert!(line.starts_with(&format!("iopilot: bad:{at}: ")), "{format}: {line}");
                let line = s.refused(&format!("trace convert bad out.parquet --format {format}"));
                assert!(line.starts_with(&format!("iopilot: bad:{at}: ")), "{format}: {line}");
                s.refused(&format!("trace stat bad --format {format}"));
            }
        }
        // The last error is one that an option can repair.
        let run = "--disk hd-250-32 --scheduler noop --mode open --json";
        s.ok(&format!("compare bad {run} --format {format} --reorder"));
        let done = s.run(&format!("trace stat bad --format {format} --reorder=1"));
        let told = done.stderr.lines().last();
        assert_eq!((done.code, told), (0, Some("1 record stood late: put in order")), "{format}: {}", done.stderr);
    }
    s.holds_nothing_but(&["small.trace", "good", "bad"]);
}

#[test]
fn what_is_no_trace_is_refused_as_every_format() {
    let s = Sandbox::new();
    let noise: Vec<u8> = (0..8192u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    s.write("noise", noise);
    s.write("empty", "");
    std::fs::create_dir(s.path().join("folder")).unwrap();
    for file in ["noise", "empty", "folder", "missing", "/dev/null"] {
        let line = s.refused(&format!("trace stat {file}"));
        assert!(line.starts_with(&format!("iopilot: {file}")), "{line}");
        s.refused(&format!("trace convert {file} out.parquet"));
        s.refused(&format!("compare {file} --disk hd-250-32 --scheduler noop"));
    }
    let formats = s.ok("trace formats");
    for format in formats.lines().skip(1).filter_map(|l| l.split_whitespace().next()) {
        for file in ["noise", "empty", "folder", "missing"] {
            let line = s.refused(&format!("compare {file} --disk hd-250-32 --scheduler noop --format {format}"));
            assert!(line.starts_with(&format!("iopilot: {file}")), "{format}: {line}");
        }
    }
    // Not even if the format is given.
    let names = formats.lines().skip(1).filter_map(|l| l.split_whitespace().next());
    for format in names {
        for command in ["trace stat empty", "trace convert empty out.parquet"] {
            let line = s.refused(&format!("{command} --format {format}"));
            assert_eq!(line, "iopilot: empty: trace: got an empty file, expected a trace\n", "{format}");
        }
    }
    s.holds_nothing_but(&["small.trace", "noise", "empty", "folder"]);
}

#[test]
fn a_trace_without_requests_is_told() {
    let s = Sandbox::new();
    s.write("none", "# nothing happened\n");
    for command in ["trace stat none", "trace convert none out.parquet"] {
        let done = s.run(&format!("{command} --format disksim"));
        assert_eq!(done.code, 0, "{}", done.stderr);
        assert!(done.stderr.contains("the trace holds no requests"), "{}", done.stderr);
    }
    for workload in ["none --format disksim", "out.parquet"] {
        let line = s.refused(&format!("compare {workload} --disk hd-250-32 --scheduler noop"));
        assert!(line.ends_with(": trace: got no requests, expected at least one\n"), "{line}");
    }
}

#[test]
fn packed_and_binary_traces_that_end_early_are_refused() {
    let s = Sandbox::new();
    for name in ["t.parquet", "t.disksim.gz", "t.disksim.zst"] {
        s.ok(&format!("trace convert small.trace {name}"));
        let whole = std::fs::read(s.path().join(name)).unwrap();
        s.write("cut", &whole[..whole.len() / 2]);
        let line = s.refused("trace stat cut");
        assert!(line.starts_with("iopilot: cut"), "{name}: {line}");
    }
    let Some(traces) = iopilot_testing::data("traces") else { return };
    for (sample, format, bytes) in [
        ("blktrace/keks.blktrace.3", "blktrace", 5003),
        ("cloudphysics/cloudPhysicsIO.vscsi", "vscsi", 3205),
        ("hp/ajw.1week.srt", "hp-srt", 100_003),
    ] {
        let whole = std::fs::read(traces.join(sample)).unwrap();
        s.write("cut", &whole[..bytes]);
        let line = s.refused(&format!("trace stat cut --format {format}"));
        assert!(line.starts_with("iopilot: cut"), "{format}: {line}");
    }
}
