//! [`Recorder`]: measures a run as it goes, in bounded memory.

use crate::intervals::{Intervals, POINTS};
use crate::ios::Io;
use crate::report::{ProcessReport, RequestOutcome, RunReport, SeekPoint, Series};
use crate::request_log::RequestLog;
use crate::storage_report::StorageRecorder;
use iopilot_block::{Criticality, Histogram, Lba, Nanos, Op, ProcessId, ProcessMap, Request, jain_index};
use iopilot_device::{DeviceReport, ServiceBreakdown};
use iopilot_trace::TraceRecord;
use iopilot_workload::SourceHandle;

/// Measures a run as it goes. O(1) for each request; memory grows with the number of processes only.
#[derive(Clone, Debug)]
pub(crate) struct Recorder {
    response: [Histogram; 2],
    critical: Histogram,
    service: Histogram,
    requests: [u64; 2],
    others: u64,
    bytes: u64,
    merged: u64,
    dispatched: u64,
    cache_hits: u64,
    head: Option<Lba>,
    seek_distance: u128,
    /// Requests that arrived before do not count.
    from: Nanos,
    /// The number of all arrivals and completions, also of requests that do not count.
    arrivals: u64,
    completions: u64,
    first_arrival: Option<Nanos>,
    last_completion: Nanos,
    in_device: u32,
    busy: Nanos,
    busy_since: Nanos,
    processes: Vec<Process>,
    by_id: ProcessMap<usize>,
    last_process: usize,
    intervals: Intervals,
    seeks: Vec<SeekPoint>,
    seek_stride: u64,
    pub(crate) log: Option<RequestLog>,
    /// The requests that completed, until they are taken: for the decider of a cache.
    pub(crate) window: Option<Vec<TraceRecord>>,
    /// The parent and the start of each process that was started during the run and has not exited. For the log.
    births: ProcessMap<(ProcessId, Nanos)>,
    outcomes: Option<Vec<RequestOutcome>>,
    /// Measures the device's idle periods and seeks, if they are reported.
    pub(crate) storage: Option<Box<StorageRecorder>>,
    /// The device's own report at the end of the run.
    pub(crate) device: Option<DeviceReport>,
    /// The waiting time of each process, if the source knows it ([`iopilot_workload::Source::waiting`]).
    pub(crate) waiting: Option<Vec<(ProcessId, Nanos)>>,
    /// The waiting time of each process when the statistics were reset.
    waited_before: Vec<(ProcessId, Nanos)>,
}

#[derive(Clone, Debug)]
struct Process {
    id: ProcessId,
    requests: u64,
    bytes: u64,
    first: Nanos,
    last: Nanos,
    response: u128,
}

impl Recorder {
    /// Keeps a record of every request if `log` is set, and the outcome of each of the source's requests if `outcomes` is set.
    pub(crate) fn new(log: bool, outcomes: bool) -> Self {
        Self {
            response: Default::default(),
            critical: Histogram::new(),
            service: Histogram::new(),
            requests: [0; 2],
            others: 0,
            bytes: 0,
            merged: 0,
            dispatched: 0,
            cache_hits: 0,
            head: None,
            seek_distance: 0,
            from: Nanos::ZERO,
            arrivals: 0,
            completions: 0,
            first_arrival: None,
            last_completion: Nanos::ZERO,
            in_device: 0,
            busy: Nanos::ZERO,
            busy_since: Nanos::ZERO,
            processes: Vec::new(),
            by_id: ProcessMap::default(),
            last_process: 0,
            intervals: Intervals::new(),
            seeks: Vec::new(),
            seek_stride: 1,
            log: log.then(RequestLog::default),
            window: None,
            births: ProcessMap::default(),
            outcomes: outcomes.then(Vec::new),
            storage: None,
            device: None,
            waiting: None,
            waited_before: Vec::new(),
        }
    }

    /// Resets the statistics at `from`, when each process has `waited` for this long. Requests that arrived before do not
    /// count, but are in the log and among the outcomes. A wait that has begun counts when it ends.
    pub(crate) fn restart(&mut self, from: Nanos, waited: Option<Vec<(ProcessId, Nanos)>>) {
        let old = std::mem::replace(self, Self::new(false, false));
        *self = Self {
            from,
            first_arrival: Some(from),
            busy_since: from,
            waited_before: waited.unwrap_or_default(),
            arrivals: old.arrivals,
            completions: old.completions,
            head: old.head,
            in_device: old.in_device,
            log: old.log,
            window: old.window,
            births: old.births,
            outcomes: old.outcomes,
            storage: old.storage.map(|_| Box::new(StorageRecorder::new(from, old.in_device == 0))),
            ..Self::new(false, false)
        };
    }

    /// The number of all requests that have arrived.
    pub(crate) fn arrivals(&self) -> u64 {
        self.arrivals
    }

    /// `parent` started `process`.
    pub(crate) fn started(&mut self, process: ProcessId, parent: ProcessId, now: Nanos) {
        if self.log.is_some() || self.window.is_some() {
            self.births.insert(process, (parent, now));
        }
    }

    /// `process` has exited.
    pub(crate) fn exited(&mut self, process: ProcessId) {
        self.births.remove(&process);
    }

    /// A task issued a request.
    pub(crate) fn arrived(&mut self, now: Nanos) {
        if let Some(log) = &mut self.log {
            log.arrived(now);
        }
        self.arrivals += 1;
        let start = *self.first_arrival.get_or_insert(now);
        self.intervals.until(now.since(start).0);
        self.intervals.queue += 1;
    }

    /// A request was merged into another.
    pub(crate) fn merged(&mut self) {
        self.merged += 1;
    }

    /// A request went to the device.
    pub(crate) fn dispatched(&mut self, rq: &Request, now: Nanos) {
        if self.in_device == 0 {
            self.busy_since = now;
            if let Some(storage) = &mut self.storage {
                storage.dispatched(now);
            }
        }
        self.in_device += 1;
        let head = self.head;
        if rq.op.transfers() {
            self.head = Some(rq.end());
        }
        if rq.arrived < self.from {
            return;
        }
        self.dispatched += 1;
        if !rq.op.transfers() {
            return;
        }
        self.seek_distance += u128::from(head.map_or(0, |head| head.distance(rq.lba)));
        if self.dispatched % self.seek_stride == 0 {
            if self.seeks.len() == 2 * POINTS {
                let mut keep = false;
                self.seeks.retain(|_| {
                    keep = !keep;
                    keep
                });
                self.seek_stride *= 2;
            }
            let time_s = now.since(self.first_arrival.unwrap_or(now)).as_secs_f64();
            self.seeks.push(SeekPoint { time_s, lba: rq.lba.0, write: rq.is_write() });
        }
    }

    /// The device has completed a request. Its first part belongs to the source's request `handle`.
    pub(crate) fn served(&mut self, rq: &Request, handle: SourceHandle, service: &ServiceBreakdown, now: Nanos) {
        if let Some(outcome) = self.outcome(handle) {
            outcome.service += now.since(rq.issued);
        }
        self.in_device -= 1;
        if self.in_device == 0 {
            self.busy += now.since(self.busy_since);
            if let Some(storage) = &mut self.storage {
                storage.emptied(now);
            }
        }
        if rq.arrived < self.from {
            return;
        }
        self.service.record(now.since(rq.issued));
        self.cache_hits += u64::from(service.cache_hit);
        if let Some(storage) = &mut self.storage {
            storage.served(service);
        }
    }

    /// A request as submitted is complete. `rq` was its last part, issued at `issued`.
    pub(crate) fn completed(&mut self, rq: &Request, io: &Io, issued: Nanos, now: Nanos) {
        if self.log.is_some() || self.window.is_some() {
            let birth = if self.births.is_empty() { None } else { self.births.get(&rq.process) };
            let record = TraceRecord {
                parent: birth.map(|(parent, _)| *parent),
                process_start: birth.map(|(_, start)| *start),
                issue: Some(issued),
                completion: Some(now),
                flags: rq.flags,
                process: Some(rq.process),
                priority: rq.priority,
                cpu: Some(rq.cpu),
                ..TraceRecord::new(rq.arrived, rq.op, io.lba, io.sectors)
            };
            if let Some(window) = &mut self.window {
                window.push(record.clone());
            }
            if let Some(log) = &mut self.log {
                log.completed(record);
            }
        }
        let (op, process, bytes, arrived) = (rq.op, rq.process, io.sectors.bytes(), rq.arrived);
        let response = now.since(arrived);
        let criticality = rq.criticality;
        if let Some(outcome) = self.outcome(io.handle) {
            (outcome.response, outcome.completion, outcome.criticality) = (response, now, criticality);
        }
        self.completions += 1;
        self.last_completion = self.last_completion.max(now);
        if arrived < self.from {
            return;
        }
        match op {
            Op::Read => self.requests[0] += 1,
            Op::Write => self.requests[1] += 1,
            _ => self.others += 1,
        }
        self.response[usize::from(op != Op::Read)].record(response);
        if rq.criticality == Criticality::TimeCritical {
            self.critical.record(response);
        }
        self.bytes += bytes;
        let at = now.since(self.first_arrival.unwrap_or(now)).0;
        self.intervals.until(at);
        self.intervals.queue -= 1;
        let slot = self.intervals.slot(at);
        self.intervals.bytes[slot] += bytes;

        let index = self.process(process, arrived);
        let p = &mut self.processes[index];
        p.requests += 1;
        p.bytes += bytes;
        p.first = p.first.min(arrived);
        p.last = p.last.max(now);
        p.response += u128::from(response.0);
    }

    fn outcome(&mut self, handle: SourceHandle) -> Option<&mut RequestOutcome> {
        let outcomes = self.outcomes.as_mut()?;
        let place = handle.0 as usize;
        if outcomes.len() <= place {
            outcomes.resize(place + 1, RequestOutcome::default());
        }
        outcomes.get_mut(place)
    }

    /// The number of completed requests, also of those that do not count.
    pub(crate) fn count(&self) -> u64 {
        self.completions
    }

    fn process(&mut self, id: ProcessId, arrived: Nanos) -> usize {
        if self.processes.get(self.last_process).is_some_and(|p| p.id == id) {
            return self.last_process;
        }
        self.last_process = *self.by_id.entry(id).or_insert_with(|| {
            self.processes.push(Process { id, requests: 0, bytes: 0, first: arrived, last: arrived, response: 0 });
            self.processes.len() - 1
        });
        self.last_process
    }

    /// The report of the run under `scheduler`.
    pub(crate) fn finish(mut self, scheduler: String) -> RunReport {
        let elapsed = self.last_completion.since(self.first_arrival.unwrap_or_default()).as_secs_f64();
        let per_second = |n: f64| if elapsed > 0.0 { n / elapsed } else { 0.0 };
        let share = |n: u64| if self.dispatched > 0 { n as f64 / self.dispatched as f64 } else { 0.0 };
        let mut response = self.response[0].clone();
        response.merge(&self.response[1]);
        let requests = self.requests[0] + self.requests[1] + self.others;
        self.processes.sort_by_key(|p| p.id);
        let mut waited: ProcessMap<Nanos> = ProcessMap::default();
        for &(process, time) in self.waiting.iter().flatten() {
            *waited.entry(process).or_default() += time;
        }
        for &(process, time) in &self.waited_before {
            let all = waited.entry(process).or_default();
            *all = all.since(time);
        }
        let waited_before: f64 = self.waited_before.iter().map(|(_, time)| time.as_secs_f64()).sum();
        let waiting_s = match &self.waiting {
            Some(all) => (all.iter().map(|(_, time)| time.as_secs_f64()).sum::<f64>() - waited_before).max(0.0),
            None => self.critical.total().as_secs_f64(),
        };
        let processes: Vec<_> = self
            .processes
            .iter()
            .map(|p| ProcessReport {
                process: p.id.0,
                requests: p.requests,
                bytes: p.bytes,
                active_s: p.last.since(p.first).as_secs_f64(),
                response_mean_ms: p.response as f64 / p.requests as f64 / 1e6,
                waiting_s: self.waiting.as_ref().map(|_| waited.get(&p.id).copied().unwrap_or_default().as_secs_f64()),
            })
            .collect();
        let rates = processes.iter().filter(|p| p.active_s > 0.0).map(|p| p.bytes as f64 / p.active_s);
        let width = self.intervals.width as f64;
        RunReport {
            scheduler,
            requests,
            reads: self.requests[0],
            writes: self.requests[1],
            bytes: self.bytes,
            elapsed_s: elapsed,
            throughput_mb_s: per_second(self.bytes as f64 / 1e6),
            iops: per_second(requests as f64),
            response_ms: response.distribution(),
            response_stddev_ms: response.stddev_ms(),
            read_response_ms: self.response[0].distribution(),
            write_response_ms: self.response[1].distribution(),
            critical_requests: self.critical.count(),
            critical_response_ms: self.critical.distribution(),
            waiting_s,
            process_wait_ms: geometric_mean(processes.iter().map(|p| match p.waiting_s {
                Some(waited) => 1e3 * waited / p.requests as f64,
                None => p.response_mean_ms,
            })),
            wait_ms_mean: match self.critical.count() {
                0 => 0.0,
                n => 1e3 * waiting_s / n as f64,
            },
            service_ms: self.service.distribution(),
            merged: self.merged,
            dispatched: self.dispatched,
            // Little's law: the mean number in the system is the arrival rate times the mean response time.
            queue_length_mean: per_second(response.total().as_secs_f64()),
            seek_distance_mean_sectors: match self.dispatched {
                0 | 1 => 0.0,
                n => self.seek_distance as f64 / (n - 1) as f64,
            },
            utilization: per_second(self.busy.as_secs_f64()),
            cache_hit_share: share(self.cache_hits),
            jain: jain_index(rates),
            task_s_mean: None,
            processes,
            spread: None,
            device: self.device,
            redcap: None,
            host: None,
            storage: None,
            series: Series {
                response,
                interval_s: width / 1e9,
                bytes: self.intervals.bytes,
                queue_length: self.intervals.area.iter().map(|&a| a as f64 / width).collect(),
                seeks: self.seeks,
            },
            log: None,
            outcomes: self.outcomes,
        }
    }
}

/// The geometric mean of times in milliseconds; those below a microsecond count as one. 0 if there are none.
fn geometric_mean(times: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = times.fold((0.0, 0.0), |(sum, count), ms| (sum + ms.max(1e-3).ln(), count + 1.0));
    if count > 0.0 { f64::exp(sum / count) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_block::Sectors;

    #[test]
    fn intervals_double_and_keep_their_sums() {
        let mut r = Recorder::new(false, false);
        for s in 0..10 {
            r.arrived(Nanos::from_secs(s));
            let mut rq = Request::new(Op::Read, Lba(0), Sectors(8), ProcessId(1));
            rq.arrived = Nanos::from_secs(s);
            let io = Io { handle: SourceHandle(0), lba: rq.lba, sectors: rq.sectors, parts_left: 0 };
            r.completed(&rq, &io, rq.arrived, rq.arrived + Nanos::from_millis(500));
        }
        let report = r.finish("noop".into());
        assert!(report.series.bytes.len() <= POINTS);
        assert_eq!(report.series.bytes.iter().sum::<u64>(), 40_960);
        let area: f64 = report.series.queue_length.iter().sum::<f64>() * report.series.interval_s;
        assert!((area - 5.0).abs() < 1e-6, "ten requests of half a second each: {area}");
        assert!((report.queue_length_mean - 5.0 / 9.5).abs() < 1e-9);
    }

    #[test]
    fn what_arrived_before_a_restart_does_not_count() {
        let mut r = Recorder::new(true, false);
        let request = |at: Nanos| {
            let mut rq = Request::new(Op::Read, Lba(80), Sectors(8), ProcessId(1));
            (rq.arrived, rq.issued) = (at, at);
            rq
        };
        let io = Io { handle: SourceHandle(0), lba: Lba(80), sectors: Sectors(8), parts_left: 0 };
        let (old, new) = (request(Nanos::from_secs(1)), request(Nanos::from_secs(4)));
        let service = |r: &mut Recorder, rq: &Request, end: Nanos| {
            r.served(rq, io.handle, &ServiceBreakdown::default(), end);
            r.completed(rq, &io, rq.issued, end);
        };
        r.arrived(old.arrived);
        r.dispatched(&old, old.arrived);
        r.restart(Nanos::from_secs(2), Some(vec![(ProcessId(1), Nanos::from_secs(1))]));
        service(&mut r, &old, Nanos::from_secs(3));
        r.arrived(new.arrived);
        r.dispatched(&new, new.arrived);
        service(&mut r, &new, Nanos::from_secs(6));
        assert_eq!((r.arrivals(), r.count()), (2, 2));
        assert_eq!(r.log.as_mut().unwrap().ready().count(), 2, "the log has both");
        r.waiting = Some(vec![(ProcessId(1), Nanos::from_secs(4))]);
        let report = r.finish("noop".into());
        assert_eq!((report.requests, report.dispatched, report.bytes), (1, 1, 4096));
        assert_eq!((report.elapsed_s, report.waiting_s), (4.0, 3.0));
        assert_eq!((report.response_ms.mean, report.service_ms.mean), (2000.0, 2000.0));
        assert_eq!(report.utilization, 0.75, "busy from 2 to 3 s, and from 4 to 6 s");
        assert_eq!(report.processes[0].waiting_s, Some(3.0));
    }

    #[test]
    fn an_empty_run_reports_zeros() {
        let report = Recorder::new(false, false).finish("noop".into());
        assert_eq!((report.requests, report.iops, report.jain), (0, 0.0, 1.0));
    }
}
