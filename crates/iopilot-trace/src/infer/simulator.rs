//! [`ArrivalSimulator`]: plays inferred dependencies back against another scheduler or disk.

use super::dependencies::{Dependencies, Marks};
use super::due::DueHeap;
use iopilot_block::{Nanos, ProcessId};
use std::borrow::Borrow;

/// A process at playback.
#[derive(Clone, Copy, Debug)]
struct TraceProcess {
    /// Its next request: a place in `Dependencies::order`.
    next: u32,
    /// Its requests that have arrived and not completed, and those of them that it waits for.
    outstanding: u32,
    outstanding_blocking: u32,
    /// Its requests that were refused admission.
    refused: u32,
    /// When its last request arrived; `None` before its first.
    arrived: Option<Nanos>,
    /// Whether it has waited since then, for its own requests or for admission.
    waits: bool,
    /// How long it has waited before.
    waited: Nanos,
}

impl TraceProcess {
    /// Ends a wait for its own requests or for admission.
    fn go_on(&mut self, now: Nanos) {
        if std::mem::take(&mut self.waits) {
            self.waited += self.arrived.map_or(Nanos::ZERO, |since| now.since(since));
        }
    }
}

/// The request arrival simulator (GF 4.3.3, 4.3.4): says when each request of a trace arrives, given when the ones before
/// it complete. A pure state machine without a clock: a simulator drives it in virtual time, a daemon in real time.
///
/// At each [`next_event`](Self::next_event) take requests with [`pop`](Self::pop) or [`advance`](Self::advance) and hand
/// them to the block layer; report [`completed`](Self::completed) ones and then take again, since a think time of zero
/// makes the next request due at once. Where the scheduler's queue is congested and a request cannot be admitted, keep
/// it, call [`blocked`](Self::blocked), and [`unblocked`](Self::unblocked) once it is admitted (GF 3.2.6).
///
/// O(log processes) a request; allocates nothing after [`new`](Self::new). `D` is `&Dependencies`, an `Arc` of them, or
/// the dependencies themselves.
#[derive(Clone, Debug)]
pub struct ArrivalSimulator<D> {
    deps: D,
    processes: Vec<TraceProcess>,
    due: DueHeap,
    /// For each request that waits for other processes, at its [`Dependencies::wait_index`]: how many it still waits for.
    unmet: Vec<u32>,
    not_completed: usize,
    think_scale: f64,
}

impl<D: Borrow<Dependencies>> ArrivalSimulator<D> {
    /// A playback that starts at time zero.
    pub fn new(deps: D) -> Self {
        Self::with_think_scale(deps, 1.0)
    }

    /// A playback in which processes think `scale` times as long as recorded: 0.5 stands for a CPU twice as fast, 0 for
    /// processes that do nothing but I/O. The first arrivals, counted from the start, scale too.
    pub fn with_think_scale(deps: D, scale: f64) -> Self {
        let d: &Dependencies = deps.borrow();
        let processes = (0..d.processes())
            .map(|p| TraceProcess {
                next: d.begin[p],
                outstanding: 0,
                outstanding_blocking: 0,
                refused: 0,
                arrived: None,
                waits: false,
                waited: Nanos::ZERO,
            })
            .collect::<Vec<_>>();
        let mut unmet = vec![0; d.cross_process_count()];
        for request in (0..d.len() as u32).filter(|&r| d.marks[r as usize].contains(Marks::WAITS)) {
            unmet[d.wait_index(request)] = d.cross_process(request).count() as u32;
        }
        let (due, not_completed) = (DueHeap::new(processes.len()), d.len());
        let mut simulator = Self { deps, processes, due, unmet, not_completed, think_scale: scale };
        for p in 0..simulator.processes.len() {
            simulator.consider(p as u32, Nanos::ZERO);
        }
        simulator
    }

    /// When the next request arrives, as far as is known without further completions.
    pub fn next_event(&self) -> Option<Nanos> {
        self.due.peek().map(|(due, ..)| due)
    }

    /// When the next request of the process of `request` arrives, and which it is; `None` while it waits for completions, or has
    /// no more.
    pub fn next_of(&self, request: u32) -> Option<(Nanos, u32)> {
        self.due.of(self.deps.borrow().process_index(request))
    }

    /// The next request that arrives by `now`, if any; ties go to the one recorded first.
    pub fn pop(&mut self, now: Nanos) -> Option<u32> {
        let (due, request, p) = self.due.peek()?;
        if due > now {
            return None;
        }
        self.due.remove(p);
        let blocking = self.deps.borrow().is_blocking(request);
        let process = &mut self.processes[p as usize];
        process.next += 1;
        process.outstanding += 1;
        process.outstanding_blocking += u32::from(blocking);
        (process.arrived, process.waits) = (Some(now), true);
        self.consider(p, now);
        Some(request)
    }

    /// Appends all requests that arrive by `now` to `out`.
    pub fn advance(&mut self, now: Nanos, out: &mut Vec<u32>) {
        while let Some(request) = self.pop(now) {
            out.push(request);
        }
    }

    /// `request` has completed. Returns its process if that was the last request it will ever have: it exits.
    pub fn completed(&mut self, request: u32, now: Nanos) -> Option<ProcessId> {
        let d: &Dependencies = self.deps.borrow();
        let p = d.process_index(request);
        let blocking = d.is_blocking(request);
        let waiters = d.awaiting(request);
        let end = d.begin[p as usize + 1];
        let process = &mut self.processes[p as usize];
        debug_assert!(process.outstanding > 0, "request {request} completes without having arrived");
        process.outstanding -= 1;
        process.outstanding_blocking -= u32::from(blocking);
        let exits = process.outstanding == 0 && process.next == end;
        self.not_completed -= 1;
        if blocking {
            self.consider(p, now);
        }
        for at in waiters {
            let d: &Dependencies = self.deps.borrow();
            let waiter = d.awaiting_request(at);
            let (slot, q) = (d.wait_index(waiter), d.process_index(waiter));
            self.unmet[slot] -= 1;
            self.consider(q, now);
        }
        exits.then(|| self.deps.borrow().process(request))
    }

    /// `request`, which has arrived, was not admitted: its process sleeps and issues nothing.
    pub fn blocked(&mut self, request: u32) {
        let p = self.deps.borrow().process_index(request);
        self.processes[p as usize].refused += 1;
        self.processes[p as usize].waits = true;
        self.due.remove(p);
    }

    /// `request` was admitted: its process continues, and starts to think now.
    pub fn unblocked(&mut self, request: u32, now: Nanos) {
        let p = self.deps.borrow().process_index(request);
        debug_assert!(self.processes[p as usize].refused > 0, "request {request} was not blocked");
        self.processes[p as usize].refused -= 1;
        self.consider(p, now);
    }

    /// Whether every request has arrived and completed.
    pub fn is_done(&self) -> bool {
        self.not_completed == 0
    }

    /// How long the process numbered `process` has waited so far, for its own requests and for admission. Waits for
    /// other processes are not counted, as those count their own. The time of a wait that has not ended is not counted
    /// yet.
    pub fn waited(&self, process: u32) -> Nanos {
        self.processes[process as usize].waited
    }

    /// The dependencies that are played back.
    pub fn dependencies(&self) -> &Dependencies {
        self.deps.borrow()
    }

    /// Starts the think time of `p`'s next request if it has become eligible now.
    fn consider(&mut self, p: u32, now: Nanos) {
        let d: &Dependencies = self.deps.borrow();
        let process = &mut self.processes[p as usize];
        if process.refused > 0 || self.due.contains(p) {
            return;
        }
        let Some(&request) = d.order[..d.begin[p as usize + 1] as usize].get(process.next as usize) else {
            // The process has no further request. Its wait ends when all its blocking requests are complete.
            if process.outstanding_blocking == 0 {
                process.go_on(now);
            }
            return;
        };
        if process.outstanding_blocking > d.outstanding_limit(request) {
            return;
        }
        process.go_on(now);
        let waits = d.marks[request as usize].contains(Marks::WAITS);
        if waits && self.unmet[d.wait_index(request)] > 0 {
            return;
        }
        let think = d.think(request);
        let think = if self.think_scale == 1.0 { think } else { Nanos((think.0 as f64 * self.think_scale) as u64) };
        self.due.push(now.saturating_add(think), request, p);
    }
}
