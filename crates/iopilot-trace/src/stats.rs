//! [`TraceStats`]: statistics of a trace, in one pass and bounded memory.
//!
//! The keys of the JSON that [`TraceSummary`] serialises to are stable; units are in their names.

mod footprint;
mod log_histogram;

use crate::TraceRecord;
use footprint::Footprint;
use iopilot_block::{Histogram, Lba, Nanos, Op, ProcessId};
use log_histogram::LogHistogram;
pub use log_histogram::{Bin, DistributionSummary};
use serde::Serialize;
use std::collections::BTreeMap;

/// The most processes and devices with a row of their own; the others share one row. Bounds the memory.
const MOST_ROWS: usize = 1 << 16;

/// Counts of one process, one device, or all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RequestCounts {
    /// All requests.
    pub requests: u64,
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Flushes.
    pub flushes: u64,
    /// Discards.
    pub discards: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Reads and writes that began where the one before them (of the same device; in a process' row also of the same
    /// process) ended.
    pub sequential: u64,
}

impl RequestCounts {
    fn add(&mut self, record: &TraceRecord, sequential: bool) {
        self.requests += 1;
        match record.op {
            Op::Read => {
                self.reads += 1;
                self.read_bytes += record.sectors.bytes();
            }
            Op::Write => {
                self.writes += 1;
                self.written_bytes += record.sectors.bytes();
            }
            Op::Flush => self.flushes += 1,
            Op::Discard => self.discards += 1,
        }
        self.sequential += u64::from(sequential);
    }

    /// The share of reads and writes that reads are, 0 to 1.
    pub fn read_share(&self) -> f64 {
        share(self.reads, self.reads + self.writes)
    }

    /// The share of reads and writes that were sequential, 0 to 1.
    pub fn sequential_share(&self) -> f64 {
        share(self.sequential, self.reads + self.writes)
    }
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// One row of the process table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProcessSummary {
    /// The process; `None` for requests without one, and for those beyond 65,536 processes.
    pub process: Option<ProcessId>,
    /// Its command, where the trace has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its first arrival, in seconds.
    pub first_s: f64,
    /// Its last arrival, in seconds.
    pub last_s: f64,
    /// Its requests.
    #[serde(flatten)]
    pub counts: RequestCounts,
}

/// One row of the device table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DeviceSummary {
    /// The device; `None` for those beyond 65,536 devices.
    pub device: Option<u32>,
    /// Its name in the trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The sector behind the last that was touched: the device is at least this long.
    pub end_sector: u64,
    /// Its requests.
    #[serde(flatten)]
    pub counts: RequestCounts,
}

/// The statistics of a trace.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TraceSummary {
    /// All requests.
    #[serde(flatten)]
    pub counts: RequestCounts,
    /// From the first arrival to the last, in seconds.
    pub span_s: f64,
    /// Reads' share of reads and writes, 0 to 1.
    pub read_share: f64,
    /// The share of reads and writes that begin where the one before them on the device ended, 0 to 1.
    pub sequential_share: f64,
    /// The same, where "before" means of the same process; 0 where the trace names no processes.
    pub sequential_share_per_process: f64,
    /// Distinct bytes read or written, to 64 KiB: never too small, and too large by less than 128 KiB for every
    /// contiguous region touched.
    pub footprint_bytes: u64,
    /// Whether so much was touched that regions beyond 1 TiB were left out of the footprint, which is then too small.
    pub footprint_truncated: bool,
    /// Lengths of reads and writes, in bytes.
    pub size_bytes: DistributionSummary,
    /// Times between arrivals, in microseconds.
    pub inter_arrival_us: DistributionSummary,
    /// Distances from the end of one read or write to the begin of the next on the device, in sectors.
    pub seek_sectors: DistributionSummary,
    /// From arrival to completion, in milliseconds; `None` where no completion is known.
    pub response_ms: Option<iopilot_block::Distribution>,
    /// Requests whose completion is known.
    pub completed: u64,
    /// A row a process, by process id; those without one last.
    pub processes: Vec<ProcessSummary>,
    /// A row a device, by number.
    pub devices: Vec<DeviceSummary>,
}

#[derive(Clone, Debug, Default)]
struct ProcessRow {
    first: Nanos,
    last: Nanos,
    counts: RequestCounts,
    /// Where its last transfer ended, and on which device.
    end: Option<(u32, Lba)>,
}

#[derive(Clone, Debug, Default)]
struct DeviceRow {
    counts: RequestCounts,
    end: Option<Lba>,
    last_sector: u64,
}

/// Accumulates what [`TraceStats::summary`] returns. Some megabytes for any trace.
#[derive(Clone, Debug, Default)]
pub struct TraceStats {
    all: RequestCounts,
    first: Option<Nanos>,
    last: Nanos,
    sizes: LogHistogram,
    gaps: LogHistogram,
    seeks: LogHistogram,
    responses: Histogram,
    footprint: Footprint,
    processes: BTreeMap<Option<ProcessId>, ProcessRow>,
    devices: BTreeMap<Option<u32>, DeviceRow>,
}

impl TraceStats {
    /// Empty statistics.
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts one record; give them in arrival order. O(log n) for n processes and devices.
    pub fn add(&mut self, record: &TraceRecord) {
        match self.first {
            None => self.first = Some(record.arrival),
            Some(_) => self.gaps.record(record.arrival.since(self.last).0),
        }
        self.last = record.arrival;
        let transfers = record.op.transfers();
        let end = record.lba + record.sectors;

        let device = bounded(&mut self.devices, Some(record.device));
        let mut sequential = false;
        if transfers {
            if let Some(previous) = device.end {
                sequential = previous == record.lba;
                self.seeks.record(previous.distance(record.lba));
            }
            device.end = Some(end);
            device.last_sector = device.last_sector.max(end.0);
            self.sizes.record(record.sectors.bytes());
            self.footprint.add(record.device, record.lba, record.sectors);
        }
        device.counts.add(record, sequential);
        self.all.add(record, sequential);

        let row = bounded(&mut self.processes, record.process);
        if row.counts.requests == 0 {
            row.first = record.arrival;
        }
        row.last = record.arrival;
        let follows = transfers && row.end == Some((record.device, record.lba));
        if transfers {
            row.end = Some((record.device, end));
        }
        row.counts.add(record, follows);
        if let Some(completion) = record.completion {
            self.responses.record(completion.since(record.arrival));
        }
    }

    /// The statistics so far, with the names that the trace gives to processes and devices
    /// ([`crate::TraceReader::process_names`], [`crate::TraceReader::device_names`]).
    pub fn summary(&self, process_names: &BTreeMap<u32, String>, device_names: &[String]) -> TraceSummary {
        let named = self.processes.iter().filter(|(p, _)| p.is_some());
        let follows: u64 = named.clone().map(|(_, row)| row.counts.sequential).sum();
        let transfers: u64 = named.clone().map(|(_, row)| row.counts.reads + row.counts.writes).sum();
        let nameless = self.processes.iter().filter(|(p, _)| p.is_none());
        let processes = named.chain(nameless).map(|(process, row)| ProcessSummary {
            process: *process,
            name: process.and_then(|p| process_names.get(&p.0)).cloned(),
            first_s: row.first.as_secs_f64(),
            last_s: row.last.as_secs_f64(),
            counts: row.counts,
        });
        let devices = self.devices.iter().map(|(device, row)| DeviceSummary {
            device: *device,
            name: device.and_then(|d| device_names.get(d as usize)).cloned(),
            end_sector: row.last_sector,
            counts: row.counts,
        });
        TraceSummary {
            counts: self.all,
            span_s: self.last.since(self.first.unwrap_or_default()).as_secs_f64(),
            read_share: self.all.read_share(),
            sequential_share: self.all.sequential_share(),
            sequential_share_per_process: share(follows, transfers),
            footprint_bytes: self.footprint.bytes(),
            footprint_truncated: self.footprint.truncated(),
            size_bytes: self.sizes.summary(1.0),
            inter_arrival_us: self.gaps.summary(1e-3),
            seek_sectors: self.seeks.summary(1.0),
            response_ms: (self.responses.count() > 0).then(|| self.responses.distribution()),
            completed: self.responses.count(),
            processes: processes.collect(),
            devices: devices.collect(),
        }
    }
}

/// The row of `key`; that of `None` where there are too many.
fn bounded<K: Ord, V: Default>(rows: &mut BTreeMap<Option<K>, V>, key: Option<K>) -> &mut V {
    let key = if rows.len() < MOST_ROWS || rows.contains_key(&key) { key } else { None };
    rows.entry(key).or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_block::Sectors;

    fn record(arrival: u64, op: Op, lba: u64, sectors: u32, process: u32) -> TraceRecord {
        let mut r = TraceRecord::new(Nanos::from_micros(arrival), op, Lba(lba), Sectors(sectors));
        r.process = Some(ProcessId(process));
        r.completion = Some(Nanos::from_micros(arrival + 2000));
        r
    }

    #[test]
    fn counts_what_a_trace_does() {
        let mut stats = TraceStats::new();
        // Two processes that read sequentially, interleaved; then a write and a flush.
        for i in 0..4 {
            stats.add(&record(i * 100, Op::Read, i * 8, 8, 1));
            stats.add(&record(i * 100 + 50, Op::Read, 100_000 + i * 8, 8, 2));
        }
        stats.add(&record(400, Op::Write, 0, 256, 1));
        stats.add(&record(500, Op::Flush, 0, 0, 1));
        let s = stats.summary(&BTreeMap::from([(1, "cp".to_owned())]), &["8,0".to_owned()]);
        assert_eq!((s.counts.requests, s.counts.reads, s.counts.writes, s.counts.flushes), (10, 8, 1, 1));
        assert_eq!((s.counts.read_bytes, s.counts.written_bytes), (8 * 4096, 128 << 10));
        assert_eq!((s.span_s, s.read_share), (500e-6, 8.0 / 9.0));
        assert_eq!(s.sequential_share, 0.0);
        assert_eq!(s.sequential_share_per_process, 6.0 / 9.0);
        assert_eq!(s.footprint_bytes, 3 * (64 << 10));
        assert_eq!((s.size_bytes.p50, s.size_bytes.max), (4096.0, 131_072.0));
        assert_eq!(s.inter_arrival_us.max, 100.0);
        assert_eq!(s.processes[0].name.as_deref(), Some("cp"));
        assert_eq!((s.devices[0].end_sector, s.devices[0].name.as_deref()), (100_032, Some("8,0")));
        assert!((s.response_ms.unwrap().p50 - 2.0).abs() < 0.01);
    }

    #[test]
    fn an_empty_trace_has_a_summary() {
        let s = TraceStats::new().summary(&BTreeMap::new(), &[]);
        assert_eq!((s.counts.requests, s.span_s, s.response_ms), (0, 0.0, None));
        let json = serde_json::to_value(&s).unwrap();
        for key in ["requests", "span_s", "read_share", "footprint_bytes", "size_bytes", "processes", "devices"] {
            assert!(json.get(key).is_some(), "{key}");
        }
    }
}
