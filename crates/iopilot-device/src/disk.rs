//! [`MechanicalDisk`]: a hard disk drive with platters, an arm, a segmented cache and a queue (Ganger B.1 and B.2,
//! Carroll 2.1, GF 4.3.1).
//!
//! The arm does one thing at a time: a read or write that a request waits for, or writing dirty blocks. Read-ahead
//! needs no events: it is a stream that is brought up to date when somebody looks.

mod geometry;
mod mechanics;
mod model;
mod pick;
mod read_cache;
mod request;
mod seek;
mod write_buffer;

pub use geometry::{Geometry, Layout, Track, Zone};
pub use mechanics::{Arm, Mechanics};
pub use model::{CacheModel, DiskModel, InterfaceModel, QueuePolicy};
pub use seek::SeekCurve;

use crate::{Completion, Device, DeviceRequest, ServiceBreakdown};
use iopilot_block::{Flags, Nanos, Op, RequestId};
use mechanics::Stream;
use pick::Pick;
use read_cache::ReadCache;
use request::{Ahead, Job, JobKind, ReadJob, Waiting, Work};
use std::collections::VecDeque;
use write_buffer::WriteBuffer;

/// Two requests nearer than this are sequential: 64 KiB (GF 4.3.1).
const SEQUENTIAL_DISTANCE: u64 = 128;

/// A hard disk drive as a state machine in virtual time. See `docs/disks.md` for the model and its equations.
#[derive(Clone, Debug)]
pub struct MechanicalDisk {
    model: DiskModel,
    cache: ReadCache,
    buffer: WriteBuffer,
    /// Where the arm stands, unless a job or read-ahead says otherwise, and from when it can move, ns.
    arm: Arm,
    arm_free: f64,
    job: Option<Job>,
    /// Only while there is no job.
    ahead: Option<Ahead>,
    /// Requests that need the arm, or room in the write buffer, in order of arrival. Empty while there is no job.
    waiting: VecDeque<Waiting>,
    /// Finished and not yet handed out, the latest first.
    done: Vec<Completion>,
    bus_free: f64,
    /// When the idle arm begins to write dirty blocks, ns.
    destage_at: Option<f64>,
    /// Behind the last block of the request served last.
    previous_end: u64,
    /// Behind the last block accessed on the medium for writing dirty blocks.
    position: u64,
}

impl MechanicalDisk {
    /// A drive with its arm at the outermost cylinder, nothing cached, at time 0.
    pub fn new(model: DiskModel) -> Self {
        let cache = ReadCache::new(model.cache.read_segments, model.cache.segment_sectors);
        let write_segments = usize::from(model.cache.write_segments);
        let buffer = WriteBuffer::new(write_segments, write_segments as u64 * model.cache.segment_sectors);
        let depth = model.interface.queue_depth as usize;
        Self {
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

    /// The drive's constants.
    pub fn model(&self) -> &DiskModel {
        &self.model
    }

    /// Blocks that were acknowledged and are not on the medium yet.
    pub fn dirty_sectors(&self) -> u64 {
        self.buffer.dirty_sectors()
    }

    /// Where the arm stands, as far as it is not on its way.
    fn arm_now(&self) -> Arm {
        self.ahead.as_ref().map_or(self.arm, |ahead| ahead.stream.arm())
    }

    fn submit_read(&mut self, request: DeviceRequest, now: f64) {
        let interface = &self.model.interface;
        let (arrived, ready) = (now, now + interface.read_overhead);
        if self.job.is_none() {
            self.sync_ahead(now);
        }
        let (first, end) = (request.lba.0, request.lba.0 + u64::from(request.sectors.0));
        if self.serve_from_cache(&request, first, end, arrived, now) {
            return;
        }
        let track = self.model.mechanics.geometry.track_of(first);
        let angle = track.angle_of(first);
        self.waiting.push_back(Waiting { request, work: Work::Read, arrived, ready, track, angle, seal: None });
    }

    fn submit_write(&mut self, request: DeviceRequest, now: f64) {
        let (first, end) = (request.lba.0, request.lba.0 + u64::from(request.sectors.0));
        self.overwrite(first, end, now);
        let durable = request.flags.contains(Flags::FUA);
        let buffered = !durable && self.buffer.could_hold(end - first);
        let seal = request.flags.contains(Flags::PREFLUSH).then(|| self.buffer.seal());
        if !buffered {
            self.buffer.supersede(first, end);
        }
        let track = self.model.mechanics.geometry.track_of(first);
        let waiting = Waiting {
            request,
            work: if buffered { Work::Buffer } else { Work::Write },
            arrived: now,
            ready: now + self.model.interface.write_overhead,
            track,
            angle: track.angle_of(first),
            seal,
        };
        // Earlier writes that wait for room go first.
        let in_order = !self.waiting.iter().any(|w| w.work == Work::Buffer);
        if buffered && seal.is_none() && in_order && self.buffer.has_room(first, end - first) {
            self.accept(&waiting, now);
            if self.job.is_none() {
                self.plan_destage(now);
            }
        } else {
            self.waiting.push_back(waiting);
        }
    }

    /// Serves a read from the write buffer or a segment, if either holds all of it.
    fn serve_from_cache(&mut self, request: &DeviceRequest, first: u64, end: u64, arrived: f64, t: f64) -> bool {
        let slot = self.cache.find(first).filter(|&slot| end <= self.cache.segment(slot).end);
        if slot.is_none() && !self.buffer.contains(first, end) {
            return false;
        }
        let overhead = self.model.interface.hit_overhead;
        let start = t.max(arrived + overhead);
        let sectors = end - first;
        let done = self.use_bus(start, sectors);
        let service = ServiceBreakdown {
            overhead: nanos(overhead),
            transfer: nanos(done - start),
            cache_hit: true,
            ..ServiceBreakdown::default()
        };
        self.complete(request.id, done, service);
        if let Some(slot) = slot {
            self.after_hit(slot, first, end, t);
        }
        self.previous_end = end;
        true
    }

    /// Notes a hit and lets the read-ahead of a sequential reader go on (GF 4.3.1, Ganger B.1.2).
    fn after_hit(&mut self, slot: u16, first: u64, end: u64, t: f64) {
        self.cache.touch(slot);
        let room = self.cache.segment_sectors();
        let sequential = self.model.cache.read_ahead_sequential;
        let segment = self.cache.segment_mut(slot);
        let in_sequence = first.abs_diff(segment.consumed) < SEQUENTIAL_DISTANCE;
        segment.was_hit = true;
        segment.consumed = segment.consumed.max(end);
        if !in_sequence || !self.model.cache.read_ahead_on_hit {
            return;
        }
        segment.read_ahead = sequential.max(segment.read_ahead);
        let (held, consumed, ahead) = (segment.end, segment.consumed, u64::from(segment.read_ahead));
        let target = (consumed + ahead.min(room)).min(self.model.mechanics.geometry.capacity());
        match (&mut self.job, &mut self.ahead) {
            (Some(Job { kind: JobKind::Read(job), .. }), _) if job.segment == Some(slot) => {
                job.limit = job.limit.max(target);
            }
            (None, Some(ahead)) if ahead.segment == slot && ahead.is_live(t) => ahead.limit = ahead.limit.max(target),
            (None, Some(ahead)) if ahead.is_live(t) => {}
            (None, _) if held < target => self.read_ahead_from(slot, held, target, t),
            _ => {}
        }
    }

    /// Begins to read ahead with an idle arm.
    fn read_ahead_from(&mut self, segment: u16, from: u64, limit: u64, t: f64) {
        self.release_ahead(t);
        let track = self.model.mechanics.geometry.track_of(from);
        let start = t.max(self.arm_free);
        let (stream, _) = Stream::start(&self.model.mechanics, self.arm, track, from, start, start, false);
        self.ahead = Some(Ahead { stream, segment, limit });
    }

    /// Brings read-ahead up to time `t`.
    fn sync_ahead(&mut self, t: f64) {
        if let Some(ahead) = &mut self.ahead {
            ahead.stream.run_until(&self.model.mechanics, t, ahead.limit);
            self.cache.grow(ahead.segment, ahead.stream.next);
        }
    }

    /// Ends read-ahead at time `t`; the arm stays where it brought it.
    fn release_ahead(&mut self, t: f64) {
        self.sync_ahead(t);
        if let Some(ahead) = self.ahead.take() {
            self.arm = ahead.stream.arm();
            self.arm_free = self.arm_free.max(ahead.stream.settled);
        }
    }

    /// Makes the read segments forget blocks that are being overwritten.
    fn overwrite(&mut self, first: u64, end: u64, t: f64) {
        if self.cache.is_off() {
            return;
        }
        if self.job.is_none() {
            self.sync_ahead(t);
        }
        self.cache.invalidate(first, end);
        if let Some(Job { kind: JobKind::Read(job), .. }) = &mut self.job {
            let intact = |slot: u16| self.cache.is_used(slot) && self.cache.segment(slot).end == job.from;
            if job.segment.is_some_and(|slot| !intact(slot)) || first < job.to && job.from < end {
                job.segment = None;
            }
            job.limit = if first >= job.to { job.limit.min(first) } else { job.limit };
        }
        let Some(ahead) = &mut self.ahead else { return };
        let next = ahead.stream.next;
        if self.cache.is_used(ahead.segment) && self.cache.segment(ahead.segment).end == next && end <= next {
            return;
        }
        if first > next && self.cache.is_used(ahead.segment) {
            ahead.limit = ahead.limit.min(first);
        } else if let Some(ahead) = self.ahead.take() {
            self.arm = ahead.stream.arm();
            self.arm_free = self.arm_free.max(ahead.stream.settled);
        }
    }

    /// Gives the free arm something to do at time `t`.
    fn dispatch(&mut self, t: f64) {
        while self.job.is_none() {
            self.sync_ahead(t);
            match self.pick(t) {
                Pick::Nothing => return self.plan_destage(t),
                Pick::Destage(extent) => self.start_destage(extent, t),
                Pick::Waiting(i) => {
                    let Some(w) = self.waiting.remove(i) else { return };
                    match w.work {
                        Work::Read => self.start_read(&w, t),
                        Work::Write => self.start_write(&w, t),
                        Work::Buffer => self.accept(&w, t),
                        Work::Flush => {
                            let overhead = nanos(self.model.interface.write_overhead);
                            let service = ServiceBreakdown { overhead, ..ServiceBreakdown::default() };
                            self.complete(w.request.id, t.max(w.ready), service);
                        }
                    }
                }
            }
        }
    }

    fn start_read(&mut self, w: &Waiting, t: f64) {
        let (first, end) = (w.first(), w.end());
        // A request that has just come was looked up then.
        let waited = t > w.arrived;
        if waited && self.serve_from_cache(&w.request, first, end, w.arrived, t) || self.join_ahead(w, t) {
            return;
        }
        let sequential = first.abs_diff(self.previous_end) < SEQUENTIAL_DISTANCE;
        let start = t.max(w.ready);
        self.release_ahead(start);
        let start = start.max(self.arm_free);

        // Blocks at the front that a segment holds are not read again.
        let held = self.cache.find(first);
        let from = held.map_or(first, |slot| self.cache.segment(slot).end);
        let mechanics = &self.model.mechanics;
        let (track, angle) = if from == first {
            (w.track, w.angle)
        } else {
            let track = mechanics.geometry.track_of(from);
            (track, track.angle_of(from))
        };
        debug_assert!(angle >= 0.0);
        let (mut stream, positioning) = Stream::start(mechanics, self.arm, track, from, start, start, false);
        let first_data = stream.at;

        let sizes = &self.model.cache;
        let segment = match held {
            Some(slot) => {
                let segment = self.cache.segment_mut(slot);
                if segment.was_hit {
                    segment.read_ahead = (segment.read_ahead * 2).min(sizes.read_ahead_sequential);
                }
                if sequential {
                    segment.read_ahead = sizes.read_ahead_sequential;
                }
                segment.was_hit = false;
                segment.consumed = end;
                self.cache.touch(slot);
                held
            }
            None => {
                let ahead = if sequential { sizes.read_ahead_sequential } else { sizes.read_ahead_random };
                let before = if sizes.read_on_arrival {
                    ((positioning.rotation / stream.sector_time()) as u64)
                        .min(from - stream.track().first)
                        .min(u64::from(ahead))
                        .min(self.cache.room_before(from))
                        .min(self.cache.segment_sectors().saturating_sub(w.sectors()))
                } else {
                    0
                };
                let slot = self.cache.allocate(from - before, from);
                if let Some(slot) = slot {
                    let segment = self.cache.segment_mut(slot);
                    (segment.read_ahead, segment.consumed) = (ahead, end);
                }
                slot
            }
        };
        let done = stream.run_to(&self.model.mechanics, end);
        let ahead = segment.map_or(0, |slot| u64::from(self.cache.segment(slot).read_ahead));
        let limit = (end + ahead.min(self.cache.segment_sectors())).min(self.model.mechanics.geometry.capacity());
        self.start_job(
            JobKind::Read(ReadJob {
                id: w.request.id,
                sectors: w.sectors(),
                from,
                to: end,
                first_data,
                ready: w.ready,
                transfer_from: first_data,
                service: ServiceBreakdown {
                    seek: nanos(positioning.seek),
                    rotation: nanos(positioning.rotation),
                    transfer: Nanos::ZERO,
                    overhead: nanos(self.model.interface.read_overhead),
                    cylinders: positioning.cylinders,
                    cache_hit: false,
                },
                stream,
                segment,
                limit,
            }),
            done,
        );
        self.previous_end = end;
    }

    /// Serves a read from blocks that the medium is delivering as read-ahead: no positioning, only the rest of the
    /// wait. Counts as a hit (GF 4.3.1 "partial cache hit").
    fn join_ahead(&mut self, w: &Waiting, t: f64) -> bool {
        let (first, end) = (w.first(), w.end());
        let hit_ready = w.arrived + self.model.interface.hit_overhead;
        let Some(ahead) = &self.ahead else { return false };
        let segment = self.cache.segment(ahead.segment);
        let reachable = segment.start <= first && first < ahead.limit || first == ahead.limit && first == segment.end;
        if !reachable || !(ahead.is_live(t) || ahead.stream.at + 1.0 >= w.ready && first == ahead.stream.next) {
            return false;
        }
        let Some(Ahead { mut stream, segment: slot, limit }) = self.ahead.take() else { return false };
        let from = stream.next;
        let first_data = stream.at;
        let done = stream.run_to(&self.model.mechanics, end);
        self.cache.touch(slot);
        let sizes = &self.model.cache;
        let room = self.cache.segment_sectors();
        let segment = self.cache.segment_mut(slot);
        segment.was_hit = true;
        segment.consumed = end;
        let mut limit = limit.max(end);
        if sizes.read_ahead_on_hit {
            if first.abs_diff(self.previous_end) < SEQUENTIAL_DISTANCE {
                segment.read_ahead = sizes.read_ahead_sequential;
            }
            let target = end + u64::from(segment.read_ahead).min(room);
            limit = limit.max(target.min(self.model.mechanics.geometry.capacity()));
        }
        let overhead = nanos(self.model.interface.hit_overhead);
        let job = ReadJob {
            id: w.request.id,
            sectors: w.sectors(),
            from,
            to: end,
            first_data: first_data.min(t),
            ready: hit_ready,
            transfer_from: t.max(hit_ready),
            service: ServiceBreakdown { overhead, cache_hit: true, ..ServiceBreakdown::default() },
            stream,
            segment: Some(slot),
            limit,
        };
        self.start_job(JobKind::Read(job), done.max(t));
        self.previous_end = end;
        true
    }

    fn start_write(&mut self, w: &Waiting, t: f64) {
        let start = t.max(w.ready);
        self.release_ahead(start);
        let start = start.max(self.arm_free);
        let arrived = self.use_bus(start, w.sectors());
        let mechanics = &self.model.mechanics;
        // The medium must not overtake the bus.
        let on_medium = w.sectors() as f64 * mechanics.sector_time(&w.track);
        let bus_sector = self.model.interface.bus_sector;
        let data = (arrived - on_medium).max(arrived - (w.sectors() - 1) as f64 * bus_sector);
        let (mut stream, positioning) = Stream::start(mechanics, self.arm, w.track, w.first(), start, data, true);
        let from = stream.at;
        let done = stream.run_to(mechanics, w.end());
        let service = ServiceBreakdown {
            seek: nanos(positioning.seek),
            rotation: nanos(positioning.rotation),
            transfer: nanos(done - from),
            overhead: nanos(self.model.interface.write_overhead),
            cylinders: positioning.cylinders,
            cache_hit: false,
        };
        self.arm = stream.arm();
        self.arm_free = done;
        self.previous_end = w.end();
        self.start_job(JobKind::Write { id: w.request.id, service }, done);
    }

    /// Takes a write into the buffer and acknowledges it when its data are there.
    fn accept(&mut self, w: &Waiting, t: f64) {
        let overhead = self.model.interface.write_overhead;
        let start = t.max(w.ready);
        let done = self.use_bus(start, w.sectors());
        let first_block = done - (w.sectors().saturating_sub(1)) as f64 * self.model.interface.bus_sector;
        self.buffer.insert(w.first(), w.end(), first_block);
        let service = ServiceBreakdown {
            overhead: nanos(overhead),
            transfer: nanos(done - start),
            cache_hit: true,
            ..ServiceBreakdown::default()
        };
        self.previous_end = w.end();
        self.complete(w.request.id, done, service);
    }

    fn start_destage(&mut self, extent: usize, t: f64) {
        self.release_ahead(t);
        let chunk = self.buffer.begin(extent, self.cache.segment_sectors());
        let start = t.max(self.arm_free);
        let mechanics = &self.model.mechanics;
        let track = mechanics.geometry.track_of(chunk.start);
        let (mut stream, _) = Stream::start(mechanics, self.arm, track, chunk.start, start, chunk.ready, true);
        let done = stream.run_to(mechanics, chunk.end);
        self.arm = stream.arm();
        self.arm_free = done;
        self.position = chunk.end;
        self.start_job(JobKind::Destage, done);
    }

    /// Dirty blocks are written once the arm has been idle long enough and read-ahead is through.
    fn plan_destage(&mut self, t: f64) {
        self.destage_at = (!self.buffer.extents().is_empty()).then(|| {
            let idle = t + self.model.cache.destage_idle;
            self.ahead.as_ref().map_or(idle, |ahead| idle.max(ahead.finish(&self.model.mechanics)))
        });
    }

    fn start_job(&mut self, kind: JobKind, end: f64) {
        self.destage_at = None;
        self.job = Some(Job { kind, end, end_nanos: nanos_up(end) });
    }

    /// Ends the present job and begins the next.
    fn finish_job(&mut self) {
        let Some(job) = self.job.take() else { return };
        match job.kind {
            JobKind::Destage => self.buffer.written(),
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
        // Nearly always the latest: equal times stay in order.
        let place = self.done.partition_point(|other| other.at > completion.at);
        self.done.insert(place, completion);
    }

    /// When the arm next has something to do.
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
            if finished > t {
                self.destage_at = Some(finished);
            } else if let Some(extent) = self.buffer.upwards_from(self.position) {
                self.start_destage(extent, t);
            } else {
                self.destage_at = None;
            }
        }
    }
}

impl Ahead {
    /// Whether the head still is on its way along the blocks.
    fn is_live(&self, t: f64) -> bool {
        self.stream.next < self.limit || self.stream.at >= t
    }

    fn finish(&self, mechanics: &Mechanics) -> f64 {
        let mut stream = self.stream;
        stream.run_to(mechanics, self.limit)
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
                let work = Work::Flush;
                self.waiting.push_back(Waiting { request, work, arrived: t, ready, track, angle: 0.0, seal });
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
}

fn nanos(ns: f64) -> Nanos {
    Nanos((ns + 0.5) as u64)
}

/// Up: a completion never comes before its data. A thousandth of a nanosecond is not rounded up.
fn nanos_up(ns: f64) -> Nanos {
    let down = (ns - 1e-3) as u64;
    Nanos(down + u64::from((down as f64) < ns - 1e-3))
}
