//! [`WaitingQueue`]: the dependencies between the requests of a reference disk (GF 3.2.3).
//!
//! The reference disk gets a copy of each request when the real one is submitted. By then, the real process may be ahead of its
//! counterpart here. A heuristic finds the requests on which the copy depends:
//!
//! - A write depends on nothing.
//! - A synchronous read waits for the earlier synchronous reads of its process.
//! - Read-ahead waits for the synchronous reads of its process that are ahead of it in this queue.
//! - The first request of a process waits for all requests of its parent from before the start of the process.
//! - The requests of a parent after the exit of a child wait until the child has exited here, too.
//!
//! There are no think times: a request that waits for nothing goes to the scheduler at once.

use iopilot_block::{Criticality, EventQueue, Flags, Nanos, Op, ProcessId, ProcessMap, Slab};
use iopilot_redcap::{ReferenceCompletion, ReferenceRequest};
use iopilot_workload::{Arrival, Source, SourceHandle, Step};
use std::collections::VecDeque;

/// A [`Source`] of copies of the real disk's requests.
#[derive(Clone, Debug, Default)]
pub(crate) struct WaitingQueue {
    processes: ProcessMap<Process>,
    /// The number of requests that wait for others.
    waiting: usize,
    /// The steps that wait for nothing, in order, and since when.
    ready: VecDeque<(Nanos, Ready)>,
    /// The ends of copies from the simulated cache, by their index in `under_way`.
    copies: EventQueue<u32>,
    under_way: Slab<UnderWay>,
    /// Empty between calls; kept for its memory.
    changed: Vec<(ProcessId, bool)>,
    /// Completed requests, in order, for the owner to take.
    pub(crate) done: Vec<ReferenceCompletion>,
}

/// The requests of one process.
#[derive(Clone, Debug, Default)]
struct Process {
    waiting: VecDeque<Waiting>,
    /// The number of requests in the scheduler, at the disk, or being copied.
    under_way: u32,
    /// The number of synchronous reads among them.
    reads: u32,
    /// The last synchronous read that was started. Other parts of the same read start with it.
    last_read: Option<(SourceHandle, Nanos)>,
    /// What it has submitted.
    submitted: Count,
    /// What of that has ended.
    over: Count,
    parent: Option<ProcessId>,
    /// Whether it waits for its parent.
    gated: bool,
    /// The children that wait for this process, each until `over` has reached its count.
    children: Vec<(ProcessId, Count)>,
    /// Whether the real process has exited.
    exited: bool,
}

/// The progress of a process: the number of entries that went into its queue (or left it), and of its synchronous reads that
/// were submitted (or completed).
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    queued: u64,
    reads: u64,
}

impl Count {
    fn has_reached(self, other: Self) -> bool {
        self.queued >= other.queued && self.reads >= other.reads
    }
}

impl Process {
    fn push(&mut self, waiting: Waiting) {
        self.submitted.queued += 1;
        self.submitted.reads += u64::from(waiting.is_read());
        self.waiting.push_back(waiting);
    }

    fn pop(&mut self) {
        self.over.queued += u64::from(self.waiting.pop_front().is_some());
    }
}

#[derive(Clone, Copy, Debug)]
enum Waiting {
    /// A request, and when it was submitted.
    Request(ReferenceRequest, Nanos),
    /// The exit of a child.
    Exit(ProcessId),
}

impl Waiting {
    fn is_read(&self) -> bool {
        matches!(self, Self::Request(next, _) if is_synchronous(&next.request))
    }
}

#[derive(Clone, Copy, Debug)]
enum Ready {
    Request(Arrival),
    Exit(ProcessId),
}

#[derive(Clone, Copy, Debug)]
struct UnderWay {
    handle: SourceHandle,
    process: ProcessId,
    since: Nanos,
    is_read: bool,
}

/// Whether the process waits for the request.
fn is_synchronous(request: &Arrival) -> bool {
    request.op == Op::Read
        && request.criticality == Criticality::TimeCritical
        && !request.flags.contains(Flags::READ_AHEAD)
}

impl WaitingQueue {
    /// Takes a copy of a request. `now` never decreases.
    pub(crate) fn submit(&mut self, next: ReferenceRequest, now: Nanos) {
        let Arrival { op, process, .. } = next.request;
        if op != Op::Read {
            return self.start(next, now);
        }
        self.processes.entry(process).or_default().push(Waiting::Request(next, now));
        self.waiting += 1;
        self.release(process, now);
    }

    /// `parent` has started `process`.
    pub(crate) fn started(&mut self, process: ProcessId, parent: ProcessId) {
        let mut gated = false;
        if let Some(of) = self.processes.get_mut(&parent) {
            gated = !of.over.has_reached(of.submitted);
            if gated {
                of.children.push((process, of.submitted));
            }
        }
        let new = self.processes.entry(process).or_default();
        (new.parent, new.gated) = (Some(parent), gated);
    }

    /// The real process has exited.
    pub(crate) fn exited(&mut self, id: ProcessId, now: Nanos) {
        let process = self.processes.entry(id).or_default();
        process.exited = true;
        let parent = process.parent;
        if process.under_way > 0 || !process.waiting.is_empty() {
            if let Some(parent) = parent {
                self.processes.entry(parent).or_default().push(Waiting::Exit(id));
            }
        }
        self.release(id, now);
    }

    /// The number of requests that wait for others.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting
    }

    /// Drops the requests that wait for others.
    pub(crate) fn drop_waiting(&mut self, now: Nanos) {
        let mut waited_for = Vec::new();
        for (id, process) in &mut self.processes {
            // Dropped requests count as ended, so that no request waits for them.
            process.over.reads += process.waiting.iter().filter(|waiting| waiting.is_read()).count() as u64;
            process.over.queued += process.waiting.len() as u64;
            process.waiting.clear();
            if process.exited || !process.children.is_empty() {
                waited_for.push(*id);
            }
        }
        self.waiting = 0;
        // Sorted, so that the order is the same in every run.
        waited_for.sort_unstable();
        for id in waited_for {
            self.release(id, now);
        }
    }

    /// Starts the requests of one process, and of the processes that wait for it, that no longer wait.
    fn release(&mut self, id: ProcessId, now: Nanos) {
        let mut changed = std::mem::take(&mut self.changed);
        changed.push((id, false));
        while let Some((id, opened)) = changed.pop() {
            if let Some(process) = self.processes.get_mut(&id) {
                process.gated &= !opened;
            }
            while let Some(request) = self.next_of(id) {
                self.start(request, now);
            }
            let Some(process) = self.processes.get_mut(&id) else { continue };
            let exits = process.exited && process.under_way == 0 && process.waiting.is_empty();
            let over = process.over;
            process.children.retain(|&(child, until)| {
                let open = exits || over.has_reached(until);
                if open {
                    changed.push((child, true));
                }
                !open
            });
            if exits {
                changed.extend(process.parent.map(|parent| (parent, false)));
                self.processes.remove(&id);
                self.ready.push_back((now, Ready::Exit(id)));
            }
        }
        self.changed = changed;
    }

    /// Takes the next request of a process from its queue, if it waits for nothing.
    fn next_of(&mut self, id: ProcessId) -> Option<ReferenceRequest> {
        while let Waiting::Exit(child) = self.processes.get(&id)?.waiting.front()? {
            if self.processes.contains_key(child) {
                return None;
            }
            self.processes.get_mut(&id)?.pop();
        }
        let process = self.processes.get_mut(&id)?;
        let &Waiting::Request(next @ ReferenceRequest { request, copy }, at) = process.waiting.front()? else {
            return None;
        };
        if process.gated {
            return None;
        }
        if is_synchronous(&request) {
            // The parts of one read start together; a copy among them has no handle of its own.
            let same =
                |(handle, since): (SourceHandle, Nanos)| since == at && (handle == request.handle || copy.is_some());
            if process.reads > 0 && !process.last_read.is_some_and(same) {
                return None;
            }
            process.last_read = Some((request.handle, at));
        }
        process.pop();
        self.waiting -= 1;
        Some(next)
    }

    fn start(&mut self, ReferenceRequest { request, copy }: ReferenceRequest, now: Nanos) {
        let (is_read, Arrival { handle, process, .. }) = (is_synchronous(&request), request);
        let of = self.processes.entry(process).or_default();
        of.under_way += 1;
        of.reads += u32::from(is_read);
        match copy {
            Some(takes) => {
                let copy = self.under_way.insert(UnderWay { handle, process, since: now, is_read });
                self.copies.push(now + takes, copy);
            }
            None => self.ready.push_back((now, Ready::Request(request))),
        }
    }

    fn end(&mut self, number: u32, now: Nanos) {
        let UnderWay { handle, process, since, is_read } = *self.under_way.remove(number);
        self.done.push(ReferenceCompletion { handle, at: now, wait_and_service: now.since(since) });
        let Some(of) = self.processes.get_mut(&process) else { return };
        of.under_way -= 1;
        if is_read {
            of.reads -= 1;
            of.over.reads += 1;
        }
        self.release(process, now);
    }
}

impl Source for WaitingQueue {
    fn next_event(&self) -> Option<Nanos> {
        let ready = self.ready.front().map(|(at, _)| *at);
        ready.into_iter().chain(self.copies.next_time()).min()
    }

    fn advance(&mut self, now: Nanos, out: &mut Vec<Step>) {
        while let Some(copy) = self.copies.pop_due(now) {
            self.end(copy.event, copy.at);
        }
        while let Some((_, next)) = self.ready.pop_front() {
            out.push(match next {
                Ready::Exit(process) => Step::Exit(process),
                Ready::Request(request) => {
                    let (is_read, Arrival { handle, process, .. }) = (is_synchronous(&request), request);
                    let number = self.under_way.insert(UnderWay { handle, process, since: now, is_read });
                    Step::Request(Arrival { handle: SourceHandle(number.into()), ..request })
                }
            });
        }
    }

    fn completed(&mut self, handle: SourceHandle, now: Nanos) {
        self.end(handle.0 as u32, now);
    }

    /// Ignored: later requests of the task queue behind it in the block layer.
    fn blocked(&mut self, _: ProcessId, _: Nanos) {}

    fn unblocked(&mut self, _: ProcessId, _: Nanos) {}

    /// There are no think times.
    fn thinks_from_block_layer(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_block::{IoPriority, Lba, Sectors};

    fn request(id: u64, process: u32, op: Op) -> ReferenceRequest {
        let request = Arrival {
            handle: SourceHandle(id),
            op,
            lba: Lba(id * 8),
            sectors: Sectors(8),
            flags: Flags::empty(),
            process: ProcessId(process),
            priority: IoPriority::default(),
            criticality: Criticality::TimeCritical,
            cpu: 0,
        };
        ReferenceRequest { request, copy: None }
    }

    fn read(id: u64, process: u32) -> ReferenceRequest {
        request(id, process, Op::Read)
    }

    /// Requests that go to the scheduler by `now`: by the place they ask for, with the handle; exits as negative numbers.
    fn steps(queue: &mut WaitingQueue, now: u64) -> Vec<(i64, u64)> {
        let mut out = Vec::new();
        while queue.next_event().is_some_and(|at| at.0 <= now) {
            queue.advance(Nanos(now), &mut out);
        }
        let of = |step: Step| match step {
            Step::Request(arrival) => (arrival.lba.0 as i64 / 8, arrival.handle.0),
            Step::Exit(process) => (-i64::from(process.0), 0),
            Step::Waits(_) => panic!("nobody tells"),
            Step::Start { .. } => (0, 0),
        };
        out.into_iter().map(of).collect()
    }

    fn names(steps: &[(i64, u64)]) -> Vec<i64> {
        steps.iter().map(|step| step.0).collect()
    }

    #[test]
    fn a_synchronous_read_waits_for_those_of_its_process() {
        let mut q = WaitingQueue::default();
        q.submit(read(1, 7), Nanos(0));
        q.submit(read(2, 7), Nanos(5));
        q.submit(read(3, 8), Nanos(5));
        q.submit(request(4, 7, Op::Write), Nanos(5));
        let first = steps(&mut q, 5);
        assert_eq!((names(&first), q.waiting()), (vec![1, 3, 4], 1), "writes wait for nothing");
        q.completed(SourceHandle(first[0].1), Nanos(40));
        assert_eq!(names(&steps(&mut q, 40)), [2]);
        let done: Vec<_> = q.done.iter().map(|done| (done.handle.0, done.at.0, done.wait_and_service.0)).collect();
        assert_eq!(done, [(1, 40, 40 - 5)], "the time counts from the insertion into the scheduler");
    }

    #[test]
    fn read_ahead_goes_with_the_reads_before_it_and_behind_those_that_wait() {
        let ahead = |id| {
            let ReferenceRequest { request, copy } = read(id, 7);
            ReferenceRequest { request: Arrival { flags: Flags::READ_AHEAD, ..request }, copy }
        };
        let mut q = WaitingQueue::default();
        q.submit(read(1, 7), Nanos(0));
        q.submit(ahead(2), Nanos(1));
        let first = steps(&mut q, 1);
        assert_eq!(names(&first), [1, 2]);
        q.submit(read(3, 7), Nanos(2));
        q.submit(ahead(4), Nanos(3));
        assert_eq!(names(&steps(&mut q, 3)), [0; 0]);
        q.completed(SourceHandle(first[0].1), Nanos(9));
        assert_eq!(names(&steps(&mut q, 9)), [3, 4], "the read-ahead under way holds up nobody");
    }

    #[test]
    fn a_copy_takes_its_time_without_the_disk_and_the_parts_of_a_read_go_together() {
        let copy = |id, process, takes| ReferenceRequest { copy: Some(Nanos(takes)), ..read(id, process) };
        let mut q = WaitingQueue::default();
        q.submit(copy(1, 7, 30), Nanos(10));
        q.submit(read(2, 7), Nanos(12));
        assert_eq!((names(&steps(&mut q, 39)), q.next_event()), (vec![], Some(Nanos(40))));
        assert_eq!(names(&steps(&mut q, 40)), [2]);
        // Two holes and a copy.
        for part in [read(3, 8), read(3, 8), copy(99, 8, 5), read(4, 8)] {
            q.submit(part, Nanos(50));
        }
        assert_eq!((names(&steps(&mut q, 50)), q.waiting()), (vec![3, 3], 1));
    }

    #[test]
    fn a_child_waits_for_its_parent_and_the_parent_for_the_exit() {
        let mut q = WaitingQueue::default();
        q.submit(read(1, 7), Nanos(0));
        q.submit(read(2, 7), Nanos(1));
        q.started(ProcessId(9), ProcessId(7));
        q.submit(read(3, 9), Nanos(2));
        let first = steps(&mut q, 2);
        assert_eq!(names(&first), [1]);
        q.exited(ProcessId(9), Nanos(3));
        q.submit(read(4, 7), Nanos(4));
        q.completed(SourceHandle(first[0].1), Nanos(10));
        let second = steps(&mut q, 10);
        assert_eq!(names(&second), [2]);
        q.completed(SourceHandle(second[0].1), Nanos(20));
        let third = steps(&mut q, 20);
        assert_eq!(names(&third), [3]);
        q.completed(SourceHandle(third[0].1), Nanos(30));
        assert_eq!(names(&steps(&mut q, 30)), [-9, 4]);
        // The next child was started when the first had exited.
        let mut q = WaitingQueue::default();
        for (child, at) in [(20, 0), (21, 5)] {
            q.started(ProcessId(child), ProcessId(7));
            q.submit(read(u64::from(child), child), Nanos(at));
            q.exited(ProcessId(child), Nanos(at + 1));
        }
        let first = steps(&mut q, 5);
        assert_eq!(names(&first), [20]);
        q.completed(SourceHandle(first[0].1), Nanos(40));
        assert_eq!(names(&steps(&mut q, 40)), [-20, 21]);
    }

    #[test]
    fn waiting_requests_can_be_dropped() {
        let mut q = WaitingQueue::default();
        for id in 1..=3 {
            q.submit(read(id, 7), Nanos(id));
        }
        q.submit(read(4, 8), Nanos(4));
        let first = steps(&mut q, 4);
        q.drop_waiting(Nanos(5));
        q.exited(ProcessId(7), Nanos(6));
        assert_eq!(q.waiting(), 0);
        q.completed(SourceHandle(first[0].1), Nanos(9));
        assert_eq!(names(&steps(&mut q, 9)), [-7]);
        q.submit(read(5, 8), Nanos(10));
        assert_eq!(q.waiting(), 1, "its process still waits for the one before");
    }
}
