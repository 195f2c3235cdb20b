//! The invariants of a cache, for tests.

use super::Redcap;

impl<V> Redcap<V> {
    /// Checks the invariants that hold at any time.
    pub(crate) fn check(&self) {
        self.cache.check();
        self.simulated.check();
        let waiting: u32 = self.parts_put_off();
        assert_eq!(waiting as usize, self.prefetches.len());
        assert!(self.simulated.len() == 0 || !self.state.is_active());
        assert!(self.cache.len() == 0 || self.state.is_active() || self.cache.pinned() > 0);
    }

    /// The number of prefetches that wait, by segment.
    fn parts_put_off(&self) -> u32 {
        (0..self.cache.slots())
            .filter(|&slot| self.cache.get(slot).is_present())
            .map(|slot| self.cache.get(slot).put_off)
            .sum()
    }

    /// Checks the invariants that hold when nothing is in flight.
    pub(crate) fn check_idle(&self) {
        self.check();
        assert_eq!(self.cache.pinned(), 0);
        let slabs = [self.originals.len(), self.partials.len(), self.fetches.len(), self.parts.len()];
        assert_eq!(slabs, [0; 4]);
        assert!(!self.state.is_pending());
    }
}
