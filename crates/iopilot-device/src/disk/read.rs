//! Reads: hits, misses, and read-ahead.

use super::mechanics::{Mechanics, TrackWalk};
use super::request::{Ahead, ArmJob, JobKind, MediaWork, ReadJob, Waiting};
use super::{MechanicalDisk, nanos};
use crate::{DeviceRequest, ServiceBreakdown};
use iopilot_block::Nanos;

/// Two requests nearer than this are sequential: 64 KiB (GF 4.3.1).
const SEQUENTIAL_DISTANCE: u64 = 128;

impl MechanicalDisk {
    pub(super) fn submit_read(&mut self, request: DeviceRequest, now: f64) {
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
        let work = MediaWork::Read;
        self.enqueue(Waiting { request, work, arrived, ready, track, angle, seal: None, follows: false });
    }

    /// Serves a read from the write buffer or a segment, if either holds all of it.
    pub(super) fn serve_from_cache(
        &mut self,
        request: &DeviceRequest,
        first: u64,
        end: u64,
        arrived: f64,
        t: f64,
    ) -> bool {
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

    /// Records a hit, and continues the read-ahead of a sequential reader (GF 4.3.1, Ganger B.1.2).
    pub(super) fn after_hit(&mut self, slot: u16, first: u64, end: u64, t: f64) {
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
            (Some(ArmJob { kind: JobKind::Read(job), .. }), _) if job.segment == Some(slot) => {
                job.limit = job.limit.max(target);
            }
            (None, Some(ahead)) if ahead.segment == slot && ahead.is_live(t) => ahead.limit = ahead.limit.max(target),
            (None, Some(ahead)) if ahead.is_live(t) => {}
            (None, _) if held < target => self.read_ahead_from(slot, held, target, t),
            _ => {}
        }
    }

    /// Starts read-ahead with an idle arm.
    pub(super) fn read_ahead_from(&mut self, segment: u16, from: u64, limit: u64, t: f64) {
        self.release_ahead(t);
        let track = self.model.mechanics.geometry.track_of(from);
        let start = t.max(self.arm_free);
        let (stream, _) = TrackWalk::start(&self.model.mechanics, self.arm, track, from, start, start, false);
        self.ahead = Some(Ahead { stream, segment, limit });
    }

    /// Brings read-ahead up to time `t`.
    pub(super) fn sync_ahead(&mut self, t: f64) {
        if let Some(ahead) = &mut self.ahead {
            ahead.stream.run_until(&self.model.mechanics, t, ahead.limit);
            self.cache.grow(ahead.segment, ahead.stream.next);
        }
    }

    /// Ends read-ahead at time `t`; the arm stays where it is.
    pub(super) fn release_ahead(&mut self, t: f64) {
        self.sync_ahead(t);
        if let Some(ahead) = self.ahead.take() {
            self.arm = ahead.stream.arm();
            self.arm_free = self.arm_free.max(ahead.stream.settled);
        }
    }

    pub(super) fn start_read(&mut self, w: &Waiting, t: f64) {
        let (first, end) = (w.first(), w.end());
        // A request that has not waited was looked up on arrival.
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
        let (mut stream, positioning) = TrackWalk::start(mechanics, self.arm, track, from, start, start, false);
        let first_data = stream.at;

        let sizes = &self.model.cache;
        // A reader continues in its segment, with that segment's read-ahead, even if others read in between (GF
        // 4.3.1). This includes readers that go backwards or skip a little.
        let reader = held.or_else(|| self.cache.stream_of(first, end, SEQUENTIAL_DISTANCE));
        let next_ahead = |slot| self.cache.segment(slot).next_ahead(sizes.read_ahead_sequential);
        let ahead =
            if sequential { sizes.read_ahead_sequential } else { reader.map_or(sizes.read_ahead_random, next_ahead) };
        let segment = match held {
            Some(slot) => {
                let segment = self.cache.segment_mut(slot);
                (segment.read_ahead, segment.was_hit, segment.consumed) = (ahead, false, end);
                self.cache.touch(slot);
                held
            }
            None => {
                if let Some(slot) = reader {
                    self.cache.give_up(slot);
                }
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

    /// Serves a read from the read-ahead in progress: it needs no positioning, only the rest of the wait. It counts
    /// as a hit (GF 4.3.1 "partial cache hit").
    pub(super) fn join_ahead(&mut self, w: &Waiting, t: f64) -> bool {
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
}

impl Ahead {
    /// Whether the head is still moving along the blocks.
    pub(super) fn is_live(&self, t: f64) -> bool {
        self.stream.next < self.limit || self.stream.at >= t
    }

    pub(super) fn finish(&self, mechanics: &Mechanics) -> f64 {
        let mut stream = self.stream;
        stream.run_to(mechanics, self.limit)
    }
}
