//! [`RedcapReferenceDisk`]: the reference disk of the REDCAP algorithms `vd` and `vd-all-blocks` (GF 3.2), in virtual time.
//!
//! It is a block layer with a scheduler of the same kind as the real disk's, above a disk whose times come from two tables. The
//! tables learn from each request that the real disk serves. [`WaitingQueue`] keeps the dependencies of the requests.

use crate::block_config::{BlockConfig, ResolvedQueue};
use crate::cpu_overheads::CpuOverheads;
use crate::cpu_timing::FixedCosts;
use crate::engine::SimulationEngine;
use crate::error::SimError;
use crate::learning_disk::LearningDisk;
use crate::metrics::Recorder;
use crate::run_config::RunConfig;
use crate::waiting_queue::WaitingQueue;
use iopilot_block::{Flags, InputError, Lba, Nanos, Op, ProcessId, RequestId, Sectors};
use iopilot_catalogue::{SimulatedCacheModel, TableDisk, TableForm, TableLookup, TableModel, TableShape, TimeTables};
use iopilot_device::{Device, DeviceRequest};
use iopilot_redcap::{NoReferenceDisk, ReferenceCompletion, ReferenceDisk, ReferenceRequest};
use iopilot_sched::SchedulerSpec;

/// The number of samples that a cell of the tables keeps (GF 3.5.2).
const SAMPLES: u32 = 64;

type ReferenceEngine = SimulationEngine<WaitingQueue, TableDisk, FixedCosts, NoReferenceDisk>;

/// A reference disk beside a real one, which is a live disk or a simulated one.
#[derive(Clone)]
pub struct RedcapReferenceDisk {
    engine: Box<ReferenceEngine>,
    /// The engine before its first request.
    pristine: Box<ReferenceEngine>,
    /// The queue length from which on a queue is congested.
    threshold: usize,
    congested: bool,
    /// The last request of the real disk, which the tables have not learnt yet: parts that were merged into it may follow.
    service: Option<Service>,
    /// The end of the last request that the tables have learnt, as a place and a time.
    learnt_end: (Lba, Nanos),
    /// The end of the last request whose time was asked for.
    asked_end: Lba,
}

/// A request of the real disk that is complete.
#[derive(Clone, Copy, Debug)]
struct Service {
    op: Op,
    from: u64,
    to: u64,
    dispatched: Nanos,
    /// When the disk began with it: after the completion of the previous one.
    began: Nanos,
    completed: Nanos,
}

impl RedcapReferenceDisk {
    /// A disk of `capacity` sectors under `scheduler`. `config` has the tables of its times, if there are any.
    ///
    /// # Errors
    /// If the disk is too large for tables, or the scheduler needs the position of the arm.
    pub fn new(scheduler: &SchedulerSpec, capacity: u64, config: &RunConfig) -> Result<Self, SimError> {
        if capacity > TableShape::LARGEST {
            let expected = format!("at most {} for an algorithm with a reference disk", TableShape::LARGEST);
            return Err(InputError::new("sectors of the disk", capacity.to_string(), expected).into());
        }
        let tables = match &config.tables {
            Some(tables) if tables.shape() == TableShape::new(capacity) => tables.averaged(SAMPLES),
            Some(tables) => {
                let expected = format!("{capacity}, as many as the disk has");
                return Err(
                    InputError::new("sectors of the tables", tables.shape().capacity().to_string(), expected).into()
                );
            }
            None => TimeTables::new(TableForm::Two, capacity, SAMPLES),
        };
        let disk = TableDisk::new(TableModel { tables, cache: SimulatedCacheModel::NONE, queue_depth: 1 });
        let config = Self::config(config);
        let (queue, scheduler) = config.scheduler_for(scheduler, &disk)?;
        let cpus = FixedCosts::new(&config.host, disk.hardware_queues(), config.seed);
        let threshold = threshold(&queue);
        let recorder = Recorder::new(false, false);
        let engine = Box::new(SimulationEngine::new(WaitingQueue::default(), queue, scheduler, disk, cpus, recorder));
        Ok(Self {
            pristine: engine.clone(),
            engine,
            threshold,
            congested: false,
            service: None,
            learnt_end: (Lba(0), Nanos::ZERO),
            asked_end: Lba(0),
        })
    }

    /// The settings of a reference disk beside a real one with the settings `real`. Its CPUs take no time, and it serves one
    /// request at a time.
    fn config(real: &RunConfig) -> RunConfig {
        RunConfig {
            block: BlockConfig { queue_depth: Some(1), nr_hw_queues: Some(1), ..real.block.clone() },
            host: CpuOverheads {
                issue_us: Some(0.0),
                complete_us: Some(0.0),
                restart_us: Some(0.0),
                transport_us: 0.0,
                wake_us: 0.0,
                switch_us: 0.0,
                ..real.host.clone()
            },
            rotational: real.rotational,
            seed: real.seed,
            ..RunConfig::default()
        }
    }

    /// The real disk was sent a request at `dispatched` and completed it at `now`. The parts of a merged request come one after
    /// the other. Returns when the disk began with the request.
    pub fn learn(&mut self, op: Op, (lba, sectors): (Lba, Sectors), dispatched: Nanos, now: Nanos) -> Nanos {
        let (from, to) = (lba.0, lba.0 + u64::from(sectors.0));
        if let Some(last) = &mut self.service {
            let merged = (last.op, last.dispatched, last.completed) == (op, dispatched, now);
            if merged && (last.to == from || last.from == to) {
                (last.from, last.to) = (last.from.min(from), last.to.max(to));
                return last.began;
            }
        }
        self.learn_last();
        // A disk with a queue serves one request at a time.
        let began = dispatched.max(self.learnt_end.1).min(now);
        self.service = Some(Service { op, from, to, dispatched, began, completed: now });
        began
    }

    /// If a queue is too long, notes the congestion and empties the waiting queue.
    fn notice_congestion(&mut self, now: Nanos) {
        if self.engine.source.waiting() > self.threshold || self.engine.outstanding() >= self.threshold {
            self.congested = true;
            self.engine.source.drop_waiting(now);
        }
    }

    fn learn_last(&mut self) {
        let Some(Service { op, from, to, began, completed, .. }) = self.service.take() else { return };
        let (lba, sectors, flags) = (Lba(from), Sectors((to - from) as u32), Flags::empty());
        let served = DeviceRequest { id: RequestId::from_index(0), op, lba, sectors, flags };
        self.engine.device.observe(&served, self.learnt_end.0, completed.since(began));
        let end = if matches!(op, Op::Read | Op::Write) { Lba(to) } else { self.learnt_end.0 };
        self.learnt_end = (end, completed);
        self.asked_end = end;
    }
}

impl LearningDisk for RedcapReferenceDisk {
    fn learn(&mut self, op: Op, extent: (Lba, Sectors), dispatched: Nanos, now: Nanos) -> Nanos {
        Self::learn(self, op, extent, dispatched, now)
    }

    fn started(&mut self, process: ProcessId, parent: ProcessId) {
        self.engine.source.started(process, parent);
    }

    fn exited(&mut self, process: ProcessId, now: Nanos) {
        self.engine.source.exited(process, now);
    }

    fn set_scheduler(&mut self, scheduler: &SchedulerSpec, real: &RunConfig) -> Result<(), SimError> {
        let (queue, scheduler) = Self::config(real).scheduler_for(scheduler, &self.engine.device)?;
        self.threshold = threshold(&queue);
        self.pristine.switch(queue, scheduler.clone(), 0, Nanos::ZERO);
        let now = self.engine.now;
        self.engine.switch(queue, scheduler, 0, now);
        Ok(())
    }
}

/// `queue_congestion_on_threshold`: seven eighths of the queue (GF 3.2.6).
fn threshold(queue: &ResolvedQueue) -> usize {
    (queue.nr_requests - queue.nr_requests / 8) as usize
}

impl ReferenceDisk for RedcapReferenceDisk {
    fn submit(&mut self, request: ReferenceRequest, now: Nanos) {
        self.notice_congestion(now);
        if !self.congested {
            self.engine.source.submit(request, now);
            self.notice_congestion(now);
        }
    }

    fn next_event(&self) -> Option<Nanos> {
        // A congested disk needs another call, which ends the congestion.
        self.engine.next_time().or(self.congested.then_some(self.engine.now))
    }

    fn advance(&mut self, now: Nanos, out: &mut Vec<ReferenceCompletion>) {
        let ran = self.engine.run_until(now);
        debug_assert!(ran.is_ok(), "the reference disk is stuck");
        if ran.is_err() {
            // The scheduler never dispatches a request, so that nothing can be compared any more.
            self.congested = true;
            return;
        }
        out.append(&mut self.engine.source.done);
        self.congested &= self.engine.outstanding() >= self.threshold;
    }

    fn service(&mut self, op: Op, lba: Lba, sectors: Sectors) -> Nanos {
        let lookup = TableLookup::new(op, lba, sectors, self.asked_end);
        self.asked_end = Lba(lba.0 + u64::from(sectors.0));
        self.engine.device.tables().time(&lookup).unwrap_or_default()
    }

    fn clear(&mut self) {
        let mut disk = self.engine.device.clone();
        disk.abort_all();
        self.engine = self.pristine.clone();
        self.engine.device = disk;
        self.congested = false;
    }

    fn is_congested(&self) -> bool {
        self.congested
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_block::{Arrival, Criticality, IoPriority, SourceHandle};

    const CAPACITY: u64 = 1 << 24;

    fn disk(scheduler: &str) -> RedcapReferenceDisk {
        let mut tables = TimeTables::new(TableForm::Two, CAPACITY, 4);
        for (distance, us) in [(0, 100), (8_000, 5_000)] {
            let from = Lba(1_000_000 + distance);
            tables.observe(&TableLookup::new(Op::Read, from, Sectors(8), Lba(1_000_000)), Nanos::from_micros(us));
        }
        let config = RunConfig { tables: Some(tables.into()), rotational: true, ..RunConfig::default() };
        RedcapReferenceDisk::new(&SchedulerSpec::parse(scheduler).unwrap(), CAPACITY, &config).unwrap()
    }

    fn read(id: u64, process: u32, lba: u64) -> ReferenceRequest {
        let request = Arrival {
            handle: SourceHandle(id),
            op: Op::Read,
            lba: Lba(lba),
            sectors: Sectors(8),
            flags: Flags::empty(),
            process: ProcessId(process),
            priority: IoPriority::default(),
            criticality: Criticality::TimeCritical,
            cpu: 0,
        };
        ReferenceRequest { request, copy: None }
    }

    fn served(disk: &mut RedcapReferenceDisk, until: Nanos) -> Vec<(u64, u64)> {
        let mut out = Vec::new();
        disk.advance(until, &mut out);
        out.iter().map(|done| (done.handle.0, done.wait_and_service.0 / 1000)).collect()
    }

    #[test]
    fn requests_that_wait_for_nothing_go_through_the_scheduler() {
        let mut d = disk("noop");
        for (id, lba) in [(1, 0), (2, 8_008), (3, 16_016)] {
            d.submit(read(id, id as u32, lba), Nanos::ZERO);
        }
        assert_eq!(served(&mut d, Nanos::from_secs(1)), [(1, 100), (2, 5_100), (3, 10_100)]);
        // One after the other: the wait for a request of its own process does not count.
        for (id, lba) in [(4, 16_024), (5, 24_032)] {
            d.submit(read(id, 9, lba), Nanos::from_secs(1));
        }
        assert_eq!(served(&mut d, Nanos::from_secs(2)), [(4, 100), (5, 5_000)]);
    }

    #[test]
    fn the_tables_learn_from_the_disks_merged_requests() {
        let us = Nanos::from_micros;
        let mut d = disk("noop");
        assert_eq!(d.learn(Op::Read, (Lba(0), Sectors(8)), us(0), us(300)), us(0));
        // Two parts of one request, and one that was in the disk's queue meanwhile.
        assert_eq!(d.learn(Op::Read, (Lba(8), Sectors(8)), us(300), us(900)), us(300));
        assert_eq!(d.learn(Op::Read, (Lba(16), Sectors(8)), us(300), us(900)), us(300));
        assert_eq!(d.learn(Op::Read, (Lba(24), Sectors(8)), us(310), us(1_000)), us(900));
        d.learn(Op::Flush, (Lba(0), Sectors(0)), us(1_000), us(1_000));
        let tables = d.engine.device.tables();
        assert_eq!(tables.reads().cell(0, 0), Some(Nanos(166_667)), "100 at first, 300, 100");
        assert_eq!(tables.reads().cell(1, 0), Some(us(600)));
        // 3.1: the first from where the disk is, the second from where the first ended.
        assert_eq!(d.service(Op::Read, Lba(8_032), Sectors(8)), us(5_000));
        assert_eq!(d.service(Op::Read, Lba(8_040), Sectors(8)), Nanos(166_667));
    }

    #[test]
    fn the_disk_is_congested_while_a_queue_is_long() {
        let mut d = disk("cfq");
        for id in 0..200 {
            d.submit(read(id, 1, (id * 1_000_003) % CAPACITY / 8 * 8), Nanos::ZERO);
        }
        assert!(d.is_congested() && d.next_event() == Some(Nanos::ZERO));
        let first = served(&mut d, Nanos::from_millis(1));
        assert!(!d.is_congested() && first.len() <= 1, "{first:?}");
        assert!(served(&mut d, Nanos::from_secs(9)).len() <= 1, "what waited is forgotten");
        // Of many processes the scheduler's own queue is long.
        for id in 0..200 {
            d.submit(read(id, id as u32, (id * 1_000_003) % CAPACITY / 8 * 8), Nanos::from_secs(9));
            served(&mut d, Nanos::from_secs(9));
        }
        assert!(d.is_congested());
        assert!(served(&mut d, Nanos::from_secs(9)).is_empty() && d.is_congested(), "it is not drained");
        let done = served(&mut d, Nanos::from_secs(20));
        assert!(!d.is_congested() && done.len() == 112, "{}", done.len());
    }

    #[test]
    fn a_cleared_disk_drops_its_requests_and_keeps_its_tables() {
        let mut d = disk("as");
        for id in 0..5 {
            d.submit(read(id, id as u32, id * 80_000), Nanos::ZERO);
        }
        served(&mut d, Nanos::from_millis(3));
        d.clear();
        assert_eq!(d.next_event(), None);
        d.submit(read(9, 1, 8_008), Nanos::from_millis(4));
        let done = served(&mut d, Nanos::from_secs(1));
        assert!(done.len() == 1 && done[0].0 == 9 && done[0].1 >= 100, "{done:?}");
    }
}
