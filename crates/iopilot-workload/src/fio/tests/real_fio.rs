//! Comparisons with a real fio, if it is installed.

use super::super::layout::names_of;
use super::super::{FioJobs, FioSource};
use crate::testing::{IssuedRequest, TestDevice};
use iopilot_block::{Nanos, Op};
use std::path::Path;
use std::process::{Command, Stdio};

/// The size of fio's file, and of the device that stands for it here.
const FILE_BYTES: u64 = 1 << 20;

/// A request: operation, offset, length.
type Request = (String, u64, u64);

/// The lines of a log of fio 3.33 (version 3): the time in microseconds, and the request.
fn logged(text: &str) -> Vec<(u64, Request)> {
    let request = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [time, _, op @ ("read" | "write"), offset, length] = words.as_slice() else { return None };
        Some((time.parse().ok()?, ((*op).to_owned(), offset.parse().ok()?, length.parse().ok()?)))
    };
    text.lines().filter_map(request).collect()
}

/// The requests of fio with `options` on a file of 1 MiB.
fn theirs(options: &str) -> Vec<(u64, Request)> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("data"), vec![0; FILE_BYTES as usize]).unwrap();
    fio(folder.path(), &format!("[job]\nsize=1m\nfilename=data\nwrite_iolog=log\n{options}\n"));
    logged(&std::fs::read_to_string(folder.path().join("log")).unwrap())
}

fn fio(folder: &Path, job: &str) {
    std::fs::write(folder.join("job.fio"), job).unwrap();
    let mut fio = Command::new("fio");
    let fio = fio.args(["--output=out", "job.fio"]).current_dir(folder).stdin(Stdio::null());
    let output = fio.output().unwrap();
    assert!(output.status.success(), "{job}{}", String::from_utf8_lossy(&output.stderr));
}

/// The requests of [`FioSource`] for the same job.
fn ours(options: &str) -> Vec<(Nanos, Request)> {
    let text = format!("[job]\nsize=1m\nfilename=/dev/sdb\ndirect=1\n{options}\n");
    let jobs = FioJobs::parse(&text, "job.fio").unwrap_or_else(|e| panic!("{e}"));
    let mut source = FioSource::new(&jobs, FILE_BYTES / 512, 1).unwrap_or_else(|e| panic!("{e}"));
    let log = TestDevice { service: (Nanos(1), Nanos(1)), ..TestDevice::default() }.run(&mut source);
    let request = |s: &IssuedRequest| {
        let op = if s.arrival.op == Op::Read { "read" } else { "write" };
        (s.at, (op.to_owned(), s.arrival.lba.0 * 512, s.arrival.sectors.bytes()))
    };
    log.requests.iter().map(request).collect()
}

fn requests<T>(log: Vec<(T, Request)>) -> Vec<Request> {
    log.into_iter().map(|(_, request)| request).collect()
}

#[test]
fn jobs_without_randomness_are_the_same_request_for_request() {
    if !iopilot_testing::has(&["fio"]) {
        return;
    }
    for options in [
        "rw=read",
        "rw=write\nbs=16k",
        "rw=read:8k\nio_size=256k",
        "rw=read:-8k",
        "rw=write:4k\nbs=8k",
        "rw=read\noffset=256k\nsize=128k",
        "rw=read\nfileoffset=25%\nsize=128k",
        "rw=read\nsize=50%",
        "rw=read\noffset=0%\nnumber_ios=100",
        "rw=read\nsize=64k\nio_limit=256k",
        "rw=read\nsize=64k\nloops=3",
        "rw=read\nbs=4k,16k",
        "rw=write\nbs=4k,16k",
        "rw=read\nblocksize=12k",
        "readwrite=rw\nrwmixread=0",
        "rw=read\nioengine=libaio\niodepth=4\niodepth_batch_submit=2",
    ] {
        assert_eq!(requests(ours(options)), requests(theirs(options)), "{options}");
    }
}

#[test]
fn random_jobs_visit_the_same_blocks() {
    if !iopilot_testing::has(&["fio"]) {
        return;
    }
    for options in [
        "rw=randread",
        "rw=randwrite\nbs=8k\nsize=512k",
        "rw=randread\nbs=16k\nioengine=libaio\niodepth=8",
        "rw=randread\nrandom_generator=lfsr",
        "rw=randread\nsize=25%\noffset=50%",
    ] {
        let sorted = |mut log: Vec<Request>| {
            log.sort_unstable();
            log
        };
        assert_eq!(sorted(requests(ours(options))), sorted(requests(theirs(options))), "{options}");
    }
}

#[test]
fn random_jobs_issue_as_much_in_the_same_places() {
    if !iopilot_testing::has(&["fio"]) {
        return;
    }
    // (Requests, bytes, share of reads, shares below 5 % and 20 % of the file).
    let summary = |log: &[Request]| {
        let n = log.len() as f64;
        let share = |is: &dyn Fn(&Request) -> bool| log.iter().filter(|r| is(r)).count() as f64 / n;
        let bytes: u64 = log.iter().map(|r| r.2).sum();
        let below = |percent: u64| share(&move |r| r.1 < FILE_BYTES * percent / 100);
        (log.len(), bytes, [share(&|r| r.0 == "read"), below(5), below(20)])
    };
    for options in [
        "rw=randread:8",
        "rw=randread\nnorandommap\nnumber_ios=77",
        "rw=randread\nnorandommap\nio_size=8m\nrandom_distribution=zoned:50/5:30/15:20/",
        "rw=randread\nnorandommap\nio_size=8m\nrandom_distribution=zoned:50/5:50/45",
        "rw=randrw\nrwmixread=70\nnorandommap\nio_size=8m",
    ] {
        let (a, b) = (summary(&requests(ours(options))), summary(&requests(theirs(options))));
        assert_eq!((a.0, a.1), (b.0, b.1), "{options}");
        let enough = a.0 > 1000;
        assert!(!enough || a.2.iter().zip(b.2).all(|(a, b)| (a - b).abs() < 0.06), "{options}: {a:?}, {b:?}");
    }
}

#[test]
fn rates_are_the_same() {
    if !iopilot_testing::has(&["fio"]) {
        return;
    }
    for options in ["rw=read\nrate_iops=400\nnumber_ios=120", "rw=read\nrate=1m\nbs=16k\nnumber_ios=24"] {
        let (ours, theirs) = (ours(options), theirs(options));
        assert_eq!(ours.len(), theirs.len(), "{options}");
        let ours = (ours[ours.len() - 1].0 - ours[0].0).as_secs_f64();
        let theirs = (theirs[theirs.len() - 1].0 - theirs[0].0) as f64 / 1e6;
        // A busy machine delays fio, but it never runs ahead.
        let fits = theirs > 0.9 * ours && theirs < 1.25 * ours + 0.3;
        assert!(fits, "{options}: {ours} s, fio {theirs} s");
    }
}

#[test]
fn files_have_the_names_that_fio_makes_up() {
    if !iopilot_testing::has(&["fio"]) {
        return;
    }
    for options in [
        "numjobs=3",
        "nrfiles=2\nnumjobs=2",
        "filename_format=$jobname.$filenum\nnr_files=2\nnumjobs=2",
        "filename_format=x-$jobnum\nnumjobs=2",
        "directory=one:two\nnumjobs=3",
    ] {
        let folder = tempfile::tempdir().unwrap();
        ["one", "two"].iter().for_each(|name| std::fs::create_dir(folder.path().join(name)).unwrap());
        let job = format!("[readers]\nrw=write\nsize=64k\nbs=4k\n{options}\n");
        fio(folder.path(), &job);
        let jobs = FioJobs::parse(&job, "job.fio").unwrap();
        let mut names: Vec<String> = names_of(&jobs.jobs).unwrap().concat();
        names.sort();
        names.dedup();
        let mut found = Vec::new();
        for (at, prefix) in [("", ""), ("one", "one/"), ("two", "two/")] {
            for entry in std::fs::read_dir(folder.path().join(at)).unwrap().map(Result::unwrap) {
                let name = entry.file_name().into_string().unwrap();
                if entry.file_type().unwrap().is_file() && !["job.fio", "out"].contains(&name.as_str()) {
                    found.push(format!("{prefix}{name}"));
                }
            }
        }
        found.sort();
        assert_eq!(names, found, "{options}");
    }
}

/// fio's own examples, if a package or `FIO_EXAMPLES` has them: none is refused for an unknown option.
#[test]
fn examples_of_fio_run_or_need_something_not_simulated() {
    let named = std::env::var("FIO_EXAMPLES").ok();
    let folder = named.as_deref().unwrap_or("/usr/share/doc/fio/examples");
    if !iopilot_testing::has(&[folder]) {
        return;
    }
    let env = |_: &str| Some("1".to_owned());
    let (mut seen, mut unknown) = (0, Vec::new());
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.extension().is_none_or(|e| e != "fio") {
            continue;
        }
        seen += 1;
        let text = std::fs::read_to_string(&path).unwrap();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let jobs = FioJobs::parse_in(&text, &name, &env);
        match jobs.and_then(|jobs| FioSource::new(&jobs, 20 << 31, 1)) {
            Ok(mut source) => {
                let log = TestDevice { most: 200, ..TestDevice::default() }.run(&mut source);
                assert!(!log.requests.is_empty(), "{name}");
                println!("{name}: {} requests", log.requests.len());
            }
            Err(e) => {
                let e = e.to_string();
                println!("{e}");
                unknown.extend(e.contains("unknown option").then_some(e));
            }
        }
    }
    assert!(seen > 0 && unknown.is_empty(), "{seen} files in {folder}: {unknown:?}");
}
