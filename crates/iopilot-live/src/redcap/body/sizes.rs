//! The number and the length of the cache's segments, and how many of them it may use.

use super::CacheBody;
use iopilot_block::{InputError, Nanos};
use iopilot_redcap::CacheGeometry;

impl CacheBody {
    /// Sectors of a segment, as it is now.
    pub(in crate::redcap) fn segment_sectors(&self) -> u64 {
        self.segment_sectors
    }

    /// Gives the cache other segments, as soon as no frame is in use.
    ///
    /// # Errors
    /// Where they are out of range, or more than there is memory for.
    pub(in crate::redcap) fn set_geometry(&mut self, geometry: CacheGeometry, now: Nanos) -> Result<(), InputError> {
        if geometry.bytes() > self.frames.most_bytes() {
            let expected = format!("at most the {} bytes that were set aside", self.frames.most_bytes());
            return Err(InputError::new("redcap: geometry", geometry.to_string(), expected));
        }
        let mut actions = std::mem::take(&mut self.actions);
        let result = self.cache.set_geometry(geometry, now, &mut actions);
        self.act(actions, now);
        result
    }

    /// Divides the frames by the policy's geometry. The policy changes that only while it uses no frame.
    pub(super) fn follow_geometry(&mut self) {
        let geometry = self.cache.geometry();
        if geometry != self.geometry {
            self.geometry = geometry;
            self.segment_sectors = u64::from(geometry.segment_sectors().0);
            self.frames.divide(geometry.segments, geometry.segment_sectors().bytes() as usize);
            self.set_limit(self.limit);
        }
    }

    /// The segments in use.
    pub(in crate::redcap) const fn geometry(&self) -> CacheGeometry {
        self.geometry
    }

    /// Limits the cache to this many bytes, and releases the memory beyond.
    pub(in crate::redcap) fn set_limit(&mut self, bytes: u64) {
        self.limit = bytes;
        let segments = bytes / self.geometry.segment_sectors().bytes();
        self.cache.set_limit(segments.clamp(1, u64::from(self.geometry.segments)) as u32);
        let cache = &self.cache;
        self.frames.release(|slot| cache.is_slot_used(slot));
    }
}
