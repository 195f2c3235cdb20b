//! TSPS: the order of least total time for a batch of the oldest requests (the travelling salesman's problem).

use super::view::PolicyView;
use iopilot_block::{Lba, Nanos, Op, RequestId, Sectors};
use std::collections::VecDeque;

/// The requests of a batch. The best of 40,320 orders is found with 3,592 calls to the device.
const BATCH: usize = 8;
const SETS: usize = 1 << BATCH;

/// A planned tour, and the table for planning the next one.
#[derive(Clone, Debug)]
pub(super) struct Tour {
    /// The rest of the tour.
    stops: VecDeque<RequestId>,
    /// By the set of stops served and its last stop: the earliest time when that is done, and the stop before the last.
    done: Box<[[(f64, u8); BATCH]]>,
}

/// A stop of the tour.
#[derive(Clone, Copy, Debug)]
struct Stop {
    id: RequestId,
    lba: Lba,
    sectors: Sectors,
    op: Op,
    delay: f64,
}

impl Tour {
    pub(super) fn new() -> Self {
        Self { stops: VecDeque::with_capacity(BATCH), done: vec![[(f64::INFINITY, 0); BATCH]; SETS].into_boxed_slice() }
    }

    /// The next stop that still waits and may start. Plans a new tour when this one is over.
    pub(super) fn next(&mut self, view: &PolicyView<'_>) -> Option<RequestId> {
        for _ in 0..2 {
            while let Some(id) = self.stops.pop_front() {
                if view.waits_here(id) && view.is_candidate(id) {
                    return Some(id);
                }
            }
            self.plan(view);
        }
        None
    }

    /// Plans a tour of the oldest candidates. An earlier arrival at a stop never makes a later stop later, as the arm
    /// can wait. So for each set and last stop, only the earliest way matters (Held and Karp).
    fn plan(&mut self, view: &PolicyView<'_>) {
        self.stops.clear();
        let mut stops: [Option<Stop>; BATCH] = [None; BATCH];
        let mut count = 0;
        for id in view.sub_queue.by_age.iter(view.links).filter(|&id| view.is_candidate(id)).take(BATCH) {
            let request = &view.entry(id).request;
            let delay = view.initiation(request.op);
            stops[count] = Some(Stop { id, lba: request.lba, sectors: request.sectors, op: request.op, delay });
            count += 1;
        }
        let stop = |i: usize| stops[i].into_iter();
        let sets = 1usize << count;
        self.done[..sets].fill([(f64::INFINITY, 0); BATCH]);
        for i in 0..count {
            for s in stop(i) {
                let start = s.delay;
                let took = view.device().access(s.lba, s.sectors, s.op, later(view.now, start));
                self.done[1 << i][i] = (start + took, i as u8);
            }
        }
        for set in 1..sets {
            for last in (0..count).filter(|last| set >> last & 1 == 1) {
                let (time, _) = self.done[set][last];
                for from in stop(last) {
                    for next in (0..count).filter(|next| set >> next & 1 == 0) {
                        for s in stop(next) {
                            let start = time + s.delay;
                            let at = later(view.now, start);
                            let end = from.lba + from.sectors;
                            let end = start + view.device().access_after(end, s.lba, s.sectors, s.op, at);
                            let best = &mut self.done[set | 1 << next][next];
                            if end < best.0 {
                                *best = (end, last as u8);
                            }
                        }
                    }
                }
            }
        }
        self.walk_back(sets - 1, count, &stops);
    }

    /// Reads the best tour from the table, from its last stop to the first.
    fn walk_back(&mut self, all: usize, count: usize, stops: &[Option<Stop>; BATCH]) {
        let mut set = all;
        let Some(mut last) = (0..count).min_by(|&a, &b| self.done[all][a].0.total_cmp(&self.done[all][b].0)) else {
            return;
        };
        loop {
            self.stops.extend(stops[last].map(|s| s.id));
            let before = usize::from(self.done[set][last].1);
            set &= !(1 << last);
            if set == 0 {
                break;
            }
            last = before;
        }
        self.stops.make_contiguous().reverse();
    }
}

fn later(now: Nanos, ns: f64) -> Nanos {
    now.saturating_add(Nanos(ns.round() as u64))
}
