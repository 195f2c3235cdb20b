//! [`Transfers`]: data that move between a controller and the host.

use iopilot_block::Nanos;
use std::collections::VecDeque;

/// Operations whose data move, or wait to.
///
/// On a bus that is owned one moves at a time, in order of arrival. On an interleaved one all move at once, each with an equal
/// share of the rate (Ganger A.1.2.1).
#[derive(Clone, Debug)]
pub(super) struct Transfers {
    interleaved: bool,
    /// In order of arrival, each with the time that it would still take alone.
    all: VecDeque<(u32, Nanos)>,
    /// Since when that holds.
    since: Nanos,
    /// The number of the last appointment; older ones no longer hold.
    appointment: u64,
}

impl Transfers {
    pub(super) fn new(interleaved: bool) -> Self {
        Self { interleaved, all: VecDeque::new(), since: Nanos::ZERO, appointment: 0 }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The data of `operation`, which would take `time` alone, are to move. When the next is over, if that is new.
    pub(super) fn begin(&mut self, operation: u32, time: Nanos, now: Nanos) -> Option<(Nanos, u64)> {
        self.pass(now);
        self.all.push_back((operation, time));
        if self.interleaved || self.all.len() == 1 { self.next() } else { None }
    }

    /// The operation that is over at `now`, by the appointment with this number.
    pub(super) fn end(&mut self, appointment: u64, now: Nanos) -> Option<u32> {
        if appointment != self.appointment {
            return None;
        }
        self.pass(now);
        let over = self.all.iter().position(|&(_, left)| left == Nanos::ZERO)?;
        self.all.remove(over).map(|(operation, _)| operation)
    }

    /// When the next is over, and the number of that appointment.
    pub(super) fn next(&mut self) -> Option<(Nanos, u64)> {
        let left = self.all.iter().take(self.moving()).map(|&(_, left)| left).min()?;
        self.appointment += 1;
        Some((self.since + Nanos(left.0 * self.moving() as u64), self.appointment))
    }

    /// How many move at once.
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

    /// When each of the transfers is over, of which each begins at a time and takes one alone.
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
    fn on_an_owned_bus_one_follows_the_other() {
        assert_eq!(ends(false, &[(0, 100), (50, 50), (60, 10), (500, 20)]), [100, 150, 160, 520]);
    }

    #[test]
    fn on_an_interleaved_bus_each_has_an_equal_share() {
        assert_eq!(ends(true, &[(0, 100), (0, 100)]), [200, 200]);
        // At 50 both have 50 left.
        assert_eq!(ends(true, &[(0, 100), (50, 50)]), [150, 150]);
        // From 40 on three share: by 70 the third has its 10, and the first has 50 left, the second 80. Those two share until
        // 170, when the first is over; 30 of the second are left.
        assert_eq!(ends(true, &[(0, 100), (40, 90), (40, 10)]), [170, 200, 70]);
        assert_eq!(ends(true, &[(0, 100)]), [100]);
    }

    #[test]
    fn an_appointment_that_another_replaced_does_not_hold() {
        let mut bus = Transfers::new(true);
        let (at, first) = bus.begin(1, Nanos(100), Nanos(0)).unwrap();
        bus.begin(2, Nanos(100), Nanos(50));
        assert_eq!((at, bus.end(first, at)), (Nanos(100), None));
    }

    proptest! {
        /// Whoever shares it, the bus moves as much in as much time: the last is over when it would be on an owned bus, but for
        /// a nanosecond of each that is lost at each change.
        #[test]
        fn sharing_neither_gains_nor_loses(gaps in prop::collection::vec((0u64..1_000_000, 1u64..1_000_000), 1..20)) {
            let mut at = 0;
            let transfers: Vec<_> = gaps.into_iter().map(|(gap, takes)| { at += gap; (at, takes) }).collect();
            let last = |interleaved| ends(interleaved, &transfers).into_iter().max().unwrap();
            let most = 2 * (transfers.len() * transfers.len()) as u64;
            prop_assert!(last(true).abs_diff(last(false)) <= most, "{} {}", last(true), last(false));
            for (end, (at, takes)) in ends(true, &transfers).into_iter().zip(&transfers) {
                prop_assert!(end >= at + takes, "nobody is faster than alone");
            }
        }
    }
}
