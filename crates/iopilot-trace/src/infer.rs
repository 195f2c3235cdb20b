//! What a trace says of causes: who waited for what, and how long each process thought.
//!
//! A list of arrival times belongs to the scheduler and disk it was recorded on. To replay it on others, [`infer`] turns
//! it into causes, as the thesis' request arrival simulator does (GF 3.2.3, 4.3.3, 4.3.4), and [`ArrivalSimulator`]
//! plays those back. A request is *eligible* when
//!
//! 1. its predecessor in the same process has arrived: a process issues in recorded order;
//! 2. no more *blocking* requests ([`TraceRecord::blocks_process`]) of its process are outstanding than were in the
//!    recording when it arrived. That number is 0 for a process that reads synchronously, and up to 31 for one that
//!    keeps 32 in flight. Background writes are never waited for, nor is read-ahead that deserves the name
//!    ([`ReadAhead`]);
//! 3. for the first of a process born during the trace: its parent's last blocking request before the birth has
//!    completed, and so have the requests of the sibling that ended last before the birth (a shell or `xargs` that runs
//!    one child after another);
//! 4. for the first of a parent after a child that it waited for: the child's last blocking request has completed. A
//!    parent waited if it issued nothing while the child did, and something later.
//!
//! It arrives its *think time* after that: the recorded arrival minus the recorded eligibility. By construction a
//! replay in which every request completes as recorded reproduces every arrival to the nanosecond, where no process slept in
//! a submission: a full queue (under `none`, a full device) holds it there, which is no time to think. The block layer of the
//! replay holds it by its own rules.
//!
//! Not seen are processes that wait for each other in other ways, through a pipe or a journal (GF 3.2.3 says the same);
//! their think times simply contain that wait.

mod blocking;
mod dependencies;
mod due;
mod families;
mod processes;
mod simulator;
#[cfg(test)]
mod tests;

pub use blocking::ReadAhead;
pub use dependencies::Dependencies;
pub use simulator::ArrivalSimulator;

use crate::TraceRecord;
use dependencies::Marks;
use iopilot_block::Nanos;
use processes::Processes;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use thiserror::Error;

/// How to read a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InferOptions {
    /// The requests that an asynchronous process keeps in flight, where the trace understates it: recorded under the
    /// scheduler `none`, submission itself sleeps once the device is full, and a window of 32 shows as 3 to 5. Raises
    /// the window of those processes that are seen to submit on a completion while others are outstanding; processes
    /// that read synchronously stay as they are. Think times stay as inferred, so that a replay is then faster than
    /// the recording, as it should be.
    pub window: Option<u32>,
    /// Whether processes wait for their parents, children and elder siblings (rules 3 and 4). On by default.
    pub families: bool,
    /// Whether processes wait for read-ahead.
    pub read_ahead: ReadAhead,
}

impl Default for InferOptions {
    fn default() -> Self {
        Self { window: None, families: true, read_ahead: ReadAhead::Auto }
    }
}

/// Why a trace says nothing of causes.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NotInferable {
    /// Too few records tell when they completed, so nobody knows what waited for them.
    #[error("dependencies need completion times: only {present} of {total} requests have one")]
    NoCompletions {
        /// Records with a completion time.
        present: usize,
        /// All records.
        total: usize,
    },
    /// Too few records tell who issued them.
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

/// Whether [`infer`] can work with `records`: nearly all need a completion time and a process id. Missing may be 1 % and,
/// on top of it, what can be in flight when a recording ends: 128 requests or a quarter of a short trace. O(n).
pub fn can_infer(records: &[TraceRecord]) -> Result<(), NotInferable> {
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

/// Finds out what each of `records`, given in arrival order, waited for and for how long its process thought then.
///
/// Requests whose completion is missing block nobody; those whose process is missing form one process that blocks on
/// nothing. O(n log w) for windows of w requests, some 25 bytes a request.
pub fn infer(records: &[TraceRecord], options: &InferOptions) -> Result<Dependencies, NotInferable> {
    can_infer(records)?;
    let processes = Processes::of(records);
    let marks = blocking::marks(records, &processes, options.read_ahead);
    let extra = if options.families { families::extra_dependencies(records, &processes, &marks) } else { Vec::new() };
    let mut deps = Dependencies::new(processes, marks, &extra);
    let mut outstanding = BinaryHeap::new();
    // Where a trace tells of insertions, what it tells none of went to the device at once.
    let tells = records.iter().any(|r| r.inserted.is_some());
    for p in 0..deps.processes() {
        outstanding.clear();
        infer_process(records, &mut deps, p, options, tells, &mut outstanding);
    }
    Ok(deps)
}

/// Windows and think times of process `p`; `tells` where insertions are told, `outstanding` is an empty heap to work with.
fn infer_process(
    records: &[TraceRecord],
    deps: &mut Dependencies,
    p: usize,
    options: &InferOptions,
    tells: bool,
    outstanding: &mut BinaryHeap<Reverse<Nanos>>,
) {
    let range = deps.range(p);
    // When the process last did something or was woken: what the next request's think time counts from.
    let mut anchor = Nanos::ZERO;
    // When it came out of the submissions before.
    let mut submitted = Nanos::ZERO;
    let mut submitted_on_completion = 0;
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
        // It may have slept in the submission before this one, until there was room.
        if submitted <= arrival {
            anchor = anchor.max(submitted);
        }
        let record = &records[i as usize];
        let issued = record.issue.filter(|_| tells && record.merged != Some(true));
        submitted = submitted.max(record.inserted.or(issued).unwrap_or(arrival));
        for on in deps.extra_of(i) {
            anchor = anchor.max(records[on as usize].completion.expect("only what has completed is depended on"));
        }
        submitted_on_completion += usize::from(woken && !outstanding.is_empty());
        deps.window[i as usize] = outstanding.len() as u32;
        deps.think[i as usize] = arrival - anchor;
        if deps.marks[i as usize].contains(Marks::BLOCKING) {
            outstanding.push(Reverse(records[i as usize].completion.expect("what blocks has completed")));
        }
        anchor = arrival;
    }
    // One large synchronous read arrives as several requests, too, but then the next waits for all of them.
    if let Some(window) = options.window {
        if submitted_on_completion * 8 >= range.len() && submitted_on_completion > 0 {
            for at in range {
                let i = deps.order[at] as usize;
                deps.window[i] = deps.window[i].max(window.saturating_sub(1));
            }
        }
    }
}
