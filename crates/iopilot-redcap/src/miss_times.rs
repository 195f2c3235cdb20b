//! [`MissTimes`]: divides the disk's time for a miss between the reader and the prefetch.

use crate::PartTimes;
use crate::sums::scaled;
use iopilot_block::Nanos;

/// A disk request, and the blocks that it brought for one miss.
#[derive(Clone, Copy, Debug, Default)]
struct Span {
    dispatched: Nanos,
    completed: Nanos,
    blocks: u64,
    /// The blocks of the whole request, which is longer if parts of other reads were merged into it.
    all_blocks: u64,
}

impl Span {
    const fn new(served: &PartTimes, blocks: u64) -> Self {
        let &PartTimes { dispatched, completed, .. } = served;
        Self { dispatched, completed, blocks, all_blocks: served.blocks(blocks) }
    }

    /// Whether both were merged into one disk request.
    fn is_merged_with(&self, other: &Self) -> bool {
        (self.dispatched, self.completed) == (other.dispatched, other.completed)
    }

    /// Adds the blocks that the same request brought.
    fn join(&mut self, other: &Self) {
        self.blocks += other.blocks;
        self.all_blocks = self.all_blocks.max(other.all_blocks).max(self.blocks);
    }
}

const MOST: usize = 4;

/// The times of the parts of one miss at the disk.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MissTimes {
    requested: Option<Span>,
    prefetches: [Span; MOST],
    len: usize,
}

impl MissTimes {
    /// The requested blocks have arrived.
    pub(crate) const fn requested(&mut self, served: &PartTimes, blocks: u64) {
        self.requested = Some(Span::new(served, blocks));
    }

    /// Prefetched blocks have arrived.
    pub(crate) fn prefetched(&mut self, served: &PartTimes, blocks: u64) {
        let span = Span::new(served, blocks);
        if let Some(same) = self.prefetches[..self.len].iter_mut().find(|other| other.is_merged_with(&span)) {
            same.join(&span);
        } else if self.len < MOST {
            self.prefetches[self.len] = span;
            self.len += 1;
        } else {
            // There are more prefetches than the usual sizes make: the time between this one and the last counts, too.
            let last = &mut self.prefetches[MOST - 1];
            last.dispatched = last.dispatched.min(span.dispatched);
            last.completed = last.completed.max(span.completed);
            last.blocks += blocks;
            last.all_blocks += span.all_blocks;
        }
    }

    /// The reader's time and the prefetch's time.
    ///
    /// If nothing was merged, the reader is charged the whole time of its own request. The prefetch is charged the time that
    /// its requests take after that: `max(0, completion - max(dispatch, end of those before))` of each. Requests of others
    /// that the disk serves in between do not count.
    ///
    /// The time of a merged request is divided among reads by blocks. Of this read's share, the prefetch is charged at most
    /// `block_time` for each block, because the reader would have waited for the arm and the medium anyway. A division by blocks
    /// would charge the prefetch nearly all of it, and `T_CMiss / B_CMiss`, which is the worth of a hit, would be too small.
    pub(crate) fn divided(&self, block_time: Nanos) -> (Nanos, Nanos) {
        let mut apart = self.prefetches;
        let apart = &mut apart[..self.len];
        apart.sort_unstable_by_key(|span| (span.completed, span.dispatched));
        let (mut reader, mut prefetch, mut end) = (Nanos::ZERO, Nanos::ZERO, Nanos::ZERO);
        if let Some(requested) = self.requested {
            let mut all = requested;
            if let Some(merged) = apart.iter_mut().find(|span| span.is_merged_with(&requested)) {
                all.join(merged);
                *merged = Span::default();
            }
            let time = |blocks| scaled(all.completed.since(all.dispatched), blocks, all.all_blocks.max(1));
            let merged = all.blocks - requested.blocks;
            prefetch = time(merged).min(Nanos(block_time.0.saturating_mul(merged)));
            reader = time(all.blocks) - prefetch;
            end = requested.completed;
        }
        for span in apart {
            let time = span.completed.since(span.dispatched.max(end));
            prefetch += scaled(time, span.blocks, span.all_blocks.max(1));
            end = end.max(span.completed);
        }
        (reader, prefetch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_block::Sectors;

    fn served(dispatched: u64, completed: u64) -> PartTimes {
        let (dispatched, completed) = (Nanos(dispatched), Nanos(completed));
        PartTimes { inserted: Nanos::ZERO, dispatched, completed, merged: Sectors(0) }
    }

    fn divided(requested: (u64, u64, u64), prefetches: &[(u64, u64, u64)]) -> (u64, u64) {
        let mut times = MissTimes::default();
        for &(dispatched, completed, blocks) in prefetches {
            times.prefetched(&served(dispatched, completed), blocks);
        }
        times.requested(&served(requested.0, requested.1), requested.2);
        let (reader, prefetch) = times.divided(Nanos(10));
        (reader.0, prefetch.0)
    }

    #[test]
    fn a_prefetch_is_charged_from_the_end_of_the_original() {
        assert_eq!(divided((100, 180, 1), &[(180, 200, 16), (200, 215, 15)]), (80, 35));
        // The second one completed first.
        assert_eq!(divided((100, 180, 1), &[(200, 215, 15), (180, 200, 16)]), (80, 35));
        // Both were in the drive at once.
        assert_eq!(divided((100, 180, 1), &[(101, 200, 31)]), (80, 20));
        // The disk was idle in between.
        assert_eq!(divided((100, 180, 1), &[(300, 320, 31)]), (80, 20));
        // The prefetch completed before the original.
        assert_eq!(divided((100, 180, 1), &[(90, 120, 31)]), (80, 0));
        assert_eq!(divided((100, 180, 1), &[]), (80, 0));
    }

    #[test]
    fn requests_of_others_between_two_prefetches_are_not_charged() {
        assert_eq!(divided((100, 180, 1), &[(180, 200, 16), (900, 915, 15)]), (80, 35));
    }

    #[test]
    fn parts_of_other_reads_in_a_merged_request_take_their_share() {
        let mut times = MissTimes::default();
        // 8 blocks of the reader, 8 and 16 of its prefetch in two requests, and 16 and 48 of others.
        let merged = |dispatched, completed, blocks: u32| PartTimes {
            merged: Sectors(8 * blocks),
            ..served(dispatched, completed)
        };
        times.requested(&merged(100, 420, 32), 8);
        times.prefetched(&merged(100, 420, 32), 8);
        times.prefetched(&merged(500, 820, 64), 16);
        assert_eq!(times.divided(Nanos(10)), (Nanos(80), Nanos(80 + 80)));
    }

    #[test]
    fn a_prefetch_in_the_same_request_is_charged_its_blocks() {
        assert_eq!(divided((100, 420, 8), &[(100, 420, 16), (100, 420, 8)]), (80, 240));
        // Of 1000, 240 are for the 24 blocks; the reader is charged the seek.
        assert_eq!(divided((100, 1_100, 8), &[(100, 1_100, 24)]), (760, 240));
        // Never more than the share by blocks.
        assert_eq!(divided((100, 260, 8), &[(100, 260, 24)]), (40, 120));
        // Only the tail was merged.
        assert_eq!(divided((100, 420, 8), &[(100, 420, 24), (420, 450, 5)]), (80, 270));
    }

    #[test]
    fn many_prefetches_are_taken_together() {
        let prefetches: Vec<_> = (0..7).map(|i| (180 + 10 * i, 190 + 10 * i, 8)).collect();
        assert_eq!(divided((100, 180, 1), &prefetches), (80, 70));
    }
}
