//! [`RedcapLayer`]: REDCAP between the workload and the block layer (GF 2.3).

use crate::error::SimError;
use crate::ios::Io;
use crate::learning_disk::LearningDisk;
use crate::metrics::Recorder;
use crate::redcap_report::{CheckReport, DiskView, RedcapReport, StateChange};
use crate::report::{RunReport, Series};
use crate::run_config::RunConfig;
use iopilot_block::{Criticality, InputError, IoIndex, Lba, Nanos, Op, ProcessId, Request, Sectors, Slab};
use iopilot_redcap::{
    CacheCounters, CacheGeometry, Contents, CopyId, Miss, PartId, PartTimes, Redcap, RedcapAction, RedcapSpec,
    RequestPart, Role,
};
use iopilot_sched::SchedulerSpec;
use iopilot_workload::{Arrival, SourceHandle};
use std::ops::Range;

/// The largest number of state changes in a report.
const CHANGES: usize = 4096;

/// A request of the workload in the cache.
#[derive(Clone, Copy, Debug)]
struct Original {
    arrival: Arrival,
    arrived: Nanos,
    /// Whether its task waits for the disk. A hit that is copied at once is copied by the task itself.
    waits: bool,
    in_flight: bool,
    /// Whether the drive's cache served its last part.
    cache_hit: bool,
}

/// A request of the workload that is complete.
pub(crate) struct DoneOriginal {
    pub(crate) handle: SourceHandle,
    pub(crate) process: ProcessId,
    /// Whether its task has slept.
    pub(crate) slept: bool,
    /// Whether the drive's cache served it.
    pub(crate) cache_hit: bool,
}

/// A part in the block layer.
#[derive(Clone, Copy, Debug)]
struct Sent {
    part: PartId,
    op: Op,
    extent: (Lba, Sectors),
    /// The request of the workload, unless this is a prefetch, which may outlive it.
    original: Option<SourceHandle>,
}

/// A cache, with a reference disk if its algorithm needs one.
pub(crate) type RedcapCache<V> = Redcap<Option<V>>;

/// The cache of one device. The engine carries out its actions.
#[derive(Clone)]
pub(crate) struct RedcapLayer<V> {
    cache: RedcapCache<V>,
    settings: String,
    originals: Slab<Original, SourceHandle>,
    /// The parts in the block layer. The index of a part is its handle there.
    parts: Vec<Option<Sent>>,
    /// The time to copy a sector, in nanoseconds.
    copy_per_sector: f64,
    prefetches: u64,
    /// The counters, and the number of prefetches, at the end of the warm-up.
    before: (CacheCounters, u64),
    changes: Vec<StateChange>,
    /// The decisions of a decider; those of the policy's own algorithm are in the cache.
    pub(crate) checks: Vec<CheckReport>,
    /// Records the workload's requests. The block layer's own recorder records the disk's requests.
    pub(crate) recorder: Recorder,
    /// The actions to carry out; empty between calls of the engine.
    pub(crate) actions: Vec<RedcapAction>,
}

impl<V: LearningDisk> RedcapLayer<V> {
    pub(crate) fn new(cache: RedcapCache<V>, spec: &RedcapSpec, recorder: Recorder) -> Self {
        let active = cache.state().is_active();
        Self {
            cache,
            settings: spec.to_string(),
            originals: Slab::new(),
            parts: Vec::new(),
            copy_per_sector: spec.copy_us_per_kib * 500.0,
            prefetches: 0,
            before: (CacheCounters::default(), 0),
            changes: vec![StateChange { time_s: 0.0, active }],
            checks: Vec::new(),
            recorder,
            actions: Vec::new(),
        }
    }

    /// The number of the workload's requests that are not complete.
    pub(crate) fn outstanding(&self) -> usize {
        self.originals.len()
    }

    pub(crate) fn is_active(&self) -> bool {
        self.cache.state().is_active()
    }

    /// Turns the cache on or off.
    pub(crate) fn set_active(&mut self, active: bool, now: Nanos) {
        self.cache.set_active(active, now, &mut self.actions);
        self.note_state(now);
    }

    /// Turns the cache off for these ranges of sectors, and on for all others.
    pub(crate) fn set_off_regions(&mut self, sectors: &[Range<u64>], now: Nanos) {
        self.cache.set_off_regions(sectors, now, &mut self.actions);
    }

    /// Changes the geometry of the cache.
    pub(crate) fn set_geometry(&mut self, geometry: CacheGeometry, now: Nanos) -> Result<(), InputError> {
        self.cache.set_geometry(geometry, now, &mut self.actions)?;
        self.note_state(now);
        Ok(())
    }

    /// Changes how the cache reads a segment that is absent.
    pub(crate) fn set_miss(&mut self, miss: Miss) {
        self.cache.set_miss(miss);
    }

    /// Which blocks the cache holds.
    pub(crate) fn contents(&self) -> Contents {
        self.cache.contents()
    }

    /// Starts the cache with the contents of another one.
    pub(crate) fn begin_with(&mut self, contents: &Contents) {
        self.cache.begin_with(contents);
    }

    /// Takes a request of the workload.
    pub(crate) fn submit(&mut self, arrival: &Arrival, now: Nanos) {
        self.recorder.arrived(now);
        let handle = self.originals.insert(Original {
            arrival: *arrival,
            arrived: now,
            waits: false,
            in_flight: true,
            cache_hit: false,
        });
        self.cache.submit(&Arrival { handle, ..*arrival }, now, &mut self.actions);
        self.note_state(now);
    }

    /// A part as a request to the block layer.
    pub(crate) fn arrival_of(&mut self, part: &RequestPart) -> Arrival {
        let index = part.id.index();
        if index >= self.parts.len() {
            self.parts.resize(index + 1, None);
        }
        let is_prefetch = part.role == Role::Prefetch;
        let original = (!is_prefetch).then_some(part.io);
        let extent = (part.lba, part.sectors);
        self.parts[index] = Some(Sent { part: part.id, op: part.op, extent, original });
        self.prefetches += u64::from(is_prefetch);
        if !part.is_optional() {
            self.originals[part.io].waits = true;
        }
        let &RequestPart { op, lba, sectors, flags, process, priority, criticality, cpu, .. } = part;
        let handle = Self::handle_of(part.id);
        Arrival { op, lba, sectors, flags, process, priority, criticality, cpu, handle }
    }

    /// The block layer has completed the part with this handle, as a request of `merged` sectors.
    pub(crate) fn served(
        &mut self,
        handle: SourceHandle,
        (inserted, issued, now): (Nanos, Nanos, Nanos),
        merged: Sectors,
        cache_hit: bool,
    ) {
        // The reference disk runs to `now` first: it must not learn from a later request of the real disk.
        self.cache.advance(now, &mut self.actions);
        if let Some(Sent { part, op, extent, original }) = self.parts.get_mut(handle.0 as usize).and_then(Option::take)
        {
            // The model of a reference disk has no queue, so that time in the disk's own queue counts as waiting.
            let dispatched = self.reference_disk().map_or(issued, |disk| disk.learn(op, extent, issued, now));
            if let Some(original) = original {
                self.originals[original].cache_hit = cache_hit;
            }
            let served = PartTimes { inserted, dispatched, completed: now, merged };
            self.cache.served(part, served, &mut self.actions);
        }
        self.note_state(now);
    }

    fn reference_disk(&mut self) -> Option<&mut V> {
        self.cache.reference_disk()?.as_mut()
    }

    /// A task has started another.
    pub(crate) fn started(&mut self, process: ProcessId, parent: ProcessId, now: Nanos) {
        self.cache.advance(now, &mut self.actions);
        if let Some(disk) = self.reference_disk() {
            disk.started(process, parent);
        }
        self.note_state(now);
    }

    /// A task has exited.
    pub(crate) fn exited(&mut self, process: ProcessId, now: Nanos) {
        self.cache.advance(now, &mut self.actions);
        if let Some(disk) = self.reference_disk() {
            disk.exited(process, now);
        }
        self.note_state(now);
    }

    /// The scheduler below was changed.
    pub(crate) fn set_scheduler(&mut self, scheduler: &SchedulerSpec, config: &RunConfig) -> Result<(), SimError> {
        self.reference_disk().map_or(Ok(()), |disk| disk.set_scheduler(scheduler, config))
    }

    /// A prefetch cannot be queued without letting its task sleep: it waits in the cache.
    pub(crate) fn put_off(&mut self, part: &RequestPart, now: Nanos) {
        self.cache.put_off(part.id, now, &mut self.actions);
        self.note_state(now);
    }

    /// The queue below takes so many requests before a task sleeps.
    pub(crate) fn set_queue_limit(&mut self, requests: u32) {
        self.cache.set_queue_limit(requests);
    }

    /// A process now waits for the workload's request with this handle. O(requests).
    pub(crate) fn waits(&mut self, handle: SourceHandle) {
        let is_it = |original: &Original| original.in_flight && original.arrival.handle == handle;
        if let Some(at) = self.originals.as_slice().iter().position(is_it) {
            let at = SourceHandle(at as u64);
            self.originals[at].arrival.criticality = Criticality::TimeCritical;
            self.cache.waits(at, &mut self.actions);
        }
    }

    /// The handle of a part in the block layer.
    pub(crate) fn handle_of(part: PartId) -> SourceHandle {
        SourceHandle(part.index() as u64)
    }

    /// Begins a copy to a reader. Returns how long it takes.
    pub(crate) fn copy(&mut self, io: SourceHandle, sectors: u32, now: Nanos) -> Nanos {
        let original = &mut self.originals[io];
        original.waits |= original.arrived < now;
        Nanos((f64::from(sectors) * self.copy_per_sector).round() as u64)
    }

    /// A copy has ended.
    pub(crate) fn copied(&mut self, copy: CopyId, now: Nanos) {
        self.cache.advance(now, &mut self.actions);
        self.cache.copied(copy, now, &mut self.actions);
        self.note_state(now);
    }

    /// A request of the workload is complete.
    pub(crate) fn done(&mut self, handle: SourceHandle, now: Nanos) -> DoneOriginal {
        let original = self.originals.remove(handle);
        original.in_flight = false;
        let Original { arrival, arrived, waits, cache_hit, .. } = *original;
        let &Arrival { op, lba, sectors, flags, process, priority, criticality, cpu, handle } = &arrival;
        let mut request = Request::new(op, lba, sectors, process);
        (request.flags, request.priority, request.criticality) = (flags, priority, criticality);
        (request.cpu, request.io, request.arrived) = (cpu, IoIndex(0), arrived);
        let io = Io { handle, lba, sectors, parts_left: 0 };
        self.recorder.completed(&request, &io, arrived, now);
        DoneOriginal { handle, process, slept: waits, cache_hit }
    }

    fn note_state(&mut self, now: Nanos) {
        let (active, time_s) = (self.is_active(), now.as_secs_f64());
        // A state that is left in the same moment is not reported.
        if self.changes.last().is_some_and(|last| last.active != active && last.time_s == time_s) {
            self.changes.pop();
        }
        if self.changes.last().is_none_or(|last| last.active != active) && self.changes.len() < CHANGES {
            self.changes.push(StateChange { time_s, active });
        }
    }

    /// The warm-up has ended at `end`, when each process had `waited` for this long.
    pub(crate) fn restart_report(&mut self, end: Nanos, waited: Option<Vec<(ProcessId, Nanos)>>) {
        self.recorder.restart(end, waited);
        self.before = (*self.cache.counters(), self.prefetches);
    }

    /// The report of a run under `scheduler`. `below` recorded the disk's requests.
    pub(crate) fn finish(self, below: Recorder, scheduler: String) -> RunReport {
        let mut report = RedcapReport::new(
            self.settings,
            &self.cache,
            self.changes,
            self.prefetches - self.before.1,
            &self.before.0,
        );
        report.checks.extend(self.checks);
        joined(report, self.recorder.finish(scheduler.clone()), below.finish(scheduler))
    }
}

/// The report of a run: `above` is what the workload saw, `below` what the disk did, and `redcap` what the cache did.
fn joined(mut redcap: RedcapReport, above: RunReport, below: RunReport) -> RunReport {
    redcap.disk = DiskView {
        requests: below.requests,
        reads: below.reads,
        bytes: below.bytes,
        response_ms: below.response_ms,
        ..redcap.disk
    };
    RunReport {
        service_ms: below.service_ms,
        merged: below.merged,
        dispatched: below.dispatched,
        seek_distance_mean_sectors: below.seek_distance_mean_sectors,
        utilization: below.utilization,
        cache_hit_share: below.cache_hit_share,
        device: below.device,
        series: Series { seeks: below.series.seeks, ..above.series },
        redcap: Some(redcap),
        ..above
    }
}
