//! [`Asks`]: who asks the scheduler, when, and what he has been given.

use crate::hand_over::{After, Ask, HandOver, HandOvers};
use crate::{Left, Situation, Turnaround};
use iopilot_block::{Nanos, ProcessId, ProcessMap, RequestId};
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;
use std::collections::VecDeque;

/// Who was given a request asks for another so much later, where nobody saw when.
const AGAIN: Nanos = Nanos(3_500);
/// For so long the scheduler is locked while it is asked, where nobody saw that: who wants to ask meanwhile waits.
const LOCKED: Nanos = Nanos(3_000);
/// What the scheduler gave and the device has no room for waits for it so much later: the kernel looks for a tag first, and who has looked by then
/// whether anything waits asks the scheduler all the same. Of tasks that came up to 6 us after a scheduler that gave something had been asked nine
/// in ten did, of those that came after 9 us hardly any.
const LEFT_OVER: Nanos = Nanos(6_000);

/// When the scheduler is to be asked, and what it gave.
#[derive(Clone, Debug)]
pub(crate) struct Asks {
    hand_overs: HandOvers,
    /// In no order; as many as there are CPUs that run the queue, which are few.
    due: Vec<Due>,
    /// Who asks now, and who is about to.
    asker: Asker,
    next_asker: Asker,
    /// What the scheduler gave and the device has still to get, in this order, and to whom.
    chosen: VecDeque<(RequestId, Asker)>,
    /// What is on its way, and when it gets there: one request of whoever was given some.
    on_way: Vec<(Nanos, RequestId, Asker)>,
    /// The number of the last who asked one after the other.
    number: u64,
    /// Above zero where the device was full just now (the kernel's `dispatch_busy`): then the scheduler is asked for one request at a time.
    busy: u32,
    /// When something was complete last, and how long the two rests before that were.
    last: Nanos,
    rests: [Nanos; 2],
    /// How many are complete.
    complete: usize,
    /// Of each task the last turnaround, where they are drawn.
    turns: ProcessMap<Turnaround>,
    random: Pcg64Mcg,
    /// Until when the scheduler is locked, where nobody saw that.
    locked: Nanos,
    /// From when on what is left over waits for the device.
    left_over: Nanos,
}

/// Who asks a scheduler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Asker {
    /// When he asks first.
    first: Nanos,
    /// What his clock shows, where it stands still.
    clock: Option<Nanos>,
    /// What he takes from then to the device.
    choice: Nanos,
    /// For how long the scheduler is locked when he asks first.
    locked: Nanos,
    /// Which request he asks after, and what happened to it, where he was seen to: he asks even where somebody else has something that waits
    /// for the device.
    seen: Option<(u64, After)>,
    /// How long after what he hands over he asks again, where that is known.
    then: Option<Nanos>,
    /// How often he has asked for more.
    times: usize,
    /// Which of those he is who ask one after the other; 0 for one who asks for all at once.
    number: u64,
    /// When he looked whether anything waits for the device, where he has handed a request to the scheduler and nobody saw him ask.
    looked: Option<Nanos>,
    /// Whether he has in hand what waits for the device.
    restarts: bool,
}

/// That a scheduler is to be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Due {
    at: Nanos,
    by: Asker,
}

impl Asks {
    pub(crate) fn new(hand_overs: HandOvers, seed: u64) -> Self {
        let [asker, next_asker] = [Asker::default(); 2];
        let (due, chosen, on_way) = (Vec::new(), VecDeque::new(), Vec::new());
        let (turns, random) = (ProcessMap::default(), Pcg64Mcg::seed_from_u64(seed.wrapping_add(1)));
        let [last, locked, left_over] = [Nanos::ZERO; 3];
        Self {
            hand_overs,
            due,
            asker,
            next_asker,
            chosen,
            on_way,
            number: 0,
            busy: 0,
            last,
            rests: [Nanos::MAX; 2],
            complete: 0,
            turns,
            random,
            locked,
            left_over,
        }
    }

    /// The times of the request of handle `tag` of task `process`: what was recorded of it, or else what was drawn for the task.
    fn times(&self, tag: u64, process: ProcessId) -> Turnaround {
        if self.hand_overs.usually().is_some() {
            return self.turns.get(&process).copied().unwrap_or_default();
        }
        let HandOver { inserted, completed, issued, heard, stood, .. } = *self.hand_overs.of(tag);
        let (restarted, follows) = (completed, issued);
        Turnaround { heard, restarted, inserted, stood, follows, ..Turnaround::default() }
    }

    /// Which request gets the tag of that of handle `tag`, where that is known, and how long after that is complete it looks for it if it
    /// is in the device `usual` later.
    pub(crate) fn next_of(&self, tag: u64, usual: Nanos) -> Option<(u64, Nanos)> {
        let HandOver { completed, next, .. } = self.hand_overs.of(tag);
        Some(((*next)?, completed.unwrap_or_default().since(usual)))
    }

    /// Whether the request of handle `tag` gets the tag of a certain other one.
    pub(crate) fn is_heir(&self, tag: u64) -> bool {
        self.hand_overs.is_heir(tag)
    }

    /// For how long its task's clock has stood still as that hands the request of handle `tag` to the scheduler.
    pub(crate) fn stood(&mut self, tag: u64, process: ProcessId) -> Nanos {
        // It comes from elsewhere when it hands over its first.
        if let Some(usual) = self.hand_overs.usually().filter(|_| !self.turns.contains_key(&process)) {
            let [rest, before] = [Nanos::MAX; 2];
            let situation = Situation { rest, before, complete: 0, left: Left::Others, queued: false };
            self.turns.insert(process, usual.turnarounds.draw(situation, &mut self.random));
        }
        self.times(tag, process).stood
    }

    /// The request of handle `tag` is complete, and so much `left`: how long after it the scheduler hears of it, and its task.
    pub(crate) fn complete(
        &mut self,
        tag: u64,
        process: ProcessId,
        (left, queued): (Left, bool),
        now: Nanos,
    ) -> [Nanos; 2] {
        let rest = now.since(std::mem::replace(&mut self.last, now));
        let before = self.rests[0].max(self.rests[1]);
        self.rests = [rest, self.rests[0]];
        let were_complete = self.complete;
        self.complete += 1;
        let mut goes_on = false;
        if let Some(usual) = self.hand_overs.usually() {
            goes_on = usual.goes_on(tag);
            let complete = usual.per_thousand(were_complete);
            let situation = Situation { rest, before, complete, left, queued };
            self.turns.insert(process, usual.turnarounds.draw(situation, &mut self.random));
        }
        let Turnaround { heard, resumed, .. } = self.times(tag, process);
        [heard, if goes_on { resumed } else { Nanos::ZERO }]
    }

    /// The request of handle `tag` was handed to the scheduler.
    pub(crate) fn inserted(&mut self, tag: u64, process: ProcessId, now: Nanos, usual: Nanos) {
        let Turnaround { inserted, choice, more, stood, .. } = self.times(tag, process);
        let choice = choice.unwrap_or(self.hand_overs.choice());
        self.after((tag, After::Inserted), (inserted.unwrap_or(usual), choice), now, Some(now.since(stood)));
        if let Some(due) = self.due.last_mut().filter(|due| due.by.looked.is_some()) {
            due.by.then = more;
        }
    }

    /// It hears of it now that the request of handle `tag` is complete, and what waits is to be handed over, if anything `waits`.
    pub(crate) fn completed(&mut self, tag: u64, process: ProcessId, waits: bool, now: Nanos, usual: Nanos) {
        let Turnaround { restarted, heard, asked, run, .. } = self.times(tag, process);
        let choice = self.hand_overs.choice();
        let drawn = self.hand_overs.usually().is_some();
        let takes = if drawn && !waits { run.map(|run| run + choice) } else { restarted };
        self.after((tag, After::Completed), (takes.unwrap_or(usual + heard).since(heard), choice), now, None);
        if let Some(due) = self.due.last_mut() {
            due.by.then = asked.filter(|_| waits);
            due.by.restarts = waits && drawn;
        }
    }

    /// The request of handle `tag` has reached the device: the next that `by` was given is on its way; else the scheduler is asked again.
    pub(crate) fn issued(&mut self, (tag, process): (u64, ProcessId), by: Asker, now: Nanos, usual: Nanos) {
        let takes = self.times(tag, process).follows.unwrap_or(usual);
        let next = self.chosen.iter().position(|(_, of)| of.number == by.number).and_then(|at| self.chosen.remove(at));
        if let Some((id, by)) = next {
            self.on_way.push((now + takes, id, by));
            return;
        }
        let choice = self.hand_overs.choice();
        let takes = if by.looked.is_some() {
            // Of who had a request of his own it is known whether he asks on.
            let Some(then) = by.then else { return };
            then + choice
        } else if self.hand_overs.of(tag).asked.as_ref().is_none_or(|asked| asked.issued.is_some()) {
            by.then.map_or(takes, |then| then + choice)
        } else {
            return;
        };
        self.after((tag, After::Issued), (takes, choice), now, by.clock);
    }

    /// Has the scheduler asked after `what` when that was seen, else in time for what takes `takes` from `now` to the device, of which `usual` is
    /// after it has chosen.
    fn after(&mut self, what: (u64, After), (takes, usual): (Nanos, Nanos), now: Nanos, clock: Option<Nanos>) {
        let seen = self.hand_overs.ask(what.0, what.1);
        let one_by_one = seen.is_some() || self.hand_overs.usually().is_some();
        let looked = (what.1 == After::Inserted && self.hand_overs.usually().is_some()).then_some(now);
        let by = Asker { clock, seen: seen.map(|_| what), looked, ..Asker::default() };
        let (first, by) = match seen {
            Some(Ask { after, locked, choice, .. }) => {
                // It hears late of what is complete.
                let heard = if what.1 == After::Completed { self.hand_overs.of(what.0).heard } else { Nanos::ZERO };
                let choice = choice.unwrap_or(usual);
                (now + after.since(heard), Asker { choice, locked: *locked, ..by })
            }
            None => (now + takes.since(usual), Asker { choice: usual, ..by }),
        };
        self.number += u64::from(one_by_one);
        let number = if one_by_one { self.number } else { 0 };
        self.due.push(Due { at: first, by: Asker { first, number, ..by } });
    }

    /// Who asks now has been given something and wants more: false where he asks before anybody else does anything, else true, and he does
    /// so later.
    pub(crate) fn asks_again(&mut self, now: Nanos) -> bool {
        let by @ Asker { first, seen, times, number, .. } = self.asker;
        if number > 0 {
            let again = seen.and_then(|(tag, after)| self.hand_overs.ask(tag, after)?.again.get(times));
            let at = again.map_or(now + AGAIN, |&again| now.max(first + again));
            self.due.push(Due { at, by: Asker { times: times + 1, ..by } });
        }
        number > 0
    }

    /// Whether the scheduler is asked once the request of handle `tag` is complete, whatever it says itself.
    pub(crate) fn asks_after_completion(&self, tag: u64, process: ProcessId) -> bool {
        match self.hand_overs.usually() {
            Some(_) => self.times(tag, process).run.is_some(),
            None => self.hand_overs.ask(tag, After::Completed).is_some(),
        }
    }

    /// Whether nobody asks then, because the task's next request is there soon.
    pub(crate) fn is_quiet_after(&self, tag: u64, process: ProcessId) -> bool {
        self.hand_overs.usually().is_some_and(|usual| usual.goes_on(tag)) && self.times(tag, process).run.is_none()
    }

    /// Whether who asks now does so even where something waits for the device: he was seen to, or looked before it did.
    pub(crate) fn asks_beside(&self) -> bool {
        let looked = self.asker.looked.is_some_and(|looked| looked < self.left_over);
        self.asker.seen.is_some() || looked || self.is_early()
    }

    /// Whether who asks now has a request of his own, and another has what waits for the device in hand.
    pub(crate) fn is_early(&self) -> bool {
        self.asker.looked.is_some() && self.due.iter().any(|due| due.by.restarts)
    }

    /// What the scheduler gave now is left over.
    pub(crate) fn leaves_over(&mut self, now: Nanos) {
        self.left_over = now + LEFT_OVER;
    }

    /// The scheduler gave `id`, for which the device has room: it is on its way, or comes after what whoever asked was given before.
    pub(crate) fn chosen(&mut self, id: RequestId, now: Nanos) {
        let by = self.asker;
        if self.on_way.iter().any(|(_, _, of)| of.number == by.number) {
            self.chosen.push_back((id, by));
            return;
        }
        self.was_busy(false);
        self.on_way.push((now.max(by.first + by.choice), id, by));
    }

    /// When the first that is on its way reaches the device.
    pub(crate) fn next_issue(&self) -> Option<Nanos> {
        self.on_way.iter().map(|&(at, ..)| at).min()
    }

    /// What reaches the device by `now`, if anything does, and who hands it over.
    pub(crate) fn take_issue(&mut self, now: Nanos) -> Option<(RequestId, Asker)> {
        let first = self.next_issue().filter(|&at| at <= now)?;
        let at = self.on_way.iter().position(|&(at, ..)| at == first)?;
        let (_, id, by) = self.on_way.remove(at);
        Some((id, by))
    }

    /// The device was full, or was not (`blk_mq_update_dispatch_busy`): remembered for a while.
    pub(crate) fn was_busy(&mut self, busy: bool) {
        self.busy = (self.busy * 7 + if busy { 16 } else { 0 }) / 8;
    }

    pub(crate) fn is_busy(&self) -> bool {
        self.busy > 0
    }

    /// When the scheduler is to be asked next.
    pub(crate) fn next(&self) -> Option<Nanos> {
        self.due.iter().map(|due| self.when(due)).min()
    }

    /// When whoever is `due` gets round to it: who asks for more waits for whoever has locked the scheduler.
    fn when(&self, due: &Due) -> Nanos {
        let locks =
            |other: &&Due| other.by.times == 0 && other.at > due.at && other.at.since(other.by.locked) <= due.at;
        let other = self.due.iter().filter(|_| due.by.times > 0).find(locks);
        other.map_or(due.at, |other| other.at + Nanos(1)).max(self.locked)
    }

    /// It is asked now.
    pub(crate) fn asked(&mut self, now: Nanos) {
        for n in 0..self.due.len() {
            self.due[n].at = self.when(&self.due[n]);
        }
        let last = self.due.iter().filter(|due| due.at <= now).max().copied();
        self.due.retain(|due| due.at > now);
        self.next_asker = last.map_or_else(|| self.somebody(now), |due| due.by);
    }

    /// For how long the clock of whoever asks now has stood still.
    pub(crate) fn begin_to_ask(&mut self, now: Nanos) -> Nanos {
        let somebody = self.somebody(now);
        self.asker = std::mem::replace(&mut self.next_asker, somebody);
        if self.hand_overs.usually().is_some() {
            self.locked = now + LOCKED;
        }
        self.asker.clock.map_or(Nanos::ZERO, |clock| now.since(clock))
    }

    /// Of whom no more is known than that he asks.
    fn somebody(&self, now: Nanos) -> Asker {
        Asker { first: now, choice: self.hand_overs.choice(), ..Asker::default() }
    }
}

#[cfg(test)]
mod tests;
