//! [`MissTimes`]: how the disk's time for a miss divides between reader and prefetch.

use crate::Served;
use crate::sums::scaled;
use iopilot_block::Nanos;

#[derive(Clone, Copy, Debug, Default)]
struct Span {
    dispatched: Nanos,
    completed: Nanos,
    blocks: u64,
}

impl Span {
    const fn new(served: &Served, blocks: u64) -> Self {
        Self { dispatched: served.dispatched, completed: served.completed, blocks }
    }

    /// Whether both were one request at the disk.
    fn is_merged_with(&self, other: &Self) -> bool {
        (self.dispatched, self.completed) == (other.dispatched, other.completed)
    }
}

const MOST: usize = 4;

/// When the parts of one miss were at the disk.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MissTimes {
    requested: Option<Span>,
    prefetches: [Span; MOST],
    len: usize,
}

impl MissTimes {
    /// The requested blocks came.
    pub(crate) const fn requested(&mut self, served: &Served, blocks: u64) {
        self.requested = Some(Span::new(served, blocks));
    }

    /// Prefetched blocks came.
    pub(crate) fn prefetched(&mut self, served: &Served, blocks: u64) {
        let span = Span::new(served, blocks);
        if let Some(same) = self.prefetches[..self.len].iter_mut().find(|other| other.is_merged_with(&span)) {
            same.blocks += blocks;
        } else if self.len < MOST {
            self.prefetches[self.len] = span;
            self.len += 1;
        } else {
            // More than the usual sizes can give: what lies between counts as well.
            let last = &mut self.prefetches[MOST - 1];
            last.dispatched = last.dispatched.min(span.dispatched);
            last.completed = last.completed.max(span.completed);
            last.blocks += blocks;
        }
    }

    /// The reader's time, and that of the prefetch.
    ///
    /// Unmerged, the reader's is all of its own request's, and the prefetch's what comes after:
    /// `max(0, last completion - max(prefetch's dispatch, reader's completion))`. A merged request's time is divided by
    /// blocks.
    pub(crate) fn divided(&self) -> (Nanos, Nanos) {
        let mut apart: Option<Span> = None;
        let mut merged = 0;
        for span in &self.prefetches[..self.len] {
            match &mut apart {
                _ if self.requested.is_some_and(|requested| requested.is_merged_with(span)) => merged += span.blocks,
                None => apart = Some(*span),
                Some(all) => {
                    all.dispatched = all.dispatched.min(span.dispatched);
                    all.completed = all.completed.max(span.completed);
                }
            }
        }
        let (mut reader, mut prefetch, mut reader_end) = (Nanos::ZERO, Nanos::ZERO, Nanos::ZERO);
        if let Some(span) = self.requested {
            let whole = span.completed.since(span.dispatched);
            reader = scaled(whole, span.blocks, (span.blocks + merged).max(1));
            prefetch = if merged > 0 { whole - reader } else { Nanos::ZERO };
            reader_end = span.completed;
        }
        if let Some(span) = apart {
            prefetch += span.completed.since(span.dispatched.max(reader_end));
        }
        (reader, prefetch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn served(dispatched: u64, completed: u64) -> Served {
        Served { inserted: Nanos::ZERO, dispatched: Nanos(dispatched), completed: Nanos(completed) }
    }

    fn divided(requested: (u64, u64, u64), prefetches: &[(u64, u64, u64)]) -> (u64, u64) {
        let mut times = MissTimes::default();
        for &(dispatched, completed, blocks) in prefetches {
            times.prefetched(&served(dispatched, completed), blocks);
        }
        times.requested(&served(requested.0, requested.1), requested.2);
        let (reader, prefetch) = times.divided();
        (reader.0, prefetch.0)
    }

    #[test]
    fn a_prefetch_is_charged_from_the_end_of_the_original() {
        assert_eq!(divided((100, 180, 1), &[(180, 200, 16), (200, 215, 15)]), (80, 35));
        // The second was done first.
        assert_eq!(divided((100, 180, 1), &[(200, 215, 15), (180, 200, 16)]), (80, 35));
        // Both were in the drive at once.
        assert_eq!(divided((100, 180, 1), &[(101, 200, 31)]), (80, 20));
        // The disk was free in between.
        assert_eq!(divided((100, 180, 1), &[(300, 320, 31)]), (80, 20));
        // It came before the original.
        assert_eq!(divided((100, 180, 1), &[(90, 120, 31)]), (80, 0));
        assert_eq!(divided((100, 180, 1), &[]), (80, 0));
    }

    #[test]
    fn a_merged_request_is_divided_by_blocks() {
        assert_eq!(divided((100, 420, 8), &[(100, 420, 16), (100, 420, 8)]), (80, 240));
        // Only the tail was merged.
        assert_eq!(divided((100, 420, 8), &[(100, 420, 24), (420, 450, 5)]), (80, 270));
    }

    #[test]
    fn many_prefetches_are_taken_together() {
        let prefetches: Vec<_> = (0..7).map(|i| (180 + 10 * i, 190 + 10 * i, 8)).collect();
        assert_eq!(divided((100, 180, 1), &prefetches), (80, 70));
    }
}
