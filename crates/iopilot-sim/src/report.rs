//! [`RunReport`]: the results of a run.
//!
//! The serialised form is documented in `docs/reference/report.md` and is stable: fields are added, never renamed.

use crate::redcap_report::RedcapReport;
use crate::spread::{Range, Spread};
use crate::storage_report::StorageReport;
use iopilot_block::{Criticality, Distribution, Histogram, HostReport, Nanos};
use iopilot_device::DeviceReport;
use iopilot_trace::TraceRecord;
use serde::Serialize;

/// A machine in a few words.
#[derive(Clone, Debug, Serialize)]
pub struct MachineSummary {
    /// Its name.
    pub name: String,
    /// The disk's catalogue name or file.
    pub disk: String,
    /// The disk's size in bytes.
    pub capacity_bytes: u64,
    /// The number of requests that the device accepts at once.
    pub queue_depth: u32,
    /// The number of CPUs that submit requests.
    pub cpus: u16,
}

/// The results of one run under one scheduler. Times in milliseconds; distributions are over requests as submitted, before merging.
#[derive(Clone, Debug, Default, Serialize)]
pub struct RunReport {
    /// The scheduler with its settings, as on the command line.
    pub scheduler: String,
    /// Requests submitted and served.
    pub requests: u64,
    /// Reads among them.
    pub reads: u64,
    /// Writes among them.
    pub writes: u64,
    /// Bytes transferred.
    pub bytes: u64,
    /// From the first arrival to the last completion, in seconds.
    pub elapsed_s: f64,
    /// Bytes per elapsed second, in 10^6 bytes.
    pub throughput_mb_s: f64,
    /// Requests per elapsed second.
    pub iops: f64,
    /// From arrival at the block layer to completion.
    pub response_ms: Distribution,
    /// Standard deviation of the response time.
    pub response_stddev_ms: f64,
    /// Response time of reads.
    pub read_response_ms: Distribution,
    /// Response time of writes.
    pub write_response_ms: Distribution,
    /// Time-critical requests, for which a process waits (Ganger 3.1).
    pub critical_requests: u64,
    /// Their response time.
    pub critical_response_ms: Distribution,
    /// The time that processes waited for their own requests, or in a submission for a tag, summed over processes. A process
    /// with several requests in flight waits once for all of them, and only while it cannot continue. If the workload does not
    /// say when its processes wait: the sum of the response times of time-critical requests.
    pub waiting_s: f64,
    /// The same divided by the number of time-critical requests.
    pub wait_ms_mean: f64,
    /// The mean time that a process waits for one of its requests: the geometric mean over processes, in milliseconds. A process
    /// with few requests counts as much as one with many.
    pub process_wait_ms: f64,
    /// From issue to the device to completion; over dispatched requests, after merging.
    pub service_ms: Distribution,
    /// Requests that were merged into another.
    pub merged: u64,
    /// Requests sent to the device, after merging.
    pub dispatched: u64,
    /// Mean number of requests between arrival and completion.
    pub queue_length_mean: f64,
    /// Mean distance between the end of a dispatched request and the start of the next, in sectors.
    pub seek_distance_mean_sectors: f64,
    /// Share of the elapsed time in which the device had at least one request.
    pub utilization: f64,
    /// Share of dispatched requests that the device's cache served.
    pub cache_hit_share: f64,
    /// Jain's fairness index of the throughput of the processes over the time each was active.
    pub jain: f64,
    /// The mean time of the tasks of a host, in seconds, for workloads that have tasks (Ganger 4.2).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_s_mean: Option<f64>,
    /// Each process, in order of its id.
    pub processes: Vec<ProcessReport>,
    /// The spread of several replays under this scheduler, if there were several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spread: Option<Spread>,
    /// The device's own report, for arrays and solid-state drives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<DeviceReport>,
    /// The results of a REDCAP cache, if there was one. Then all other fields that are not about the device are about the
    /// workload's requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redcap: Option<RedcapReport>,
    /// Where the time of the host went, for workloads of processes that run on CPUs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<HostReport>,
    /// The device's idle periods and seeks, for the same workloads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage: Option<StorageReport>,
    /// For plots; not part of the JSON.
    #[serde(skip)]
    pub series: Series,
    /// Every request in order of arrival, if [`crate::RunConfig`] asks for them: a trace of the simulation.
    #[serde(skip)]
    pub log: Option<Vec<TraceRecord>>,
    /// The outcome of each of the source's requests, by the source's handle, if [`crate::RunConfig`] asks for it. In a replay the
    /// handle is the request's index in the trace, so that runs can be compared request by request.
    #[serde(skip)]
    pub outcomes: Option<Vec<RequestOutcome>>,
}

impl RunReport {
    /// The 99th percentile of the response time of requests that a process waits for, in milliseconds; of all requests if no
    /// process waits.
    pub fn wait_ms_p99(&self) -> f64 {
        if self.critical_requests > 0 { self.critical_response_ms.p99 } else { self.response_ms.p99 }
    }
}

impl Spread {
    /// The spread of `runs`; `None` for fewer than two.
    pub fn of(runs: &[RunReport]) -> Option<Self> {
        let range = |value: fn(&RunReport) -> f64| Range::of(runs.iter().map(value));
        let tasks: Option<Vec<f64>> = runs.iter().map(|run| run.task_s_mean).collect();
        (runs.len() > 1).then(|| Self {
            replays: runs.len() as u32,
            percent: 0.0,
            elapsed_s: range(|r| r.elapsed_s),
            throughput_mb_s: range(|r| r.throughput_mb_s),
            wait_ms_mean: range(|r| r.wait_ms_mean),
            process_wait_ms: range(|r| r.process_wait_ms),
            task_s_mean: tasks.map(|tasks| Range::of(tasks.into_iter())),
            wait_ms_p99: range(RunReport::wait_ms_p99),
            response_ms_mean: range(|r| r.response_ms.mean),
        })
    }
}

/// The times of one request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestOutcome {
    /// From arrival at the block layer to completion.
    pub response: Nanos,
    /// From issue to completion of the request that the device served. Zero if it was merged into another.
    pub service: Nanos,
    /// The time of its completion.
    pub completion: Nanos,
    /// Whether its process waited for it.
    pub criticality: Criticality,
}

/// The service that one process received.
#[derive(Clone, Debug, Serialize)]
pub struct ProcessReport {
    /// The task.
    pub process: u32,
    /// Its requests.
    pub requests: u64,
    /// Its bytes.
    pub bytes: u64,
    /// From its first arrival to its last completion, in seconds.
    pub active_s: f64,
    /// Its mean response time.
    pub response_mean_ms: f64,
    /// The time that it waited for its own requests or for tags, if the workload knows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting_s: Option<f64>,
}

/// Data for plots.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// All response times.
    pub response: Histogram,
    /// Width of one interval in seconds.
    pub interval_s: f64,
    /// Bytes completed in each interval.
    pub bytes: Vec<u64>,
    /// Mean number of requests in the block layer and device in each interval.
    pub queue_length: Vec<f64>,
    /// A bounded, evenly thinned sample of the dispatched requests.
    pub seeks: Vec<SeekPoint>,
}

/// One dispatched request in a seek plot.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct SeekPoint {
    /// When it was issued, in seconds.
    pub time_s: f64,
    /// Its first sector.
    pub lba: u64,
    /// Whether it was a write.
    pub write: bool,
}
