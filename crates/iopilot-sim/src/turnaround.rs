//! [`Turnarounds`]: what usually happens when a request is complete.

use iopilot_block::Nanos;
use rand::Rng;
use std::sync::Arc;

/// In a situation that was seen less often than this it is taken to be as in the next one.
const ENOUGH: usize = 20;

/// What happened once, from the completion of a request to the next one of its task. All of it belongs together: who wakes the task hands over
/// what waits, too, on the same CPU or on another, and which of the two comes first is not chance alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Turnaround {
    /// How long after it the task handed its next request to the scheduler, where it had nothing else to do.
    pub resumed: Nanos,
    /// How long after it the scheduler heard of it, and its tag was free.
    pub heard: Nanos,
    /// How long after it what waited for the device came there.
    pub restarted: Option<Nanos>,
    /// How long after that the scheduler was asked for more.
    pub asked: Option<Nanos>,
    /// From the insertion of the task's next request to the device.
    pub inserted: Option<Nanos>,
    /// For how long the task's clock had stood still by then ([`iopilot_sched::Scheduler::clock_stood`]).
    pub stood: Nanos,
    /// From one hand-over to the next of who was given both.
    pub follows: Option<Nanos>,
}

/// When a request was complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Situation {
    /// For how long nothing had been: the CPUs of a machine that has rested sleep.
    pub rest: Nanos,
    /// What there is to do.
    pub left: Left,
}

/// What there is for a device to do when a request is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// Nothing: the scheduler is asked.
    Nothing,
    /// It has others, and none has left the scheduler and waits for it.
    Others,
    /// One does.
    Waiting,
}

impl Left {
    const KINDS: usize = 3;
}

/// What was seen to happen under a scheduler, to be drawn from.
#[derive(Clone, Debug)]
pub struct Turnarounds {
    /// From so long a rest on a machine has rested.
    rested: Nanos,
    /// By whether it has, and by what was left. None is empty.
    of: [[Arc<[Turnaround]>; Left::KINDS]; 2],
}

impl Turnarounds {
    /// Those of `all`, with a machine that has rested `rested` long. `None` where there are none.
    pub fn new(rested: Nanos, all: impl IntoIterator<Item = (Situation, Turnaround)>) -> Option<Self> {
        let mut seen: [[Vec<Turnaround>; Left::KINDS]; 2] = Default::default();
        for (Situation { rest, left }, turnaround) in all {
            seen[usize::from(rest >= rested)][left as usize].push(turnaround);
        }
        // What is left makes more of a difference than whether the machine has rested.
        let like = |rest: usize, left: usize| {
            let others = (1..Left::KINDS).map(|n| (left + n) % Left::KINDS);
            let next = [rest, 1 - rest].map(|rest| &seen[rest][left]).into_iter();
            let next = next.chain(others.flat_map(|left| [rest, 1 - rest].map(|rest| &seen[rest][left])));
            let enough = next.clone().find(|of| of.len() >= ENOUGH);
            enough.or_else(|| next.max_by_key(|of| of.len())).map(|of| Arc::from(of.as_slice())).unwrap_or_default()
        };
        let of: [[Arc<[Turnaround]>; Left::KINDS]; 2] = [0, 1].map(|rest| std::array::from_fn(|left| like(rest, left)));
        of.iter().flatten().all(|of| !of.is_empty()).then_some(Self { rested, of })
    }

    /// One that was seen in such a situation.
    pub(crate) fn draw(&self, situation: Situation, random: &mut impl Rng) -> Turnaround {
        let of = &self.of[usize::from(situation.rest >= self.rested)][situation.left as usize];
        of[random.random_range(0..of.len())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_pcg::Pcg64Mcg;

    fn situation(rest: u64, left: Left) -> Situation {
        Situation { rest: Nanos(rest), left }
    }

    #[test]
    fn it_is_as_it_was_in_the_same_situation_or_else_in_one_like_it() {
        use Left::{Nothing, Others, Waiting};
        let resumed = |us: u64| Turnaround { resumed: Nanos::from_micros(us), ..Turnaround::default() };
        let seen = |rest, left, us, times: usize| std::iter::repeat_n((situation(rest, left), resumed(us)), times);
        let all = seen(100, Waiting, 1, ENOUGH).chain(seen(900, Others, 2, ENOUGH));
        let turnarounds = Turnarounds::new(Nanos(500), all.chain(seen(900, Waiting, 3, ENOUGH - 1))).unwrap();
        let mut random = Pcg64Mcg::seed_from_u64(1);
        let mut drawn = |rest, left| turnarounds.draw(situation(rest, left), &mut random);
        assert_eq!(drawn(499, Waiting), resumed(1));
        assert_eq!(drawn(500, Others), resumed(2));
        assert_eq!(drawn(500, Waiting), resumed(1), "too few");
        assert_eq!(drawn(0, Others), resumed(2), "none");
        assert_eq!(drawn(0, Nothing), resumed(2), "neither");
        assert!(Turnarounds::new(Nanos(500), []).is_none());
        let one = Turnarounds::new(Nanos(500), [(situation(0, Nothing), resumed(7))]).unwrap();
        assert_eq!(one.draw(situation(900, Waiting), &mut random), resumed(7));
    }
}
