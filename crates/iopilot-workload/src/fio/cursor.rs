//! [`Cursor`]: where in a file the next request goes, and how long it is.

use super::job::{BlockSizes, FioJob, READ, Sequencer, WRITE};
use super::layout::FileRegion;
use super::offset_sampler::Sampler;
use super::permutation::FeistelPermutation;
use super::random_map::RandomMap;
use rand::Rng;
use rand_pcg::Pcg64Mcg;

/// The random numbers of a process, in separate streams, so that one choice does not shift another.
#[derive(Clone, Debug)]
pub(super) struct RandomStreams {
    pub(super) offset: Pcg64Mcg,
    pub(super) length: Pcg64Mcg,
    pub(super) direction: Pcg64Mcg,
    pub(super) other: Pcg64Mcg,
}

/// A position in one file, for each direction.
#[derive(Clone, Debug)]
pub(super) struct Cursor {
    place: FileRegion,
    samplers: [Option<Sampler>; 3],
    map: Option<RandomMap>,
    /// Bytes of a block of the map.
    unit: u64,
    lfsr: Option<FeistelPermutation>,
    /// The number of used elements of the permutation.
    drawn: u64,
    /// Ends of the last request of each direction, from the start of the region.
    end: [u64; 3],
    /// Starts of the last request of each direction, from the start of the region.
    start: [u64; 3],
    /// Whether the file has no more requests in this pass.
    pub(super) done: bool,
}

impl Cursor {
    pub(super) fn new(job: &FioJob, place: FileRegion, seed: u64) -> Self {
        let unit = job.pattern.directions().map(|d| job.blocks[d].min()).reduce(gcd).unwrap_or(0).max(1);
        let fixed = job.pattern.directions().all(|d| job.blocks[d].max() == unit);
        let samplers = [0, 1, 2].map(|d| {
            let wanted = job.pattern.random && job.pattern.used[d];
            let (align, min) = (job.alignment(d), job.blocks[d].min());
            // With a finer alignment, the last block must still fit.
            let room = place.io_size.saturating_sub(min.saturating_sub(align));
            if wanted { Sampler::new(&job.spread, d, room / align, align, seed) } else { None }
        });
        let units = place.io_size / unit;
        let lfsr = (job.pattern.random && job.lfsr && fixed && job.uses_map() && units > 0)
            .then(|| FeistelPermutation::new(units, seed));
        let map = (job.uses_map() && lfsr.is_none()).then(|| RandomMap::new(units));
        Self { place, samplers, map, unit, lfsr, drawn: 0, end: [0; 3], start: [0; 3], done: false }
    }

    /// Whether a random direction has no possible offset: the region is smaller than a block, or a zone lies outside.
    pub(super) fn is_impossible(&self, job: &FioJob) -> bool {
        job.pattern.random && job.pattern.directions().any(|d| self.samplers[d].is_none())
    }

    /// Starts a new pass.
    pub(super) fn rewind(&mut self) {
        self.reset_map();
        (self.end, self.start, self.done) = ([0; 3], [0; 3], false);
    }

    fn reset_map(&mut self) {
        self.drawn = 0;
        if let Some(map) = &mut self.map {
            map.clear();
        }
    }

    /// The next request of direction `d` as (byte address on the device, length); `None` if the file is done. `fresh`: a random
    /// job takes a new offset. `wraps`: a sequential job starts over at the end.
    pub(super) fn next(
        &mut self,
        job: &FioJob,
        d: usize,
        fresh: bool,
        wraps: bool,
        r: &mut RandomStreams,
    ) -> Option<(u64, u64)> {
        let random = job.pattern.random
            && fresh
            && (job.random_percent[d] == 100 || r.other.random_range(1..=100) <= job.random_percent[d]);
        let (offset, random) = if random {
            (self.random(job, d, r)?, true)
        } else if job.pattern.random && !fresh && job.sequencer == Sequencer::Identical {
            (self.start[d], false)
        } else {
            match self.sequential(job, d, wraps) {
                Some(offset) => (offset, false),
                None if job.pattern.random => (self.random(job, d, r)?, true),
                None => return None,
            }
        };
        let sizes = match (job.bs_is_seq_rand, random) {
            (false, _) => &job.blocks[d],
            (true, true) => &job.blocks[WRITE],
            (true, false) => &job.blocks[READ],
        };
        let room = self.place.io_size.saturating_sub(offset);
        let mut length = length(sizes, room, r)?;
        if let (true, Some(map)) = (random, &mut self.map) {
            length = (map.visit(offset / self.unit, length.div_ceil(self.unit)) * self.unit).min(length);
        }
        (self.start[d], self.end[d]) = (offset, offset + length);
        Some((self.place.base + self.place.offset + offset, length))
    }

    fn random(&mut self, job: &FioJob, d: usize, r: &mut RandomStreams) -> Option<u64> {
        let free = self.free_block(job, d, r);
        if free.is_some() || !job.time_based {
            return free;
        }
        self.reset_map();
        self.free_block(job, d, r)
    }

    fn free_block(&mut self, job: &FioJob, d: usize, r: &mut RandomStreams) -> Option<u64> {
        if let Some(lfsr) = &self.lfsr {
            let block = (self.drawn < self.place.io_size / self.unit).then(|| lfsr.apply(self.drawn))?;
            self.drawn += 1;
            return Some(block * self.unit);
        }
        let offset = self.samplers[d].as_ref()?.sample(&mut r.offset) * job.alignment(d);
        match &self.map {
            // Instead of a visited block, the next unvisited one is taken, as in fio.
            Some(map) => map.next_free(offset / self.unit).map(|block| block * self.unit),
            None => Some(offset),
        }
    }

    /// The end of the last request, plus the skip; backward jobs wrap from the start to the end, forward ones at the
    /// end of the file.
    fn sequential(&mut self, job: &FioJob, d: usize, wraps: bool) -> Option<u64> {
        if wraps && self.end[d] >= self.place.io_size {
            self.end[d] = 0;
        }
        let last = self.end[d];
        if self.place.offset + last >= self.place.real_size && job.skip >= 0 {
            return None;
        }
        let mut next = i64::try_from(last).ok()?;
        if last > 0 && job.skip != 0 {
            next = next.checked_add(job.skip)?;
            if job.skip > 0 && next as u64 >= self.place.real_size {
                next = 0;
            } else if next < 0 {
                next = i64::try_from(self.place.io_size).ok()?.checked_add(job.skip)?;
            }
        }
        u64::try_from(next).ok().filter(|&offset| offset < self.place.io_size)
    }
}

/// A length that fits `room`.
fn length(sizes: &BlockSizes, room: u64, r: &mut RandomStreams) -> Option<u64> {
    let min = sizes.min();
    if min > room {
        return None;
    }
    match sizes {
        BlockSizes::Range(low, high) if low == high => Some(*low),
        BlockSizes::Range(low, high) => {
            // fio's formula: multiples of the smallest, the largest taking what is beyond it.
            let draw = low + (*high as f64 * r.length.random::<f64>()) as u64;
            let length = (draw - draw % low).min(*high);
            Some(if length <= room { length } else { (room - room % low).max(*low) })
        }
        BlockSizes::Split(parts) => {
            let mut percent = r.length.random::<f64>() * 100.0;
            let mut chosen = min;
            for &(size, share) in parts.iter().filter(|(_, share)| *share > 0.0) {
                chosen = size;
                percent -= share;
                if percent < 0.0 {
                    break;
                }
            }
            Some(if chosen <= room { chosen } else { min })
        }
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
