//! [`HandOvers`]: when a kernel asks its scheduler, as a recording tells it or as it usually does.

use crate::Turnarounds;
use iopilot_block::Nanos;
use std::sync::Arc;

/// When a scheduler was asked, where that was seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ask {
    /// So long after what it was asked for it put a queue in service, if it did: else it was asked then.
    pub after: Nanos,
    /// For how long it was locked by then: nobody else asks meanwhile.
    pub locked: Nanos,
    /// How long after that who was given something asked for more, and for more again.
    pub again: Vec<Nanos>,
    /// From then to the device, where something went there at once.
    pub choice: Option<Nanos>,
}

/// How long the kernel took to hand a request to the device, after something had happened to this one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HandOver {
    /// After it was handed to the scheduler; as [`crate::HostConfig::issue_us`] where that is not known.
    pub inserted: Option<Nanos>,
    /// After it was complete; as [`crate::HostConfig::restart_us`] where that is not known.
    pub completed: Option<Nanos>,
    /// After it was itself handed over, where another waited; as [`crate::HostConfig::issue_us`] where that is not known.
    pub issued: Option<Nanos>,
    /// When the scheduler was asked after the same three things, where that was watched: else so long before the device that it had time to
    /// choose.
    pub asked: Option<AskedAfter>,
    /// The handle of the request that got its tag, and `completed` how long that took, where that was in time. Nobody else gets the tag
    /// then, and that request no other; else who is fastest does.
    pub next: Option<u64>,
    /// How long after it was complete, and its task knew it, the scheduler heard of it, and its tag was free.
    pub heard: Nanos,
    /// For how long its task's clock had stood still when it was handed to the scheduler ([`iopilot_sched::Scheduler::clock_stood`]).
    pub stood: Nanos,
}

/// When a scheduler was asked after something had happened to a request, if it was: it is not where something waits for the device, and who
/// has handed over a request does not always go on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AskedAfter {
    /// After it was handed to the scheduler.
    pub inserted: Option<Ask>,
    /// After it was complete.
    pub completed: Option<Ask>,
    /// After it was itself handed over.
    pub issued: Option<Ask>,
}

/// What a scheduler is asked after.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum After {
    Inserted,
    Completed,
    Issued,
}

impl AskedAfter {
    pub(crate) fn get(&self, after: After) -> Option<&Ask> {
        match after {
            After::Inserted => self.inserted.as_ref(),
            After::Completed => self.completed.as_ref(),
            After::Issued => self.issued.as_ref(),
        }
    }
}

/// Those of the requests of a recording that is replayed under the scheduler it was recorded under, or what is usual under a scheduler, of
/// Linux 6; nothing changes under older ones.
///
/// Between an insertion, a completion or another hand-over and the device a kernel takes 2 to 35 µs, now and then 100, and what comes in
/// this time takes part in the choice. Two CPUs may ask at once, and take turns, each with a clock of its own. To a scheduler whose choices
/// hang on who came first, such as `bfq`, they make the difference between one course of a run and another.
#[derive(Clone, Debug)]
pub struct HandOvers {
    /// By the source's handle ([`crate::Arrival::tag`]).
    of: Arc<[HandOver]>,
    /// Of a request of which nothing is known.
    unknown: HandOver,
    /// From the scheduler's choice to the device: what is left of the times in `of` after it.
    choice: Nanos,
    /// By handle: whether it gets the tag of a certain other one.
    heirs: Arc<[bool]>,
    usual: Option<Usual>,
}

/// What usually happens, where the run itself was not recorded.
#[derive(Clone, Debug)]
pub(crate) struct Usual {
    pub(crate) turnarounds: Turnarounds,
    /// By handle: whether the task goes on at once when the request is complete.
    goes_on: Arc<[bool]>,
}

impl Usual {
    /// How many of a thousand requests `complete` are.
    pub(crate) fn per_thousand(&self, complete: usize) -> u16 {
        u16::try_from(1000 * complete / self.goes_on.len().max(1)).unwrap_or(u16::MAX)
    }

    /// Whether the task of the request of handle `tag` goes on at once when that is complete.
    pub(crate) fn goes_on(&self, tag: u64) -> bool {
        usize::try_from(tag).is_ok_and(|tag| self.goes_on.get(tag) == Some(&true))
    }
}

impl HandOvers {
    /// The time of handle `n` is `of[n]`; the scheduler chooses `choice` before the request reaches the device.
    pub fn new(of: Arc<[HandOver]>, choice: Nanos) -> Self {
        let mut heirs = vec![false; of.len()];
        for next in of.iter().filter_map(|one| usize::try_from(one.next?).ok()) {
            heirs.get_mut(next).into_iter().for_each(|heir| *heir = true);
        }
        Self { of, unknown: HandOver::default(), choice, heirs: heirs.into(), usual: None }
    }

    /// This run was not recorded, but others under the scheduler were: what happens when a request is complete is drawn from `turnarounds`. Of
    /// handle `n`, whose task `goes_on` at once then, the source tells when that would be in no time. Who is given a request asks for more one
    /// after the other, and whoever asks meanwhile comes between (Linux 6.9 and later).
    pub fn usual(turnarounds: Turnarounds, goes_on: Arc<[bool]>, choice: Nanos) -> Self {
        Self { usual: Some(Usual { turnarounds, goes_on }), ..Self::new([].into(), choice) }
    }

    pub(crate) fn of(&self, tag: u64) -> &HandOver {
        usize::try_from(tag).ok().and_then(|tag| self.of.get(tag)).unwrap_or(&self.unknown)
    }

    pub(crate) fn choice(&self) -> Nanos {
        self.choice
    }

    /// Whether the request of handle `tag` gets the tag of a certain other one.
    pub(crate) fn is_heir(&self, tag: u64) -> bool {
        usize::try_from(tag).is_ok_and(|tag| self.heirs.get(tag) == Some(&true))
    }

    /// When the scheduler was asked after that happened to the request of handle `tag`, if that was seen.
    pub(crate) fn ask(&self, tag: u64, after: After) -> Option<&Ask> {
        self.of(tag).asked.as_ref()?.get(after)
    }

    pub(crate) fn usually(&self) -> Option<&Usual> {
        self.usual.as_ref()
    }
}
