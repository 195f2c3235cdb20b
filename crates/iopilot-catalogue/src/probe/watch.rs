//! [`ProbedDevice`]: a device with a clock, and the angles at which its blocks end.

use super::angle::{median_angle, wrap};
use super::frequency::refined;
use super::least::Least;
use super::measurement::Measurement;
use iopilot_block::{Lba, Nanos, Op, Sectors};
use iopilot_device::TimedDevice;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Sectors of a read: 4 KiB, the smallest read of current disks.
pub(super) const BLOCK: u64 = 8;
/// How often a read is repeated that hit the cache.
const TRIES: usize = 6;
/// The least number of reads for an angle where times have noise. If they differ by more than [`STRANGE`] standard
/// deviations, one more read is made.
const NOISY: usize = 2;
const STRANGE: f64 = 5.0;
/// Noise below this part of a revolution is ignored.
const SILENT: f64 = 1e-4;

/// A device under probe; nothing else reads from it. Times are in ns.
pub(super) struct ProbedDevice<'a, D> {
    device: &'a mut D,
    pub(super) random: Pcg64Mcg,
    /// When the last read or pause ended, by the device's clock.
    pub(super) now: f64,
    pub(super) requests: u64,
    /// A read that takes at most this long is a hit, ns.
    pub(super) limit: f64,
    /// Reads of other places that evict a block from the cache.
    pub(super) evicting: usize,
    /// One revolution, once it is known.
    pub(super) period: f64,
    /// The uncertainty of the period, ns.
    off: f64,
    /// The standard deviation of the moments at which reads of one block end, once known.
    noise: f64,
    /// How often an angle is measured.
    repeats: usize,
    /// With noise: blocks that are read along with all others, and their angles. If these angles change, the clock has
    /// drifted, and the change applies to all blocks.
    anchors: Vec<(u64, Option<f64>)>,
}

impl<'a, D: TimedDevice> ProbedDevice<'a, D> {
    /// Restarts the device.
    pub(super) fn new(device: &'a mut D, limit: Nanos, evicting: usize, seed: u64) -> Result<Self, D::Error> {
        device.restart()?;
        let random = Pcg64Mcg::seed_from_u64(seed);
        let now = device.now().0 as f64;
        Ok(Self {
            device,
            random,
            now,
            requests: 0,
            limit: limit.0 as f64,
            evicting,
            period: 0.0,
            off: 0.0,
            noise: 0.0,
            repeats: 1,
            anchors: Vec::new(),
        })
    }

    /// Sets the time of a revolution and the scatter of the ends of reads. `places` are blocks far from each other.
    pub(super) fn set_rotation(&mut self, period: Measurement, noise: f64, places: &[u64]) {
        (self.period, self.off, self.noise) = (period.value, period.uncertainty, noise);
        if self.is_noisy() {
            const ANCHORS: usize = 16;
            self.repeats = NOISY;
            let stride = (places.len() / ANCHORS).max(1);
            self.anchors = places.iter().step_by(stride).map(|&place| (place, None)).collect();
        }
    }

    /// Whether the noise of times matters.
    pub(super) fn is_noisy(&self) -> bool {
        self.noise > SILENT * self.period
    }

    /// The standard deviation of the moments at which reads of one block end, ns.
    pub(super) fn noise(&self) -> f64 {
        self.noise
    }

    /// The standard deviation of a measured angle, revolutions.
    pub(super) fn blur(&self) -> f64 {
        self.noise / self.period / (self.repeats as f64).sqrt()
    }

    /// A [`Least`] for this disk, without any accesses yet.
    pub(super) fn least(&self) -> Least {
        // Both the issue and the end of an access scatter.
        Least::new(self.period, 2f64.sqrt() * self.noise)
    }

    pub(super) fn capacity(&self) -> u64 {
        self.device.capacity()
    }

    /// Reads; returns how long it took.
    pub(super) fn read(&mut self, lba: u64, sectors: u64) -> Result<f64, D::Error> {
        let time = self.device.serve(Op::Read, Lba(lba), Sectors(sectors as u32))?.0 as f64;
        self.now = self.device.now().0 as f64;
        self.requests += 1;
        Ok(time)
    }

    /// Reads a block; returns how long it took, `None` for a hit.
    pub(super) fn miss(&mut self, lba: u64) -> Result<Option<f64>, D::Error> {
        let time = self.read(lba, BLOCK)?;
        Ok((time > self.limit).then_some(time))
    }

    pub(super) fn pause(&mut self, time: f64) -> Result<(), D::Error> {
        let time = Nanos(time.max(0.0).round() as u64);
        self.device.pause(time)?;
        self.now = self.device.now().0 as f64;
        Ok(())
    }

    /// A random block.
    pub(super) fn random_block(&mut self) -> u64 {
        let blocks = self.capacity() / BLOCK;
        self.random.random_range(0..blocks) * BLOCK
    }

    pub(super) fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.random.random_range(0..=i));
        }
    }

    /// The angles at which reads of `blocks` end, 0 to 1 revolution; `None` for a block that always hit. The blocks
    /// should lie far from each other. They are read in random order, with other blocks between them, so that the cache
    /// evicts each. Angles of all calls are comparable.
    pub(super) fn angles(&mut self, blocks: &[u64]) -> Result<Vec<Option<f64>>, D::Error> {
        self.angles_of(blocks, self.repeats)
    }

    /// The same with one read of each block: for angles whose differences exceed the noise.
    pub(super) fn rough_angles(&mut self, blocks: &[u64]) -> Result<Vec<Option<f64>>, D::Error> {
        self.angles_of(blocks, 1)
    }

    fn angles_of(&mut self, blocks: &[u64], times: usize) -> Result<Vec<Option<f64>>, D::Error> {
        let anchors: Vec<u64> = self.anchors.iter().map(|anchor| anchor.0).collect();
        let all: Vec<u64> = blocks.iter().copied().chain(anchors).collect();
        let ends = self.ends(&all, times)?;
        let first = ends.iter().flatten().copied().fold(f64::INFINITY, f64::min);
        let period = self.refine(&ends);
        // Without noise there are no anchors, and one origin of the clock holds for all calls.
        let from = if self.anchors.is_empty() || first == f64::INFINITY { 0.0 } else { first };
        let angle = |ends: &Vec<f64>| {
            let angles: Vec<f64> = ends.iter().map(|end| ((end - from) / period).rem_euclid(1.0)).collect();
            median_angle(&angles)
        };
        let mut angles: Vec<Option<f64>> = ends.iter().map(angle).collect();
        let anchored = angles.split_off(blocks.len());
        let moved: Vec<f64> =
            self.anchors.iter().zip(&anchored).filter_map(|(anchor, now)| Some(wrap((*now)? - anchor.1?))).collect();
        let moved = median_angle(&moved).unwrap_or(0.0);
        for (anchor, now) in self.anchors.iter_mut().zip(anchored) {
            anchor.1 = anchor.1.or(now.map(|now| (now - moved).rem_euclid(1.0)));
        }
        // The next measurement of these blocks must not hit what this one left in the cache.
        self.forget_after(all.len())?;
        Ok(angles.into_iter().map(|angle| Some((angle? - moved).rem_euclid(1.0))).collect())
    }

    /// When reads of the blocks ended, `times` misses for each; one more where the first ones do not agree.
    fn ends(&mut self, blocks: &[u64], times: usize) -> Result<Vec<Vec<f64>>, D::Error> {
        let strange = STRANGE * 2f64.sqrt() * self.noise / self.period;
        let period = self.period;
        let agree =
            |ends: &[f64]| ends.first().zip(ends.last()).is_none_or(|(a, b)| wrap((b - a) / period).abs() <= strange);
        let mut ends = vec![Vec::with_capacity(times + 1); blocks.len()];
        let mut left: Vec<usize> = (0..blocks.len()).collect();
        for round in 0..TRIES + times {
            if round > 0 {
                self.forget_after(left.len())?;
            }
            self.shuffle(&mut left);
            for &i in &left {
                if self.miss(blocks[i])?.is_some() {
                    ends[i].push(self.now);
                }
            }
            left.retain(|&i| ends[i].len() < times || ends[i].len() == times && times > 1 && !agree(&ends[i]));
            if left.is_empty() {
                break;
            }
        }
        Ok(ends)
    }

    /// The period refined from the ends of these reads, if they give it more exactly.
    fn refine(&mut self, ends: &[Vec<f64>]) -> f64 {
        let between = |ends: &Vec<f64>| Some(ends.last()? - ends.first()?);
        let lags: Vec<f64> = ends.iter().filter(|ends| ends.len() > 1).filter_map(between).collect();
        if lags.len() < 10 {
            return self.period;
        }
        let (frequency, error) = refined(&lags, 1.0 / self.period);
        let (period, off) = (1.0 / frequency, error / frequency.powi(2));
        if off < self.off {
            (self.period, self.off) = (period, off);
        }
        self.period
    }

    /// Reads other places until the cache has evicted what was read.
    pub(super) fn forget(&mut self) -> Result<(), D::Error> {
        self.forget_after(0)
    }

    /// The same, after `others` other blocks were already read.
    fn forget_after(&mut self, others: usize) -> Result<(), D::Error> {
        for _ in others..self.evicting {
            let lba = self.random_block();
            self.read(lba, BLOCK)?;
        }
        Ok(())
    }
}
