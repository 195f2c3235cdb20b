//! [`Bus`]: ownership and arbitration (Ganger A.1.2.2).

use crate::BlockTimes;
use iopilot_block::{Histogram, Nanos};

/// Whether a bus has one owner at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ownership {
    /// One unit owns it from arbitration to release, as on SCSI.
    #[default]
    Exclusive,
    /// All messages and transfers proceed at once, at full speed.
    Shared,
}

/// Which waiting unit gets the bus.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arbitration {
    /// The unit in the highest slot, which is the last attached; the bus's own controller is in slot 0.
    #[default]
    SlotPriority,
    /// The unit that has waited longest.
    Fifo,
    /// The next higher slot after the last owner's, cyclically.
    RoundRobin,
}

/// The parameters of a bus.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BusModel {
    /// Whether it has owners.
    pub ownership: Ownership,
    /// Which waiting unit gets it next.
    pub arbitration: Arbitration,
    /// Added to every acquisition of an exclusive bus, idle or not.
    pub arbitration_time: Nanos,
    /// The time of a 512-byte block on it, ns.
    pub block_times: BlockTimes,
}

/// A bus and its waiters. `C` says what a unit wants the bus for.
#[derive(Clone, Debug)]
pub(crate) struct Bus<C> {
    model: BusModel,
    owned_since: Option<Nanos>,
    /// In order of arrival.
    waiting: Vec<(usize, C, Nanos)>,
    last_slot: usize,
    busy: Nanos,
    waits: Histogram,
}

impl<C: Copy + PartialEq> Bus<C> {
    pub(crate) fn new(model: BusModel) -> Self {
        Self { model, owned_since: None, waiting: Vec::new(), last_slot: 0, busy: Nanos::ZERO, waits: Histogram::new() }
    }

    pub(crate) fn model(&self) -> &BusModel {
        &self.model
    }

    /// The unit in `slot` wants the bus. Returns the arbitration time if it wins at once.
    pub(crate) fn acquire(&mut self, slot: usize, claim: C, now: Nanos) -> Option<Nanos> {
        if self.model.ownership == Ownership::Shared {
            return Some(Nanos::ZERO);
        }
        if self.owned_since.is_some() {
            self.waiting.push((slot, claim, now));
            return None;
        }
        self.owned_since = Some(now);
        self.last_slot = slot;
        self.waits.record(self.model.arbitration_time);
        Some(self.model.arbitration_time)
    }

    /// The owner releases the bus. Returns the winner; arbitration takes the model's time.
    pub(crate) fn release(&mut self, now: Nanos) -> Option<C> {
        if self.model.ownership == Ownership::Shared {
            return None;
        }
        if let Some(since) = self.owned_since.take() {
            self.busy += now.since(since);
        }
        let slots = self.waiting.iter().map(|&(slot, ..)| slot).enumerate();
        let winner = match self.model.arbitration {
            Arbitration::Fifo => (!self.waiting.is_empty()).then_some(0),
            // Among equal slots the first waiter wins.
            Arbitration::SlotPriority => slots.rev().max_by_key(|&(_, slot)| slot).map(|(i, _)| i),
            Arbitration::RoundRobin => slots.min_by_key(|&(_, slot)| (slot <= self.last_slot, slot)).map(|(i, _)| i),
        }?;
        let (slot, claim, since) = self.waiting.remove(winner);
        self.owned_since = Some(now);
        self.last_slot = slot;
        self.waits.record(now.since(since) + self.model.arbitration_time);
        Some(claim)
    }

    /// Withdraws a waiting claim; returns whether it was there.
    pub(crate) fn withdraw(&mut self, claim: C) -> bool {
        let before = self.waiting.len();
        self.waiting.retain(|&(_, c, _)| c != claim);
        self.waiting.len() < before
    }

    pub(crate) fn report(&self, now: Nanos) -> BusReport {
        let open = self.owned_since.map_or(Nanos::ZERO, |since| now.since(since));
        BusReport { busy: self.busy + open, acquisitions: self.waits.count(), wait: self.waits.clone() }
    }
}

/// What a bus did.
#[derive(Clone, Debug)]
pub struct BusReport {
    /// How long it was owned.
    pub busy: Nanos,
    /// How often it was granted; zero for a shared bus.
    pub acquisitions: u64,
    /// Times from the request for the bus to the grant.
    pub wait: Histogram,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bus(arbitration: Arbitration) -> Bus<char> {
        Bus::new(BusModel { arbitration, arbitration_time: Nanos(5), ..BusModel::default() })
    }

    fn order(arbitration: Arbitration, waiting: &[(usize, char)]) -> String {
        let mut bus = bus(arbitration);
        assert_eq!(bus.acquire(2, 'x', Nanos(0)), Some(Nanos(5)));
        for &(slot, claim) in waiting {
            assert_eq!(bus.acquire(slot, claim, Nanos(1)), None);
        }
        std::iter::from_fn(|| bus.release(Nanos(10))).collect()
    }

    #[test]
    fn the_last_attached_wins_under_slot_priority() {
        assert_eq!(order(Arbitration::SlotPriority, &[(1, 'a'), (3, 'b'), (0, 'c'), (3, 'd')]), "bdac");
    }

    #[test]
    fn fifo_and_round_robin() {
        assert_eq!(order(Arbitration::Fifo, &[(1, 'a'), (3, 'b'), (0, 'c')]), "abc");
        assert_eq!(order(Arbitration::RoundRobin, &[(1, 'a'), (3, 'b'), (0, 'c')]), "bca");
    }

    #[test]
    fn a_shared_bus_has_no_owner() {
        let mut bus: Bus<char> = Bus::new(BusModel { ownership: Ownership::Shared, ..BusModel::default() });
        assert_eq!(bus.acquire(1, 'a', Nanos(0)), Some(Nanos::ZERO));
        assert_eq!(bus.acquire(2, 'b', Nanos(0)), Some(Nanos::ZERO));
        assert_eq!(bus.release(Nanos(3)), None);
        assert_eq!(bus.report(Nanos(9)).busy, Nanos::ZERO);
    }

    #[test]
    fn ownership_and_waits_are_measured() {
        let mut bus = bus(Arbitration::Fifo);
        bus.acquire(1, 'a', Nanos(0));
        bus.acquire(2, 'b', Nanos(10));
        assert_eq!(bus.release(Nanos(30)), Some('b'));
        assert_eq!(bus.release(Nanos(50)), None);
        let report = bus.report(Nanos(100));
        assert_eq!((report.busy, report.acquisitions, report.wait.max()), (Nanos(50), 2, Nanos(25)));
        bus.acquire(1, 'a', Nanos(60));
        bus.acquire(2, 'b', Nanos(60));
        assert!(bus.withdraw('b') && !bus.withdraw('b'));
    }
}
