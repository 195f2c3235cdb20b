//! [`RequestLog`]: a record of every request, in order of arrival, while the run goes on.

use iopilot_block::{Nanos, Slab};
use iopilot_trace::TraceRecord;
use std::collections::VecDeque;

const NONE: u32 = u32::MAX;

/// Puts completed requests into order of arrival. Requests that arrived at the same time stay in order of completion.
///
/// It holds only requests that arrived after one that has not completed. O(log n) for each request, where n is the number of
/// arrival times held; nothing is allocated once that has peaked.
#[derive(Clone, Debug, Default)]
pub(crate) struct RequestLog {
    /// The arrival times, from the earliest with a request in flight.
    moments: VecDeque<Moment>,
    /// Records that wait for an earlier request, in linked lists.
    held: Slab<(TraceRecord, u32)>,
    /// Records that are ready to be taken.
    ready: Vec<TraceRecord>,
}

/// The requests that arrived at one time.
#[derive(Clone, Debug)]
struct Moment {
    arrival: Nanos,
    /// The number of them that have not completed.
    open: u32,
    /// The first and the last record of the list of those that have completed.
    first: u32,
    last: u32,
}

impl RequestLog {
    /// A request arrives. Arrivals come in order of time.
    pub(crate) fn arrived(&mut self, now: Nanos) {
        match self.moments.back_mut() {
            Some(moment) if moment.arrival == now => moment.open += 1,
            _ => self.moments.push_back(Moment { arrival: now, open: 1, first: NONE, last: NONE }),
        }
    }

    /// A request that has arrived is complete.
    pub(crate) fn completed(&mut self, record: TraceRecord) {
        let at = self.moments.partition_point(|moment| moment.arrival < record.arrival);
        debug_assert!(self.moments.get(at).is_some_and(|m| m.arrival == record.arrival), "it has arrived");
        if at == 0 {
            self.ready.push(record);
        } else {
            let slot = self.held.insert((record, NONE));
            let moment = &mut self.moments[at];
            match moment.last {
                NONE => moment.first = slot,
                last => self.held[last].1 = slot,
            }
            moment.last = slot;
        }
        self.moments[at].open -= 1;
        self.release();
    }

    /// Takes the records that are ready: no request in flight arrived before them.
    pub(crate) fn ready(&mut self) -> std::vec::Drain<'_, TraceRecord> {
        self.ready.drain(..)
    }

    /// Takes all records of completed requests, in order of arrival. A record taken later may have arrived earlier.
    pub(crate) fn complete(&mut self) -> std::vec::Drain<'_, TraceRecord> {
        for at in 0..self.moments.len() {
            let moment = &mut self.moments[at];
            let first = std::mem::replace(&mut moment.first, NONE);
            moment.last = NONE;
            self.make_ready(first);
        }
        self.ready()
    }

    /// Moves the records of a list to the ready records.
    fn make_ready(&mut self, mut slot: u32) {
        while slot != NONE {
            let (record, following) = self.held.remove(slot);
            self.ready.push(record.clone());
            slot = *following;
        }
    }

    /// Removes the first arrival times whose requests are all complete. The completed requests of the first remaining one
    /// become ready.
    fn release(&mut self) {
        while self.moments.front().is_some_and(|moment| moment.open == 0) {
            self.moments.pop_front();
            let Some(next) = self.moments.front_mut() else { return };
            let first = std::mem::replace(&mut next.first, NONE);
            next.last = NONE;
            self.make_ready(first);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_block::{Lba, Op, Sectors};
    use proptest::prelude::*;

    fn record(arrival: u64, lba: u64) -> TraceRecord {
        TraceRecord::new(Nanos(arrival), Op::Read, Lba(lba), Sectors(8))
    }

    fn ready(log: &mut RequestLog) -> Vec<u64> {
        log.ready().map(|r| r.lba.0).collect()
    }

    #[test]
    fn only_requests_in_flight_hold_others_back() {
        let mut log = RequestLog::default();
        [0, 5, 5, 9].into_iter().for_each(|at| log.arrived(Nanos(at)));
        log.completed(record(5, 1));
        log.completed(record(9, 2));
        assert!(ready(&mut log).is_empty(), "the first is under way");
        log.completed(record(0, 3));
        assert_eq!(
            ready(&mut log),
            [3, 1],
            "one that arrived at 5 is under way, which is no reason for the other to wait"
        );
        log.completed(record(5, 4));
        assert_eq!(ready(&mut log), [4, 2]);
        assert_eq!((log.moments.len(), log.held.slots(), log.held.len()), (0, 2, 0));
    }

    proptest! {
        /// The same as sorting all of them by arrival at the end.
        #[test]
        fn as_sorted_at_the_end(gaps in prop::collection::vec((0u64..3, 0u64..40), 1..200)) {
            let mut events: Vec<(u64, bool, u64)> = Vec::new();
            let mut arrivals = Vec::new();
            let mut now = 0;
            for (i, (gap, service)) in (0..).zip(&gaps) {
                now += gap;
                arrivals.push(now);
                events.push((now, false, i));
                events.push((now + service, true, i));
            }
            // Of one time, arrivals and completions take turns as they come.
            events.sort_by_key(|&(at, completes, i)| (at, i, completes));
            let (mut log, mut streamed, mut all) = (RequestLog::default(), Vec::new(), Vec::new());
            for (at, completes, i) in events {
                if completes {
                    let record = record(arrivals[i as usize], i);
                    all.push(record.clone());
                    log.completed(record);
                    streamed.extend(log.ready());
                } else {
                    log.arrived(Nanos(at));
                }
            }
            all.sort_by_key(|r| r.arrival);
            prop_assert_eq!(streamed, all);
            prop_assert!(log.held.is_empty() && log.moments.is_empty());
        }
    }
}
