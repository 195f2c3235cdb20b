//! [`ProcessQueues`]: how many requests processes keep in flight with asynchronous I/O.
//!
//! Under `none` a process sleeps in its submission until the device has a tag for its request, so the block layer sees
//! one request more than the device takes, however many the process keeps in flight. What it keeps can be read from its
//! own queues: see [`aio`] and [`uring`].

mod aio;
mod uring;

use aio::AioRings;
use iopilot_block::ProcessId;
use iopilot_trace::TraceRecord;
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::time::{Duration, Instant};
use uring::Urings;

/// The most processes that are looked at; more would cost too much.
const MOST: usize = 32;
/// How long to wait before the queues of a process are searched for again.
const SEARCH_EVERY: Duration = Duration::from_secs(1);
/// The most tasks whose kind is remembered.
const REMEMBERED: usize = 4096;
/// The prefix of the names of the kernel's threads that sleep for a process, where `io_uring` must not.
const WORKERS: &str = "iou-wrk-";

/// The queues of the processes that issue requests, and what was in them.
#[derive(Debug, Default)]
pub(super) struct ProcessQueues {
    processes: BTreeMap<ProcessId, Queues>,
    /// For a task other than its process' first: whether it is a worker.
    workers: HashMap<ProcessId, bool>,
}

#[derive(Debug)]
struct Queues {
    aio: AioRings,
    urings: Urings,
    searched: Instant,
    /// The most results and requests in them since the last take, and in the time before that.
    most: Held,
    before: Held,
    /// Whether it has issued a request since the last take.
    active: bool,
}

/// What was seen in the queues of a process.
#[derive(Clone, Copy, Debug, Default)]
struct Held {
    /// Results that the process has not fetched. Requests at the device are not among them.
    results: u32,
    /// Requests that it has submitted, and whose results it has not fetched.
    submitted: u32,
}

impl ProcessQueues {
    /// Attributes requests that a worker of `io_uring` issued to the process that it works for.
    pub(super) fn name_issuers(&mut self, records: &mut [TraceRecord]) {
        for record in records {
            let (Some(task), Some(process)) = (record.process, record.thread_group) else { continue };
            if task == process {
                continue;
            }
            if self.workers.len() >= REMEMBERED {
                self.workers.clear();
            }
            let is_worker = || {
                let name = fs::read_to_string(format!("/proc/{}/task/{}/comm", process.0, task.0));
                name.is_ok_and(|name| name.starts_with(WORKERS))
            };
            if *self.workers.entry(task).or_insert_with(is_worker) {
                record.process = Some(process);
                // Start and parent are those of the worker.
                (record.process_start, record.parent) = (None, None);
            }
        }
    }

    /// Looks at the queues of the processes that issued `records`, which have just completed, and of those before.
    pub(super) fn look(&mut self, records: &[TraceRecord], now: Instant) {
        for process in records.iter().filter_map(|r| r.process) {
            if let Some(queues) = self.processes.get_mut(&process) {
                queues.active = true;
            } else if self.processes.len() < MOST {
                self.processes.insert(process, Queues::of(process, now));
            }
        }
        for (process, queues) in &mut self.processes {
            if queues.is_empty() && now.saturating_duration_since(queues.searched) >= SEARCH_EVERY {
                *queues = Queues { active: queues.active, ..Queues::of(*process, now) };
            }
            queues.most.results = queues.most.results.max(queues.aio.results());
            queues.most.submitted = queues.most.submitted.max(queues.urings.submitted(*process));
        }
    }

    /// Takes what each process was seen to keep in flight, on a device that takes `at_device` requests. Processes
    /// without a queue are left out; those that have issued nothing are forgotten.
    pub(super) fn take(&mut self, at_device: u32) -> BTreeMap<ProcessId, u32> {
        self.processes.retain(|_, queues| std::mem::take(&mut queues.active));
        let mut in_flight = BTreeMap::new();
        for (process, queues) in &mut self.processes {
            let (most, before) = (std::mem::take(&mut queues.most), queues.before);
            if !queues.is_empty() {
                let aio = at_device + most.results.max(before.results);
                in_flight.insert(*process, aio.max(most.submitted).max(before.submitted));
            }
            queues.before = most;
        }
        in_flight
    }
}

impl Queues {
    /// Those of `process`.
    fn of(process: ProcessId, now: Instant) -> Self {
        let (aio, urings) = (AioRings::of(process), Urings::of(process));
        Self { aio, urings, searched: now, most: Held::default(), before: Held::default(), active: true }
    }

    fn is_empty(&self) -> bool {
        self.aio.is_empty() && self.urings.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_block::{Lba, Nanos, Op, Sectors};

    #[test]
    fn a_process_without_a_queue_is_left_out() {
        let mut queues = ProcessQueues::default();
        let me = ProcessId(std::process::id());
        let mut records =
            [TraceRecord { process: Some(me), ..TraceRecord::new(Nanos(0), Op::Read, Lba(0), Sectors(8)) }];
        queues.name_issuers(&mut records);
        assert_eq!(records[0].process, Some(me));
        queues.look(&records, Instant::now());
        assert_eq!(queues.take(4), BTreeMap::new());
        assert!(queues.take(4).is_empty() && queues.processes.is_empty());
    }

    #[test]
    fn requests_of_other_threads_keep_their_process() {
        let me = ProcessId(std::process::id());
        let record = TraceRecord::new(Nanos(0), Op::Read, Lba(0), Sectors(8));
        let mut records = [TraceRecord { process: Some(ProcessId(1)), thread_group: Some(me), ..record }];
        ProcessQueues::default().name_issuers(&mut records);
        assert_eq!(records[0].process, Some(ProcessId(1)));
    }
}
