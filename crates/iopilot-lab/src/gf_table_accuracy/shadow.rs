//! [`RequestCopies`]: copies of the disk's requests, for the table disk (GF 3.2.3).

use iopilot_block::{Criticality, Nanos, ProcessId};
use iopilot_trace::TraceRecord;
use iopilot_workload::{Arrival, Source, SourceHandle, Step};
use std::collections::BTreeMap;

/// A request reaches the table disk when it reached the disk, or later: the requests of its process that had completed
/// at the disk must complete here first.
pub(super) struct RequestCopies {
    processes: Vec<Process>,
    /// The index of each process.
    index: BTreeMap<ProcessId, usize>,
}

struct Process {
    id: ProcessId,
    /// Its requests, in order of arrival.
    requests: Vec<Copy>,
    next: usize,
    /// The requests in flight here: indices into `requests`.
    outstanding: Vec<usize>,
    blocked: bool,
    /// When the process could last resume.
    since: Nanos,
    done: bool,
}

struct Copy {
    arrival: Arrival,
    at: Nanos,
    /// When the disk completed it.
    completed: Nanos,
}

impl Process {
    fn due(&self) -> Option<Nanos> {
        if self.blocked || self.done {
            return None;
        }
        let Some(request) = self.requests.get(self.next) else {
            return self.outstanding.is_empty().then_some(self.since);
        };
        let waits = self.outstanding.iter().any(|&i| self.requests[i].completed <= request.at);
        (!waits).then(|| request.at.max(self.since))
    }
}

impl RequestCopies {
    /// Copies of `records`, which are in order of arrival.
    pub(super) fn new(records: &[TraceRecord]) -> Self {
        let mut index = BTreeMap::new();
        let mut processes: Vec<Process> = Vec::new();
        for record in records {
            let id = record.process.unwrap_or_default();
            let place = *index.entry(id).or_insert_with(|| {
                processes.push(Process {
                    id,
                    requests: Vec::new(),
                    next: 0,
                    outstanding: Vec::new(),
                    blocked: false,
                    since: Nanos::ZERO,
                    done: false,
                });
                processes.len() - 1
            });
            let requests = &mut processes[place].requests;
            let handle = SourceHandle((place as u64) << 32 | requests.len() as u64);
            let criticality = match record.blocks_process() {
                true => Criticality::TimeCritical,
                false => Criticality::TimeLimited,
            };
            let arrival = Arrival {
                op: record.op,
                lba: record.lba,
                sectors: record.sectors,
                flags: record.flags,
                process: id,
                priority: record.priority,
                criticality,
                cpu: record.cpu.unwrap_or_default(),
                handle,
            };
            let completed = record.completion.unwrap_or(Nanos::MAX);
            requests.push(Copy { arrival, at: record.arrival, completed });
        }
        Self { processes, index }
    }
}

impl Source for RequestCopies {
    fn next_event(&self) -> Option<Nanos> {
        self.processes.iter().filter_map(Process::due).min()
    }

    fn advance(&mut self, now: Nanos, out: &mut Vec<Step>) {
        for process in &mut self.processes {
            while process.due().is_some_and(|due| due <= now) {
                let Some(request) = process.requests.get(process.next) else {
                    process.done = true;
                    out.push(Step::Exit(process.id));
                    break;
                };
                out.push(Step::Request(request.arrival));
                process.outstanding.push(process.next);
                process.next += 1;
            }
        }
    }

    fn completed(&mut self, handle: SourceHandle, now: Nanos) {
        let process = &mut self.processes[(handle.0 >> 32) as usize];
        process.outstanding.retain(|&i| i as u64 != handle.0 & u64::from(u32::MAX));
        process.since = now;
    }

    fn blocked(&mut self, process: ProcessId, _now: Nanos) {
        if let Some(&place) = self.index.get(&process) {
            self.processes[place].blocked = true;
        }
    }

    fn unblocked(&mut self, process: ProcessId, now: Nanos) {
        if let Some(&place) = self.index.get(&process) {
            (self.processes[place].blocked, self.processes[place].since) = (false, now);
        }
    }

    /// The times recorded at the disk include the time that its tasks took to resume.
    fn thinks_from_block_layer(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gf::{BenchmarkSequence, GfBenchmark};
    use iopilot_device::ConstantDevice;
    use iopilot_sched::SchedulerSpec;
    use iopilot_sim::{BlockConfig, Progress, RunConfig, run};

    fn served(source: impl Source, latency_us: u64) -> Vec<TraceRecord> {
        let config = RunConfig {
            block: BlockConfig { queue_depth: Some(1), ..BlockConfig::default() },
            log: true,
            ..RunConfig::default()
        };
        let device = ConstantDevice::simple(400 << 21, 1, Nanos::from_micros(latency_us), 1.0);
        let scheduler = SchedulerSpec::parse("noop").unwrap();
        run(source, device, &scheduler, &config, &Progress::default()).unwrap().log.unwrap()
    }

    #[test]
    fn copies_on_an_equal_disk_are_served_as_the_requests_were() {
        for processes in [1, 5] {
            let log = served(BenchmarkSequence::new(&GfBenchmark::ALL, processes, 100, 400 << 21, 1), 300);
            assert_eq!(served(RequestCopies::new(&log), 300), log);
        }
    }

    #[test]
    fn on_a_slower_disk_a_process_waits_for_its_own() {
        let log = served(BenchmarkSequence::new(&[GfBenchmark::Tac], 2, 100, 400 << 21, 1), 300);
        let slow = served(RequestCopies::new(&log), 900);
        assert_eq!(slow.len(), log.len());
        let last = |log: &[TraceRecord]| log.iter().filter_map(|r| r.completion).max().unwrap();
        assert!(last(&slow) > last(&log));
        for process in [ProcessId(1), ProcessId(2)] {
            let own: Vec<&TraceRecord> = slow.iter().filter(|r| r.process == Some(process)).collect();
            assert!(own.windows(2).all(|w| w[0].completion <= Some(w[1].arrival)));
        }
    }

    #[test]
    fn on_a_faster_disk_nothing_arrives_before_its_original() {
        let log = served(BenchmarkSequence::new(&[GfBenchmark::Ior], 3, 100, 400 << 21, 1), 300);
        let fast = served(RequestCopies::new(&log), 10);
        assert!(fast.iter().zip(&log).all(|(copy, original)| copy.arrival >= original.arrival));
        assert!(fast.iter().map(|r| r.arrival).eq(log.iter().map(|r| r.arrival)));
    }
}
