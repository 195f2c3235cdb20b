//! [`MemberClock`]: which member has the next event.

use iopilot_block::Nanos;

/// The times of the members' next events, as a tournament tree: the earliest in O(1), a change in O(log members).
#[derive(Clone, Debug)]
pub(super) struct MemberClock {
    /// The winner of each pair; the members' leaves begin in the middle.
    tree: Vec<Nanos>,
    leaves: usize,
}

impl MemberClock {
    pub(super) fn new(members: u32) -> Self {
        let leaves = (members.max(1) as usize).next_power_of_two();
        Self { tree: vec![Nanos::MAX; 2 * leaves], leaves }
    }

    /// Sets the time of the next event of `member`.
    pub(super) fn set(&mut self, member: u32, at: Option<Nanos>) {
        let mut node = self.leaves + member as usize;
        self.tree[node] = at.unwrap_or(Nanos::MAX);
        while node > 1 {
            node /= 2;
            let winner = self.tree[2 * node].min(self.tree[2 * node + 1]);
            if self.tree[node] == winner {
                return;
            }
            self.tree[node] = winner;
        }
    }

    /// The earliest event; [`Nanos::MAX`] for none.
    pub(super) fn earliest(&self) -> Nanos {
        self.tree[1]
    }

    /// The member with the earliest event; the lowest among equals.
    pub(super) fn first(&self) -> u32 {
        let mut node = 1;
        while node < self.leaves {
            node *= 2;
            if self.tree[node] > self.tree[node + 1] {
                node += 1;
            }
        }
        (node - self.leaves) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_member_wins_and_the_lowest_among_equals() {
        let mut clock = MemberClock::new(5);
        assert_eq!(clock.earliest(), Nanos::MAX);
        for (member, at) in [(4, 30), (1, 20), (3, 20), (0, 50)] {
            clock.set(member, Some(Nanos(at)));
        }
        assert_eq!((clock.earliest(), clock.first()), (Nanos(20), 1));
        clock.set(1, None);
        assert_eq!((clock.earliest(), clock.first()), (Nanos(20), 3));
        clock.set(3, Some(Nanos(60)));
        assert_eq!((clock.earliest(), clock.first()), (Nanos(30), 4));
        let mut single = MemberClock::new(1);
        single.set(0, Some(Nanos(7)));
        assert_eq!((single.earliest(), single.first()), (Nanos(7), 0));
    }
}
