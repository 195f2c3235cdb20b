//! [`Mechanics`]: rotating platters and moving arm; [`TrackWalk`]: an access on its way along the tracks.
//!
//! Times here are nanoseconds as `f64`, exact to a quarter of a nanosecond over a month. The angle of the spindle is
//! a function of absolute time, so the phase is never lost.

use super::geometry::{Geometry, Track, fraction};
use super::seek::SeekCurve;

/// A sector whose start passed under the head at most this long ago, in revolutions, is still caught: rounding to
/// whole nanoseconds must not cost a revolution. At 7200 rpm this is 8 ns.
const CATCH: f64 = 1e-6;

/// A position of the arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arm {
    /// Its cylinder.
    pub cylinder: u32,
    /// The head in use.
    pub head: u32,
}

/// The parameters of the moving parts.
#[derive(Clone, Debug)]
pub struct Mechanics {
    /// The map of the platters.
    pub geometry: Geometry,
    /// The seek times.
    pub seek: SeekCurve,
    /// One revolution, ns.
    pub period: f64,
    /// The angle at time 0, revolutions.
    pub initial_angle: f64,
    /// Time to change the head within a cylinder, ns.
    pub head_switch: f64,
    /// Additional settle time of a write, ns; may be negative.
    pub write_settle: f64,
}

impl Mechanics {
    /// The time to bring the head from `arm` onto `track`. Seek and head switch overlap, and the longer one counts. A
    /// write then settles longer (Ganger B.1.1), or shorter if the seek curve says so. Zero on the same track.
    pub fn move_time(&self, arm: Arm, track: &Track, write: bool) -> f64 {
        let seek = self.seek.time_of(arm.cylinder.abs_diff(track.cylinder), write);
        let moved = if arm.head == track.head { seek } else { seek.max(self.head_switch) };
        if write && moved > 0.0 { (moved + self.write_settle).max(0.0) } else { moved }
    }

    /// The least time of a move over `distance` cylinders, for a read or a write.
    pub fn least_move_time(&self, distance: u32) -> f64 {
        let write = self.seek.time_of(distance, true) + self.write_settle;
        self.seek.time_of(distance, false).min(write).max(0.0)
    }

    /// The angle under the heads at time `at`, in revolutions, 0 to 1.
    pub fn angle(&self, at: f64) -> f64 {
        fraction(at / self.period + self.initial_angle)
    }

    /// Turns the platters by a part of a revolution, as if they had started at another angle at time 0.
    pub fn respin(&mut self, revolutions: f64) {
        self.initial_angle = fraction(self.initial_angle + revolutions);
    }

    /// The time from `at` until `angle` (revolutions, not negative) comes under the head.
    pub fn latency(&self, at: f64, angle: f64) -> f64 {
        let wait = fraction(angle - self.angle(at));
        if wait > 1.0 - CATCH { 0.0 } else { wait * self.period }
    }

    /// The time that one sector of `track` takes to pass.
    pub fn sector_time(&self, track: &Track) -> f64 {
        self.period / f64::from(track.per_turn)
    }
}

/// How the first sector of an access was reached.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Positioning {
    /// Time to move the arm and switch heads, ns.
    pub(super) seek: f64,
    /// Time to wait for the sector, ns.
    pub(super) rotation: f64,
    /// Distance of the arm movement.
    pub(super) cylinders: u32,
}

/// An access that moves along the tracks in the order of the blocks, with its progress.
#[derive(Clone, Copy, Debug)]
pub(super) struct TrackWalk {
    /// The first block not yet done.
    pub(super) next: u64,
    /// When the last finished sector had passed; before the first, when the first starts.
    pub(super) at: f64,
    /// When the arm came to rest on the current track.
    pub(super) settled: f64,
    track: Track,
    sector_time: f64,
    write: bool,
}

impl TrackWalk {
    /// Moves `arm` at `start` to `lba` on `track` and waits for it. The first sector may pass from `data` on (a write
    /// waits for its data).
    pub(super) fn start(
        mechanics: &Mechanics,
        arm: Arm,
        track: Track,
        lba: u64,
        start: f64,
        data: f64,
        write: bool,
    ) -> (Self, Positioning) {
        let seek = mechanics.move_time(arm, &track, write);
        let settled = start + seek;
        let ready = settled.max(data);
        let at = ready + mechanics.latency(ready, track.angle_of(lba));
        let positioning =
            Positioning { seek, rotation: at - settled, cylinders: arm.cylinder.abs_diff(track.cylinder) };
        (Self { next: lba, at, settled, track, sector_time: mechanics.sector_time(&track), write }, positioning)
    }

    /// Continues to the end of block `end - 1` and returns when it has passed. O(tracks crossed).
    pub(super) fn run_to(&mut self, mechanics: &Mechanics, end: u64) -> f64 {
        while self.next < end {
            if self.next == self.track.end() && !self.switch(mechanics) {
                break;
            }
            let stop = end.min(self.track.end());
            self.at += (stop - self.next) as f64 * self.sector_time;
            self.next = stop;
        }
        self.at
    }

    /// Continues until time `until`, but not beyond block `limit`; whole sectors only. O(tracks crossed).
    pub(super) fn run_until(&mut self, mechanics: &Mechanics, until: f64, limit: u64) {
        while self.next < limit && self.at < until {
            if self.next == self.track.end() && !self.switch(mechanics) {
                return;
            }
            let stop = limit.min(self.track.end());
            let sectors = stop - self.next;
            let passed = ((until - self.at) / self.sector_time).max(0.0) as u64;
            if passed < sectors {
                self.at += passed as f64 * self.sector_time;
                self.next += passed;
                return;
            }
            self.at += sectors as f64 * self.sector_time;
            self.next = stop;
        }
    }

    /// The position of the arm (or where it is about to come to rest, see [`TrackWalk::settled`]).
    pub(super) fn arm(&self) -> Arm {
        Arm { cylinder: self.track.cylinder, head: self.track.head }
    }

    /// The track it is on.
    pub(super) fn track(&self) -> &Track {
        &self.track
    }

    /// The time that one sector takes to pass on the current track.
    pub(super) fn sector_time(&self) -> f64 {
        self.sector_time
    }

    /// Moves on to the next track; false at the end of the disk.
    fn switch(&mut self, mechanics: &Mechanics) -> bool {
        let Some(track) = mechanics.geometry.next_track(&self.track) else { return false };
        self.settled = self.at + mechanics.move_time(self.arm(), &track, self.write);
        self.at = self.settled + mechanics.latency(self.settled, track.angle);
        self.track = track;
        self.sector_time = mechanics.sector_time(&track);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::geometry::{TrackLayout, Zone};

    /// Two heads, ten cylinders, 100 sectors a track, 10 ms a revolution: a sector is 0.1 ms.
    fn mechanics() -> Mechanics {
        let zone = Zone {
            first_cylinder: 0,
            cylinders: 10,
            sectors_per_track: 100,
            offset: 0.0,
            track_skew: 0.1,
            cylinder_skew: 0.2,
            band_skew: 0.0,
        };
        Mechanics {
            geometry: Geometry::new(2, TrackLayout::Cylinder, vec![zone], None),
            seek: SeekCurve::Table(vec![(1, 2e6), (9, 5e6)]),
            period: 10e6,
            initial_angle: 0.0,
            head_switch: 1e6,
            write_settle: 0.5e6,
        }
    }

    fn read(m: &Mechanics, lba: u64, start: f64) -> (TrackWalk, Positioning) {
        let arm = Arm { cylinder: 0, head: 0 };
        TrackWalk::start(m, arm, m.geometry.track_of(lba), lba, start, 0.0, false)
    }

    #[test]
    fn the_phase_follows_from_absolute_time() {
        let m = mechanics();
        let (_, p) = read(&m, 50, 1e6 + 1e3 * m.period);
        assert!((p.rotation - 4e6).abs() < 1.0 && p.seek == 0.0, "{p:?}");
    }

    #[test]
    fn skew_that_covers_the_switch_exactly_loses_no_revolution() {
        let m = mechanics();
        let (mut s, _) = read(&m, 0, 0.0);
        // Track, head switch (0.1 revolution), track, cylinder switch (0.2), track.
        let end = s.run_to(&m, 300);
        assert!((end - (30e6 + 1e6 + 2e6)).abs() < 1.0, "{end}");
    }

    #[test]
    fn a_write_settles_longer_and_misses_a_skew_made_for_reads() {
        let m = mechanics();
        let arm = Arm { cylinder: 0, head: 0 };
        let (mut s, _) = TrackWalk::start(&m, arm, m.geometry.track_of(0), 0, 0.0, 0.0, true);
        let end = s.run_to(&m, 200);
        assert!((end - (20e6 + 1e6 + 10e6)).abs() < 1.0, "{end}");
    }

    #[test]
    fn a_walk_in_steps_equals_an_uninterrupted_one() {
        let m = mechanics();
        let (mut whole, _) = read(&m, 30, 0.0);
        let mut steps = whole;
        let end = whole.run_to(&m, 950);
        for ms in 0..200 {
            steps.run_until(&m, f64::from(ms) * 0.77e6, 950);
            assert!(steps.next <= 950);
        }
        assert_eq!(steps.next, 950);
        assert!((steps.at - end).abs() < 1.0);
    }
}
