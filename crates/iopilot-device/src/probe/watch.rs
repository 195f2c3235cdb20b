//! [`Watch`]: a device with a clock beside it, and the angles at which its blocks end.

use crate::TimedDevice;
use iopilot_block::{Lba, Nanos, Op, Sectors};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Sectors of a read: 4 KiB, the least that today's disks read.
pub(super) const BLOCK: u64 = 8;
/// How often a read that was served from the cache is tried again.
const TRIES: usize = 6;

/// A device that only this reads from. Times are in ns.
pub(super) struct Watch<'a, D> {
    device: &'a mut D,
    pub(super) random: Pcg64Mcg,
    /// The sum of what all requests and pauses took: the spindle turns by it.
    pub(super) now: f64,
    pub(super) requests: u64,
    /// What takes no longer is a hit.
    pub(super) limit: f64,
    /// So many reads elsewhere push a block out of the cache.
    pub(super) evicting: usize,
    /// One revolution, once it is known.
    pub(super) period: f64,
}

/// The difference of two angles, -0.5 to 0.5 revolutions.
pub(super) fn wrap(turns: f64) -> f64 {
    turns - turns.round()
}

impl<'a, D: TimedDevice> Watch<'a, D> {
    /// Begins with a restarted device.
    pub(super) fn new(device: &'a mut D, limit: Nanos, evicting: usize, seed: u64) -> Result<Self, D::Error> {
        device.restart()?;
        let random = Pcg64Mcg::seed_from_u64(seed);
        Ok(Self { device, random, now: 0.0, requests: 0, limit: limit.0 as f64, evicting, period: 0.0 })
    }

    pub(super) fn capacity(&self) -> u64 {
        self.device.capacity()
    }

    /// Reads; how long it took.
    pub(super) fn read(&mut self, lba: u64, sectors: u64) -> Result<f64, D::Error> {
        let time = self.device.serve(Op::Read, Lba(lba), Sectors(sectors as u32))?.0 as f64;
        self.now += time;
        self.requests += 1;
        Ok(time)
    }

    /// Reads a block; how long it took, `None` for a hit.
    pub(super) fn miss(&mut self, lba: u64) -> Result<Option<f64>, D::Error> {
        let time = self.read(lba, BLOCK)?;
        Ok((time > self.limit).then_some(time))
    }

    pub(super) fn pause(&mut self, time: f64) -> Result<(), D::Error> {
        let time = Nanos(time.max(0.0).round() as u64);
        self.device.pause(time)?;
        self.now += time.0 as f64;
        Ok(())
    }

    /// A block anywhere.
    pub(super) fn anywhere(&mut self) -> u64 {
        let blocks = self.capacity() / BLOCK;
        self.random.random_range(0..blocks) * BLOCK
    }

    pub(super) fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.random.random_range(0..=i));
        }
    }

    /// The angle of the spindle, in revolutions, 0 to 1.
    pub(super) fn angle(&self) -> f64 {
        (self.now / self.period).rem_euclid(1.0)
    }

    /// The angles at which reads of blocks end that lie far from each other; `None` for those that were always hits. They are
    /// read in any order, with others between them so that the cache forgets each.
    pub(super) fn angles(&mut self, blocks: &[u64]) -> Result<Vec<Option<f64>>, D::Error> {
        let mut angles = vec![None; blocks.len()];
        let mut left: Vec<usize> = (0..blocks.len()).collect();
        for _ in 0..TRIES {
            self.shuffle(&mut left);
            for &i in &left {
                if self.miss(blocks[i])?.is_some() {
                    angles[i] = Some(self.angle());
                }
            }
            left.retain(|&i| angles[i].is_none());
            if left.is_empty() {
                break;
            }
            self.forget()?;
        }
        // The next measurement here is not to hit what this one left behind.
        if blocks.len() < self.evicting {
            self.forget()?;
        }
        Ok(angles)
    }

    /// Reads elsewhere until the cache has forgotten what was read.
    pub(super) fn forget(&mut self) -> Result<(), D::Error> {
        for _ in 0..self.evicting {
            let lba = self.anywhere();
            self.read(lba, BLOCK)?;
        }
        Ok(())
    }
}
