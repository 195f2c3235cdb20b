//! [`picks`]: does a scheduler choose what the kernel's chose?

mod guess;
mod queue;
#[cfg(test)]
mod tests;

use guess::{Guess, RACE};
use iopilot_block::{Nanos, ProcessId};
use iopilot_sched::{Environment, SchedulerSpec};
use iopilot_sim::Machine;
use iopilot_trace::TraceRecord;
use queue::Queue;
use std::collections::{HashMap, HashSet};
use std::iter::Sum;

/// So many ways are followed in which it may have gone.
const GUESSES: usize = 256;

/// How often it chose the same.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Picks {
    pub(super) all: u64,
    pub(super) same: u64,
}

impl Picks {
    /// The share that was the same; NaN of none.
    pub(super) fn percent(self) -> f64 {
        100.0 * self.same as f64 / self.all as f64
    }
}

impl Sum for Picks {
    fn sum<I: Iterator<Item = Self>>(picks: I) -> Self {
        picks.fold(Self::default(), |a, b| Self { all: a.all + b.all, same: a.same + b.same })
    }
}

/// What happened, by number of the record; at one moment in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Completed(usize),
    /// Of the process that made this request, its last.
    Exited(usize),
    Issued(usize),
    Inserted(usize),
}

/// Hands `scheduler` the requests when the kernel got them, and their completions when they came, and asks it for the next
/// one when the kernel asked: one request ahead of the device. The times of `records` count from `origin`, on the kernel's
/// clock, which tells where its ticks are.
pub(super) fn picks(
    records: &[TraceRecord],
    origin: Nanos,
    scheduler: &SchedulerSpec,
    machine: &Machine,
    depth: u32,
) -> anyhow::Result<Picks> {
    let environment = Environment {
        cpus: machine.host.cpus.max(records.iter().filter_map(|r| r.cpu).max().map_or(1, |cpu| cpu + 1)),
        rotational: machine.is_rotational(),
        capacity: machine.capacity(),
        queue_depth: depth,
        nr_requests: 256,
    };
    let queue = Queue::new(scheduler.build(&environment)?, records);
    let guesses = vec![Guess::new(queue)];
    let mut replay = Replay {
        records,
        guesses,
        depth,
        grown: false,
        in_flight: 0,
        last_inserted: Nanos::ZERO,
        unheard: None,
        picks: Picks::default(),
    };
    events(records).into_iter().for_each(|(now, event)| replay.take(origin + now, event));
    Ok(replay.picks)
}

/// In order of time.
fn events(records: &[TraceRecord]) -> Vec<(Nanos, Event)> {
    let mut events = Vec::with_capacity(3 * records.len());
    // The tasks of a load end as soon as they have what they read last.
    let mut last: HashMap<ProcessId, (Nanos, usize)> = HashMap::new();
    for (n, r) in records.iter().enumerate() {
        let (Some(issue), Some(completion)) = (r.issue, r.completion) else { continue };
        // What goes straight to the device was inserted first, though the clock may not tell.
        let inserted = r.inserted.unwrap_or(r.arrival).min(Nanos(issue.0.saturating_sub(1)));
        events.push((inserted, Event::Inserted(n)));
        if r.merged != Some(true) {
            events.push((issue, Event::Issued(n)));
            events.push((completion, Event::Completed(n)));
        }
        last.insert(r.process.unwrap_or_default(), (completion, n));
    }
    events.extend(last.into_values().map(|(end, n)| (end, Event::Exited(n))));
    events.sort_unstable();
    events
}

/// All the ways in which it may have gone that agree with what was issued.
struct Replay<'a> {
    records: &'a [TraceRecord],
    /// Never empty, the likeliest first.
    guesses: Vec<Guess<'a>>,
    depth: u32,
    /// Whether there are more than before.
    grown: bool,
    in_flight: u32,
    last_inserted: Nanos,
    /// What was completed just now, and the guesses before that.
    unheard: Option<(usize, Vec<Guess<'a>>)>,
    picks: Picks,
}

impl<'a> Replay<'a> {
    fn take(&mut self, now: Nanos, event: Event) {
        self.each(|guess, others| guess.timers(now, others));
        let late = self.heard_late(now, event);
        if let Event::Issued(n) = event {
            self.issued(n, now);
        } else {
            self.in_flight -= u32::from(matches!(event, Event::Completed(_)));
            self.each(|guess, others| guess.take(now, event, others));
            let later: Vec<_> = self.guesses.iter().flat_map(|guess| guess.later(now)).collect();
            let overtook: Vec<_> = self.guesses.iter().flat_map(|guess| guess.overtook(now, event)).collect();
            self.add(later);
            self.add(overtook);
            self.add(late);
        }
        self.each(|guess, others| guess.run(now, event, others));
        if matches!(event, Event::Inserted(_)) {
            self.last_inserted = now;
        }
        // Who inserts then runs the queue; so does who was at it already.
        if now.since(self.last_inserted) <= RACE && !matches!(event, Event::Completed(_)) {
            self.each(|guess, others| others.extend(guess.both(now)));
        }
        self.thin_out();
    }

    /// The kernel wakes a task, and tells the scheduler then. Where the CPU on which it does is held up in between, the task's next request
    /// comes first: to bfq it has not come back in time, and is served much later. Nothing else happens meanwhile.
    fn heard_late(&mut self, now: Nanos, event: Event) -> Vec<Guess<'a>> {
        let process = |n: usize| self.records[n].process;
        match (event, self.unheard.take()) {
            (Event::Completed(n), _) => {
                // Where a request waits for the room, it takes it first, unless that CPU is held up.
                let held_up = |guess: &&Guess<'_>| guess.queue.is_bfq() && !guess.queue.pulled.is_empty();
                self.unheard = Some((n, self.guesses.iter().filter(held_up).cloned().collect()));
                Vec::new()
            }
            (Event::Inserted(n), Some((completed, guesses))) if process(n) == process(completed) => guesses
                .into_iter()
                .flat_map(|guess| guess.heard_late(now, event, Event::Completed(completed)))
                .collect(),
            _ => Vec::new(),
        }
    }

    /// Has each guess do something, and goes on with what it may have come to instead, too.
    fn each(&mut self, mut act: impl FnMut(&mut Guess<'a>, &mut Vec<Guess<'a>>)) {
        let mut others = Vec::new();
        self.guesses.iter_mut().for_each(|guess| act(guess, &mut others));
        self.add(others);
    }

    /// Goes on with `others`, too.
    fn add(&mut self, others: Vec<Guess<'a>>) {
        self.grown |= !others.is_empty();
        self.guesses.extend(others);
        self.guesses.truncate(4 * GUESSES);
    }

    /// Goes on with as many as there is room for, and with those bfq that go on alike once.
    fn thin_out(&mut self) {
        if std::mem::take(&mut self.grown) {
            self.guesses.sort_by_key(|guess| guess.surprises);
            let mut seen = HashSet::new();
            self.guesses.retain(|guess| guess.queue.digest().is_none_or(|digest| seen.insert(digest)));
            self.guesses.truncate(GUESSES);
        }
    }

    /// The kernel's choice is known: guesses that would have it otherwise are wrong.
    fn issued(&mut self, n: usize, now: Nanos) {
        self.picks.all += 1;
        let more = self.in_flight + 1 < self.depth;
        self.in_flight += 1;
        self.each(|guess, others| guess.look_ahead(now, others));
        let mut others = Vec::new();
        let right: Vec<_> = self.guesses.iter_mut().map(|guess| guess.chose(n, now, more, &mut others)).collect();
        if right.contains(&true) {
            self.picks.same += 1;
            let mut right = right.into_iter();
            self.guesses.retain(|_| right.next() == Some(true));
            self.add(others);
        } else {
            self.guesses.truncate(1);
            self.guesses.iter_mut().for_each(|guess| guess.steer(n, now));
        }
        for guess in &mut self.guesses {
            guess.queue.issued(n, now);
            if guess.queue.pulled.is_empty() {
                guess.before = None;
            } else {
                guess.since.push((now, Event::Issued(n)));
            }
        }
    }
}
