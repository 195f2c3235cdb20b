//! [`Transfers`]: data transfers between a controller and the host.

use iopilot_block::Nanos;
use std::collections::VecDeque;

/// Operations whose data move or wait to move.
///
/// On an exclusive bus one transfer moves at a time, in order of arrival. On an interleaved bus all move at once,
/// each with an equal share of the rate (Ganger A.1.2.1).
#[derive(Clone, Debug)]
pub(crate) struct Transfers {
    interleaved: bool,
    /// In order of arrival, each with the time that it would still take alone.
    all: VecDeque<(u32, Nanos)>,
    /// The time at which these values hold.
    since: Nanos,
    /// The number of the last appointment; older ones are void.
    appointment: u64,
}

impl Transfers {
    pub(crate) fn new(interleaved: bool) -> Self {
        Self { interleaved, all: VecDeque::new(), since: Nanos::ZERO, appointment: 0 }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Adds the transfer of `operation`, which would take `time` alone. Returns the new end of the next transfer if
    /// it changes.
    pub(crate) fn begin(&mut self, operation: u32, time: Nanos, now: Nanos) -> Option<(Nanos, u64)> {
        self.pass(now);
        self.all.push_back((operation, time));
        if self.interleaved || self.all.len() == 1 { self.next() } else { None }
    }

    /// The operation that ends at `now`, by the appointment with this number.
    pub(crate) fn end(&mut self, appointment: u64, now: Nanos) -> Option<u32> {
        if appointment != self.appointment {
            return None;
        }
        self.pass(now);
        let over = self.all.iter().position(|&(_, left)| left == Nanos::ZERO)?;
        self.all.remove(over).map(|(operation, _)| operation)
    }

    /// When the next transfer ends, and the number of that appointment.
    pub(crate) fn next(&mut self) -> Option<(Nanos, u64)> {
        let left = self.all.iter().take(self.moving()).map(|&(_, left)| left).min()?;
        self.appointment += 1;
        Some((self.since + Nanos(left.0 * self.moving() as u64), self.appointment))
    }

    /// How many transfers move at once.
    fn moving(&self) -> usize {
        if self.interleaved { self.all.len() } else { self.all.len().min(1) }
    }

    fn pass(&mut self, now: Nanos) {
        let moving = self.moving();
        if moving > 0 {
            let each = Nanos(now.since(self.since).0 / moving as u64);
            for (_, left) in self.all.iter_mut().take(moving) {
                *left = left.since(each);
            }
        }
        self.since = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The end of each transfer; each is given by its start and the time that it takes alone.
    fn ends(interleaved: bool, transfers: &[(u64, u64)]) -> Vec<u64> {
        let mut bus = Transfers::new(interleaved);
        let mut ends = vec![0; transfers.len()];
        let (mut begun, mut due) = (0, None);
        loop {
            match (transfers.get(begun), due) {
                (Some(&(at, takes)), other) if other.is_none_or(|(due, _): (Nanos, u64)| at < due.0) => {
                    due = bus.begin(begun as u32, Nanos(takes), Nanos(at)).or(due);
                    begun += 1;
                }
                (_, Some((at, number))) => {
                    let over = bus.end(number, at).unwrap();
                    ends[over as usize] = at.0;
                    due = bus.next();
                }
                (_, None) => return ends,
            }
        }
    }

    #[test]
    fn on_an_exclusive_bus_transfers_run_one_after_another() {
        assert_eq!(ends(false, &[(0, 100), (50, 50), (60, 10), (500, 20)]), [100, 150, 160, 520]);
    }

    #[test]
    fn on_an_interleaved_bus_each_has_an_equal_share() {
        assert_eq!(ends(true, &[(0, 100), (0, 100)]), [200, 200]);
        // At 50 both have 50 left.
        assert_eq!(ends(true, &[(0, 100), (50, 50)]), [150, 150]);
        // From 40 on three share. By 70 the third has its 10, the first has 50 left and the second 80. Those two
        // share until 170, when the first ends; the second has 30 left.
        assert_eq!(ends(true, &[(0, 100), (40, 90), (40, 10)]), [170, 200, 70]);
        assert_eq!(ends(true, &[(0, 100)]), [100]);
    }

    #[test]
    fn a_replaced_appointment_is_void() {
        let mut bus = Transfers::new(true);
        let (at, first) = bus.begin(1, Nanos(100), Nanos(0)).unwrap();
        bus.begin(2, Nanos(100), Nanos(50));
        assert_eq!((at, bus.end(first, at)), (Nanos(100), None));
    }

    proptest! {
        /// Sharing does not change the throughput of the bus: the last transfer ends when it would on an exclusive
        /// bus, up to a nanosecond of each that is lost at each change.
        #[test]
        fn sharing_neither_gains_nor_loses(gaps in prop::collection::vec((0u64..1_000_000, 1u64..1_000_000), 1..20)) {
            let mut at = 0;
            let transfers: Vec<_> = gaps.into_iter().map(|(gap, takes)| { at += gap; (at, takes) }).collect();
            let last = |interleaved| ends(interleaved, &transfers).into_iter().max().unwrap();
            let most = 2 * (transfers.len() * transfers.len()) as u64;
            prop_assert!(last(true).abs_diff(last(false)) <= most, "{} {}", last(true), last(false));
            for (end, (at, takes)) in ends(true, &transfers).into_iter().zip(&transfers) {
                prop_assert!(end >= at + takes, "no transfer is faster than alone");
            }
        }
    }
}
