//! [`MechanicalDisk`]: a hard disk drive with platters, an arm, a segmented cache and a queue. Sources: Ganger B.1
//! and B.2 (thesis of 1995), Carroll 2.1 (2008), GF 4.3.1 (González-Férez' thesis of 2012).
//!
//! The arm does one thing at a time: a read or write of a request, or a write-back of dirty blocks. Read-ahead needs
//! no events: it is a stream that is brought up to date on demand.

mod geometry;
mod mechanics;
mod model;
mod pick;
mod positions;
mod read;
mod read_cache;
mod request;
mod seek;
mod seek_floor;
mod write;
mod write_buffer;

pub use geometry::{
    BlockPlace, G1Layout, G1Zone, G2Extent, G2Layout, G2Zone, G4Child, G4Entry, G4Layout, G4Remap, Geometry, HeadOrder,
    SkewUnit, Sparing, Track, TrackLayout, TrackPattern, Zone, ZoneSpan,
};
pub use mechanics::{Arm, Mechanics};
pub use model::{CacheModel, DiskModel, InterfaceModel, QueuePolicy};
pub use seek::SeekCurve;
pub use seek_floor::SeekFloor;

use crate::{CacheControl, Completion, Device, DeviceRequest, ServiceBreakdown};
use iopilot_block::{Nanos, Op, Positions, RequestId};
use pick::Pick;
use read_cache::ReadCache;
use request::{Ahead, ArmJob, JobKind, MediaWork, Waiting};
use std::collections::VecDeque;
use write_buffer::WriteBuffer;

/// A hard disk drive as a state machine in virtual time. See `docs/explanation/disk-model.md` for the model and its
/// equations.
#[derive(Clone, Debug)]
pub struct MechanicalDisk {
    model: DiskModel,
    seek_floor: SeekFloor,
    cache: ReadCache,
    buffer: WriteBuffer,
    /// The position of the arm, unless a job or read-ahead moves it, and from when on it can move, ns.
    arm: Arm,
    arm_free: f64,
    job: Option<ArmJob>,
    /// The read-ahead in progress; only while there is no job.
    ahead: Option<Ahead>,
    /// Requests that need the arm, or room in the write buffer, in order of arrival. Empty while there is no job.
    waiting: VecDeque<Waiting>,
    /// Completions that were not handed out yet, the latest first.
    done: Vec<Completion>,
    bus_free: f64,
    /// When the idle arm begins to write dirty blocks, ns.
    destage_at: Option<f64>,
    /// The block behind the request served last.
    previous_end: u64,
    /// The block behind the last destaged one.
    position: u64,
}

impl MechanicalDisk {
    /// A drive at time 0 with its arm at the outermost cylinder and an empty cache.
    pub fn new(model: DiskModel) -> Self {
        let cache = ReadCache::new(model.cache.segments, model.cache.segment_sectors);
        let write_segments = usize::from(model.cache.write_segments);
        let buffer = WriteBuffer::new(write_segments, write_segments as u64 * model.cache.segment_sectors);
        let depth = model.interface.queue_depth as usize;
        let cylinders = model.mechanics.geometry.cylinders();
        Self {
            seek_floor: SeekFloor::new(cylinders, |distance| model.mechanics.least_move_time(distance)),
            cache,
            buffer,
            arm: Arm { cylinder: 0, head: 0 },
            arm_free: 0.0,
            job: None,
            ahead: None,
            waiting: VecDeque::with_capacity(depth),
            done: Vec::with_capacity(depth),
            bus_free: 0.0,
            destage_at: None,
            previous_end: 0,
            position: 0,
            model,
        }
    }

    /// The parameters of the drive.
    pub fn model(&self) -> &DiskModel {
        &self.model
    }

    /// Blocks that were acknowledged and are not on the medium yet.
    pub fn dirty_sectors(&self) -> u64 {
        self.buffer.dirty_sectors()
    }

    /// The current position of the arm.
    fn arm_now(&self) -> Arm {
        self.ahead.as_ref().map_or(self.arm, |ahead| ahead.stream.arm())
    }

    /// Gives the idle arm its next job at time `t`.
    fn dispatch(&mut self, t: f64) {
        while self.job.is_none() {
            self.sync_ahead(t);
            match self.pick(t) {
                Pick::Nothing => return self.plan_destage(t),
                Pick::Destage(extent) => self.start_destage(extent, t),
                Pick::Waiting(i) => {
                    let Some(w) = self.dequeue(i) else { return };
                    match w.work {
                        MediaWork::Read => self.start_read(&w, t),
                        MediaWork::Write => self.start_write(&w, t),
                        MediaWork::Buffer => self.accept(&w, t),
                        MediaWork::Flush => {
                            let overhead = nanos(self.model.interface.write_overhead);
                            let service = ServiceBreakdown { overhead, ..ServiceBreakdown::default() };
                            self.complete(w.request.id, t.max(w.ready), service);
                        }
                    }
                }
            }
        }
    }

    fn start_job(&mut self, kind: JobKind, end: f64) {
        self.destage_at = None;
        self.job = Some(ArmJob { kind, end, end_nanos: nanos_up(end) });
    }

    /// Ends the current job and begins the next.
    fn finish_job(&mut self) {
        let Some(job) = self.job.take() else { return };
        match job.kind {
            JobKind::Destage => {
                self.buffer.written();
                self.share_segments();
            }
            JobKind::Write { id, service } => self.complete(id, job.end, service),
            JobKind::Read(read) => {
                let bus = self.model.interface.bus_sector;
                let burst = read.sectors as f64 * bus;
                let start = read.first_data.max(read.ready).max(self.bus_free);
                let done = (start + burst).max(job.end + bus);
                self.bus_free = done;
                let transfer = nanos(done - read.transfer_from);
                self.complete(read.id, done, ServiceBreakdown { transfer, ..read.service });
                match read.segment {
                    Some(segment) => {
                        self.cache.grow(segment, read.to);
                        self.ahead = Some(Ahead { stream: read.stream, segment, limit: read.limit });
                    }
                    None => {
                        self.arm = read.stream.arm();
                        self.arm_free = job.end;
                    }
                }
            }
        }
        self.dispatch(job.end_nanos.0 as f64);
    }

    fn use_bus(&mut self, start: f64, sectors: u64) -> f64 {
        let done = start.max(self.bus_free) + sectors as f64 * self.model.interface.bus_sector;
        self.bus_free = done;
        done
    }

    fn complete(&mut self, id: RequestId, at: f64, service: ServiceBreakdown) {
        let completion = Completion { id, at: nanos_up(at), service };
        // It is nearly always the latest; equal times stay in order.
        let place = self.done.partition_point(|other| other.at > completion.at);
        self.done.insert(place, completion);
    }

    /// The time of the next event of the arm.
    fn next_arm_event(&self) -> Option<Nanos> {
        match &self.job {
            Some(job) => Some(job.end_nanos),
            None => self.destage_at.map(nanos_up),
        }
    }

    /// Runs the arm to `now`.
    fn run_arm(&mut self, now: Nanos) {
        while let Some(at) = self.next_arm_event().filter(|&at| at <= now) {
            if self.job.is_some() {
                self.finish_job();
                continue;
            }
            let t = at.0 as f64;
            self.sync_ahead(t);
            let finished = self.ahead.as_ref().map_or(t, |ahead| ahead.finish(&self.model.mechanics));
            // In whole nanoseconds, as events are: the arm would wait forever for a fraction of one.
            if nanos_up(finished) > at {
                self.destage_at = Some(finished);
            } else if let Some(extent) = self.buffer.upwards_from(self.position) {
                self.start_destage(extent, t);
            } else {
                self.destage_at = None;
            }
        }
    }
}

impl Device for MechanicalDisk {
    fn submit(&mut self, request: DeviceRequest, now: Nanos) {
        self.run_arm(now);
        let t = now.0 as f64;
        match request.op {
            Op::Read if request.sectors.0 > 0 => self.submit_read(request, t),
            Op::Write if request.sectors.0 > 0 => self.submit_write(request, t),
            Op::Flush => {
                let geometry = &self.model.mechanics.geometry;
                let ready = t + self.model.interface.write_overhead;
                let (track, seal) = (geometry.track_of(0), Some(self.buffer.seal()));
                let work = MediaWork::Flush;
                self.enqueue(Waiting { request, work, arrived: t, ready, track, angle: 0.0, seal, follows: false });
            }
            // Magnetic media have nothing to discard.
            Op::Discard | Op::Read | Op::Write => {
                let overhead = nanos(self.model.interface.write_overhead);
                let service = ServiceBreakdown { overhead, ..ServiceBreakdown::default() };
                self.complete(request.id, t + self.model.interface.write_overhead, service);
            }
        }
        if self.job.is_none() && !self.waiting.is_empty() {
            self.dispatch(t);
        }
    }

    fn next_event(&self) -> Option<Nanos> {
        let done = self.done.last().map(|completion| completion.at);
        match (done, self.next_arm_event()) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    fn advance(&mut self, now: Nanos, out: &mut Vec<Completion>) {
        self.run_arm(now);
        let due = self.done.partition_point(|completion| completion.at > now);
        out.extend(self.done.drain(due..).rev());
    }

    fn capacity(&self) -> u64 {
        self.model.mechanics.geometry.capacity()
    }

    fn queue_depth(&self) -> u32 {
        self.model.interface.queue_depth
    }

    fn cache_control(&self) -> CacheControl {
        self.model.interface.cache_control
    }

    fn positions(&self) -> Option<&dyn Positions> {
        Some(self)
    }

    fn respin(&mut self, revolutions: f64) {
        self.model.mechanics.respin(revolutions);
    }
}

fn nanos(ns: f64) -> Nanos {
    Nanos((ns + 0.5) as u64)
}

/// Rounds up, because a completion never comes before its data. A thousandth of a nanosecond is not rounded up.
fn nanos_up(ns: f64) -> Nanos {
    let down = (ns - 1e-3) as u64;
    Nanos(down + u64::from((down as f64) < ns - 1e-3))
}
