//! How far a drive reads ahead of a request (DiskSim 4.0, "Buffer continuous read").

use super::Drive;
use super::model::{KeepRequested, ReadAheadRule};
use super::slot::CommandSlot;
use super::stream::Stay;

impl Drive {
    /// The end of the blocks that are read for a request in segment `s`, with read-ahead.
    pub(super) fn read_limit(&self, slot: &CommandSlot, s: usize) -> u64 {
        let read = &self.model.read;
        let geometry = &self.model.mechanics.geometry;
        let (end, capacity) = (slot.end(), geometry.capacity());
        let size = self.segments.size;
        let most = match (read.max_ahead, read.keep) {
            (0, KeepRequested::Keep) => slot.first() + size,
            (0, _) => end + size,
            (max, _) => end + u64::from(max),
        };
        let limit = match read.ahead {
            ReadAheadRule::None => end,
            // The arm stops at the end of the track or cylinder.
            ReadAheadRule::Track | ReadAheadRule::Cylinder | ReadAheadRule::Segment => most,
            ReadAheadRule::WholeTrack => geometry.bounds(&geometry.track_of(end - 1)).end,
            ReadAheadRule::Adaptive if end < capacity => {
                let track = geometry.bounds(&geometry.track_of(end));
                let stream = self.segments.of(s).start < track.start;
                if stream && track.end < capacity {
                    geometry.bounds(&geometry.track_of(track.end)).end
                } else {
                    track.end
                }
            }
            ReadAheadRule::Adaptive => end,
        };
        limit.max(end + u64::from(read.min_ahead)).min(capacity).max(end)
    }

    /// How far the arm may go for blocks that no request asked for.
    pub(super) fn stay(&self) -> Stay {
        match self.model.read.ahead {
            ReadAheadRule::Track | ReadAheadRule::WholeTrack => Stay::Track,
            ReadAheadRule::Cylinder => Stay::Cylinder,
            ReadAheadRule::None | ReadAheadRule::Segment | ReadAheadRule::Adaptive => Stay::Anywhere,
        }
    }
}
