//! [`Rests`]: who has rested takes longer to wake.

use iopilot_block::Nanos;

/// How much longer something takes in a machine that has rested: the longer a CPU is idle, the deeper it sleeps, and its caches cool.
#[derive(Clone, Debug, Default)]
pub struct Rests {
    /// From so long a rest on, so much longer; in the order of both.
    steps: Vec<(Nanos, Nanos)>,
    /// When the machine last did something.
    last: Option<Nanos>,
    /// For how long it had done nothing then.
    rest: Nanos,
}

impl Rests {
    /// What is done after a rest of a step's first time, or more, takes its second time longer; after several, that of the last of them. Without steps,
    /// nothing takes longer.
    pub fn new(steps: impl IntoIterator<Item = (Nanos, Nanos)>) -> Self {
        let mut steps: Vec<_> = steps.into_iter().collect();
        steps.sort_unstable();
        Self { steps, ..Self::default() }
    }

    /// By how much longer takes what is done at `now`, which ends a rest. Before the first time the machine had rested for long.
    pub fn end(&mut self, now: Nanos) -> Nanos {
        self.rest = self.last.map_or(Nanos::MAX, |last| now.since(last));
        self.last = Some(now);
        self.after(self.rest)
    }

    /// By how much longer takes what is done at `now`, where that ends no rest: as after the last one, or the one that there is, whichever is longer.
    pub fn within(&self, now: Nanos) -> Nanos {
        self.after(self.last.map_or(Nanos::MAX, |last| now.since(last).max(self.rest)))
    }

    fn after(&self, rest: Nanos) -> Nanos {
        let steps = self.steps.partition_point(|&(after, _)| after <= rest);
        steps.checked_sub(1).map_or(Nanos::ZERO, |last| self.steps[last].1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longer_the_rest_the_longer_it_takes() {
        let mut rests = Rests::new([(Nanos(5000), Nanos(30)), (Nanos(500), Nanos(10))]);
        let took = [0, 499, 999, 2000, 6999, 12_000].map(|now| rests.end(Nanos(now)).0);
        assert_eq!(took, [30, 0, 10, 10, 10, 30]);
        assert_eq!(Rests::default().end(Nanos(7)), Nanos::ZERO);
    }

    #[test]
    fn what_is_done_soon_after_a_rest_takes_longer_too() {
        let mut rests = Rests::new([(Nanos(500), Nanos(10)), (Nanos(5000), Nanos(30))]);
        assert_eq!(rests.within(Nanos(3)), Nanos(30), "it had rested for long");
        rests.end(Nanos(1000));
        assert_eq!(rests.within(Nanos(1100)), Nanos(30));
        rests.end(Nanos(1600));
        assert_eq!([1700, 2100, 6600].map(|now| rests.within(Nanos(now)).0), [10, 10, 30]);
        rests.end(Nanos(1700));
        assert_eq!([1700, 2100, 2200].map(|now| rests.within(Nanos(now)).0), [0, 0, 10]);
    }
}
