//! Dependencies between related processes (GF 3.2.3, 4.3.3).

use super::dependencies::Marks;
use super::processes::TraceProcesses;
use crate::TraceRecord;
use iopilot_block::{Nanos, ProcessId};
use std::collections::HashMap;

/// Smaller ids are the idle task, init and kthreadd. Their children are unrelated jobs, which do not wait for each other.
const FIRST_REAL_PARENT: ProcessId = ProcessId(3);

/// A child process, as far as dependencies need it.
struct Child {
    process: usize,
    start: Nanos,
    /// Its last arrival or completion of a blocking request, whichever is later.
    end: Nanos,
    /// Its blocking request that completed last.
    last_blocking: Option<u32>,
}

/// Pairs of (request, request that must have completed before), sorted.
pub(super) fn dependencies(records: &[TraceRecord], processes: &TraceProcesses, marks: &[Marks]) -> Vec<(u32, u32)> {
    let mut by_id: HashMap<ProcessId, Vec<usize>> = HashMap::new();
    let mut families: HashMap<ProcessId, Vec<Child>> = HashMap::new();
    for (p, process) in processes.list.iter().enumerate() {
        if let Some(id) = process.id {
            by_id.entry(id).or_default().push(p);
        }
        if let (Some(parent), Some(start)) = (process.parent, process.start) {
            if parent >= FIRST_REAL_PARENT && process.id != Some(parent) {
                families.entry(parent).or_default().push(child(records, processes, marks, p, start));
            }
        }
    }
    let mut pairs = Vec::new();
    for (parent_id, mut children) in families {
        // By their ends, and by number where they end together, so that "the one that ended last" is well defined.
        children.sort_by_key(|c| (c.end, c.process));
        for c in &children {
            let first = processes.requests(c.process)[0];
            let arrival = records[first as usize].arrival;
            let elder = children[..children.partition_point(|other| other.end <= c.start)]
                .iter()
                .rev()
                .find_map(|other| other.last_blocking);
            pairs.extend(elder.map(|on| (first, on)));
            let Some(parent) = parent_at(processes, by_id.get(&parent_id), c.start) else { continue };
            let requests = processes.requests(parent);
            let before = &requests[..requests.partition_point(|&i| records[i as usize].arrival <= c.start)];
            let last = before.iter().rev().copied().find(|&i| marks[i as usize].contains(Marks::BLOCKING));
            pairs.extend(last.filter(|&i| records[i as usize].completion <= Some(arrival)).map(|on| (first, on)));
            let next = requests[requests.partition_point(|&i| records[i as usize].arrival <= arrival)..].first();
            if let (Some(&next), Some(on)) = (next, c.last_blocking) {
                if c.end <= records[next as usize].arrival {
                    pairs.push((next, on));
                }
            }
        }
    }
    // A request depends only on earlier ones that had completed when it arrived, however times are rounded: no cycles.
    // (The recorded start of a process may lie behind its first request, when an elder sibling had not ended yet.)
    pairs.retain(|&(request, on)| {
        on < request && records[on as usize].completion <= Some(records[request as usize].arrival)
    });
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}

fn child(records: &[TraceRecord], processes: &TraceProcesses, marks: &[Marks], process: usize, start: Nanos) -> Child {
    let requests = processes.requests(process);
    let last_blocking = requests
        .iter()
        .copied()
        .filter(|&i| marks[i as usize].contains(Marks::BLOCKING))
        .max_by_key(|&i| (records[i as usize].completion, i));
    let last_arrival = requests.last().map_or(Nanos::ZERO, |&i| records[i as usize].arrival);
    let end = last_blocking.and_then(|i| records[i as usize].completion).unwrap_or(Nanos::ZERO).max(last_arrival);
    Child { process, start, end, last_blocking }
}

/// Of the processes with the parent's id, the one alive at `time`: the last that started by then.
fn parent_at(processes: &TraceProcesses, candidates: Option<&Vec<usize>>, time: Nanos) -> Option<usize> {
    let started = |&&p: &&usize| processes.list[p].start.is_none_or(|s| s <= time);
    candidates?.iter().rev().find(started).copied()
}
