//! The least time of an access between two tracks, by where the spindle stands.
//!
//! An access ends when its sector has passed, whichever revolution it was in time for. One that took `t` could not have been
//! done in a revolution less, and the least over all sectors of the track is between the two. The next sector is chosen
//! so that it comes in the middle of what is open: each access halves it (Worthington et al. 1995 take the least of many).

use super::Measured;
use super::watch::{BLOCK, Watch, wrap};
use crate::TimedDevice;
use rand::Rng;

/// A track of which the angle was measured.
#[derive(Clone, Copy, Debug)]
pub(super) struct FoundTrack {
    /// Its first sector.
    pub(super) first: u64,
    /// Its sectors.
    pub(super) sectors: u32,
    /// The angle at which a block ends that starts at its first sector.
    pub(super) angle: f64,
}

/// What is known of a least time, ns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    low: f64,
    high: f64,
    /// Sectors a little too early that were really missed.
    confirmed: u32,
}

/// So often a least time is confirmed.
const CONFIRMED: u32 = 2;
/// Parts of a revolution: to what a least time is narrowed down, and how much earlier is too early.
const FINE: f64 = 1.0 / 1500.0;
const EARLIER: f64 = 1.0 / 400.0;

impl Bounds {
    pub(super) const OPEN: Self = Self { low: 0.0, high: f64::INFINITY, confirmed: 0 };

    fn is_open(self) -> bool {
        self.high == f64::INFINITY
    }

    fn is_narrow(self, period: f64) -> bool {
        self.high - self.low < FINE * period
    }

    fn is_known(self, period: f64) -> bool {
        self.is_narrow(period) && self.confirmed >= CONFIRMED
    }

    /// The time that tells most: the middle of what is open, or a little too early where nothing is, as the disk may have
    /// been late once for another reason.
    fn goal(self, period: f64) -> f64 {
        if self.is_open() {
            period / 2.0
        } else if self.is_narrow(period) {
            (self.low - EARLIER * period).max(0.0)
        } else {
            self.low.midpoint(self.high)
        }
    }

    /// An access took `time`.
    fn learn(&mut self, time: f64, period: f64) {
        if time < self.low {
            // What was late was late for another reason.
            *self = Self { low: 0.0, high: time, confirmed: 0 };
            return;
        }
        self.confirmed += u32::from(self.is_narrow(period));
        self.high = self.high.min(time);
        self.low = self.low.max(time - period).min(self.high);
    }

    pub(super) fn measured(self) -> Option<Measured> {
        let half = (self.high - self.low) / 2.0;
        (!self.is_open()).then_some(Measured { value: self.low + half, uncertainty: half })
    }
}

/// One access from a track to another; what took no part of it was a hit, or did not end where its sector is.
pub(super) fn step<D: TimedDevice>(
    w: &mut Watch<D>,
    from: FoundTrack,
    to: FoundTrack,
    bounds: &mut Bounds,
) -> Result<(), D::Error> {
    if bounds.is_known(w.period) {
        return Ok(());
    }
    let last = |track: FoundTrack| u64::from(track.sectors).saturating_sub(BLOCK);
    let angle = |track: FoundTrack, sector: u64| track.angle + sector as f64 / f64::from(track.sectors);
    // Not near the end of the track, from where read-ahead would take the arm along.
    let start = w.random.random_range(0..=last(from) * 4 / 5);
    let sector = if bounds.is_open() {
        w.random.random_range(0..=last(to))
    } else {
        let turns = (bounds.goal(w.period) + transfer(w.period, to)) / w.period;
        let apart = (angle(from, start) + turns - to.angle).rem_euclid(1.0);
        (apart * f64::from(to.sectors)) as u64
    };
    if sector > last(to) || w.miss(from.first + start)?.is_none() {
        return Ok(());
    }
    let Some(time) = w.miss(to.first + sector)? else { return Ok(()) };
    let off = wrap(time / w.period - (angle(to, sector) - angle(from, start)));
    if off.abs() < 0.02 {
        bounds.learn(time - transfer(w.period, to), w.period);
    }
    Ok(())
}

/// The time in which a block passes, ns.
pub(super) fn transfer(period: f64, track: FoundTrack) -> f64 {
    period * BLOCK as f64 / f64::from(track.sectors)
}

/// What an access takes beside movement and transfer: of a track where the arm already is, read-ahead being over.
/// `ahead` sectors are read ahead; `None` where they leave nothing of the tracks.
pub(super) fn overhead<D: TimedDevice>(
    w: &mut Watch<D>,
    tracks: &[FoundTrack],
    ahead: u64,
) -> Result<Option<Measured>, D::Error> {
    const ACCESSES: usize = 40;
    let mut bounds = Bounds::OPEN;
    for _ in 0..ACCESSES {
        if bounds.is_known(w.period) {
            break;
        }
        let track = tracks[w.random.random_range(0..tracks.len())];
        let free = BLOCK + ahead + BLOCK..u64::from(track.sectors).saturating_sub(BLOCK);
        if free.is_empty() {
            return Ok(None);
        }
        let sector = w.random.random_range(free);
        if w.miss(track.first)?.is_none() {
            continue;
        }
        // Read-ahead is over after two revolutions; then the sector is as far away as it is to be.
        let goal = bounds.goal(w.period);
        let end = track.angle + sector as f64 / f64::from(track.sectors);
        let issue = end - (goal + transfer(w.period, track)) / w.period;
        let rest = (issue - w.angle()).rem_euclid(1.0);
        w.pause((3.0 + rest) * w.period)?;
        let issued = w.angle();
        let Some(time) = w.read(track.first + sector, BLOCK).map(Some)? else { continue };
        if wrap(time / w.period - (end - issued)).abs() < 0.02 {
            bounds.learn(time - transfer(w.period, track), w.period);
        }
        w.forget()?;
    }
    Ok(bounds.measured())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accesses_narrow_a_least_time_down_and_confirm_it() {
        let (period, least) = (8e6, 5.3e6);
        let mut bounds = Bounds::OPEN;
        let mut accesses = 0;
        while !bounds.is_known(period) {
            let goal = bounds.goal(period);
            let late = if goal < least { period } else { 0.0 };
            // The third is late for a reason of its own.
            bounds.learn(goal + if accesses == 2 { period } else { late }, period);
            accesses += 1;
            assert!(accesses < 60, "{bounds:?}");
        }
        let found = bounds.measured().map(|m| (m.value - least).abs() <= m.uncertainty + EARLIER * period);
        assert_eq!(found, Some(true), "{bounds:?}");
    }
}
