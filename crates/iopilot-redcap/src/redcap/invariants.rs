//! The invariants of a cache, for tests.

use super::Redcap;

impl<V> Redcap<V> {
    /// Checks the invariants that hold at any time.
    pub(crate) fn check(&self) {
        self.cache.check();
        self.simulated.check();
        assert!(self.simulated.len() == 0 || !self.state.is_active());
        assert!(self.cache.len() == 0 || self.state.is_active() || self.cache.pinned() > 0);
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
