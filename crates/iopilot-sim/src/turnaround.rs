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
    /// The longer one of the two rests before that. Where all three are short, tasks stream from the device, and the CPUs are awake.
    pub before: Nanos,
    /// How many of a thousand requests were complete by then: where tasks begin the CPUs are busy.
    pub complete: u16,
    /// What there is for the device to do.
    pub left: Left,
    /// Whether the scheduler has something; where one request waits for the device already, whether it would give another beside that and not keep the
    /// device for the task that goes on.
    pub queued: bool,
}

/// How a [`Situation`] came, after what rest, and what is left. In this order one makes more of a difference than the other.
#[derive(Clone, Copy, Debug)]
struct Kind {
    queued: bool,
    left: Left,
    /// Which of the rests.
    rest: usize,
    /// In which [part](PARTS).
    part: usize,
    /// Whether tasks stream from the device.
    streams: bool,
}

/// From how many complete requests of a thousand on each part is, but the first: a task's first, the rest of a quarter, and all others. What happens in the
/// beginning costs most, and what is rare is not as frequent in each.
const PARTS: [u16; 2] = [50, 250];

impl Kind {
    /// How many there are that differ in nothing but part and streams.
    const ALIKE: usize = 2 * (PARTS.len() + 1);

    /// All there are where there are so many `rests`, in the order of their [indices](Self::index).
    fn all(rests: usize) -> impl Iterator<Item = Self> {
        let by_left = move |queued: bool| Left::ALL.into_iter().map(move |left| (queued, left));
        let by_rest = move |(queued, left)| (0..rests).map(move |rest| (queued, left, rest));
        let alike = |(queued, left, rest)| {
            (0..Self::ALIKE).map(move |n| Self { queued, left, rest, part: n / 2, streams: n % 2 > 0 })
        };
        [false, true].into_iter().flat_map(by_left).flat_map(by_rest).flat_map(alike)
    }

    fn index(self, rests: usize) -> usize {
        let unlike = (usize::from(self.queued) * Left::ALL.len() + self.left as usize) * rests + self.rest;
        unlike * Self::ALIKE + 2 * self.part + usize::from(self.streams)
    }

    /// How much of a difference it makes that it is of this kind and not of the `other`.
    fn unlike(self, other: Self, rests: usize) -> usize {
        let rested = if (self.rest == 0) == (other.rest == 0) {
            self.rest.abs_diff(other.rest)
        } else {
            // Where one follows another at once its task goes on on another CPU, which has rested.
            rests - self.rest.max(other.rest)
        };
        let waiting = [self.left, other.left].map(|left| left == Left::Waiting);
        let queued = usize::from(self.queued != other.queued);
        let most = queued + 2 * usize::from(waiting[0] != waiting[1]);
        // Whether the device has others makes little: nobody has to hand these over. What else the CPUs do decides who of two comes first now and
        // then, but hardly how long anything takes.
        let left = usize::from(self.left != other.left);
        let alike = usize::from(self.streams != other.streams) + 2 * self.part.abs_diff(other.part);
        alike + Self::ALIKE * (left + 2 * rested + 2 * rests * most)
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
    const ALL: [Self; 3] = [Self::Nothing, Self::Others, Self::Waiting];
}

/// What was seen to happen under a scheduler, to be drawn from.
#[derive(Clone, Debug)]
pub struct Turnarounds {
    /// The rests that are told apart: each from so long on, the first from none.
    rests: Vec<Nanos>,
    /// By the [index](Kind::index) of the kind. None is empty.
    of: Vec<Arc<[Turnaround]>>,
}

impl Turnarounds {
    /// Those of `all`, of which each that happened after a rest as long as one of `rests`, from the least on, is of the longest of these. Below the
    /// least one the turnaround before is not over; from the longest on a machine has rested. `None` where there are none.
    pub fn new(rests: &[Nanos], all: impl IntoIterator<Item = (Situation, Turnaround)>) -> Option<Self> {
        let rests: Vec<Nanos> = std::iter::once(Nanos::ZERO).chain(rests.iter().copied()).collect();
        let nothing = Self { of: vec![Arc::default(); Kind::all(rests.len()).count()], rests };
        let seen = nothing.by_kind(all);
        let rests = nothing.rests.len();
        let like = |kind: Kind| {
            let mut all: Vec<Kind> = Kind::all(rests).collect();
            all.sort_by_key(|&other| kind.unlike(other, rests));
            let next = all.into_iter().map(|kind| &seen[kind.index(rests)]);
            let enough = next.clone().find(|of| of.len() >= ENOUGH);
            enough.or_else(|| next.max_by_key(|of| of.len())).map(|of| Arc::from(of.as_slice())).unwrap_or_default()
        };
        let of: Vec<Arc<[Turnaround]>> = Kind::all(rests).map(like).collect();
        of.iter().all(|of| !of.is_empty()).then_some(Self { of, ..nothing })
    }

    /// The same, but what was seen often enough in a situation among `those` is as it was there.
    #[must_use]
    pub fn rather(&self, those: impl IntoIterator<Item = (Situation, Turnaround)>) -> Self {
        let seen = self.by_kind(those).into_iter().zip(&self.of);
        let of = seen.map(|(seen, all)| if seen.len() >= ENOUGH { seen.into() } else { all.clone() });
        Self { of: of.collect(), rests: self.rests.clone() }
    }

    fn by_kind(&self, all: impl IntoIterator<Item = (Situation, Turnaround)>) -> Vec<Vec<Turnaround>> {
        let mut seen = vec![Vec::new(); self.of.len()];
        for (situation, turnaround) in all {
            seen[self.index(situation)].push(turnaround);
        }
        seen
    }

    /// Where in `of` those of such a situation are.
    fn index(&self, Situation { rest, before, complete, left, queued }: Situation) -> usize {
        let of = |rest: Nanos| self.rests.partition_point(|&from| from <= rest).max(1) - 1;
        let streams = of(before) + 1 < self.rests.len();
        let part = PARTS.partition_point(|&from| from <= complete);
        Kind { queued, left, rest: of(rest), part, streams }.index(self.rests.len())
    }

    /// One that was seen in such a situation.
    pub(crate) fn draw(&self, situation: Situation, random: &mut impl Rng) -> Turnaround {
        let of = &self.of[self.index(situation)];
        of[random.random_range(0..of.len())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_pcg::Pcg64Mcg;

    fn situation(rest: u64, left: Left, queued: bool) -> Situation {
        Situation { rest: Nanos(rest), before: Nanos::MAX, complete: 999, left, queued }
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

    #[test]
    fn in_each_part_and_where_tasks_stream_it_is_as_it_was_there() {
        let resumed = |us: u64| Turnaround { resumed: Nanos::from_micros(us), ..Turnaround::default() };
        let one = |before: u64, complete: u16| Situation {
            before: Nanos(before),
            complete,
            ..situation(100, Left::Waiting, false)
        };
        let seen = |situation, us, times| std::iter::repeat_n((situation, resumed(us)), times);
        let [steady, streams, early, begins] = [one(500, 250), one(499, 250), one(500, 249), one(500, 49)];
        let mut random = Pcg64Mcg::seed_from_u64(1);
        let mut drawn = |all: Vec<(Situation, Turnaround)>| {
            let turnarounds = Turnarounds::new(&[Nanos(70), Nanos(500)], all).unwrap();
            [steady, streams, early, begins].map(|one| turnarounds.draw(one, &mut random))
        };
        let all = seen(steady, 1, ENOUGH).chain(seen(streams, 2, ENOUGH));
        assert_eq!(drawn(all.clone().collect()), [1, 2, 1, 1].map(resumed));
        let all = all.chain(seen(begins, 4, ENOUGH));
        assert_eq!(drawn(all.clone().collect())[3], resumed(4));
        assert_eq!(drawn(all.chain(seen(early, 3, ENOUGH)).collect()), [1, 2, 3, 4].map(resumed));
        // Sooner so than after another rest.
        let rested = Situation { rest: Nanos(500), ..begins };
        let all = seen(steady, 1, ENOUGH).chain(seen(rested, 4, ENOUGH));
        assert_eq!(drawn(all.collect()), [1, 1, 1, 1].map(resumed));
    }
}
