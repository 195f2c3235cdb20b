//! Whole runs of the command on a trace of a million requests: time, throughput and peak memory, against the targets.
//!
//! Everything counts here: starting, reading the trace, inference, simulation, the table. The load is that of
//! `iopilot-sim`'s bench `engine`: random 4 KiB requests that keep one mechanical disk busy 70 % of the time.

use iopilot_block::{Flags, Lba, Nanos, Op, ProcessId, Sectors};
use iopilot_catalogue::load_disk;
use iopilot_device::Device;
use iopilot_trace::{Format, TraceRecord, TraceWriter};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::error::Error;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

const DISK: &str = "hd-500-16";
const PROCESSES: u32 = 8;
/// What DiskSim 4.0 simulates in a second, measured on the reference machine.
const DISKSIM_PER_SECOND: f64 = 70_000.0;
const MEMORY_MB: f64 = 200.0;
const PARSE_MB_PER_SECOND: f64 = 100.0;

/// Processes that share a CPU: half of their requests are read ahead.
const GENERATOR: &str = r#"
[[generator]]
name = "reader"
processes = 4
read_probability = 0.67
time_critical_probability = 0.5
time_limited_probability = 0.5
time_limit_ms = 20.0
general_time_ms = 60.0
size_sectors = 8
"#;

fn main() -> Result<(), Box<dyn Error>> {
    // `cargo test --benches` only checks that it works.
    let requests = if std::env::args().any(|a| a == "--bench") { 1_000_000 } else { 10_000 };
    let folder = tempfile::tempdir()?;
    let path = |name: &str| folder.path().join(name);
    let records = load(requests);
    let (parquet, blkparse, disksim) = (path("load.parquet"), path("load.blkparse"), path("load.disksim"));
    for (trace, format) in [(&parquet, Format::Parquet), (&disksim, Format::Disksim)] {
        let mut writer = TraceWriter::create(trace, format)?;
        for record in &records {
            writer.write(record)?;
        }
        writer.finish()?;
    }
    write_blkparse(&blkparse, &records)?;
    drop(records);

    println!("\n{requests} requests, whole runs of `iopilot`, disk {DISK}\n");
    println!(
        "{:<34} {:>8} {:>12} {:>10} {:>11} {:>9} {:>10}",
        "run", "seconds", "requests/s", "of target", "of DiskSim", "peak MB", "of 200 MB"
    );
    for mode in ["open", "dependent"] {
        for (scheduler, target) in [("noop", 1e6), ("deadline", 1e6), ("mq-deadline", 1e6), ("cfq", 5e5), ("bfq", 5e5)]
        {
            let args = ["simulate", "--workload", "load.parquet", "--mode", mode, "--scheduler", scheduler];
            let run = Run::of(folder.path(), &[&args[..], &["--disk", DISK, "--quiet"]].concat())?;
            run.print(&format!("simulate {mode} {scheduler}"), requests as f64, Some(target));
        }
    }
    for mode in ["open", "dependent"] {
        let args = ["compare", "load.parquet", "--disk", DISK, "--mode", mode, "--scheduler", "all", "--quiet"];
        let run = Run::of(folder.path(), &args)?;
        let schedulers = iopilot_sched::SchedulerSpec::all().len();
        run.print(&format!("compare {mode}, {schedulers} schedulers"), (requests * schedulers as u64) as f64, None);
    }

    fs::write(path("host.toml"), "disk = \"hp-c2247\"\n[host]\ncpus = 1\npreset = \"1995\"\n")?;
    fs::write(path("generators.toml"), format!("requests = {requests}\n{GENERATOR}"))?;
    let args = ["simulate", "-w", "generators.toml", "--machine", "host.toml", "--scheduler", "clook", "--quiet"];
    Run::of(folder.path(), &args)?.print("simulate on a host of 1995, clook", requests as f64, None);

    println!(
        "\n{:<34} {:>8} {:>12} {:>10} {:>11} {:>9}",
        "reading", "seconds", "requests/s", "MB/s", "of 100 MB/s", "peak MB"
    );
    for trace in [&blkparse, &disksim, &parquet] {
        let name = trace.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let megabytes = fs::metadata(trace)?.len() as f64 / 1e6;
        let run = Run::of(folder.path(), &["trace", "stat", &name, "--json"])?;
        let rate = megabytes / run.seconds;
        // The target is for the text of blkparse; the others say the same in fewer bytes.
        let of_target = if trace == &blkparse { format!("{:.2}", rate / PARSE_MB_PER_SECOND) } else { "-".to_owned() };
        println!(
            "{:<34} {:>8.2} {:>12.0} {rate:>10.0} {of_target:>11} {:>9.0}",
            format!("trace stat {name}"),
            run.seconds,
            requests as f64 / run.seconds,
            run.peak_mb
        );
    }
    Ok(())
}

/// Random 4 KiB requests, two thirds of them reads, in processes that wait for each and think.
fn load(requests: u64) -> Vec<TraceRecord> {
    let disk = load_disk(DISK).and_then(|d| d.build()).expect("the catalogue has it");
    let mut random = Pcg64Mcg::seed_from_u64(1);
    let mut exponential = |mean_ms: f64| {
        let share: f64 = 1.0 - random.random::<f64>();
        (Nanos((-share.ln() * mean_ms * 1e6) as u64), random.random::<u64>())
    };
    let mut next: BinaryHeap<_> = (0..PROCESSES).map(|p| Reverse((exponential(100.0).0, p))).collect();
    let mut records = Vec::with_capacity(requests as usize);
    while (records.len() as u64) < requests {
        let Some(Reverse((arrival, process))) = next.pop() else { break };
        let (think, draw) = exponential(100.0);
        let completion = arrival + Nanos::from_millis(12);
        let op = if draw % 3 == 0 { Op::Write } else { Op::Read };
        let lba = Lba((draw >> 2) % (disk.capacity() / 8) * 8);
        records.push(TraceRecord {
            completion: Some(completion),
            flags: Flags::SYNC,
            process: Some(ProcessId(100 + process)),
            ..TraceRecord::new(arrival, op, lba, Sectors(8))
        });
        next.push(Reverse((completion + think, process)));
    }
    records
}

/// Writes what `blkparse` prints of the queueing, issue and completion of `records`.
fn write_blkparse(path: &Path, records: &[TraceRecord]) -> io::Result<()> {
    let mut out = BufWriter::new(File::create(path)?);
    let mut sequence = 0;
    let mut event = |at: Nanos, action: char, r: &TraceRecord, tail: &str| {
        sequence += 1;
        let (s, ns) = (at.0 / 1_000_000_000, at.0 % 1_000_000_000);
        let (process, lba) = (r.process.unwrap_or_default().0, r.lba.0);
        let op = if r.op == Op::Read { "R" } else { "WS" };
        writeln!(out, "  8,16   1 {sequence:8} {s:5}.{ns:09} {process:5}  {action} {op:>3} {lba} + 8 {tail}")
    };
    let mut completions = BinaryHeap::new();
    for (i, r) in records.iter().enumerate() {
        while let Some(&Reverse((at, done))) = completions.peek() {
            if at > r.arrival {
                break;
            }
            completions.pop();
            event(at, 'C', &records[done], "[0]")?;
        }
        event(r.arrival, 'Q', r, "[reader]")?;
        event(r.arrival, 'D', r, "[reader]")?;
        completions.push(Reverse((r.completion.unwrap_or(r.arrival), i)));
    }
    while let Some(Reverse((at, done))) = completions.pop() {
        event(at, 'C', &records[done], "[0]")?;
    }
    out.flush()
}

/// What a run of the command took.
struct Run {
    seconds: f64,
    peak_mb: f64,
}

impl Run {
    fn of(folder: &Path, args: &[&str]) -> Result<Self, Box<dyn Error>> {
        let start = Instant::now();
        let mut child =
            Command::new(env!("CARGO_BIN_EXE_iopilot")).args(args).current_dir(folder).stdout(Stdio::null()).spawn()?;
        let status = format!("/proc/{}/status", child.id());
        let mut peak_mb = 0.0;
        loop {
            // The kernel keeps the peak; only growth in the last two milliseconds would be missed.
            peak_mb = peak(&status).unwrap_or(peak_mb);
            if let Some(status) = child.try_wait()? {
                let seconds = start.elapsed().as_secs_f64();
                return if status.success() {
                    Ok(Self { seconds, peak_mb })
                } else {
                    Err(format!("iopilot {} ended with {status}", args.join(" ")).into())
                };
            }
            sleep(Duration::from_millis(2));
        }
    }

    fn print(&self, what: &str, requests: f64, target: Option<f64>) {
        let rate = requests / self.seconds;
        let of_target = target.map_or("-".to_owned(), |t| format!("{:.2}", rate / t));
        println!(
            "{what:<34} {:>8.2} {rate:>12.0} {of_target:>10} {:>11.1} {:>9.0} {:>10.2}",
            self.seconds,
            rate / DISKSIM_PER_SECOND,
            self.peak_mb,
            self.peak_mb / MEMORY_MB
        );
    }
}

/// The largest resident set of a process so far, in MB; `None` when it is gone, or where there is no `/proc`.
fn peak(status: &str) -> Option<f64> {
    let text = fs::read_to_string(status).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<f64>().ok().map(|kib| kib * 1024.0 / 1e6)
}
