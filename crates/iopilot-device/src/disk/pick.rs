//! The on-board scheduler: chooses the next job of the arm.

use super::model::QueuePolicy;
use super::request::{MediaWork, Waiting};
use super::{MechanicalDisk, geometry::Track};

/// The choice of the scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pick {
    /// No job is ready.
    Nothing,
    /// The waiting request with this index.
    Waiting(usize),
    /// The extent of the write buffer with this index.
    Destage(usize),
}

impl MechanicalDisk {
    /// Appends `w` to the queue.
    pub(super) fn enqueue(&mut self, mut w: Waiting) {
        if self.model.interface.policy == QueuePolicy::Sptf {
            for other in &mut self.waiting {
                w.follows |= other.is_before(&w);
                other.follows |= w.is_before(other);
            }
        }
        self.waiting.push_back(w);
    }

    /// Takes a request out of the queue.
    pub(super) fn dequeue(&mut self, index: usize) -> Option<Waiting> {
        let taken = self.waiting.remove(index)?;
        for i in 0..self.waiting.len() {
            let next = &self.waiting[i];
            if next.follows && taken.is_before(next) {
                self.waiting[i].follows = self.waiting.iter().any(|other| other.is_before(next));
            }
        }
        Some(taken)
    }

    /// Chooses a job at time `t` for an idle arm.
    pub(super) fn pick(&self, t: f64) -> Pick {
        let Some(oldest) = self.waiting.front() else { return Pick::Nothing };
        let overdue = self.model.interface.age_limit.is_some_and(|limit| t - oldest.arrived > limit);
        match self.model.interface.policy {
            QueuePolicy::Sptf if !overdue && self.waiting.len() > 1 => self.pick_shortest(t),
            _ if self.is_blocked(oldest) => self.pick_extent(),
            _ => Pick::Waiting(0),
        }
    }

    /// Whether dirty blocks must reach the medium before `w` can begin.
    fn is_blocked(&self, w: &Waiting) -> bool {
        w.seal.is_some_and(|seal| !self.buffer.is_clean_up_to(seal))
            || w.work == MediaWork::Buffer && !self.buffer.has_room(w.first(), w.sectors())
    }

    fn pick_extent(&self) -> Pick {
        self.buffer.upwards_from(self.position).map_or(Pick::Nothing, Pick::Destage)
    }

    /// Shortest seek plus rotation. The seek alone rules most candidates out, so few need an angle.
    ///
    /// Of several waiting sequential requests only the first is a candidate (DiskSim's sequential stream scheme).
    /// Otherwise an arm that returns to a stream lands somewhere within it, and the blocks before that place are
    /// skipped until they are too old. Real drives serve streams in order, at the expense of others, up to a deadline
    /// of 1 to 4 s (OpenZFS #11166, #15270).
    fn pick_shortest(&self, t: f64) -> Pick {
        let mut best = (f64::INFINITY, Pick::Nothing);
        let mut blocked = false;
        for (i, w) in self.waiting.iter().enumerate() {
            if self.is_blocked(w) {
                blocked = true;
                continue;
            }
            match w.work {
                // These need no arm.
                MediaWork::Flush | MediaWork::Buffer => return Pick::Waiting(i),
                MediaWork::Read if self.was_just_read(w) => return Pick::Waiting(i),
                MediaWork::Read | MediaWork::Write if w.follows => {}
                MediaWork::Read => self.weigh(&mut best, Pick::Waiting(i), t.max(w.ready), &w.track, w.angle, false),
                MediaWork::Write => self.weigh(&mut best, Pick::Waiting(i), t.max(w.ready), &w.track, w.angle, true),
            }
        }
        if blocked {
            for (i, extent) in self.buffer.extents().iter().enumerate() {
                let track = self.model.mechanics.geometry.track_of(extent.start);
                let angle = track.angle_of(extent.start);
                self.weigh(&mut best, Pick::Destage(i), t, &track, angle, true);
            }
        }
        best.1
    }

    fn weigh(&self, best: &mut (f64, Pick), pick: Pick, start: f64, track: &Track, angle: f64, write: bool) {
        let mechanics = &self.model.mechanics;
        let start = start.max(self.arm_free);
        let settled = start + mechanics.move_time(self.arm_now(), track, write);
        if settled < best.0 {
            let at = settled + mechanics.latency(settled, angle);
            if at < best.0 {
                *best = (at, pick);
            }
        }
    }

    /// Whether the segment filled last now holds all of the request.
    fn was_just_read(&self, w: &Waiting) -> bool {
        self.ahead.as_ref().is_some_and(|ahead| {
            let segment = self.cache.segment(ahead.segment);
            segment.start <= w.first() && w.end() <= segment.end
        })
    }
}
