//! A made-up comparison for the tests of the tables and the page: shapes as real ones, numbers from a fixed sequence.

use iopilot_block::{Histogram, Nanos};
use iopilot_compare::{Comparison, Verdict};
use iopilot_sim::{MachineSummary, ProcessReport, RunReport, SeekPoint, Series};
use iopilot_workload::WorkloadSummary;

const NAMES: [&str; 17] = [
    "noop",
    "deadline",
    "mq-deadline",
    "bfq",
    "kyber",
    "none",
    "cfq",
    "as",
    "fcfs",
    "sstf",
    "scan",
    "look",
    "cscan",
    "clook",
    "vscan",
    "fifo",
    "vr",
];

/// A comparison of `count` schedulers, at most 17.
pub(crate) fn sample_comparison(count: usize) -> Comparison {
    let runs: Vec<_> = (0..count).map(run).collect();
    let comparison = Comparison {
        machine: MachineSummary {
            name: "hd-250-32".into(),
            disk: "hd-250-32".into(),
            capacity_bytes: 250_059_350_016,
            queue_depth: 4,
            cpus: 2,
        },
        workload: WorkloadSummary {
            name: "tree <read> & \"more\".parquet".into(),
            kind: "parquet".into(),
            mode: Some("dependent".into()),
            seed: Some(1),
            notes: vec!["12 requests past the end of the disk were folded into it".into()],
        },
        verdict: Verdict { measure: "response_ms.mean".into(), ..Verdict::default() },
        self_replays: Vec::new(),
        runs,
    };
    let verdict = comparison.verdict_on(|_| true);
    Comparison { verdict, ..comparison }
}

fn run(index: usize) -> RunReport {
    let mut state = 88_172_645_463_325_252u64 + index as u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    let slow = 1.0 + ((index * 7) % 17) as f64 / 6.0;
    let mut response = Histogram::new();
    for _ in 0..4000 {
        let ms = 0.3 + 6.0 * slow * (-(1.0 - random()).ln()).powf(1.0 + index as f64 / 20.0);
        response.record(Nanos::from_millis_f64(ms));
    }
    let intervals = 60 + (slow * 10.0) as usize;
    let bytes = (0..intervals).map(|_| (30e6 / slow * (0.6 + 0.8 * random())) as u64).collect();
    let queue_length: Vec<f64> =
        (0..intervals).map(|i| slow * (6.0 + 4.0 * (i as f64 / 8.0).sin() + 3.0 * random())).collect();
    let seeks = (0..1500)
        .map(|i| {
            let t = f64::from(i) / 1500.0 * intervals as f64 * 0.5;
            let sweep = if index % 2 == 0 { (t * 9.0 / slow).fract() } else { random() };
            SeekPoint { time_s: t, lba: (sweep * 400e6) as u64 + 20_000_000, write: random() < 0.25 }
        })
        .collect();
    let distribution = response.distribution();
    let elapsed_s = intervals as f64 * 0.5;
    RunReport {
        scheduler: NAMES[index].into(),
        requests: 4000,
        reads: 3000,
        writes: 1000,
        bytes: 262_144_000,
        elapsed_s,
        throughput_mb_s: 262.144 / elapsed_s,
        iops: 4000.0 / elapsed_s,
        response_ms: distribution,
        response_stddev_ms: response.stddev_ms(),
        read_response_ms: distribution,
        write_response_ms: distribution,
        critical_requests: 3000,
        critical_response_ms: distribution,
        waiting_s: 3.0 * distribution.mean,
        wait_ms_mean: distribution.mean,
        process_wait_ms: distribution.mean,
        service_ms: distribution,
        merged: 100 * index as u64,
        dispatched: 4000 - 100 * index as u64,
        queue_length_mean: queue_length.iter().sum::<f64>() / intervals as f64,
        seek_distance_mean_sectors: 1.3e7 * slow,
        utilization: 0.97,
        cache_hit_share: 0.125,
        jain: 0.83,
        task_s_mean: None,
        processes: (0..3)
            .map(|p| ProcessReport {
                process: 100 + p,
                requests: 1000,
                bytes: 65_536_000,
                active_s: elapsed_s,
                response_mean_ms: distribution.mean,
                waiting_s: None,
            })
            .collect(),
        spread: None,
        series: Series { response, interval_s: 0.5, bytes, queue_length, seeks },
        device: None,
        redcap: None,
        host: None,
        storage: None,
        log: None,
        outcomes: None,
    }
}
