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
    /// How long after it the kernel asked the scheduler, where nothing waited for the device. It mostly does so when the task has gone on.
    pub run: Option<Nanos>,
    /// From the insertion of the task's next request to the device, for what the task was given.
    pub inserted: Option<Nanos>,
    /// What of that was after the scheduler had chosen, where that is known.
    pub choice: Option<Nanos>,
    /// How long after that the task asked once more, which it mostly does not.
    pub more: Option<Nanos>,
    /// For how long the task's clock had stood still by then ([`iopilot_sched::Scheduler::clock_stood`]).
    pub stood: Nanos,
    /// From one hand-over to the next of who was given both.
    pub follows: Option<Nanos>,
}

/// When a request was complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Situation {
    /// For how long nothing had been: the CPUs of a machine that has rested sleep, and where one follows another at once they are busy.
    pub rest: Nanos,
    /// What there is for the device to do.
    pub left: Left,
    /// Whether the scheduler has something.
    pub queued: bool,
}

impl Situation {
    const KINDS: usize = 2 * Left::KINDS;

    fn kind(self) -> usize {
        2 * self.left as usize + usize::from(self.queued)
    }
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

/// How much of a difference it makes that a request is complete after one of `rests` rests and in one kind of situation rather than after another
/// and in another.
fn unlike((rest, kind): (usize, usize), (other_rest, other_kind): (usize, usize), rests: usize) -> usize {
    let rested = if (rest == 0) == (other_rest == 0) {
        rest.abs_diff(other_rest)
    } else {
        // Where one follows another at once its task goes on on another CPU, which has rested.
        rests - rest.max(other_rest)
    };
    let (left, other_left) = (kind / 2, other_kind / 2);
    let waiting = [left, other_left].map(|left| left == Left::Waiting as usize);
    // Whether the device has others makes the least difference: nobody has to hand these over.
    let left = usize::from(left != other_left);
    let queued = usize::from(kind % 2 != other_kind % 2);
    left + 2 * rested + 2 * rests * (queued + 2 * usize::from(waiting[0] != waiting[1]))
}

/// What was seen to happen under a scheduler, to be drawn from.
#[derive(Clone, Debug)]
pub struct Turnarounds {
    /// By the rest: the first is of none, each other from so long a rest on; and by what was left. None is empty.
    of: Vec<(Nanos, [Arc<[Turnaround]>; Situation::KINDS])>,
}

impl Turnarounds {
    /// Those of `all`, of which each that happened after a rest as long as one of `rests`, from the least on, is of the longest of these. Below the
    /// least one the turnaround before is not over. `None` where there are none.
    pub fn new(rests: &[Nanos], all: impl IntoIterator<Item = (Situation, Turnaround)>) -> Option<Self> {
        let mut seen: Vec<[Vec<Turnaround>; Situation::KINDS]> = vec![Default::default(); rests.len() + 1];
        for (situation, turnaround) in all {
            seen[rests.partition_point(|&from| from <= situation.rest)][situation.kind()].push(turnaround);
        }
        let like = |rest: usize, kind: usize| {
            let mut all: Vec<(usize, usize)> =
                (0..seen.len()).flat_map(|rest| (0..Situation::KINDS).map(move |kind| (rest, kind))).collect();
            all.sort_by_key(|&other| unlike((rest, kind), other, seen.len()));
            let next = all.into_iter().map(|(rest, kind)| &seen[rest][kind]);
            let enough = next.clone().find(|of| of.len() >= ENOUGH);
            enough.or_else(|| next.max_by_key(|of| of.len())).map(|of| Arc::from(of.as_slice())).unwrap_or_default()
        };
        let from = std::iter::once(Nanos::ZERO).chain(rests.iter().copied()).enumerate();
        let of: Vec<(Nanos, [Arc<[Turnaround]>; Situation::KINDS])> =
            from.map(|(rest, from)| (from, std::array::from_fn(|kind| like(rest, kind)))).collect();
        of.iter().flat_map(|(_, of)| of).all(|of| !of.is_empty()).then_some(Self { of })
    }

    /// The same, but what was seen often enough in a situation among `those` is as it was there.
    #[must_use]
    pub fn rather(&self, those: impl IntoIterator<Item = (Situation, Turnaround)>) -> Self {
        let mut seen: Vec<[Vec<Turnaround>; Situation::KINDS]> = vec![Default::default(); self.of.len()];
        for (situation, turnaround) in those {
            seen[self.rested(situation.rest)][situation.kind()].push(turnaround);
        }
        let mut of = self.of.clone();
        for (kinds, (_, all)) in seen.into_iter().zip(&mut of) {
            let enough = kinds.into_iter().zip(all).filter(|(seen, _)| seen.len() >= ENOUGH);
            enough.for_each(|(seen, all)| *all = seen.into());
        }
        Self { of }
    }

    /// Which of the rests it is.
    fn rested(&self, rest: Nanos) -> usize {
        self.of.partition_point(|&(from, _)| from <= rest).max(1) - 1
    }

    /// One that was seen in such a situation.
    pub(crate) fn draw(&self, situation: Situation, random: &mut impl Rng) -> Turnaround {
        let of = &self.of[self.rested(situation.rest)].1[situation.kind()];
        of[random.random_range(0..of.len())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_pcg::Pcg64Mcg;

    fn situation(rest: u64, left: Left, queued: bool) -> Situation {
        Situation { rest: Nanos(rest), left, queued }
    }

    #[test]
    fn it_is_as_it_was_in_the_same_situation_or_else_in_one_like_it() {
        use Left::{Nothing, Others, Waiting};
        let resumed = |us: u64| Turnaround { resumed: Nanos::from_micros(us), ..Turnaround::default() };
        let seen = |rest, (left, queued), us, times: usize| {
            std::iter::repeat_n((situation(rest, left, queued), resumed(us)), times)
        };
        let all = seen(100, (Waiting, false), 1, ENOUGH)
            .chain(seen(900, (Others, false), 2, ENOUGH))
            .chain(seen(900, (Waiting, false), 3, ENOUGH - 1))
            .chain(seen(50, (Waiting, true), 4, ENOUGH));
        let turnarounds = Turnarounds::new(&[Nanos(70), Nanos(500)], all).unwrap();
        let mut random = Pcg64Mcg::seed_from_u64(1);
        let mut drawn = |rest, left, queued| turnarounds.draw(situation(rest, left, queued), &mut random);
        assert_eq!([70, 499].map(|rest| drawn(rest, Waiting, false)), [resumed(1); 2]);
        assert_eq!(drawn(500, Others, false), resumed(2));
        assert_eq!(drawn(500, Waiting, false), resumed(1), "too few");
        assert_eq!(drawn(69, Waiting, false), resumed(1), "after the next longer rest");
        assert_eq!(drawn(9999, Waiting, true), resumed(4), "after the shortest rest, but of the same");
        assert_eq!(drawn(0, Others, true), resumed(2), "whether something is queued or not");
        assert_eq!(drawn(0, Nothing, false), resumed(2), "neither");
        // What one of several recordings tells often enough is as it was there.
        let one =
            turnarounds.rather(seen(800, (Others, false), 8, ENOUGH).chain(seen(100, (Waiting, false), 9, ENOUGH - 1)));
        let mut drawn = |rest, left| one.draw(situation(rest, left, false), &mut random);
        assert_eq!([drawn(500, Others), drawn(100, Waiting)], [resumed(8), resumed(1)]);
        // Whether the device has others makes less of a difference than the rest; where there is none the task wakes a CPU that has rested.
        let all = seen(100, (Nothing, true), 5, ENOUGH).chain(seen(900, (Others, true), 6, ENOUGH)).chain(seen(
            100,
            (Others, false),
            7,
            ENOUGH,
        ));
        let turnarounds = Turnarounds::new(&[Nanos(70), Nanos(500)], all).unwrap();
        let mut drawn = |rest, left, queued| turnarounds.draw(situation(rest, left, queued), &mut random);
        assert_eq!([drawn(100, Others, true), drawn(0, Others, true)], [resumed(5), resumed(6)]);
        assert_eq!([drawn(0, Nothing, false), drawn(900, Nothing, true)], [resumed(7), resumed(6)]);
        assert!(Turnarounds::new(&[Nanos(500)], []).is_none());
        let one = Turnarounds::new(&[Nanos(500)], [(situation(0, Nothing, false), resumed(7))]).unwrap();
        assert_eq!(one.draw(situation(900, Waiting, true), &mut random), resumed(7));
    }
}
