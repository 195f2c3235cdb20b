//! [`Guess`]: one way in which it may have gone.

use super::Event;
use super::queue::Queue;
use iopilot_block::Nanos;
use iopilot_sched::Scheduler;
use std::rc::Rc;

/// How long after it could have chosen the kernel may have chosen: it first has to get round to it, and what it is handed
/// meanwhile by another CPU may be in time or not.
pub(super) const RACE: Nanos = Nanos(100_000);

/// One way in which it may have gone, as far as can be seen from outside.
#[derive(Clone)]
pub(super) struct Guess<'a> {
    pub(super) queue: Queue<'a>,
    /// The queue before the latest choice, and when that was made.
    pub(super) before: Option<(Rc<Queue<'a>>, Nanos)>,
    /// What happened since then.
    pub(super) since: Vec<(Nanos, Event)>,
    /// How often it went otherwise than it mostly does.
    pub(super) surprises: u32,
}

impl<'a> Guess<'a> {
    pub(super) fn new(queue: Queue<'a>) -> Self {
        Self { queue, before: None, since: Vec::new(), surprises: 0 }
    }

    /// Has the queue `act` at `now`, and adds to `others` what it may have come to instead.
    fn act<R>(&mut self, now: Nanos, others: &mut Vec<Self>, act: impl Fn(&mut Queue<'a>) -> R) {
        let either = self.queue.either(now, act);
        others.extend(either.into_iter().map(|queue| Self { queue, ..self.surprising() }));
    }

    /// The same, but for one more surprise.
    fn surprising(&self) -> Self {
        Self { surprises: self.surprises + 1, ..self.clone() }
    }

    /// Takes in `event`, which is not an issue.
    pub(super) fn take(&mut self, now: Nanos, event: Event, others: &mut Vec<Self>) {
        self.since.push((now, event));
        self.act(now, others, |queue| queue.apply(now, event));
    }

    /// Does what the scheduler wanted to do until `now`.
    pub(super) fn timers(&mut self, now: Nanos, others: &mut Vec<Self>) {
        while let Some(at) = self.queue.next_timer().filter(|&at| at <= now) {
            // Where the scheduler has the queue run, that is the retry, too.
            if self.queue.timer.take_if(|timer| *timer <= at).is_some() {
                self.queue.retry = None;
            }
            self.queue.retry.take_if(|retry| *retry <= at);
            self.look_ahead(at, others);
        }
    }

    /// Runs the queue as the kernel does after `event`.
    pub(super) fn run(&mut self, now: Nanos, event: Event, others: &mut Vec<Self>) {
        if !matches!(event, Event::Completed(_)) {
            self.look_ahead(now, others);
        } else if self.queue.pulled.is_empty() {
            match self.queue.scheduler.runs_after_completion() {
                Some(at) if at <= now => {
                    self.queue.retry = None;
                    self.look_ahead(now, others);
                }
                at => self.queue.timer = at.filter(|_| self.queue.scheduler.queued() > 0),
            }
        }
    }

    /// Chooses the next one, unless that is chosen already: the kernel's queue is one ahead of the device.
    pub(super) fn look_ahead(&mut self, now: Nanos, others: &mut Vec<Self>) {
        if self.queue.pulled.is_empty() {
            let before = Rc::new(self.queue.clone());
            let from = others.len();
            self.act(now, others, |queue| queue.pull(now));
            for guess in others[from..].iter_mut().chain([self]).filter(|guess| !guess.queue.pulled.is_empty()) {
                guess.before = Some((Rc::clone(&before), now));
                guess.since.clear();
            }
        }
    }

    /// The same if the latest choice was made only now, which is just after it was possible.
    pub(super) fn later(&self, now: Nanos) -> Vec<Self> {
        self.chosen_after(&self.since, now)
    }

    /// The same if the latest choice was made just before `event`, and whoever did that had not heard of it: to his clock, which stands
    /// still, bfq's queue in service has not come there yet.
    pub(super) fn overtook(&self, now: Nanos, event: Event) -> Vec<Self> {
        let Some((_, earlier)) = self.since.split_last().filter(|_| self.queue.is_bfq()) else { return Vec::new() };
        let mut others = Vec::new();
        for mut guess in self.chosen_after(earlier, now) {
            guess.act(now, &mut others, |queue| queue.apply(now, event));
        }
        others
    }

    /// What comes of it if the scheduler hears of `completed` only after `inserted`; both are new.
    pub(super) fn heard_late(mut self, now: Nanos, inserted: Event, completed: Event) -> Vec<Self> {
        let mut others = Vec::new();
        self.timers(now, &mut others);
        let mut ways = vec![self.surprising()];
        for event in [inserted, completed] {
            ways.append(&mut others);
            ways.iter_mut().for_each(|way| way.take(now, event, &mut others));
        }
        ways.append(&mut others);
        ways.iter_mut().for_each(|way| way.run(now, completed, &mut others));
        ways.append(&mut others);
        ways
    }

    /// The same if the latest choice was made only now, after `events`, which is within the race.
    fn chosen_after(&self, events: &[(Nanos, Event)], now: Nanos) -> Vec<Self> {
        let settled = self.since.iter().any(|(_, event)| matches!(event, Event::Issued(_)));
        let Some((before, _)) = self.before.as_ref().filter(|(_, at)| !settled && now.since(*at) <= RACE) else {
            return Vec::new();
        };
        let mut ways = vec![Self { queue: Queue::clone(before), ..self.surprising() }];
        let mut others = Vec::new();
        for &(at, event) in events {
            ways.iter_mut().for_each(|way| way.act(at, &mut others, |queue| queue.apply(at, event)));
            ways.append(&mut others);
        }
        ways.iter_mut().for_each(|way| way.act(now, &mut others, |queue| queue.pull(now)));
        ways.append(&mut others);
        ways.retain(|way| !way.queue.pulled.is_empty());
        ways
    }

    /// The same if two CPUs chose at once, and each has one that waits for the device. That makes a difference to bfq only, as the clock
    /// of one may be behind that of the other.
    pub(super) fn both(&self, now: Nanos) -> Vec<Self> {
        let at_once = self.before.as_ref().is_some_and(|(_, at)| now.since(*at) <= RACE);
        if !at_once || self.queue.pulled.len() != 1 || !self.queue.is_bfq() {
            return Vec::new();
        }
        let mut ways =
            vec![Self { before: Some((Rc::new(self.queue.clone()), now)), since: Vec::new(), ..self.surprising() }];
        let mut others = Vec::new();
        ways[0].act(now, &mut others, |queue| queue.pull(now));
        ways.append(&mut others);
        ways.retain(|way| way.queue.pulled.len() == 2);
        ways
    }

    /// The kernel has chosen record `n` where something else was chosen here: bfq and kyber go on from the kernel's choice, as
    /// what they choose next hangs on whom they serve.
    pub(super) fn steer(&mut self, n: usize, now: Nanos) {
        let mut queue = match &self.before {
            Some((before, _)) => Queue::clone(before),
            None if self.queue.pulled.is_empty() => self.queue.clone(),
            None => return,
        };
        if self.before.is_some() {
            for &(at, event) in &self.since {
                match event {
                    Event::Issued(n) if queue.steer(n, at) => queue.issued(n, at),
                    Event::Issued(_) => return,
                    event => queue.apply(at, event),
                }
            }
        }
        if queue.steer(n, now) {
            (self.queue, self.before) = (queue, None);
        }
    }

    /// Whether it has chosen record `n` next, or next but one where another CPU may choose at the same time, as the device
    /// takes more; and what it may have come to instead, with the same choice.
    pub(super) fn chose(&mut self, n: usize, now: Nanos, more: bool, others: &mut Vec<Self>) -> bool {
        let Some(&wanted) = self.queue.ids.get(&n) else { return false };
        if self.queue.pulled.contains(&wanted) {
            return true;
        }
        if !more || self.queue.pulled.len() != 1 {
            return false;
        }
        let mut ways = vec![self.clone()];
        let mut either = Vec::new();
        ways[0].act(now, &mut either, |queue| queue.pull(now));
        ways.append(&mut either);
        let mut ways = ways.into_iter().filter(|way| way.queue.pulled.contains(&wanted));
        let Some(way) = ways.next() else { return false };
        *self = way;
        others.extend(ways);
        true
    }
}
