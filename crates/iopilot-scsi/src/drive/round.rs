//! [`Round`]: read-ahead that wraps around to the start of its track.

use super::Drive;
use super::model::ReadAheadRule;

/// The blocks of a track before those that were read. They pass when the track comes round again. They count only
/// once all have passed: an interrupted round leaves nothing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Round {
    segment: usize,
    /// The first block of the track.
    first: u64,
    /// The blocks of the segment at the start. A segment with other blocks has been reused, and the round is void.
    held: (u64, u64),
    /// When the last of these blocks has passed.
    done: f64,
}

impl Drive {
    /// The read-ahead of `segment` ended at `at`: continues at the start of its track, if the model does so.
    pub(super) fn begin_round(&mut self, segment: usize, at: f64) {
        if self.model.read.ahead != ReadAheadRule::WholeTrack {
            return;
        }
        let held = self.segments.of(segment);
        let m = &self.model.mechanics;
        if held.is_empty() || held.is_dirty() {
            return;
        }
        let track = m.geometry.track_of(held.end - 1);
        let bounds = m.geometry.bounds(&track);
        let whole = bounds.end - bounds.start;
        if held.end < bounds.end || held.start <= bounds.start || whole > self.segments.size {
            return;
        }
        let first = m.geometry.track_of(bounds.start);
        let passing = (held.start - bounds.start) as f64 * m.sector_time(&track);
        let done = at + m.latency(at, first.angle) + passing;
        self.round = Some(Round { segment, first: bounds.start, held: (held.start, held.end), done });
    }

    /// Adds the blocks of a round that is complete by `t` to their segment.
    pub(super) fn finish_round(&mut self, t: f64) {
        let Some(round) = self.round.filter(|round| round.done <= t) else { return };
        self.round = None;
        let segment = self.segments.of(round.segment);
        if (segment.start, segment.end) == round.held && !segment.is_dirty() {
            self.segments.edit(round.segment, |segment| segment.start = round.first);
        }
    }
}
