//! How far a drive reads on behind a request (DiskSim 4.0, "Buffer continuous read").

use super::Drive;
use super::model::{KeepRequested, ReadAhead};
use super::slot::Slot;

impl Drive {
    /// The block before which reading for a request in segment `s` ends.
    pub(super) fn read_limit(&self, slot: &Slot, s: usize) -> u64 {
        let read = &self.model.read;
        let geometry = &self.model.mechanics.geometry;
        let (end, capacity) = (slot.end(), geometry.capacity());
        let size = self.segments.size;
        let most = match (read.max_ahead, read.keep) {
            (0, KeepRequested::Keep) => slot.first() + size,
            (0, _) => end + size,
            (max, _) => end + u64::from(max),
        };
        let last = end.saturating_sub(1).min(capacity.saturating_sub(1));
        let limit = match read.ahead {
            ReadAhead::None => end,
            ReadAhead::Track => most.min(geometry.bounds(&geometry.track_of(last)).end),
            ReadAhead::Cylinder => most.min(self.cylinder_end(last, most)),
            ReadAhead::Segment => most,
            ReadAhead::Adaptive if end < capacity => {
                let track = geometry.bounds(&geometry.track_of(end));
                let stream = self.segments.all[s].start < track.start;
                if stream && track.end < capacity {
                    geometry.bounds(&geometry.track_of(track.end)).end
                } else {
                    track.end
                }
            }
            ReadAhead::Adaptive => end,
        };
        limit.max(end + u64::from(read.min_ahead)).min(capacity).max(end)
    }

    /// Behind the last block of the cylinder of `block`, as far as it lies before `most`.
    fn cylinder_end(&self, block: u64, most: u64) -> u64 {
        let geometry = &self.model.mechanics.geometry;
        let mut track = geometry.track_of(block);
        let cylinder = track.cylinder;
        while track.end() < most {
            match geometry.next_track(&track).filter(|next| next.cylinder == cylinder) {
                Some(next) => track = next,
                None => break,
            }
        }
        track.end()
    }
}
