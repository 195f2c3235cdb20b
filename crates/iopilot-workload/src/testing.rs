//! A device for tests of sources: completes in random order after random times, and checks the protocol.
//!
//! It panics when a source breaks the protocol of [`Source`].
#![allow(clippy::unwrap_used)]

use crate::{Arrival, Source, Step};
use iopilot_block::{Nanos, Op, ProcessId};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::collections::{BTreeMap, BTreeSet};

/// A device whose requests take random times.
pub struct TestDevice {
    /// Shortest and longest time of a request.
    pub service: (Nanos, Nanos),
    /// The probability that a request blocks its process for a while.
    pub blocking: f64,
    /// Seed of all random choices.
    pub seed: u64,
    /// The run stops after this many requests.
    pub most: usize,
}

/// What a source did in a run.
#[derive(Debug, Default, PartialEq)]
pub struct SourceLog {
    /// The requests, in the order in which they were issued.
    pub requests: Vec<IssuedRequest>,
    /// Each exit: its time and process.
    pub exits: Vec<(Nanos, ProcessId)>,
    /// Each start: its time, the new process, and its parent.
    pub starts: Vec<(Nanos, ProcessId, ProcessId)>,
    /// The most requests of one process in flight at once.
    pub depth: BTreeMap<u32, usize>,
    /// Lengths of the batches of requests issued by one process in one call.
    pub batches: Vec<usize>,
}

/// A request that was issued.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IssuedRequest {
    /// The request.
    pub arrival: Arrival,
    /// When it was issued.
    pub at: Nanos,
    /// When it was complete; [`Nanos::MAX`] until then.
    pub done: Nanos,
}

impl Default for TestDevice {
    fn default() -> Self {
        Self { service: (Nanos::from_micros(10), Nanos::from_millis(10)), blocking: 0.0, seed: 1, most: 1_000_000 }
    }
}

impl TestDevice {
    /// A device on which each request takes `ms`.
    pub fn fixed(ms: u64) -> Self {
        Self { service: (Nanos::from_millis(ms), Nanos::from_millis(ms)), ..Self::default() }
    }

    /// Runs `source` to its end (or `most` requests).
    pub fn run(&self, source: &mut impl Source) -> SourceLog {
        let mut random = Pcg64Mcg::seed_from_u64(self.seed);
        let mut log = SourceLog::default();
        // (time, order) -> index of the request that completes, or the process that is unblocked.
        let mut events: BTreeMap<(Nanos, u64), Event> = BTreeMap::new();
        let (mut order, mut now) = (0, Nanos::ZERO);
        let (mut in_flight, mut handles) = (BTreeMap::<u32, usize>::new(), BTreeSet::new());
        let (mut blocked, mut exited) = (BTreeSet::new(), BTreeSet::new());
        let mut steps = Vec::new();
        loop {
            let due = source.next_event();
            let first = events.first_key_value().map(|(k, _)| k.0);
            let device_first = match (due, first) {
                (None, None) => break,
                (Some(a), Some(b)) => b <= a,
                (due, _) => due.is_none(),
            };
            if device_first {
                let ((at, _), event) = events.pop_first().unwrap();
                now = at;
                match event {
                    Event::Completion(index) => {
                        let request: &mut IssuedRequest = &mut log.requests[index];
                        request.done = now;
                        *in_flight.get_mut(&request.arrival.process.0).unwrap() -= 1;
                        assert!(handles.remove(&request.arrival.handle));
                        source.completed(request.arrival.handle, now);
                    }
                    Event::Unblock(process) => {
                        blocked.remove(&process);
                        source.unblocked(ProcessId(process), now);
                    }
                }
                continue;
            }
            let at = due.unwrap();
            assert!(at >= now, "the source lives in the past: {at:?} < {now:?}");
            now = at;
            source.advance(now, &mut steps);
            assert!(source.next_event().is_none_or(|t| t > now), "not everything due was done");
            let mut of_process = BTreeMap::<u32, usize>::new();
            for step in steps.drain(..) {
                match step {
                    Step::Start { process, parent } => {
                        assert!(log.starts.iter().all(|s| s.1 != process), "starts twice");
                        assert!(!exited.contains(&parent.0), "starts another after its exit");
                        log.starts.push((now, process, parent));
                    }
                    Step::Waits(_) => {}
                    Step::Exit(process) => {
                        assert_eq!(
                            in_flight.get(&process.0).copied().unwrap_or(0),
                            0,
                            "exits before its last completion"
                        );
                        assert!(exited.insert(process.0), "exits twice");
                        log.exits.push((now, process));
                    }
                    Step::Request(arrival) => {
                        let process = arrival.process.0;
                        assert!(!exited.contains(&process), "issues after its exit");
                        assert!(!blocked.contains(&process), "issues while blocked");
                        assert!(handles.insert(arrival.handle), "a handle is in use twice");
                        assert_eq!(arrival.sectors.0 == 0, arrival.op == Op::Flush);
                        *of_process.entry(process).or_default() += 1;
                        let n = in_flight.entry(process).or_default();
                        *n += 1;
                        let deepest = log.depth.entry(process).or_default();
                        *deepest = (*deepest).max(*n);
                        order += 1;
                        let service = random.random_range(self.service.0.0..=self.service.1.0);
                        events.insert((now + Nanos(service), order), Event::Completion(log.requests.len()));
                        log.requests.push(IssuedRequest { arrival, at: now, done: Nanos::MAX });
                    }
                }
            }
            log.batches.extend(of_process.values());
            for &process in of_process.keys() {
                if random.random_bool(self.blocking) {
                    blocked.insert(process);
                    source.blocked(ProcessId(process), now);
                    order += 1;
                    let until = now + Nanos(random.random_range(1..10_000_000));
                    events.insert((until, order), Event::Unblock(process));
                }
            }
            if log.requests.len() >= self.most {
                break;
            }
        }
        if log.requests.len() < self.most {
            assert!(
                handles.is_empty() && log.requests.iter().all(|s| s.done < Nanos::MAX),
                "the source forgot a request"
            );
        }
        log
    }
}

enum Event {
    Completion(usize),
    Unblock(u32),
}
