//! Bad input: one line that names what is wrong and what was expected, and exit code 2.

use crate::Sandbox;
use iopilot_testing::has;

#[test]
fn unknown_names_come_with_the_nearest_known() {
    let s = Sandbox::new();
    let line = s.refused("compare small.trace --disk hd-250-32 --scheduler deadlien");
    assert!(line.contains("deadlien") && line.contains("`deadline`"), "{line}");
    let line = s.refused("compare small.trace --disk hd-250-32 --scheduler mq-deadline:fifo_bach=4");
    assert!(line.contains("fifo_bach") && line.contains("fifo_batch"), "{line}");
    let line = s.refused("compare small.trace --disk hd-250-33");
    assert!(line.contains("hd-250-33") && line.contains("hd-250-32"), "{line}");
    let line = s.refused("disk show hd-250-33");
    assert!(line.contains("hd-250-32"), "{line}");
    let line = s.refused("scheduler show bqf");
    assert!(line.contains("bfq"), "{line}");
}

#[test]
fn a_tunable_out_of_range_tells_the_range() {
    let s = Sandbox::new();
    let line = s.refused("compare small.trace --disk hd-250-32 --scheduler mq-deadline:fifo_batch=-1");
    assert!(line.contains("fifo_batch") && line.contains("-1"), "{line}");
    let line = s.refused("compare small.trace --disk hd-250-32 --scheduler mq-deadline:fifo_batch");
    assert!(line.contains("TUNABLE=VALUE"), "{line}");
}

#[test]
fn an_unknown_key_of_a_description_is_named_with_its_file_and_line() {
    let s = Sandbox::new();
    let description = s.ok("disk show hd-250-32 --toml");
    s.write("mine.toml", format!("colour = \"red\"\n{description}"));
    let line = s.refused("compare small.trace --disk mine.toml");
    assert!(line.contains("mine.toml") && line.contains("colour"), "{line}");
    s.write("machine.toml", "disk = \"hd-250-32\"\n\n[block]\nnr_request = 64\n");
    let line = s.refused("compare small.trace --machine machine.toml");
    assert!(line.contains("machine.toml:4") && line.contains("nr_request"), "{line}");

    let array = "[array]\nlevel = \"raid5\"\nmembers = 4\ndisk = \"hd-250-32\"\nfailed = [1, 2]\n";
    s.write("array.toml", array);
    let line = s.refused("compare small.trace --machine array.toml");
    assert!(line.contains("array.toml:5: array.failed: got [1, 2]"), "{line}");
}

#[test]
fn a_trace_that_is_missing_cut_short_or_noise_is_refused() {
    let s = Sandbox::new();
    assert!(s.refused("compare nowhere.trace --disk hd-250-32").contains("nowhere.trace"));
    assert!(s.refused("trace stat nowhere.trace").contains("nowhere.trace"));
    let cut = crate::small_trace();
    let cut = &cut[..cut.len() - 6];
    s.write("cut.trace", cut);
    let line = s.refused("compare cut.trace --disk hd-250-32 --scheduler noop");
    assert!(line.contains("cut.trace:400"), "{line}");
    s.write("negative.trace", "0.0 0 1000 8 1\n1.0 0 1000 -8 1\n");
    let line = s.refused("compare negative.trace --disk hd-250-32 --scheduler noop --format disksim");
    assert!(line.contains("negative.trace:2") && line.contains("-8"), "{line}");
    let noise: Vec<u8> = (0..4096u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    s.write("noise", noise);
    assert!(s.refused("compare noise --disk hd-250-32").contains("noise"));
    s.write("empty", "");
    assert!(s.refused("compare empty --disk hd-250-32").contains("empty"));
}

#[test]
fn usage_errors_take_one_line() {
    let s = Sandbox::new();
    assert!(s.refused("compare small.trace").contains("--disk"));
    assert!(s.refused("compar small.trace").contains("compare"));
    assert!(s.refused("compare small.trace --disk d --mode opne").contains("open"));
    assert!(s.refused("demo --threads 0").contains("--threads"));
    assert!(s.refused("compare small.trace --disk hd-250-32 --format dsksim").contains("disksim"));
}

#[test]
fn simulate_takes_one_workload_in_any_form() {
    let s = Sandbox::new();
    let [place, long, short] = ["small.trace", "--workload small.trace", "-w small.trace"]
        .map(|form| s.ok(&format!("simulate {form} --disk hd-250-32 --scheduler noop --json")));
    // Wall-clock times differ.
    let runs = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap()["runs"][0]["requests"].clone();
    assert_eq!((runs(&place), runs(&place)), (runs(&long), runs(&short)));
    let line = s.refused("simulate small.trace -w small.trace --disk hd-250-32");
    assert!(line.contains("'[WORKLOAD]' cannot be used with '--workload <FILE>'"), "{line}");
    let line = s.refused("simulate --disk hd-250-32");
    assert!(line.contains("not provided: <WORKLOAD>"), "{line}");
}

#[test]
fn numbers_out_of_range_tell_the_option_and_what_it_takes() {
    let s = Sandbox::new();
    for (option, got) in [
        ("--population", "0"),
        ("--limit", "0"),
        ("--threads", "0"),
        ("--window", "0"),
        ("--seed", "x"),
        ("--mode", "x"),
        ("--time-scale", "-1"),
        ("--time-scale", "nan"),
    ] {
        let line = s.refused(&format!("compare small.trace --disk hd-250-32 {option} {got}"));
        assert!(line.contains(option.trim_start_matches('-')), "{line}");
        assert!(line.to_lowercase().contains(&format!("got {got}, expected")), "{line}");
    }
}

#[test]
fn a_scheduler_given_twice_is_refused() {
    let s = Sandbox::new();
    let line = s.refused("compare small.trace --disk hd-250-32 --scheduler noop,bfq:low_latency=0,noop");
    assert!(line.contains("noop twice"), "{line}");
    s.ok("compare small.trace --disk hd-250-32 --scheduler bfq,bfq:low_latency=0");
}

#[test]
fn what_is_no_description_is_refused() {
    let s = Sandbox::new();
    s.write("noise", [0xffu8, 0, 0x80, 0x13]);
    s.write("empty", "");
    for file in ["noise", "empty", "nowhere.toml", "."] {
        for option in ["--disk", "--machine"] {
            let line = s.refused(&format!("compare small.trace {option} {file} --scheduler noop"));
            assert!(line.contains(file), "{option} {file}: {line}");
        }
    }
}

#[test]
fn a_full_disk_is_told_and_a_device_is_never_replaced() {
    let s = Sandbox::new();
    if !has(&["/dev/full"]) {
        return;
    }
    // A link, so that a mistake costs the link alone.
    let link = s.path().join("full.parquet");
    std::os::unix::fs::symlink("/dev/full", &link).unwrap();
    for line in [
        "compare small.trace --disk hd-250-32 --scheduler noop --report full.parquet",
        "trace convert small.trace full.parquet",
    ] {
        let line = s.refused(line);
        assert!(line.contains("full.parquet") && line.contains("No space left"), "{line}");
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    }
}

#[test]
fn a_file_that_cannot_be_written_is_refused_before_the_run() {
    let s = Sandbox::new();
    let line = s.refused("compare small.trace --disk hd-250-32 --report nowhere/report.html");
    assert!(line.contains("--report") && line.contains("nowhere/report.html"), "{line}");
    let line = s.refused("compare small.trace --disk hd-250-32 --report /proc/report.html");
    assert!(line.contains("--report") && line.contains("can be written"), "{line}");
    let line = s.refused("trace convert small.trace .");
    assert!(line.contains("not a folder"), "{line}");
    let line = s.refused("simulate -w small.trace --disk hd-250-32 -s noop,none --requests-out x.parquet");
    assert!(line.contains("one scheduler"), "{line}");
}

#[test]
fn a_scheduler_that_needs_an_arm_is_refused_on_a_disk_without() {
    let s = Sandbox::new();
    let line = s.refused("compare small.trace --disk ssd-160 --fit wrap --scheduler fcfs,aged-sptf");
    assert!(line.contains("aged-sptf") && line.contains("arm"), "{line}");
    let line = s.refused("compare small.trace --disk hd-250-32 --scheduler ioqueue:policy=SPTF_OTP");
    assert!(line.contains("SPTF_OTP") && line.contains("`SPTF_OPT`"), "{line}");
}
