//! The least time of an access between two tracks, found by a search over the angle of the spindle.
//!
//! An access ends when its sector has passed under the head, in whichever revolution the arm was in time. If an access took
//! `t`, the arm was not in time one revolution earlier. So the least time over all sectors of the track lies between `t` less
//! a revolution and `t`. The next sector is chosen to pass in the middle of this interval, so that each access halves it
//! (Worthington et al. 1995 take the minimum of many accesses).

use super::Measurement;
use super::angle::{median, wrap};
use super::watch::{BLOCK, ProbedDevice};
use iopilot_device::TimedDevice;
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
///
/// Each access bounds the least time from above, by its own time, and from below, by that time less a revolution. Noise
/// makes some bounds near the least time wrong, and so do accesses that were late for another reason. The estimate is the
/// time that contradicts the fewest bounds.
#[derive(Clone, Debug)]
pub(super) struct Least {
    /// One revolution, ns.
    period: f64,
    /// The standard deviation of the times, ns.
    noise: f64,
    /// Upper bounds, and lower bounds.
    enough: Vec<f64>,
    short: Vec<f64>,
    /// Accesses since the range first was narrow, and how many are wanted.
    confirming: u32,
    confirmed: u32,
}

/// Accesses that confirm a least time: without noise, and with it.
const CONFIRMED: (u32, u32) = (2, 16);
/// With noise, where the time itself is wanted, and not only which of two is longer.
pub(super) const SURE: u32 = 50;
/// With noise, for the overhead, which is subtracted from all other times.
const SUREST: u32 = 200;
/// To what a least time is narrowed down, revolutions.
const FINE: f64 = 1.0 / 1500.0;
/// How far below the least time an access is too early, revolutions.
const EARLIER: f64 = 1.0 / 400.0;

impl Least {
    /// Nothing known yet, of a disk with this period and noise, ns.
    pub(super) fn new(period: f64, noise: f64) -> Self {
        let confirmed = if noise > FINE / 10.0 * period { CONFIRMED.1 } else { CONFIRMED.0 };
        Self { period, noise, enough: Vec::new(), short: Vec::new(), confirming: 0, confirmed }
    }

    /// With noise, wants so many accesses to confirm the time.
    pub(super) fn sure(self, confirmed: u32) -> Self {
        Self { confirmed: if self.is_noisy() { confirmed } else { self.confirmed }, ..self }
    }

    /// The range that the fewest accesses contradict; where there are several, the lowest.
    fn range(&self) -> Option<(f64, f64)> {
        let mut ends: Vec<(f64, bool)> =
            self.enough.iter().map(|&t| (t, true)).chain(self.short.iter().map(|&t| (t, false))).collect();
        ends.sort_by(|a, b| a.0.total_cmp(&b.0));
        // Below all of them every time that was too short says that the least is higher.
        let (mut wrong, mut low) = (self.short.len(), 0.0);
        let mut best: Option<(usize, f64, f64)> = None;
        for (end, enough) in ends {
            if best.is_none_or(|b| wrong < b.0) {
                best = Some((wrong, low, end));
            }
            low = end;
            wrong = if enough { wrong + 1 } else { wrong - 1 };
        }
        best.map(|(_, low, high)| (low, high))
    }

    /// How far from the least time accesses are informative, ns.
    fn around(&self) -> f64 {
        (EARLIER * self.period).max(1.5 * self.noise)
    }

    fn is_narrow(&self, (low, high): (f64, f64)) -> bool {
        high - low < (FINE * self.period).max(self.noise)
    }

    fn is_noisy(&self) -> bool {
        self.noise > FINE / 10.0 * self.period
    }

    pub(super) fn is_known(&self) -> bool {
        self.confirming >= self.confirmed && self.range().is_some_and(|range| self.is_narrow(range))
    }

    /// The most informative time to try next: the middle of the range, or a time near it once the range is narrow.
    fn goal(&self) -> Option<f64> {
        let range = self.range()?;
        let middle = range.0.midpoint(range.1);
        Some(match self.confirming % 3 {
            _ if !self.is_narrow(range) => middle,
            // A little too early, as the disk may have been late once for another reason.
            _ if !self.is_noisy() => (range.0 - self.around()).max(0.0),
            0 => (middle - self.around()).max(0.0),
            1 => middle,
            _ => middle + self.around(),
        })
    }

    /// An access took `time`.
    pub(super) fn learn(&mut self, time: f64) {
        if self.range().is_some_and(|range| self.is_narrow(range)) {
            self.confirming += 1;
        }
        self.enough.push(time);
        if time > self.period {
            self.short.push(time - self.period);
        }
    }

    pub(super) fn measured(&self) -> Option<Measurement> {
        let (low, high) = self.range()?;
        let value = if self.is_noisy() { self.likeliest(low, high) } else { low.midpoint(high) };
        let scatter = 1.25 * self.noise / f64::from(self.confirming.max(1)).sqrt();
        Some(Measurement { value, uncertainty: (high - low) / 2.0 + scatter })
    }

    /// The maximum-likelihood estimate given all bounds, near the range that contradicts the fewest. Its scatter is a third of
    /// that of the range alone.
    fn likeliest(&self, low: f64, high: f64) -> f64 {
        // The share of accesses that are late for another reason.
        const LATE: f64 = 0.02;
        const STEPS: u32 = 200;
        // The normal distribution, nearly.
        let enough = |over: f64| LATE / 2.0 + (1.0 - LATE) / (1.0 + (-1.702 * over / self.noise).exp());
        let likelihood = |least: f64| {
            self.enough.iter().map(|time| enough(time - least).ln()).sum::<f64>()
                + self.short.iter().map(|time| enough(least - time).ln()).sum::<f64>()
        };
        let (from, to) = ((low - 3.0 * self.noise).max(0.0), high + 3.0 * self.noise);
        let at = |step: u32| from + (to - from) * f64::from(step) / f64::from(STEPS);
        let values: Vec<f64> = (0..=STEPS).map(|step| likelihood(at(step))).collect();
        let best = (0..=STEPS).max_by(|&a, &b| values[a as usize].total_cmp(&values[b as usize])).unwrap_or(STEPS / 2);
        at(best)
    }
}

/// One access from a track to another.
pub(super) fn step<D: TimedDevice>(
    w: &mut ProbedDevice<D>,
    from: FoundTrack,
    to: FoundTrack,
    least: &mut Least,
) -> Result<(), D::Error> {
    if least.is_known() {
        return Ok(());
    }
    let last = |track: FoundTrack| u64::from(track.sectors).saturating_sub(BLOCK);
    let angle = |track: FoundTrack, sector: u64| track.angle + sector as f64 / f64::from(track.sectors);
    // Not near the end of the track, from where read-ahead would take the arm along.
    let start = w.random.random_range(0..=last(from) * 4 / 5);
    let sector = match least.goal() {
        None => w.random.random_range(0..=last(to)),
        Some(goal) => {
            let turns = (goal + transfer(w.period, to)) / w.period;
            let apart = (angle(from, start) + turns - to.angle).rem_euclid(1.0);
            (apart * f64::from(to.sectors)) as u64
        }
    };
    if sector > last(to) || w.miss(from.first + start)?.is_none() {
        return Ok(());
    }
    let Some(time) = w.miss(to.first + sector)? else { return Ok(()) };
    let turns = angle(to, sector) - angle(from, start);
    learn(w, least, time, turns, to);
    Ok(())
}

/// Learns from an access to `track` that took `time`, between two angles that are `turns` apart but for whole revolutions. An
/// access whose time does not fit the angles was a hit, or did not end at its sector, and is ignored. The exact duration
/// follows from the angles, not from `time`: on a live disk, a completion takes longer to arrive after a long wait, and all
/// angles were measured after long waits.
fn learn<D: TimedDevice>(w: &ProbedDevice<D>, least: &mut Least, time: f64, turns: f64, track: FoundTrack) {
    const FAR: f64 = 0.02;
    let off = wrap(time / w.period - turns);
    if off.abs() < FAR {
        least.learn(time - off * w.period - transfer(w.period, track));
    }
}

/// The time in which a block passes, ns.
pub(super) fn transfer(period: f64, track: FoundTrack) -> f64 {
    period * BLOCK as f64 / f64::from(track.sectors)
}

/// The time of an access beside movement and transfer. Measured on a track where the arm already is, once read-ahead is over.
/// `ahead` sectors are read ahead; `None` where they cover the tracks.
pub(super) fn overhead<D: TimedDevice>(
    w: &mut ProbedDevice<D>,
    tracks: &[FoundTrack],
    ahead: u64,
) -> Result<Option<Measurement>, D::Error> {
    const ACCESSES: usize = 500;
    let mut least = w.least().sure(SUREST);
    for _ in 0..ACCESSES {
        if least.is_known() {
            break;
        }
        let track = tracks[w.random.random_range(0..tracks.len())];
        let free = BLOCK + ahead + BLOCK..u64::from(track.sectors).saturating_sub(BLOCK);
        if free.is_empty() {
            return Ok(None);
        }
        let mut sector = w.random.random_range(free.clone());
        if w.miss(track.first)?.is_none() {
            continue;
        }
        // The angle of the spindle follows from the read that just ended.
        let (ended, period) = (w.now, w.period);
        let turned = |now: f64| track.angle + (now - ended) / period;
        // Read-ahead is over after two revolutions; then the sector is as far away as it is to be.
        let turns = (least.goal().unwrap_or(period / 2.0) + transfer(period, track)) / period;
        let issue = track.angle + sector as f64 / f64::from(track.sectors) - turns;
        let wait = (3.0 + (issue - turned(w.now)).rem_euclid(1.0)) * period;
        if w.is_noisy() {
            // After a pause the path to a live disk is longer, as CPUs sleep. A cache hit wakes them without moving the arm;
            // the read of the sector that is due then follows at once.
            w.pause(wait - w.limit)?;
            if w.miss(track.first)?.is_some() {
                continue;
            }
            let apart = (turned(w.now) + turns - track.angle).rem_euclid(1.0);
            sector = (apart * f64::from(track.sectors)) as u64;
            if !free.contains(&sector) {
                continue;
            }
        } else {
            w.pause(wait)?;
        }
        let end = track.angle + sector as f64 / f64::from(track.sectors);
        let issued = turned(w.now);
        let time = w.read(track.first + sector, BLOCK)?;
        learn(w, &mut least, time, end - issued, track);
        // Where there are many tracks none of them is met again so soon.
        if tracks.len() < 8 * w.evicting {
            w.forget()?;
        }
    }
    let Some(found) = least.measured().filter(|_| w.is_noisy()) else { return Ok(least.measured()) };
    Ok(after_a_miss(w)?.map(|longer| Measurement { value: found.value + longer, ..found }))
}

/// How much longer than after a hit the way to a live disk is after a miss, which what the overhead is taken off follow: whatever is on it
/// has waited meanwhile. By a hit after either, of the same block; `None` where there are none.
fn after_a_miss<D: TimedDevice>(w: &mut ProbedDevice<D>) -> Result<Option<f64>, D::Error> {
    const TIMES: usize = 200;
    let mut times = [Vec::with_capacity(TIMES), Vec::with_capacity(TIMES)];
    for _ in 0..TIMES {
        let lba = w.anywhere();
        if w.miss(lba)?.is_some() {
            for times in &mut times {
                times.push(w.read(lba, BLOCK)?);
            }
        }
    }
    let [after_miss, after_hit] = times.map(median);
    Ok(after_miss.zip(after_hit).map(|(miss, hit)| miss - hit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    /// Accesses to a disk whose least time is `least`, until it is known.
    fn found(least: f64, noise: f64, late: impl Fn(u32) -> bool) -> (Measurement, u32) {
        let period = 8e6;
        let mut random = rand_pcg::Pcg64Mcg::seed_from_u64(1);
        let mut known = Least::new(period, noise);
        let mut accesses = 0;
        while !known.is_known() {
            let goal = known.goal().unwrap_or(period / 2.0);
            // Twelve uniform numbers have a variance of one.
            let off: f64 = (0..12).map(|_| random.random_range(-0.5..0.5)).sum();
            let needed = least + noise * off;
            let turns = ((needed - goal) / period).ceil().max(0.0);
            known.learn(goal + (turns + f64::from(u8::from(late(accesses)))) * period);
            accesses += 1;
            assert!(accesses < 100, "{known:?}");
        }
        (known.measured().expect("it is known"), accesses)
    }

    #[test]
    fn accesses_narrow_a_least_time_down_and_confirm_it() {
        for least in [0.1e6, 5.3e6, 17.9e6] {
            // The third is late for a reason of its own.
            let (m, accesses) = found(least, 0.0, |access| access == 2);
            assert!((m.value - least).abs() <= m.uncertainty + EARLIER * 8e6 && accesses < 40, "{m:?} {accesses}");
        }
    }

    #[test]
    fn noise_and_accesses_that_are_late_move_a_least_time_by_less_than_the_noise() {
        for noise in [5e3, 20e3, 60e3] {
            let (m, accesses) = found(3.3e6, noise, |access| access % 9 == 4);
            assert!((m.value - 3.3e6).abs() < noise + FINE * 8e6 && accesses < 40, "{noise}: {m:?} {accesses}");
        }
    }
}
