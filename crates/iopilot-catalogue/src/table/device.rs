//! [`TableDisk`]: a device that answers from tables.

use super::simulated_cache::{SimulatedCache, SimulatedCacheModel};
use super::tables::{Lookup, TimeTables};
use iopilot_block::{Lba, Nanos, Op, Sectors};
use iopilot_device::{Completion, Device, DeviceRequest, ServiceBreakdown};
use std::collections::VecDeque;
use std::sync::Arc;

/// How many queues full may pass the first request of a queue that is ordered.
const PATIENCE: u32 = 8;

/// What a [`TableDisk`] is made of.
#[derive(Clone, Debug)]
pub struct TableModel {
    /// The times.
    pub tables: TimeTables,
    /// With three tables: the cache that decides what hits. Unused with two.
    pub cache: SimulatedCacheModel,
    /// Requests it takes at once. It serves them one at a time, as they came unless [`TableDisk::with_queue`] says otherwise.
    pub queue_depth: u32,
}

/// A disk whose times come from tables. A request's time is looked up when its service begins, so that all observations up
/// to then count. A flush or discard waits for earlier requests and then takes no time, as none has been measured. With
/// empty tables, nothing takes time.
///
/// Copies share their tables until one of them learns, so that a copy costs little.
#[derive(Clone, Debug)]
pub struct TableDisk {
    tables: Arc<TimeTables>,
    cache: SimulatedCache,
    queue_depth: u32,
    /// Of the time of a random read, by the requests there were to choose from; empty where it serves them as they came.
    factors: Arc<[f64]>,
    waiting: VecDeque<DeviceRequest>,
    /// How often the first of those was passed over.
    passed: u32,
    /// In service.
    current: Option<Completion>,
    /// Where the request served last ended.
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

    /// The same with a queue that is ordered: the request goes next that the tables say takes least, up to the first flush
    /// or discard. Nobody is passed over by more than eight queues full. A random read that misses then takes the
    /// part of its time that `factors` has for so many requests to choose from, 1 to as many as there are factors. Without
    /// factors requests are served as they came.
    #[must_use]
    pub fn with_queue(self, factors: Vec<f64>) -> Self {
        Self { factors: factors.into(), ..self }
    }

    /// Takes the request that goes next out of the queue, and tells among how many it was chosen.
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

    /// What has been learnt.
    pub fn tables(&self) -> &TimeTables {
        &self.tables
    }

    /// What it is made of.
    pub fn model(&self) -> TableModel {
        TableModel { tables: (*self.tables).clone(), cache: self.cache.model(), queue_depth: self.queue_depth }
    }

    /// Learns on line: the device that this one stands for served such a request, after one that ended before
    /// `previous_end`, in `measured` (GF 3.2.1, "Dynamic behavior").
    pub fn observe(&mut self, request: &DeviceRequest, previous_end: Lba, measured: Nanos) {
        if matches!(request.op, Op::Read | Op::Write) {
            let lookup = Lookup::new(request.op, request.lba, request.sectors, previous_end);
            Arc::make_mut(&mut self.tables).observe(&lookup, measured);
        }
    }

    /// Forgets the requests in service and in its queue: none of them completes. What was learnt stays.
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
    /// How long the arm takes, once a request is served, to where the read-ahead that it has set off begins: behind a
    /// miss it is there.
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
    fn an_ordered_queue_takes_the_nearest_and_passes_nobody_for_ever() {
        let mut d = disk().with_queue(vec![1.0, 0.5, 0.25, 0.25]);
        d.observe(&request(0, Op::Read, 0), Lba(0), Nanos(10));
        d.observe(&request(0, Op::Read, 4000), Lba(0), Nanos(400));
        d.observe(&request(0, Op::Read, 1 << 20), Lba(0), Nanos(4000));
        for (id, lba) in [(1, 0), (2, 1 << 20), (3, 4008), (4, 8)] {
            d.submit(request(id, Op::Read, lba), Nanos(0));
        }
        // 4 goes on where 1 ended; then 3 of two, at half of its time; then 2 alone.
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
    fn what_is_aborted_does_not_complete_and_what_was_learnt_stays() {
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
