//! [`Segments`]: the buffer of a drive.

use super::model::BufferModel;

/// A run of consecutive blocks in the buffer: of the medium, or to be written there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Segment {
    /// It holds the blocks from here
    pub(super) start: u64,
    /// to before here; of a write also those that are still to come over the bus.
    pub(super) end: u64,
    /// The first block that is not on the medium; `end` where all are.
    pub(super) written: u64,
    /// Reading into it ends before this block.
    pub(super) limit: u64,
    /// Requests that use it.
    pub(super) users: u32,
    /// It was used by a write last.
    pub(super) by_write: bool,
    /// When it was used last, in uses of the buffer.
    stamp: u64,
}

impl Segment {
    pub(super) fn is_empty(&self) -> bool {
        self.start == self.end
    }

    pub(super) fn is_dirty(&self) -> bool {
        self.written < self.end
    }

    pub(super) fn holds(&self, block: u64) -> bool {
        self.start <= block && block < self.end
    }

    pub(super) fn overlaps(&self, first: u64, end: u64) -> bool {
        self.start < end && first < self.end
    }

    /// Makes it hold nothing, before `block`.
    pub(super) fn clear(&mut self, block: u64) {
        (self.start, self.end, self.written, self.limit) = (block, block, block, 0);
    }

    /// Read, from the medium, up to before `end`: what does not fit any more at the front is gone.
    pub(super) fn filled(&mut self, end: u64, size: u64) {
        (self.end, self.written) = (end, end);
        self.start = self.start.max(end.saturating_sub(size));
    }
}

/// All segments.
#[derive(Clone, Debug)]
pub(super) struct Segments {
    pub(super) all: Vec<Segment>,
    /// The size of each, in blocks.
    pub(super) size: u64,
    uses: u64,
    separate_write: bool,
    most_dirty: usize,
}

impl Segments {
    pub(super) fn new(model: &BufferModel) -> Self {
        Self {
            all: vec![Segment::default(); model.segments.max(1) as usize],
            size: u64::from(model.segment_blocks.max(1)),
            uses: 0,
            separate_write: model.separate_write_segment,
            most_dirty: model.write_segments.max(1) as usize,
        }
    }

    /// Whether reads may use segment `i`. The one that is kept for writes is the last; a lone segment serves both.
    pub(super) fn serves_reads(&self, i: usize) -> bool {
        !self.separate_write || i + 1 < self.all.len() || self.all.len() == 1
    }

    /// Whether writes may use segment `i`.
    pub(super) fn serves_writes(&self, i: usize) -> bool {
        !self.separate_write || i + 1 == self.all.len()
    }

    /// Whether one more may become dirty.
    pub(super) fn may_dirty(&self) -> bool {
        self.all.iter().filter(|s| s.is_dirty()).count() < self.most_dirty
    }

    pub(super) fn any_dirty(&self) -> bool {
        self.all.iter().any(Segment::is_dirty)
    }

    /// Notes that a request uses segment `i`.
    pub(super) fn used(&mut self, i: usize, by_write: bool) {
        self.uses += 1;
        let segment = &mut self.all[i];
        segment.stamp = self.uses;
        segment.users += 1;
        segment.by_write = by_write;
    }

    /// Whether segment `i` is the one used last.
    pub(super) fn is_latest(&self, i: usize) -> bool {
        self.uses > 0 && self.all[i].stamp == self.uses
    }

    /// The first of the best: the least recently used one of the lowest rank that `rank` gives; and that rank.
    pub(super) fn best(&self, mut rank: impl FnMut(usize, &Segment) -> Option<u32>) -> Option<(usize, u32)> {
        let mut best: Option<(u32, u64, usize)> = None;
        for (i, segment) in self.all.iter().enumerate() {
            if let Some(rank) = rank(i, segment) {
                let candidate = (rank, segment.stamp, i);
                if best.is_none_or(|b| candidate < b) {
                    best = Some(candidate);
                }
            }
        }
        best.map(|(rank, _, i)| (i, rank))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_dropped_at_the_front() {
        let mut segment = Segment::default();
        segment.clear(100);
        segment.filled(110, 16);
        assert_eq!((segment.start, segment.end), (100, 110));
        segment.filled(120, 16);
        assert_eq!((segment.start, segment.end), (104, 120));
        assert!(segment.holds(104) && !segment.holds(120) && !segment.is_dirty());
    }

    #[test]
    fn of_equals_the_least_recently_used_is_taken() {
        let mut segments = Segments::new(&BufferModel { segments: 3, ..BufferModel::default() });
        for i in [1, 0, 2] {
            segments.used(i, false);
        }
        assert_eq!(segments.best(|_, _| Some(4)), Some((1, 4)));
        assert_eq!(segments.best(|i, _| (i != 1).then_some(i as u32 % 2)), Some((0, 0)));
        assert!(segments.is_latest(2));
    }
}
