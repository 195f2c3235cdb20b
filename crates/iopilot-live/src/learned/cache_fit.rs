//! [`CacheFit`]: finds the simulated disk cache that predicts best which reads hit.

use super::service::ServedRequest;
use iopilot_block::{Nanos, Op};
use iopilot_catalogue::{SimulatedCache, SimulatedCacheModel};

/// Segments, and sectors that are read ahead, of the caches that are tried; GF Table 4.2 has 20 to 128 segments, and a
/// read-ahead of 128 to 512 kB.
const SEGMENTS: [u32; 3] = [8, 24, 96];
const READ_AHEAD: [u32; 3] = [128, 256, 1024];
/// Sectors read ahead around a random read.
const AROUND: u32 = 32;
/// What the medium takes for a sector: 100 MB/s.
const SECTOR: Nanos = Nanos(5_120);
/// After this many reads, the earlier ones count half.
const HALF: u32 = 4096;
/// Another cache must be right this many times as often, so that noise does not change the choice.
const BETTER: f64 = 1.02;

/// Simulated caches side by side. The one that agrees most often with the measured times is chosen (GF 4.3.1: a cache
/// is alike enough if its hit ratio is).
#[derive(Clone, Debug)]
pub(super) struct CacheFit {
    /// Each with how often it was right.
    caches: Vec<(SimulatedCache, f64)>,
    chosen: usize,
    reads: u32,
}

impl CacheFit {
    /// Caches of a rotational disk, or of another disk, where every read misses (GF 4.3.1). `known`, if there is one,
    /// is chosen until another is better.
    pub(super) fn new(rotational: bool, known: Option<SimulatedCacheModel>) -> Self {
        let mut models: Vec<SimulatedCacheModel> = known.into_iter().collect();
        models.push(SimulatedCacheModel::NONE);
        if rotational {
            for (segments, ahead, on_hit) in
                SEGMENTS.iter().flat_map(|&s| READ_AHEAD.iter().flat_map(move |&a| [false, true].map(|h| (s, a, h))))
            {
                models.push(SimulatedCacheModel {
                    read_segments: segments,
                    write_segments: 1,
                    segment_sectors: u64::from(ahead.max(512)),
                    read_ahead_sequential: ahead,
                    read_ahead_random: AROUND,
                    read_ahead_on_hit: on_hit,
                    sector_time: SECTOR,
                });
            }
        }
        Self {
            caches: models.into_iter().map(|model| (SimulatedCache::new(model), 0.0)).collect(),
            chosen: 0,
            reads: 0,
        }
    }

    /// Takes a request that the disk served; `hit` says whether a read was fast enough for a hit. O(segments).
    pub(super) fn take(&mut self, served: &ServedRequest, hit: bool) {
        let (start, end) = (served.lba.0, served.end().0);
        for (cache, right) in &mut self.caches {
            match served.op {
                Op::Read => {
                    let predicted = cache.read(start, end, served.previous_end.0, served.start);
                    *right += f64::from(u8::from(predicted == hit));
                    if cache.ahead_from().is_some() {
                        cache.ahead_since(served.completion);
                    }
                }
                _ => cache.write(start, end, served.start),
            }
        }
        if served.op == Op::Read {
            self.reads += 1;
            if self.reads % HALF == 0 {
                self.caches.iter_mut().for_each(|(_, right)| *right /= 2.0);
            }
        }
    }

    /// The cache that is right most often.
    pub(super) fn best(&mut self) -> SimulatedCacheModel {
        let right = |which: usize| self.caches[which].1;
        let best = (0..self.caches.len()).fold(
            self.chosen,
            |best, which| {
                if right(which) > right(best) { which } else { best }
            },
        );
        if right(best) > BETTER * right(self.chosen) {
            self.chosen = best;
        }
        self.caches[self.chosen].0.model()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_block::Lba;

    fn read(lba: u64, previous_end: u64, n: u64) -> ServedRequest {
        let start = Nanos::from_millis(10 * n);
        let completion = start + Nanos::from_micros(300);
        ServedRequest { op: Op::Read, lba: Lba(lba), sectors: 8, start, completion, previous_end: Lba(previous_end) }
    }

    #[test]
    fn a_stream_that_hits_shows_read_ahead() {
        let mut fit = CacheFit::new(true, None);
        assert_eq!(fit.best(), SimulatedCacheModel::NONE, "nothing is known yet");
        for n in 0..200 {
            fit.take(&read(8 * n, 8 * n, n), n % 32 != 0);
        }
        let found = fit.best();
        assert!(found.read_ahead_sequential > 0, "{found:?}");
    }

    #[test]
    fn a_disk_that_never_hits_has_none() {
        let mut fit = CacheFit::new(true, None);
        for n in 0..200 {
            fit.take(&read(8 * n, 8 * n, n), false);
        }
        assert_eq!(fit.best(), SimulatedCacheModel::NONE);
        let mut flash = CacheFit::new(false, None);
        flash.take(&read(0, 0, 0), true);
        assert_eq!(flash.best(), SimulatedCacheModel::NONE);
    }
}
