//! Writes: into the buffer, from there to the medium in idle time, or straight to the medium.

use super::mechanics::TrackWalk;
use super::request::{ArmJob, JobKind, MediaWork, Waiting};
use super::{MechanicalDisk, nanos};
use crate::{DeviceRequest, ServiceBreakdown};
use iopilot_block::Flags;

impl MechanicalDisk {
    pub(super) fn submit_write(&mut self, request: DeviceRequest, now: f64) {
        let (first, end) = (request.lba.0, request.lba.0 + u64::from(request.sectors.0));
        self.overwrite(first, end, now);
        let durable = request.flags.contains(Flags::FUA);
        let buffered = !durable && self.buffer.could_hold(end - first);
        let seal = request.flags.contains(Flags::PREFLUSH).then(|| self.buffer.seal());
        if !buffered {
            self.buffer.supersede(first, end);
            self.share_segments();
        }
        let track = self.model.mechanics.geometry.track_of(first);
        let waiting = Waiting {
            request,
            work: if buffered { MediaWork::Buffer } else { MediaWork::Write },
            arrived: now,
            ready: now + self.model.interface.write_overhead,
            track,
            angle: track.angle_of(first),
            seal,
            follows: false,
        };
        // Earlier writes that wait for room go first.
        let in_order = !self.waiting.iter().any(|w| w.work == MediaWork::Buffer);
        if buffered && seal.is_none() && in_order && self.buffer.has_room(first, end - first) {
            self.accept(&waiting, now);
            if self.job.is_none() {
                self.plan_destage(now);
            }
        } else {
            self.enqueue(waiting);
        }
    }

    /// Invalidates blocks in the read segments that are being overwritten.
    pub(super) fn overwrite(&mut self, first: u64, end: u64, t: f64) {
        if self.cache.is_off() {
            return;
        }
        if self.job.is_none() {
            self.sync_ahead(t);
        }
        self.cache.invalidate(first, end);
        if let Some(ArmJob { kind: JobKind::Read(job), .. }) = &mut self.job {
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

    /// Lends segments with dirty blocks to the write buffer, and returns the others to reads.
    pub(super) fn share_segments(&mut self) {
        if self.cache.is_off() || !self.cache.lend(self.buffer.segments(self.cache.segment_sectors())) {
            return;
        }
        if let Some(ArmJob { kind: JobKind::Read(job), .. }) = &mut self.job {
            job.segment = job.segment.filter(|&slot| self.cache.is_used(slot));
        }
        if let Some(ahead) = self.ahead.take_if(|ahead| !self.cache.is_used(ahead.segment)) {
            self.arm = ahead.stream.arm();
            self.arm_free = self.arm_free.max(ahead.stream.settled);
        }
    }

    pub(super) fn start_write(&mut self, w: &Waiting, t: f64) {
        let start = t.max(w.ready);
        self.release_ahead(start);
        let start = start.max(self.arm_free);
        let arrived = self.use_bus(start, w.sectors());
        let mechanics = &self.model.mechanics;
        // The medium must not overtake the bus.
        let on_medium = w.sectors() as f64 * mechanics.sector_time(&w.track);
        let bus_sector = self.model.interface.bus_sector;
        let data = (arrived - on_medium).max(arrived - (w.sectors() - 1) as f64 * bus_sector);
        let (mut stream, positioning) = TrackWalk::start(mechanics, self.arm, w.track, w.first(), start, data, true);
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

    /// Takes a write into the buffer and acknowledges it when its data have arrived.
    pub(super) fn accept(&mut self, w: &Waiting, t: f64) {
        let overhead = self.model.interface.write_overhead;
        let start = t.max(w.ready);
        let done = self.use_bus(start, w.sectors());
        let first_block = done - (w.sectors().saturating_sub(1)) as f64 * self.model.interface.bus_sector;
        self.buffer.insert(w.first(), w.end(), first_block);
        self.share_segments();
        let service = ServiceBreakdown {
            overhead: nanos(overhead),
            transfer: nanos(done - start),
            cache_hit: true,
            ..ServiceBreakdown::default()
        };
        self.previous_end = w.end();
        self.complete(w.request.id, done, service);
    }

    pub(super) fn start_destage(&mut self, extent: usize, t: f64) {
        self.release_ahead(t);
        let chunk = self.buffer.begin(extent, self.cache.segment_sectors());
        let start = t.max(self.arm_free);
        let mechanics = &self.model.mechanics;
        let track = mechanics.geometry.track_of(chunk.start);
        let (mut stream, _) = TrackWalk::start(mechanics, self.arm, track, chunk.start, start, chunk.ready, true);
        let done = stream.run_to(mechanics, chunk.end);
        self.arm = stream.arm();
        self.arm_free = done;
        self.position = chunk.end;
        self.start_job(JobKind::Destage, done);
    }

    /// Schedules a destage for when the arm has been idle long enough and read-ahead has ended.
    pub(super) fn plan_destage(&mut self, t: f64) {
        self.destage_at = (!self.buffer.extents().is_empty()).then(|| {
            let idle = t + self.model.cache.destage_idle;
            self.ahead.as_ref().map_or(idle, |ahead| idle.max(ahead.finish(&self.model.mechanics)))
        });
    }
}
