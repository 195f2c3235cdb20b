//! [`TraceProcesses`]: the requests of each process.

use crate::TraceRecord;
use iopilot_block::{Nanos, ProcessId};
use std::collections::HashMap;

/// One process of a trace.
pub(super) struct TraceProcess {
    /// Its id; `None` stands for all requests of unknown origin.
    pub(super) id: Option<ProcessId>,
    /// Its parent's id.
    pub(super) parent: Option<ProcessId>,
    /// When it started.
    pub(super) start: Option<Nanos>,
}

/// The processes of a trace, in order of their first request, and the requests of each in recorded order.
pub(super) struct TraceProcesses {
    pub(super) list: Vec<TraceProcess>,
    /// The process of each request.
    pub(super) of_request: Vec<u32>,
    /// All requests, grouped by process.
    pub(super) order: Vec<u32>,
    /// Where the group of each process begins; one more than there are processes.
    pub(super) begin: Vec<u32>,
}

impl TraceProcesses {
    /// Groups `records`. A process is its id *and* its start: ids are reused (GF 3.2.2).
    pub(super) fn of(records: &[TraceRecord]) -> Self {
        let mut list: Vec<TraceProcess> = Vec::new();
        let mut of_request = Vec::with_capacity(records.len());
        let mut latest: HashMap<Option<ProcessId>, u32> = HashMap::new();
        for r in records {
            let known = latest.get(&r.process).copied().filter(|&p| {
                let process = &list[p as usize];
                r.process.is_none()
                    || r.process_start.is_none()
                    || process.start.is_none_or(|s| Some(s) == r.process_start)
            });
            let p = known.unwrap_or(list.len() as u32);
            if known.is_none() {
                list.push(TraceProcess { id: r.process, parent: None, start: None });
                latest.insert(r.process, p);
            }
            let process = &mut list[p as usize];
            if r.process.is_some() {
                process.parent = process.parent.or(r.parent);
                process.start = process.start.or(r.process_start);
            }
            of_request.push(p);
        }
        let (order, begin) = group(&of_request, list.len());
        Self { list, of_request, order, begin }
    }

    /// The requests of process `p`, in recorded order.
    pub(super) fn requests(&self, p: usize) -> &[u32] {
        &self.order[self.begin[p] as usize..self.begin[p + 1] as usize]
    }
}

/// A stable counting sort of request numbers by process.
fn group(of_request: &[u32], processes: usize) -> (Vec<u32>, Vec<u32>) {
    let mut begin = vec![0u32; processes + 1];
    for &p in of_request {
        begin[p as usize + 1] += 1;
    }
    for p in 0..processes {
        begin[p + 1] += begin[p];
    }
    let mut next = begin.clone();
    let mut order = vec![0u32; of_request.len()];
    for (i, &p) in of_request.iter().enumerate() {
        let slot = &mut next[p as usize];
        order[*slot as usize] = i as u32;
        *slot += 1;
    }
    (order, begin)
}
