//! [`picks`]: does a scheduler choose what the kernel's chose?

use iopilot_block::{Nanos, ProcessId, Request, RequestId, Requests};
use iopilot_sched::{AnyScheduler, Dispatch, Environment, MergeLimits, Scheduler, SchedulerSpec};
use iopilot_sim::Machine;
use iopilot_trace::TraceRecord;
use std::collections::{HashMap, HashSet};
use std::iter::Sum;

/// Those of a loop device (`max_sectors_kb` 1280).
const LIMITS: MergeLimits = MergeLimits { max_sectors: 2560, nomerges: 0 };
/// How long after it could have chosen the kernel may have chosen: it first has to get round to it, and what it is handed
/// meanwhile by another CPU may be in time or not.
const RACE: Nanos = Nanos(20_000);

/// So many ways are followed in which these races may have ended.
const GUESSES: usize = 32;

/// How often it chose the same.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Picks {
    pub(super) all: u64,
    pub(super) same: u64,
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
/// one when the kernel asked: one request ahead of the device.
pub(super) fn picks(
    records: &[TraceRecord],
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
    let guesses = vec![Guess { queue, before: None, since: Vec::new() }];
    let mut replay = Replay { guesses, depth, in_flight: 0, picks: Picks::default() };
    events(records).into_iter().for_each(|(now, event)| replay.take(now, event));
    Ok(replay.picks)
}

/// In order of time.
fn events(records: &[TraceRecord]) -> Vec<(Nanos, Event)> {
    let mut events = Vec::with_capacity(3 * records.len());
    // The tasks of a load end as soon as they have what they read last.
    let mut last: HashMap<ProcessId, (Nanos, usize)> = HashMap::new();
    for (n, r) in records.iter().enumerate() {
        let (Some(issue), Some(completion)) = (r.issue, r.completion) else { continue };
        events.push((r.inserted.unwrap_or(r.arrival), Event::Inserted(n)));
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

/// A scheduler with what it holds.
#[derive(Clone)]
struct Queue<'a> {
    records: &'a [TraceRecord],
    scheduler: AnyScheduler,
    requests: Requests,
    /// The request of each record that is under way.
    ids: HashMap<usize, RequestId>,
    /// Chosen here, and not issued by the kernel yet.
    pulled: Vec<RequestId>,
    /// Issued by the kernel, and not chosen here yet.
    owed: HashSet<RequestId>,
    /// When it asked to be asked again.
    timer: Option<Nanos>,
}

impl<'a> Queue<'a> {
    fn new(scheduler: AnyScheduler, records: &'a [TraceRecord]) -> Self {
        Self {
            records,
            scheduler,
            requests: Requests::new(),
            ids: HashMap::new(),
            pulled: Vec::new(),
            owed: HashSet::new(),
            timer: None,
        }
    }

    /// Tells the scheduler what happened.
    fn apply(&mut self, now: Nanos, event: Event) {
        match event {
            Event::Inserted(n) => self.inserted(n, now),
            Event::Completed(n) => {
                // What is still queued here completes when it is chosen.
                if let Some(id) = self.ids.remove(&n).filter(|id| !self.owed.contains(id)) {
                    self.finish(id, now);
                }
            }
            Event::Exited(n) => self.scheduler.process_exited(self.records[n].process.unwrap_or_default(), now),
            Event::Issued(_) => {}
        }
    }

    fn inserted(&mut self, n: usize, now: Nanos) {
        let record = &self.records[n];
        let mut rq = Request::new(record.op, record.lba, record.sectors, record.process.unwrap_or_default());
        (rq.flags, rq.priority, rq.criticality) = (record.flags, record.priority, record.criticality());
        (rq.cpu, rq.arrived, rq.inserted) = (record.cpu.unwrap_or(0), record.arrival, now);
        let id = self.requests.insert(rq);
        if self.scheduler.try_merge(&mut self.requests, id, &LIMITS, now).is_none() {
            self.ids.insert(n, id);
            self.scheduler.insert(&mut self.requests, id, now);
        }
    }

    fn finish(&mut self, id: RequestId, now: Nanos) {
        self.scheduler.completed(&mut self.requests, id, now);
        let mut next = Some(id);
        while let Some(part) = next {
            next = self.requests.next_part(part);
            self.requests.remove(part);
        }
    }

    /// Has it choose one; `None` where it does not want to.
    fn pull(&mut self, now: Nanos) -> Option<RequestId> {
        self.timer = None;
        loop {
            match self.scheduler.dispatch(&mut self.requests, now) {
                Dispatch::Request(id) if self.owed.remove(&id) => {
                    if !self.ids.values().any(|&under_way| under_way == id) {
                        self.finish(id, now);
                    }
                }
                Dispatch::Request(id) => {
                    self.pulled.push(id);
                    return Some(id);
                }
                Dispatch::WaitUntil(at) => {
                    self.timer = Some(at.max(Nanos(now.0 + 1)));
                    return None;
                }
                Dispatch::Empty => return None,
            }
        }
    }

    /// The device has the request of record `n`, whatever was chosen here.
    fn issued(&mut self, n: usize, now: Nanos) {
        let Some(&id) = self.ids.get(&n) else { return };
        while !self.pulled.contains(&id) && self.pull(now).is_some() {}
        match self.pulled.iter().position(|&p| p == id) {
            Some(at) => drop(self.pulled.remove(at)),
            None => drop(self.owed.insert(id)),
        }
    }
}

/// One way in which it may have gone, as far as can be seen from outside.
#[derive(Clone)]
struct Guess<'a> {
    queue: Queue<'a>,
    /// The queue before the latest choice, and when that was made.
    before: Option<(Box<Queue<'a>>, Nanos)>,
    /// What happened since then.
    since: Vec<(Nanos, Event)>,
}

impl<'a> Guess<'a> {
    fn take(&mut self, now: Nanos, event: Event) {
        self.queue.apply(now, event);
        self.since.push((now, event));
    }

    /// Does what the scheduler wanted to do until `now`.
    fn timers(&mut self, now: Nanos) {
        while let Some(at) = self.queue.timer.filter(|&at| at <= now) {
            self.queue.timer = None;
            self.look_ahead(at);
        }
    }

    fn look_ahead(&mut self, now: Nanos) {
        if self.queue.pulled.is_empty() {
            let before = self.queue.clone();
            if self.queue.pull(now).is_some() {
                self.before = Some((Box::new(before), now));
                self.since.clear();
            }
        }
    }

    /// The same if the latest choice was made only now, which is just after it was possible.
    fn later(&self, now: Nanos) -> Option<Self> {
        let (before, at) = self.before.as_ref().filter(|(_, at)| now.since(*at) <= RACE)?;
        let mut queue = Queue::clone(before);
        self.since.iter().for_each(|&(at, event)| queue.apply(at, event));
        queue.pull(now)?;
        Some(Self { queue, before: Some((before.clone(), *at)), since: self.since.clone() })
    }

    /// Whether it has chosen record `n` next, or next but one where another CPU may choose at the same time, as the device
    /// takes more.
    fn chose(&mut self, n: usize, now: Nanos, more: bool) -> bool {
        self.look_ahead(now);
        let wanted = self.queue.ids.get(&n).copied();
        if self.queue.pulled.first().copied() == wanted {
            return true;
        }
        if more && self.queue.pulled.len() == 1 {
            let mut queue = self.queue.clone();
            if queue.pull(now) == wanted {
                self.queue = queue;
                return true;
            }
        }
        false
    }
}

struct Replay<'a> {
    /// Never empty, the likeliest first.
    guesses: Vec<Guess<'a>>,
    depth: u32,
    in_flight: u32,
    picks: Picks,
}

impl Replay<'_> {
    fn take(&mut self, now: Nanos, event: Event) {
        self.guesses.iter_mut().for_each(|guess| guess.timers(now));
        if let Event::Issued(n) = event {
            self.issued(n, now);
        } else {
            self.in_flight -= u32::from(matches!(event, Event::Completed(_)));
            self.guesses.iter_mut().for_each(|guess| guess.take(now, event));
            let later: Vec<_> = self.guesses.iter().filter_map(|guess| guess.later(now)).collect();
            self.guesses.extend(later);
            self.guesses.truncate(GUESSES);
        }
        self.guesses.iter_mut().for_each(|guess| guess.look_ahead(now));
    }

    /// The kernel's choice is known: guesses that would have it otherwise are wrong.
    fn issued(&mut self, n: usize, now: Nanos) {
        self.picks.all += 1;
        let more = self.in_flight + 1 < self.depth;
        self.in_flight += 1;
        let right: Vec<_> = self.guesses.iter_mut().map(|guess| guess.chose(n, now, more)).collect();
        if right.contains(&true) {
            self.picks.same += 1;
            let mut right = right.into_iter();
            self.guesses.retain(|_| right.next() == Some(true));
        } else {
            self.guesses.truncate(1);
        }
        for guess in &mut self.guesses {
            guess.queue.issued(n, now);
            guess.before = None;
        }
    }
}
