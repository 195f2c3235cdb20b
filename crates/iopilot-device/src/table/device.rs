//! [`TableDisk`]: a device that answers from tables.

use super::simulated_cache::{SimulatedCache, SimulatedCacheModel};
use super::tables::{Lookup, TimeTables};
use crate::{Completion, Device, DeviceRequest, ServiceBreakdown};
use iopilot_block::{Lba, Nanos, Op, Sectors};
use std::collections::VecDeque;
use std::sync::Arc;

/// What a [`TableDisk`] is made of.
#[derive(Clone, Debug)]
pub struct TableModel {
    /// The times.
    pub tables: TimeTables,
    /// With three tables: the cache that decides what hits. Unused with two.
    pub cache: SimulatedCacheModel,
    /// Requests it takes at once. It serves them one at a time, as they came.
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
    waiting: VecDeque<DeviceRequest>,
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
            current: None,
            previous_end: Lba(0),
        }
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

    fn begin(&mut self, request: &DeviceRequest, now: Nanos) {
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
            self.begin(&request, now);
        }
    }

    fn next_event(&self) -> Option<Nanos> {
        self.current.map(|completion| completion.at)
    }

    fn advance(&mut self, now: Nanos, out: &mut Vec<Completion>) {
        while let Some(completion) = self.current.filter(|completion| completion.at <= now) {
            out.push(completion);
            self.current = None;
            if let Some(request) = self.waiting.pop_front() {
                self.begin(&request, completion.at);
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
