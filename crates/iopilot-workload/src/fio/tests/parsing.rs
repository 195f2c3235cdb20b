use super::super::ini::{Setting, SettingOrigin};
use super::super::job::{FioJob, OffsetDistribution};
use super::super::value::Amount;
use super::super::{FioJobs, FioSource, apply, options};
use super::{complaint, parse, run};
use crate::testing::TestDevice;
use iopilot_block::Nanos;
use proptest::prelude::*;

#[test]
fn globals_hold_for_the_jobs_below_them_until_the_next() {
    let jobs =
        parse("[global]\nbs=8k\ndirect=1\n[a]\nsize=1m\n[global]\nbs=16k\n[b]\nsize=1m\nnumjobs=2\n[c]\nbs=4k\n");
    let blocks: Vec<u64> = jobs.jobs.iter().map(FioJob::min_block).collect();
    assert_eq!(blocks, [8192, 16384, 4096]);
    assert_eq!(jobs.process_names().collect::<Vec<_>>(), ["a", "b", "b", "c"]);
    assert!(jobs.notes().is_empty(), "{:?}", jobs.notes());
}

#[test]
fn an_unknown_option_is_an_error_with_a_suggestion() {
    assert_eq!(complaint("[a]\nblok_size=4k\n"), "test.fio:2: blok_size: got an unknown option, expected `blocksize`");
    assert_eq!(complaint("[a]\n\nfoo=1\n"), "test.fio:3: foo: got an unknown option, expected an option of fio");
}

#[test]
fn an_option_that_would_change_the_load_is_an_error() {
    assert_eq!(
        complaint("[a]\nverify=crc32c\n"),
        "test.fio:2: verify: got crc32c, expected nothing or 0: verification would read back what was written, which is not simulated"
    );
    assert!(complaint("[a]\ndirect=0\n").contains("direct: got 0, expected direct I/O (direct=1)"));
    assert!(complaint("[a]\nbuffered=1\n").contains("there is no page cache"));
    assert!(complaint("[a]\nzonemode=zbd\n").starts_with("test.fio:2: zonemode: got zbd"));
    parse("[a]\nverify=0\nzonemode=none\nlatency_target=0\n");
}

#[test]
fn a_harmless_option_is_ignored_with_a_note() {
    let jobs = parse("[a]\ngroup_reporting\nwrite_bw_log=x\nsize=1m\niodepth=8\n");
    assert_eq!(
        jobs.notes(),
        [
            "test.fio:1: job a: iodepth is 1, as psync is synchronous",
            "test.fio: job runs with direct I/O, as there is no page cache: a",
            "test.fio: ignored, as they do not change the load: group_reporting, write_bw_log",
        ]
    );
}

/// As in fio 3.33: aliases of options, and blank shares.
#[test]
fn options_go_by_all_their_names() {
    let jobs = parse("[a]\ntimeout=2\nfileoffset=1m\nnr_files=4\nsize=8m\n");
    let job = &jobs.jobs[0];
    assert_eq!((job.runtime, job.nrfiles), (Some(Nanos::from_secs(2)), 4));
    assert_eq!((job.offset, parse("[a]\noffset=0%\n").jobs[0].offset), (Amount::Bytes(1 << 20), Amount::Bytes(0)));
    let zones = |text: &str| match &parse(&format!("[a]\nrandom_distribution={text}\n")).jobs[0].spread {
        OffsetDistribution::Zoned(zones) => zones[0].clone(),
        other => panic!("{other:?}"),
    };
    let percent = Amount::Percent;
    assert_eq!(zones("zoned:50/5:30/15:20/"), [(50.0, percent(5)), (30.0, percent(15)), (20.0, percent(80))]);
    assert_eq!(zones("zoned:50/5:30/:20/"), [(50.0, percent(5)), (30.0, percent(47)), (20.0, percent(47))]);
    let notes = parse("[a]\nlog_window_value=both\nlog_issue_time=1\ndisable_bw=1\nratecycle=5\nsize=1m\n").notes;
    assert!(notes.iter().any(|n| n.ends_with("log_window_value, log_issue_time, disable_bw, ratecycle")), "{notes:?}");
}

#[test]
fn bad_values_name_file_line_option_and_expected_value() {
    for (line, expected) in [
        ("bs=1000", "bs: got 1000 (job a), expected a multiple of 512 bytes"),
        ("bs=1.5k", "bs: got 1.5k, expected READ,WRITE,TRIM values"),
        ("rw=randraed", "rw: got randraed, expected `randread`"),
        ("rw=trimwrite", "trim-then-write pairs are not"),
        ("rw=randread:0", "rw: got randread:0, expected randread:COUNT"),
        ("ioengine=mmap", "ioengine: got mmap, expected one of sync, psync"),
        ("ioengine=libaoi", "expected `libaio`"),
        ("iodepth=0", "iodepth: got 0, expected a whole number from 1 to 65536"),
        ("numjobs=-1", "numjobs: got -1, expected"),
        ("size=200%", "size: got 200%, expected a size such as 64m, or 1% to 100%"),
        (
            "filename=/dev/sdb\nsize=2g",
            "size: got 2147483648 from offset 0 (job a), expected at most the 1073741824 bytes",
        ),
        ("offset=2g", "offset: got 2147483648 (job a), expected less than the disk's 1073741824 bytes"),
        ("size=1k", "size: got 1024 (job a), expected at least one block of 4096 bytes"),
        ("rwmixread=101", "rwmixread: got 101, expected a whole number from 0 to 100"),
        ("bssplit=4k/50:8k/60", "bssplit: got 4k/50:8k/60, expected SIZE/PERCENT"),
        ("random_distribution=zipf:1", "zipf:THETA"),
        ("random_distribution=zoned:50/50:50/60", "zoned:PERCENT/SIZE"),
        ("random_distribution=zoned:50/10:/40", "zoned:PERCENT/SIZE"),
        ("random_distribution=zoned:50/10:20/40", "zoned:PERCENT/SIZE"),
        (
            "rw=randread\nrandom_distribution=zoned_abs:60/1g:40/8g",
            "random_distribution: got zoned_abs:60/1g:40/8g (job a), expected zones that lie within the 1073741824 bytes",
        ),
        ("filename=/dev/sda:/dev/sdb", "filename: got /dev/sda and /dev/sdb (job a), expected one device"),
        ("ioengine=null", "ioengine: got null, expected one of sync, psync"),
        ("hostname=x", "hostname: got x, expected nothing: its engine is not simulated"),
        ("ratemin=1m", "ratemin: got 1m, expected nothing or 0: jobs do not give up when they are slow"),
        ("runtime=soon", "runtime: got soon, expected a time"),
        ("prio=9", "prio: got 9, expected a whole number from 0 to 7"),
        ("wait_for=b", "wait_for: got b (job a), expected the name of exactly one job above"),
        ("size=(4*1024)", "size: got (4*1024), expected a size"),
        ("thread=1\nrate=1m\nrate_iops=5", "only one of rate and rate_iops"),
    ] {
        let text = format!("[a]\n{line}\n");
        let message = complaint(&text);
        assert!(message.contains(expected) && message.starts_with("test.fio:"), "{line}: {message}");
    }
    assert_eq!(complaint("# nothing\n"), "test.fio: job file: got no job, expected a section such as [job1]");
}

#[test]
fn every_supported_option_is_applied() {
    let origin = SettingOrigin { file: "x".into(), line: 1 };
    for &key in options::SUPPORTED {
        let values =
            [None, Some("1"), Some("a"), Some("1k-2k"), Some("4k/100"), Some("read"), Some("random"), Some("lfsr")];
        let more =
            [Some("1000"), Some("sync"), Some("roundrobin"), Some("all"), Some("issue"), Some("split"), Some("linear")];
        let applied = values.into_iter().chain(more).chain([Some("sequential"), Some("0")]).any(|value| {
            let setting = Setting { key: key.into(), value: value.map(str::to_owned), origin: origin.clone() };
            apply::apply(&mut FioJob::new("a", origin.clone()), key, &setting).is_ok()
        });
        assert!(applied, "{key}");
    }
}

#[test]
fn sizes_follow_kb_base_wherever_it_stands() {
    let jobs = parse("[a]\nbs=512ki\nkb_base=1000\nsize=1gi\n[b]\nbs=512k\n");
    assert_eq!(jobs.jobs.iter().map(FioJob::min_block).collect::<Vec<_>>(), [512 * 1024, 512 * 1024]);
}

#[test]
fn the_same_seed_gives_the_same_run_and_another_seed_another() {
    let text = "[a]\nrw=randrw\nbsrange=4k-64k\nsize=8m\nioengine=libaio\niodepth=8\nnumjobs=2\nstartdelay=0-1\n";
    assert_eq!(run(text), run(text));
    let other = TestDevice::default().run(&mut FioSource::new(&parse(text), super::CAPACITY, 2).unwrap());
    assert_ne!(run(text), other);
    let reseeded = run(&format!("{text}randseed=7\n"));
    assert_ne!(run(text), reseeded);
}

fn options_and_values() -> impl Strategy<Value = String> {
    let keys: Vec<&str> = options::SUPPORTED.iter().copied().chain(["verify", "thread", "bogus", "include"]).collect();
    let values = prop_oneof![
        Just("1".to_owned()),
        Just("4k".to_owned()),
        Just("50%".to_owned()),
        Just("randrw:3".to_owned()),
        Just("read:-8k".to_owned()),
        Just("zipf:1.2:0.5".to_owned()),
        Just("zoned:50/10:50/90".to_owned()),
        Just("4k/50:64k/".to_owned()),
        Just("/dev/sda".to_owned()),
        "[a-z0-9%:/,.-]{0,12}",
    ];
    (proptest::sample::select(keys), values).prop_map(|(key, value)| format!("{key}={value}"))
}

proptest! {
    #[test]
    fn no_text_makes_the_parser_panic(text in "(\\PC{0,20}\n){0,8}") {
        let _ = FioJobs::parse(&text, "noise.fio");
    }

    #[test]
    fn no_options_make_anything_panic_or_hang(lines in proptest::collection::vec(options_and_values(), 0..12)) {
        let text = format!("[a]\nsize=1m\n{}\n", lines.join("\n"));
        if let Ok(jobs) = FioJobs::parse(&text, "noise.fio") {
            if let Ok(mut source) = FioSource::new(&jobs, super::CAPACITY, 1) {
                TestDevice { most: 300, ..TestDevice::default() }.run(&mut source);
            }
        }
    }
}
