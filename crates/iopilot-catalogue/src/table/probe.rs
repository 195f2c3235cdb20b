//! [`probe_cache`]: infers a disk's cache from the times of reads (GF 4.3.6).

use iopilot_block::{Lba, Nanos, Op, Sectors};
use iopilot_device::TimedDevice;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Sectors in a block of 4 kB.
const BLOCK: u64 = 8;
/// Sectors between two places (400 MB) that share no segment, if the disk is large enough.
const APART: u64 = 400 << 11;
/// The first number of segments tried, and the most.
const SEGMENTS: (u64, u64) = (32, 2048);
/// The first read-ahead tried, in blocks (128 kB), and the most (8 MB).
const AHEAD: (u64, u64) = (32, 2048);

/// One read in this many may be late for a reason other than a miss.
const LATE: u64 = 3;
/// The most random places in each test of the read-ahead after a single read.
const SOME: u64 = 9;

/// How to probe a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CacheProbe {
    /// A read that takes longer misses.
    pub(crate) limit: Nanos,
    /// Tests of each value, each at another place. A value holds if at most a fifth of its tests fail.
    pub(crate) tests: u32,
    /// The least pause after each read, so that the disk can read ahead. Pauses are up to twice as long, so that the angle
    /// of the platters varies.
    pub(crate) pause: Nanos,
    /// Seed of the random places.
    pub(crate) seed: u64,
}

/// The result of a cache probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbedCache {
    /// Segments that hold reads at the same time.
    pub segments: u32,
    /// Sectors read ahead after three contiguous reads.
    pub read_ahead_sequential: u32,
    /// Sectors read ahead after a read at a random place.
    pub read_ahead_random: u32,
    /// Whether hits of a sequential reader keep the read-ahead going: such a reader then never misses.
    pub read_ahead_on_hit: bool,
}

/// Finds the number of segments and both sizes of read-ahead. The disk is restarted before each test.
///
/// GF 4.3.6 counts a read as a miss if it takes a quarter of a revolution, and accepts a value if one test, or one of
/// many reads, hits. But one miss in four finds its sector within a quarter of a revolution. So the limit must be well
/// below that, and nearly all tests must agree.
///
/// # Errors
/// Those of the device.
pub(crate) fn probe_cache<D: TimedDevice>(device: &mut D, probe: &CacheProbe) -> Result<ProbedCache, D::Error> {
    let mut prober = Prober { device, probe, random: Pcg64Mcg::seed_from_u64(probe.seed) };
    let segments = largest(SEGMENTS, |n| prober.nearly_always(|p| p.segments_hold(n)))?;
    let sequential = largest(AHEAD, |blocks| prober.nearly_always(|p| p.sequential_reaches(blocks)))?;
    let random = match segments.min(SOME) {
        0 => 0,
        n => largest(AHEAD, |blocks| prober.nearly_always(|p| p.random_reaches(n, blocks)))?,
    };
    let on_hit = sequential > 0 && prober.never_misses(4 * sequential)?;
    let sectors = |blocks: u64| (blocks * BLOCK) as u32;
    Ok(ProbedCache {
        segments: segments as u32,
        read_ahead_sequential: sectors(sequential),
        read_ahead_random: sectors(random),
        read_ahead_on_hit: on_hit,
    })
}

struct Prober<'a, D> {
    device: &'a mut D,
    probe: &'a CacheProbe,
    random: Pcg64Mcg,
}

impl<D: TimedDevice> Prober<'_, D> {
    /// Whether `test` holds in at least four of five tries; some reads are late for another reason. With a mere
    /// majority, a search would sometimes go too far, since one miss in ten is fast. Stops as soon as the answer is
    /// certain.
    fn nearly_always(&mut self, mut test: impl FnMut(&mut Self) -> Result<bool, D::Error>) -> Result<bool, D::Error> {
        let tests = self.probe.tests;
        let (mut held, mut failed) = (0, 0);
        while failed <= tests / 5 {
            if held + tests / 5 >= tests {
                return Ok(true);
            }
            self.device.restart()?;
            let which = if test(self)? { &mut held } else { &mut failed };
            *which += 1;
        }
        Ok(false)
    }

    /// Reads `n` blocks far from each other, then the blocks behind them. Returns whether the latter hit.
    ///
    /// Some of many may be late for another reason. But with one segment too few none can hit, because each read
    /// replaces the segment that is needed next.
    fn segments_hold(&mut self, n: u64) -> Result<bool, D::Error> {
        let Some((first, apart)) = self.places(n, 2 * BLOCK) else { return Ok(false) };
        for k in 0..n {
            self.read(first + k * apart)?;
        }
        let mut missed = 0;
        for k in 0..n {
            missed += u64::from(!self.read(first + k * apart + BLOCK)?);
        }
        Ok(missed <= n / LATE)
    }

    /// Reads three contiguous blocks, then the one `blocks` behind them. Returns whether the last one hits.
    fn sequential_reaches(&mut self, blocks: u64) -> Result<bool, D::Error> {
        let Some((first, _)) = self.places(1, (3 + blocks) * BLOCK) else { return Ok(false) };
        for k in 0..3 {
            self.read(first + k * BLOCK)?;
        }
        self.read(first + (2 + blocks) * BLOCK)
    }

    /// Reads `blocks` contiguous blocks several times, at other places each time. Returns whether only the first block
    /// misses. A read that is late for another reason is late once; a block that read-ahead does not reach is late each
    /// time.
    fn never_misses(&mut self, blocks: u64) -> Result<bool, D::Error> {
        let mut missed = vec![0; blocks as usize];
        // After a miss the pause lets the disk complete its read-ahead; hits do not catch up with it at once.
        let rest = (blocks / 64).max(1);
        for _ in 0..self.probe.tests {
            self.device.restart()?;
            let Some((first, _)) = self.places(1, blocks * BLOCK) else { return Ok(false) };
            for k in 0..blocks {
                let hit = self.read_at_once(first + k * BLOCK)?;
                missed[k as usize] += u32::from(!hit);
                if !hit || k % rest == 0 {
                    self.wait()?;
                }
            }
        }
        // The angle of the platters may shift the miss by one block.
        let again = |pair: &[u32]| pair[0] + pair[1] >= self.probe.tests;
        Ok(!missed[1..].windows(2).any(again))
    }

    /// Reads `n` blocks far from each other, then the blocks `blocks` behind them. Returns whether most of the latter
    /// hit.
    fn random_reaches(&mut self, n: u64, blocks: u64) -> Result<bool, D::Error> {
        let Some((first, apart)) = self.places(n, (1 + blocks) * BLOCK) else { return Ok(false) };
        for k in 0..n {
            self.read(first + k * apart)?;
        }
        let mut hits = 0;
        for k in 0..n {
            hits += u64::from(self.read(first + k * apart + blocks * BLOCK)?);
        }
        Ok(2 * hits > n)
    }

    /// The first of `n` random places, each followed by `room` sectors, and the distance between them.
    fn places(&mut self, n: u64, room: u64) -> Option<(u64, u64)> {
        let capacity = self.device.capacity();
        let apart = APART.min(capacity / n) / BLOCK * BLOCK;
        let last = capacity.checked_sub((n - 1) * apart + room)?;
        (apart > room).then(|| (self.random.random_range(0..=last / BLOCK) * BLOCK, apart))
    }

    /// Reads a block and pauses. Returns whether it hits.
    fn read(&mut self, lba: u64) -> Result<bool, D::Error> {
        let hit = self.read_at_once(lba)?;
        self.wait()?;
        Ok(hit)
    }

    fn wait(&mut self) -> Result<(), D::Error> {
        let jitter = self.random.random_range(0..=self.probe.pause.0);
        self.device.pause(self.probe.pause + Nanos(jitter))
    }

    fn read_at_once(&mut self, lba: u64) -> Result<bool, D::Error> {
        let time = self.device.serve(Op::Read, Lba(lba), Sectors(BLOCK as u32))?;
        Ok(time <= self.probe.limit)
    }
}

/// The largest value up to `most` for which `holds`, which is monotonic; 0 if there is none.
fn largest<E>((first, most): (u64, u64), mut holds: impl FnMut(u64) -> Result<bool, E>) -> Result<u64, E> {
    let (mut low, mut high) = (0, first);
    while holds(high)? {
        low = high;
        if high == most {
            return Ok(most);
        }
        high = (2 * high).min(most);
    }
    // `low` holds (or is 0), `high` does not.
    while high - low > 1 {
        let middle = low.midpoint(high);
        if holds(middle)? {
            low = middle;
        } else {
            high = middle;
        }
    }
    Ok(low)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Catalogue;
    use iopilot_device::Synchronous;

    fn probe() -> CacheProbe {
        CacheProbe { limit: Nanos::from_millis(1), tests: 5, pause: Nanos::from_millis(20), seed: 0 }
    }

    #[test]
    fn the_largest_value_is_found_on_either_side_of_the_first() {
        for limit in [0, 1, 31, 32, 33, 500, 2048] {
            let found: Result<u64, std::convert::Infallible> = largest(SEGMENTS, |n| Ok(n <= limit));
            assert_eq!(found, Ok(limit));
        }
    }

    #[test]
    fn segments_and_read_ahead_are_those_of_the_disk() {
        for (name, seed) in
            ["hd-250-32", "hd-320-16", "hd-500-16", "hd-500-32"].into_iter().flat_map(|n| [0, 1, 2].map(|s| (n, s)))
        {
            let spec = Catalogue::get(name).unwrap();
            let crate::DeviceSpec::Mechanical(m) = &spec.device else { panic!("{name}") };
            let found =
                probe_cache(&mut Synchronous::new(spec.build().unwrap()), &CacheProbe { seed, ..probe() }).unwrap();
            let cache = &m.cache;
            // GF Table 4.2: 63, 64, 20 and 128 segments. None of them holds dirty blocks.
            assert_eq!(found.segments, cache.segments, "{name}");
            // For a sequential reader, read-ahead extends a little further.
            let near = |found: u32, given: u32| found.abs_diff(given) <= 16;
            assert!(near(found.read_ahead_sequential, cache.read_ahead_sequential_sectors), "{name}: {found:?}");
            assert!(near(found.read_ahead_random, cache.read_ahead_random_sectors), "{name}: {found:?}");
            assert_eq!(found.read_ahead_on_hit, cache.read_ahead_on_hit, "{name}");
        }
    }

    #[test]
    fn an_ssd_shows_no_such_cache() {
        // All its reads are faster than a quarter of a revolution. Half its own latency as the limit separates nothing
        // either.
        let device = Catalogue::get("ssd-160").unwrap().build().unwrap();
        let probe = CacheProbe { limit: Nanos::from_micros(30), ..probe() };
        let found = probe_cache(&mut Synchronous::new(device), &probe).unwrap();
        assert_eq!((found.segments, found.read_ahead_sequential, found.read_ahead_random), (0, 0, 0));
        assert!(!found.read_ahead_on_hit);
    }
}
