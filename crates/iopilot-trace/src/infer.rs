//! Infers the causes of a trace's arrivals: which request waited for which, and how long each process thought.
//!
//! Recorded arrival times hold only for the scheduler and disk of the recording. To replay a trace on others, [`infer`]
//! turns arrival times into causes, as the thesis' request arrival simulator does (GF 3.2.3, 4.3.3, 4.3.4), and
//! [`ArrivalSimulator`] plays those back. A request is *eligible* when
//!
//! 1. its predecessor in the same process has arrived: a process issues in recorded order;
//! 2. no more *blocking* requests ([`TraceRecord::blocks_process`]) of its process are outstanding than were in the
//!    recording when it arrived. That number is 0 for a process that reads synchronously, and up to 31 for one that
//!    keeps 32 in flight. No process waits for background writes, nor for read-ahead ([`ReadAhead`] says which reads
//!    count as such);
//! 3. for the first of a process born during the trace: its parent's last blocking request before the birth has
//!    completed, and so have the requests of the sibling that ended last before the birth (a shell or `xargs` that runs
//!    one child after another);
//! 4. for the first of a parent after a child that it waited for: the child's last blocking request has completed. A
//!    parent waited if it issued nothing while the child did, and something later;
//! 5. for one whose process was woken by another: the other's request has completed. Waits through a journal, a pipe or a lock
//!    are no events of a trace; they show in how often a process goes on just after a request of another (`wakeups`).
//!
//! It arrives its *think time* after that: the recorded arrival minus the recorded eligibility. By construction, a replay
//! in which every request completes as recorded reproduces every arrival to the nanosecond. The exception is a process
//! that slept in a submission because the queue (under `none`, the device) was full. That sleep is no think time; the
//! replay's own block layer decides how long it lasts.
//!
//! Waits through a pipe or a journal are not visible in a trace (GF 3.2.3). Where rule 5 does not find them they are part of
//! the think time.

mod blocking;
mod dependencies;
mod due;
mod families;
mod processes;
mod simulator;
#[cfg(test)]
mod tests;
mod think_times;
mod wakeups;

pub use blocking::ReadAhead;
pub use dependencies::Dependencies;
pub use simulator::ArrivalSimulator;
pub use think_times::Stall;

use crate::TraceRecord;
use dependencies::Marks;
use iopilot_block::Nanos;
use processes::TraceProcesses;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use thiserror::Error;

/// How to infer dependencies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InferOptions {
    /// How many requests an asynchronous process keeps in flight, where the trace shows fewer. Under the scheduler
    /// `none`, submission sleeps once the device is full, so 32 in flight look like 3 to 5. Applies to processes that
    /// submit on a completion while others are outstanding, not to those that read synchronously. Think times stay as
    /// inferred, so a replay is faster than the recording, as it should be.
    pub in_flight: Option<u32>,
    /// Whether processes wait for their parents, children and elder siblings (rules 3 and 4). On by default.
    pub families: bool,
    /// Whether processes wait for those that wake them (rule 5). On by default.
    pub wakeups: bool,
    /// Whether processes wait for read-ahead.
    pub read_ahead: ReadAhead,
}

impl Default for InferOptions {
    fn default() -> Self {
        Self { in_flight: None, families: true, wakeups: true, read_ahead: ReadAhead::Auto }
    }
}

/// Why nothing can be inferred from a trace.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NotInferable {
    /// Too few records have a completion time.
    #[error("dependencies need completion times: only {present} of {total} requests have one")]
    NoCompletions {
        /// Records with a completion time.
        present: usize,
        /// All records.
        total: usize,
    },
    /// Too few records have a process.
    #[error("dependencies need process ids: only {present} of {total} requests have one")]
    NoProcesses {
        /// Records with a process id.
        present: usize,
        /// All records.
        total: usize,
    },
    /// The records are not in arrival order.
    #[error("request {record} arrives before the one ahead of it, expected arrival order")]
    NotInOrder {
        /// The later of the two, counted from 1.
        record: usize,
    },
    /// The times of a record contradict each other.
    #[error("request {record} completes before it arrives")]
    CompletionBeforeArrival {
        /// The record, counted from 1.
        record: usize,
    },
    /// Requests are numbered with 32 bits.
    #[error("{total} requests are too many to infer from at once, expected fewer than 2^32")]
    TooMany {
        /// All records.
        total: usize,
    },
}

/// Whether [`infer`] can work with `records`. Nearly all need a completion time and a process id: 1 % may be without,
/// and the requests in flight at the end of the recording may have no completion (128, or a quarter of a short trace).
/// O(n).
fn can_infer(records: &[TraceRecord]) -> Result<(), NotInferable> {
    let total = records.len();
    if u32::try_from(total).is_err() {
        return Err(NotInferable::TooMany { total });
    }
    let present = records.iter().filter(|r| r.process.is_some()).count();
    if total - present > total / 100 {
        return Err(NotInferable::NoProcesses { present, total });
    }
    let present = records.iter().filter(|r| r.completion.is_some()).count();
    if total - present > total / 100 + (total / 4).min(128) {
        return Err(NotInferable::NoCompletions { present, total });
    }
    if let Some(at) = records.windows(2).position(|pair| pair[1].arrival < pair[0].arrival) {
        return Err(NotInferable::NotInOrder { record: at + 2 });
    }
    match records.iter().position(|r| r.completion.is_some_and(|c| c < r.arrival)) {
        Some(at) => Err(NotInferable::CompletionBeforeArrival { record: at + 1 }),
        None => Ok(()),
    }
}

/// Infers what each of `records`, given in arrival order, waited for, and how long its process thought after that.
///
/// A request without a completion blocks no process. Requests without a process form one process that waits for nothing.
/// O(n log w) where processes keep w requests in flight; about 25 bytes a request.
pub fn infer(records: &[TraceRecord], options: &InferOptions) -> Result<Dependencies, NotInferable> {
    can_infer(records)?;
    let processes = TraceProcesses::of(records);
    let marks = blocking::marks(records, &processes, options.read_ahead);
    let cross_process = if options.families { families::dependencies(records, &processes, &marks) } else { Vec::new() };
    let mut deps = Dependencies::new(processes, marks, cross_process);
    infer_processes(records, &mut deps, options);
    let woken = if options.wakeups { wakeups::dependencies(records, &deps) } else { Vec::new() };
    if !woken.is_empty() {
        deps.add_cross_process(woken);
        infer_processes(records, &mut deps, options);
    }
    Ok(deps)
}

/// Infers limits and think times from what waits for what.
fn infer_processes(records: &[TraceRecord], deps: &mut Dependencies, options: &InferOptions) {
    let mut outstanding = BinaryHeap::new();
    // In a trace that has insertion times, a request without one went to the device at once.
    let has_insertions = records.iter().any(|r| r.inserted.is_some());
    for p in 0..deps.processes() {
        outstanding.clear();
        infer_process(records, deps, p, options, has_insertions, &mut outstanding);
    }
}

/// Infers limits and think times of process `p`. `outstanding` is an empty heap to work with.
fn infer_process(
    records: &[TraceRecord],
    deps: &mut Dependencies,
    p: usize,
    options: &InferOptions,
    has_insertions: bool,
    outstanding: &mut BinaryHeap<Reverse<Nanos>>,
) {
    let range = deps.range(p);
    // The next request's think time counts from here: the process last did something, or was woken.
    let mut anchor = Nanos::ZERO;
    // When its earlier submissions returned.
    let mut submitted = Nanos::ZERO;
    let mut submitted_on_completion = 0;
    let mut before = None;
    let mut waited = Nanos::ZERO;
    for at in range.clone() {
        let i = deps.order[at];
        let arrival = records[i as usize].arrival;
        let mut woken = false;
        while let Some(&Reverse(completion)) = outstanding.peek() {
            if completion > arrival {
                break;
            }
            outstanding.pop();
            anchor = anchor.max(completion);
            woken = true;
        }
        // It may have slept in its previous submission until there was room.
        if submitted <= arrival {
            anchor = anchor.max(submitted);
        }
        if let Some(before) = before.replace(arrival) {
            waited += anchor.since(before);
            if anchor > before {
                deps.marks[i as usize] |= Marks::WOKEN;
            }
        }
        let record = &records[i as usize];
        let issued = record.issue.filter(|_| has_insertions && record.merged != Some(true));
        submitted = submitted.max(record.inserted.or(issued).unwrap_or(arrival));
        for on in deps.cross_process(i) {
            anchor =
                anchor.max(records[on as usize].completion.expect("requests that others depend on have completed"));
        }
        submitted_on_completion += usize::from(woken && !outstanding.is_empty());
        deps.outstanding_limit[i as usize] = outstanding.len() as u32;
        deps.think[i as usize] = arrival - anchor;
        if deps.marks[i as usize].contains(Marks::BLOCKING) {
            outstanding.push(Reverse(records[i as usize].completion.expect("blocking requests have completed")));
        }
        anchor = arrival;
    }
    if let Some(before) = before {
        waited += outstanding.drain().map(|Reverse(completion)| completion.since(before)).max().unwrap_or_default();
    }
    deps.waited[p] = waited;
    // One large synchronous read arrives as several requests too, but then the next one waits for all of them.
    if let Some(in_flight) = options.in_flight {
        if submitted_on_completion * 8 >= range.len() && submitted_on_completion > 0 {
            for at in range {
                let i = deps.order[at] as usize;
                deps.outstanding_limit[i] = deps.outstanding_limit[i].max(in_flight.saturating_sub(1));
            }
        }
    }
}
