//! [`Locks`]: locks on sectors of stripes.

/// The same sectors of all units of some stripes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LockedExtent {
    /// First and last stripe.
    pub(super) stripes: (u64, u64),
    /// First sector within each unit, and the sector behind the last.
    pub(super) sectors: (u32, u32),
}

impl LockedExtent {
    fn overlaps(&self, other: &Self) -> bool {
        self.stripes.0 <= other.stripes.1
            && other.stripes.0 <= self.stripes.1
            && self.sectors.0 < other.sectors.1
            && other.sectors.0 < self.sectors.1
    }
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    owner: u32,
    /// Number in order of arrival.
    order: u64,
    extent: LockedExtent,
    exclusive: bool,
    /// Earlier entries that conflict with it.
    blockers: u32,
}

/// Locks on stripes, granted in order of arrival. A parity update locks the sectors of the stripe that it reads or
/// writes. Each step is O(entries).
#[derive(Clone, Debug, Default)]
pub(super) struct Locks {
    entries: Vec<Entry>,
    next: u64,
    freed: Vec<(u64, u32)>,
}

impl Locks {
    /// Requests `extent` for `owner`. Returns true if it is locked at once; otherwise a later release grants it.
    pub(super) fn acquire(&mut self, owner: u32, extent: LockedExtent, exclusive: bool) -> bool {
        let in_the_way = |e: &&Entry| (exclusive || e.exclusive) && e.extent.overlaps(&extent);
        let blockers = self.entries.iter().filter(in_the_way).count() as u32;
        self.entries.push(Entry { owner, order: self.next, extent, exclusive, blockers });
        self.next += 1;
        blockers == 0
    }

    /// Releases the lock of `owner`; appends the owners whose locks are granted to `granted`, in order of arrival.
    pub(super) fn release(&mut self, owner: u32, granted: &mut Vec<u32>) {
        let Some(at) = self.entries.iter().position(|entry| entry.owner == owner) else { return };
        let gone = self.entries.swap_remove(at);
        self.freed.clear();
        for entry in &mut self.entries {
            let blocked =
                entry.order > gone.order && (entry.exclusive || gone.exclusive) && entry.extent.overlaps(&gone.extent);
            if blocked {
                entry.blockers -= 1;
                if entry.blockers == 0 {
                    self.freed.push((entry.order, entry.owner));
                }
            }
        }
        self.freed.sort_unstable();
        granted.extend(self.freed.iter().map(|(_, owner)| owner));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extent(first: u64, last: u64, lo: u32, hi: u32) -> LockedExtent {
        LockedExtent { stripes: (first, last), sectors: (lo, hi) }
    }

    #[test]
    fn overlapping_updates_wait_for_each_other_in_order() {
        let mut locks = Locks::default();
        assert!(locks.acquire(1, extent(5, 5, 0, 8), true));
        assert!(locks.acquire(2, extent(5, 5, 8, 16), true), "other sectors of the parity");
        assert!(!locks.acquire(3, extent(4, 6, 0, 64), true));
        assert!(!locks.acquire(4, extent(6, 6, 0, 8), true), "waits for 3, which came first");
        assert!(locks.acquire(5, extent(7, 7, 0, 8), true));
        let mut granted = Vec::new();
        locks.release(1, &mut granted);
        assert!(granted.is_empty());
        locks.release(2, &mut granted);
        assert_eq!(granted, [3]);
        locks.release(3, &mut granted);
        assert_eq!(granted, [3, 4]);
    }

    #[test]
    fn readers_share() {
        let mut locks = Locks::default();
        assert!(locks.acquire(1, extent(0, 0, 0, 8), false));
        assert!(locks.acquire(2, extent(0, 0, 0, 8), false));
        assert!(!locks.acquire(3, extent(0, 0, 4, 5), true));
        assert!(!locks.acquire(4, extent(0, 0, 0, 8), false), "writers do not starve");
        let mut granted = Vec::new();
        locks.release(1, &mut granted);
        locks.release(2, &mut granted);
        assert_eq!(granted, [3]);
        locks.release(3, &mut granted);
        assert_eq!(granted, [3, 4]);
    }
}
