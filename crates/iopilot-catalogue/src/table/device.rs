//! [`TableDisk`]: a device whose times come from tables.

use super::simulated_cache::{SimulatedCache, SimulatedCacheModel};
use super::tables::{Lookup, TimeTables};
use iopilot_block::{Lba, Nanos, Op, Sectors};
use iopilot_device::{Completion, Device, DeviceRequest, ServiceBreakdown};
use std::collections::VecDeque;
use std::sync::Arc;

/// The first request of a reordered queue is passed over for at most this many queue lengths.
const PATIENCE: u32 = 8;

/// The parameters of a [`TableDisk`].
#[derive(Clone, Debug)]
pub struct TableModel {
    /// The times.
    pub tables: TimeTables,
    /// With three tables: the cache that predicts hits. Unused with two.
    pub cache: SimulatedCacheModel,
    /// Requests it accepts at once. It serves them one at a time, in order of arrival unless [`TableDisk::with_queue`]
    /// is used.
    pub queue_depth: u32,
}

/// A disk whose times come from tables. The time of a request is looked up when its service begins, so that all
/// observations until then count. A flush or discard waits for earlier requests and then takes no time, because none
/// has been measured. With empty tables, no request takes time.
///
/// Copies share their tables until one of them learns, so a copy is cheap.
#[derive(Clone, Debug)]
pub struct TableDisk {
    tables: Arc<TimeTables>,
    cache: SimulatedCache,
    queue_depth: u32,
    /// Factors of a random read's time, by the number of requests to choose from; empty where the queue is FIFO.
    factors: Arc<[f64]>,
    waiting: VecDeque<DeviceRequest>,
    /// How often the first of the queue was passed over.
    passed: u32,
    /// The request in service.
    current: Option<Completion>,
    /// Where the last served request ended.
    previous_end: Lba,
}

impl TableDisk {
    /// An idle disk.
    pub fn new(model: TableModel) -> Self {
        Self {
            cache: SimulatedCache::new(model.cache),
            queue_depth: model.queue_depth,
            waiting: VecDeque::with_capacity(model.queue_depth as usize),
            tables: Arc::new(model.tables),
            factors: Arc::default(),
            passed: 0,
            current: None,
            previous_end: Lba(0),
        }
    }

    /// Adds a queue that serves the request with the shortest time by the tables, among those before the first flush or
    /// discard. A request is passed over for at most eight queue lengths. The time of a random read that misses is
    /// multiplied by the entry of `factors` for the number of requests to choose from, starting at 1. Without factors,
    /// the queue is FIFO.
    #[must_use]
    pub fn with_queue(self, factors: Vec<f64>) -> Self {
        Self { factors: factors.into(), ..self }
    }

    /// Removes the next request from the queue. Also returns the number of requests it was chosen from.
    fn next(&mut self) -> Option<(DeviceRequest, usize)> {
        let open = self.waiting.iter().take_while(|r| matches!(r.op, Op::Read | Op::Write)).count();
        let mut best = 0;
        if !self.factors.is_empty() && open > 1 && self.passed < PATIENCE * self.queue_depth {
            let time = |r: &DeviceRequest| self.tables.time(&Lookup::new(r.op, r.lba, r.sectors, self.previous_end));
            let nearest = self.waiting.iter().take(open).enumerate().min_by_key(|(_, r)| time(r).unwrap_or_default());
            best = nearest.map_or(0, |(at, _)| at);
        }
        self.passed = if best == 0 { 0 } else { self.passed + 1 };
        Some((self.waiting.remove(best)?, open.max(1)))
    }

    /// The times learnt.
    pub fn tables(&self) -> &TimeTables {
        &self.tables
    }

    /// The parameters and current tables.
    pub fn model(&self) -> TableModel {
        TableModel { tables: (*self.tables).clone(), cache: self.cache.model(), queue_depth: self.queue_depth }
    }

    /// Learns on line: the real device served such a request in `measured`, after one that ended before `previous_end`
    /// (GF 3.2.1, "Dynamic behavior").
    pub fn observe(&mut self, request: &DeviceRequest, previous_end: Lba, measured: Nanos) {
        if matches!(request.op, Op::Read | Op::Write) {
            let lookup = Lookup::new(request.op, request.lba, request.sectors, previous_end);
            Arc::make_mut(&mut self.tables).observe(&lookup, measured);
        }
    }

    /// Drops the requests in service and in the queue: none of them completes. Learnt times stay.
    pub fn abort_all(&mut self) {
        self.waiting.clear();
        (self.current, self.passed) = (None, 0);
    }

    fn begin(&mut self, request: &DeviceRequest, choices: usize, now: Nanos) {
        let mut service = ServiceBreakdown::default();
        let mut time = Nanos::ZERO;
        if matches!(request.op, Op::Read | Op::Write) {
            let (start, end) = (request.lba.0, request.lba.0 + u64::from(request.sectors.0));
            let mut lookup = Lookup::new(request.op, request.lba, request.sectors, self.previous_end);
            if request.op == Op::Read {
                lookup.hit = self.cache.read(start, end, self.previous_end.0, now);
            } else {
                self.cache.write(start, end, now);
            }
            time = self.tables.time(&lookup).unwrap_or_default();
            let chosen = choices > 1 && request.op == Op::Read && !lookup.hit && self.previous_end != request.lba;
            if let Some(factor) = self.factors.get(choices - 1).or(self.factors.last()).filter(|_| chosen) {
                time = Nanos((time.0 as f64 * factor).round() as u64);
            }
            if let Some(from) = self.cache.ahead_from() {
                self.cache.ahead_since(now + time + self.return_time(&lookup, Lba(from)));
            }
            service.cache_hit = lookup.hit;
            self.previous_end = Lba(end);
        }
        self.current = Some(Completion { id: request.id, at: now + time, service });
    }
}

impl TableDisk {
    /// The time of the arm, after a request is served, to the start of the read-ahead that it triggered. After a miss
    /// the arm is already there.
    fn return_time(&self, served: &Lookup, from: Lba) -> Nanos {
        match served.hit {
            true => self.tables.time(&Lookup::new(Op::Read, from, Sectors(1), from)).unwrap_or_default(),
            false => Nanos::ZERO,
        }
    }
}

impl Device for TableDisk {
    fn submit(&mut self, request: DeviceRequest, now: Nanos) {
        if self.current.is_some() {
            self.waiting.push_back(request);
        } else {
            self.begin(&request, 1, now);
        }
    }

    fn next_event(&self) -> Option<Nanos> {
        self.current.map(|completion| completion.at)
    }

    fn advance(&mut self, now: Nanos, out: &mut Vec<Completion>) {
        while let Some(completion) = self.current.filter(|completion| completion.at <= now) {
            out.push(completion);
            self.current = None;
            if let Some((request, choices)) = self.next() {
                self.begin(&request, choices, completion.at);
            }
        }
    }

    fn capacity(&self) -> u64 {
        self.tables.shape().capacity()
    }

    fn queue_depth(&self) -> u32 {
        self.queue_depth
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TableForm;
    use iopilot_block::{Flags, RequestId};

    fn request(id: usize, op: Op, lba: u64) -> DeviceRequest {
        let sectors = Sectors(if op == Op::Flush { 0 } else { 8 });
        DeviceRequest { id: RequestId::from_index(id), op, lba: Lba(lba), sectors, flags: Flags::empty() }
    }

    fn disk() -> TableDisk {
        let tables = TimeTables::new(TableForm::Two, 1 << 24, 4);
        TableDisk::new(TableModel { tables, cache: SimulatedCacheModel::NONE, queue_depth: 4 })
    }

    fn ends(disk: &mut TableDisk) -> Vec<(usize, u64)> {
        let mut out = Vec::new();
        disk.advance(Nanos::MAX, &mut out);
        out.iter().map(|c| (c.id.index(), c.at.0)).collect()
    }

    #[test]
    fn requests_take_their_cell_s_time_one_after_the_other() {
        let mut d = disk();
        d.observe(&request(0, Op::Read, 0), Lba(0), Nanos(10));
        d.observe(&request(0, Op::Read, 4000), Lba(0), Nanos(500));
        d.submit(request(1, Op::Read, 0), Nanos(100));
        d.submit(request(2, Op::Read, 8), Nanos(101));
        d.submit(request(3, Op::Read, 4016), Nanos(102));
        d.submit(request(4, Op::Flush, 0), Nanos(103));
        assert_eq!(d.next_event(), Some(Nanos(110)));
        assert_eq!(ends(&mut d), [(1, 110), (2, 120), (3, 620), (4, 620)]);
    }

    #[test]
    fn a_reordered_queue_takes_the_nearest_and_starves_no_request() {
        let mut d = disk().with_queue(vec![1.0, 0.5, 0.25, 0.25]);
        d.observe(&request(0, Op::Read, 0), Lba(0), Nanos(10));
        d.observe(&request(0, Op::Read, 4000), Lba(0), Nanos(400));
        d.observe(&request(0, Op::Read, 1 << 20), Lba(0), Nanos(4000));
        for (id, lba) in [(1, 0), (2, 1 << 20), (3, 4008), (4, 8)] {
            d.submit(request(id, Op::Read, lba), Nanos(0));
        }
        // Request 4 continues where 1 ended. Then 3 is chosen from two, at half of its time; then 2 alone.
        assert_eq!(ends(&mut d), [(1, 10), (4, 20), (3, 220), (2, 4220)]);
        d.submit(request(0, Op::Read, (1 << 20) + 8), Nanos(5000));
        d.submit(request(1, Op::Read, 0), Nanos(5000));
        let mut served = Vec::new();
        for id in 2..100 {
            d.submit(request(id, Op::Read, (1 << 20) + 8 * id as u64), Nanos(5000));
            let (mut out, at) = (Vec::new(), d.next_event().unwrap());
            d.advance(at, &mut out);
            served.extend(out.iter().map(|c| c.id.index()));
        }
        let place = served.iter().position(|&id| id == 1);
        assert!(place.is_some_and(|place| place <= 33 + 1), "{served:?}");
    }

    #[test]
    fn aborted_requests_do_not_complete_and_learnt_times_stay() {
        let mut d = disk();
        d.observe(&request(0, Op::Read, 0), Lba(0), Nanos(10));
        d.submit(request(1, Op::Read, 0), Nanos(100));
        d.submit(request(2, Op::Read, 8), Nanos(101));
        d.abort_all();
        assert_eq!((d.next_event(), ends(&mut d)), (None, vec![]));
        d.submit(request(3, Op::Read, 8), Nanos(200));
        assert_eq!(ends(&mut d), [(3, 210)]);
    }

    #[test]
    fn it_goes_on_learning() {
        let mut d = disk();
        d.submit(request(0, Op::Read, 0), Nanos(5));
        assert_eq!(ends(&mut d), [(0, 5)], "nothing is known yet");
        d.observe(&request(0, Op::Write, 0), Lba(0), Nanos(30));
        for time in [10, 20, 30, 40] {
            d.observe(&request(0, Op::Read, 8), Lba(8), Nanos(time));
        }
        d.submit(request(1, Op::Read, 8), Nanos(100));
        d.submit(request(2, Op::Write, 16), Nanos(100));
        assert_eq!(ends(&mut d), [(1, 125), (2, 155)]);
        d.observe(&request(0, Op::Read, 8), Lba(8), Nanos(50));
        d.submit(request(3, Op::Read, 24), Nanos(200));
        assert_eq!(ends(&mut d), [(3, 235)], "the oldest is forgotten");
    }
}
