//! [`Dependencies`]: the causes of a trace's arrivals.

use super::processes::TraceProcesses;
use bitflags::bitflags;
use iopilot_block::{Nanos, ProcessId};
use std::ops::Range;

bitflags! {
    /// What the playback asks of a request at each arrival and completion.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub(super) struct Marks: u8 {
        /// Its process waits for it.
        const BLOCKING = 1 << 0;
        /// It waits for requests of other processes.
        const WAITS = 1 << 1;
        /// Requests of other processes wait for it.
        const AWAITED = 1 << 2;
        /// Its process waited between its previous request and this one.
        const WOKEN = 1 << 3;
    }
}

/// What each request of a trace waits for, and how long its process thinks after that. Made by [`super::infer`].
/// Requests are named by their index in the trace.
#[derive(Clone, Debug)]
pub struct Dependencies {
    /// The ids of the processes, in order of their first requests.
    pub(super) ids: Vec<ProcessId>,
    pub(super) of_request: Vec<u32>,
    pub(super) order: Vec<u32>,
    pub(super) begin: Vec<u32>,
    pub(super) outstanding_limit: Vec<u32>,
    pub(super) think: Vec<Nanos>,
    pub(super) marks: Vec<Marks>,
    /// How long each process waited in the recording.
    pub(super) waited: Vec<Nanos>,
    /// (request, what it waits for), sorted.
    waits: Vec<(u32, u32)>,
    /// (request, what waits for it), sorted.
    awaited: Vec<(u32, u32)>,
}

impl Dependencies {
    pub(super) fn new(processes: TraceProcesses, marks: Vec<Marks>, cross_process: Vec<(u32, u32)>) -> Self {
        let mut made = Self {
            waited: vec![Nanos::ZERO; processes.list.len()],
            ids: processes.list.iter().map(|p| p.id.unwrap_or_default()).collect(),
            of_request: processes.of_request,
            order: processes.order,
            begin: processes.begin,
            outstanding_limit: vec![0; marks.len()],
            think: vec![Nanos::ZERO; marks.len()],
            marks,
            waits: Vec::new(),
            awaited: Vec::new(),
        };
        made.add_cross_process(cross_process);
        made
    }

    /// Adds pairs of (request, request of another process that it waits for).
    pub(super) fn add_cross_process(&mut self, pairs: Vec<(u32, u32)>) {
        for &(request, on) in &pairs {
            self.marks[request as usize] |= Marks::WAITS;
            self.marks[on as usize] |= Marks::AWAITED;
        }
        self.waits.extend(pairs);
        self.waits.sort_unstable();
        self.waits.dedup();
        self.awaited = self.waits.iter().map(|&(request, on)| (on, request)).collect();
        self.awaited.sort_unstable();
    }

    /// How many requests the trace has.
    pub fn len(&self) -> usize {
        self.think.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.think.is_empty()
    }

    /// How many processes issued them.
    pub fn processes(&self) -> usize {
        self.ids.len()
    }

    /// The process of `request`; 0 where the trace has none.
    pub fn process(&self, request: u32) -> ProcessId {
        self.ids[self.of_request[request as usize] as usize]
    }

    /// The number of `request`'s process, from 0 in order of first requests. Unlike ids, numbers are not reused.
    pub(crate) fn process_index(&self, request: u32) -> u32 {
        self.of_request[request as usize]
    }

    /// The requests of the process numbered `process`, in the order in which it issues them.
    pub fn requests_of(&self, process: u32) -> &[u32] {
        &self.order[self.range(process as usize)]
    }

    /// How many blocking requests of its process may be outstanding when `request` is issued.
    pub fn outstanding_limit(&self, request: u32) -> u32 {
        self.outstanding_limit[request as usize]
    }

    /// The time from `request`'s eligibility to its arrival.
    pub fn think(&self, request: u32) -> Nanos {
        self.think[request as usize]
    }

    /// How long the process numbered `process` waited in the recording: for its own requests, and for tags.
    pub fn recorded_waiting(&self, process: u32) -> Nanos {
        self.waited[process as usize]
    }

    /// Whether the issuing process waits for `request` (and was seen to: its completion is in the trace).
    pub fn is_blocking(&self, request: u32) -> bool {
        self.marks[request as usize].contains(Marks::BLOCKING)
    }

    /// Lets the process numbered `process` keep `in_flight` blocking requests outstanding, if the trace shows fewer
    /// because it slept for tags during the recording.
    pub fn keep_in_flight(&mut self, process: u32, in_flight: u32) {
        for at in self.range(process as usize) {
            let limit = &mut self.outstanding_limit[self.order[at] as usize];
            *limit = (*limit).max(in_flight.saturating_sub(1));
        }
    }

    /// The requests of other processes that must have completed before `request` is issued.
    pub fn cross_process(&self, request: u32) -> impl Iterator<Item = u32> + '_ {
        let waits: &[(u32, u32)] = if self.marks[request as usize].contains(Marks::WAITS) {
            &self.waits[self.waits.partition_point(|j| j.0 < request)..]
        } else {
            &[]
        };
        waits.iter().take_while(move |j| j.0 == request).map(|j| j.1)
    }

    /// How many dependencies between processes there are.
    pub fn cross_process_count(&self) -> usize {
        self.waits.len()
    }

    /// The range of `awaited` with the requests that wait for `request`.
    pub(super) fn awaiting(&self, request: u32) -> Range<usize> {
        if !self.marks[request as usize].contains(Marks::AWAITED) {
            return 0..0;
        }
        self.awaited.partition_point(|a| a.0 < request)..self.awaited.partition_point(|a| a.0 <= request)
    }

    pub(super) fn awaiting_request(&self, at: usize) -> u32 {
        self.awaited[at].1
    }

    /// The index in `waits` of the first dependency of `request`.
    pub(super) fn wait_index(&self, request: u32) -> usize {
        self.waits.partition_point(|j| j.0 < request)
    }

    pub(super) fn range(&self, process: usize) -> Range<usize> {
        self.begin[process] as usize..self.begin[process + 1] as usize
    }
}
