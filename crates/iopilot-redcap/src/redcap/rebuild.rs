//! Changing the geometry of a cache in use.

use super::Redcap;
use crate::geometry::SegmentLayout;
use crate::regions::OffRegions;
use crate::{CacheGeometry, RedcapAction, ReferenceDisk};
use iopilot_block::{InputError, Nanos};

/// A pending change of geometry.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rebuild {
    geometry: CacheGeometry,
    /// Whether the cache is active after the change.
    pub(super) active: bool,
}

impl<V: ReferenceDisk> Redcap<V> {
    /// The number and size of the segments, as they are now.
    pub const fn geometry(&self) -> CacheGeometry {
        self.geometry
    }

    /// Changes the number and size of the segments. Drops all contents, and a [limit](Self::set_limit).
    ///
    /// Reads in flight through the cache use the frames of the old segments. While there are any, the cache is off, and
    /// [`Redcap::geometry`] still returns the old geometry. When it returns the new one, no frame is in use. The body can
    /// then divide its frames anew, before it carries out the actions of the same call.
    ///
    /// # Errors
    /// If the geometry is out of range.
    pub fn set_geometry(
        &mut self,
        geometry: CacheGeometry,
        now: Nanos,
        out: &mut Vec<RedcapAction>,
    ) -> Result<(), InputError> {
        geometry.check()?;
        if self.rebuild.is_none() && geometry == self.geometry {
            return Ok(());
        }
        let active = self.rebuild.map_or(self.state.is_active(), |rebuild| rebuild.active);
        self.rebuild = Some(Rebuild { geometry, active });
        if self.state.is_active() {
            self.change(false, now, out);
        }
        self.rebuild_if_unused(now, out);
        self.settle(now, out);
        Ok(())
    }

    /// Carries out a pending change of geometry, if no frame is in use.
    pub(super) fn rebuild_if_unused(&mut self, now: Nanos, out: &mut Vec<RedcapAction>) {
        if self.cached > 0 {
            return;
        }
        let Some(Rebuild { geometry, active }) = self.rebuild.take() else { return };
        let (old, new) = (self.layout, SegmentLayout::new(geometry, self.layout.capacity()));
        let mut regions = OffRegions::default();
        for range in self.regions.off() {
            let at = |number: u64| new.first_from(old.start(number.min(old.segments())));
            regions.set(at(range.start)..at(range.end), false);
        }
        (self.geometry, self.layout, self.regions) = (geometry, new, regions);
        self.cache = self.cache.emptied(geometry.segments);
        self.simulated = self.simulated.emptied(geometry.segments);
        self.prefetches.set_segments(geometry.segments);
        self.choose(active, now, out);
    }
}
