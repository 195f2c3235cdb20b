//! [`picks`]: does a scheduler choose what the kernel's chose?

use iopilot_block::{Nanos, ProcessId, Request, RequestId, Requests};
use iopilot_sched::{AnyScheduler, Dispatch, Environment, MergeLimits, Scheduler, SchedulerSpec, retry_at};
use iopilot_sim::Machine;
use iopilot_trace::TraceRecord;
use std::collections::{HashMap, HashSet};
use std::iter::Sum;

/// Those of a loop device (`max_sectors_kb` 1280).
const LIMITS: MergeLimits = MergeLimits { max_sectors: 2560, nomerges: 0 };
/// How long after it could have chosen the kernel may have chosen: it first has to get round to it, and what it is handed
/// meanwhile by another CPU may be in time or not.
const RACE: Nanos = Nanos(100_000);

/// So many ways are followed in which these races may have ended.
const GUESSES: usize = 64;

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
    let guesses = vec![Guess { queue, before: None, since: Vec::new() }];
    let mut replay = Replay { guesses, depth, in_flight: 0, picks: Picks::default() };
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
    /// When the kernel asks it again of itself.
    retry: Option<Nanos>,
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
            retry: None,
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
        (rq.cpu, rq.arrived, rq.inserted) = (record.cpu.unwrap_or(0), now, now);
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
                    self.retry.get_or_insert(retry_at(now));
                    return None;
                }
                Dispatch::Empty => {
                    if self.scheduler.queued() > 0 {
                        self.retry.get_or_insert(retry_at(now));
                    }
                    return None;
                }
            }
        }
    }

    /// When it is asked next, if nothing happens.
    fn next_timer(&self) -> Option<Nanos> {
        [self.timer, self.retry].into_iter().flatten().min()
    }

    /// What the clocks of those who insert show, where they stand still; only bfq asks them.
    fn clock_of_submitter(&mut self, at: Option<Nanos>) {
        if let AnyScheduler::Bfq(bfq) = &mut self.scheduler {
            bfq.plug_time(at);
        }
    }

    /// Has bfq or kyber choose record `n`; false where it is neither, or does not hold it.
    fn steer(&mut self, n: usize, now: Nanos) -> bool {
        let Some(&id) = self.ids.get(&n).filter(|id| !self.pulled.contains(id) && !self.owed.contains(id)) else {
            return false;
        };
        match &mut self.scheduler {
            AnyScheduler::Bfq(bfq) => bfq.steer(&self.requests, id, now),
            AnyScheduler::Kyber(kyber) => kyber.steer(&self.requests, id),
            _ => return false,
        }
        self.pull(now) == Some(id)
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
        while let Some(at) = self.queue.next_timer().filter(|&at| at <= now) {
            // Where the scheduler has the queue run, that is the retry, too.
            if self.queue.timer.take_if(|timer| *timer <= at).is_some() {
                self.queue.retry = None;
            }
            self.queue.retry.take_if(|retry| *retry <= at);
            self.look_ahead(at);
        }
    }

    /// Runs the queue as the kernel does after `event`.
    fn run(&mut self, now: Nanos, event: Event) {
        if !matches!(event, Event::Completed(_)) {
            self.look_ahead(now);
        } else if self.queue.pulled.is_empty() {
            match self.queue.scheduler.runs_after_completion() {
                Some(at) if at <= now => {
                    self.queue.retry = None;
                    self.look_ahead(now);
                }
                at => self.queue.timer = at.filter(|_| self.queue.scheduler.queued() > 0),
            }
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
        self.chosen_after(&self.since, now)
    }

    /// The same if the latest choice was made while the task of record `n`, just inserted, was submitting: to the task, whose clock stood
    /// still meanwhile, bfq's queue in service has not come there yet.
    fn overtook(&self, n: usize, now: Nanos) -> Option<Self> {
        let (AnyScheduler::Bfq(_), Some((_, earlier))) = (&self.queue.scheduler, self.since.split_last()) else {
            return None;
        };
        let mut other = self.chosen_after(earlier, now)?;
        other.queue.clock_of_submitter(Some(Nanos(now.0 - 1)));
        other.queue.apply(now, Event::Inserted(n));
        other.queue.clock_of_submitter(None);
        Some(other)
    }

    /// The same if the latest choice was made only now, after `events`, which is within the race.
    fn chosen_after(&self, events: &[(Nanos, Event)], now: Nanos) -> Option<Self> {
        let settled = self.since.iter().any(|(_, event)| matches!(event, Event::Issued(_)));
        let (before, _) = self.before.as_ref().filter(|(_, at)| !settled && now.since(*at) <= RACE)?;
        let mut queue = Queue::clone(before);
        events.iter().for_each(|&(at, event)| queue.apply(at, event));
        queue.pull(now)?;
        Some(Self { queue, before: self.before.clone(), since: self.since.clone() })
    }

    /// The kernel has chosen record `n` where something else was chosen here: bfq and kyber go on from the kernel's choice, as
    /// what they choose next hangs on whom they serve.
    fn steer(&mut self, n: usize, now: Nanos) {
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
            let overtook: Vec<_> = match event {
                Event::Inserted(n) => self.guesses.iter().filter_map(|guess| guess.overtook(n, now)).collect(),
                _ => Vec::new(),
            };
            self.guesses.extend(later.into_iter().chain(overtook));
            self.guesses.truncate(GUESSES);
        }
        self.guesses.iter_mut().for_each(|guess| guess.run(now, event));
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

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_block::{Lba, Op, Sectors};
    use iopilot_sim::workload::replay::{Open, ReplayRecord};
    use iopilot_sim::{BlockConfig, RunConfig, RunOptions, Session};

    /// What a simulated kernel with `scheduler` made of random reads and writes of four processes, four in the disk.
    fn recorded(scheduler: &str) -> (Vec<TraceRecord>, SchedulerSpec, Machine) {
        let mut machine = Machine::for_disk("hd-500-16").unwrap();
        machine.block = BlockConfig { queue_depth: Some(4), host_tags: Some(4), ..BlockConfig::default() };
        machine.block.nr_requests = Some(256);
        let spec = SchedulerSpec::parse(scheduler).unwrap();
        let record = |n: u64| TraceRecord {
            process: Some(ProcessId(n as u32 % 4)),
            cpu: Some((n % 2) as u16),
            ..TraceRecord::new(
                Nanos::from_micros(150_000 * (n / 12) + 137 * n),
                if n % 7 == 3 { Op::Write } else { Op::Read },
                Lba(n * 7_919 * 4_096 % 800_000_000),
                Sectors(8),
            )
        };
        let records: Vec<ReplayRecord> = (0..600).map(|n| ReplayRecord::from(&record(n))).collect();
        let config = RunConfig { log: true, ..machine.run_config(&RunOptions::default()) };
        let mut session = Session::new(Open::new(&records[..]), machine.device(), &spec, &config).unwrap();
        session.run_until(Nanos::MAX).unwrap();
        (session.take_log(), spec, machine)
    }

    #[test]
    fn a_scheduler_picks_what_it_picked() {
        // bfq's timers start when it hears of a completion, which a record does not tell to the microsecond.
        for (scheduler, percent) in [("mq-deadline", 99), ("kyber", 99), ("bfq", 97)] {
            let (records, spec, machine) = recorded(scheduler);
            let picks = picks(&records, Nanos::ZERO, &spec, &machine, 4).unwrap();
            assert_eq!(picks.all, 600);
            assert!(picks.same * 100 >= picks.all * percent, "{scheduler}: {picks:?}");
        }
    }

    #[test]
    fn one_choice_otherwise_is_one_and_not_the_end() {
        for scheduler in ["mq-deadline", "kyber", "bfq"] {
            let (mut records, spec, machine) = recorded(scheduler);
            // Two that waited go the other way round.
            let waited = |r: &TraceRecord| r.issue.is_some_and(|issue| issue.since(r.arrival) > Nanos::from_millis(5));
            let mut order: Vec<usize> = (0..records.len()).filter(|&n| waited(&records[n])).collect();
            order.sort_by_key(|&n| records[n].issue);
            let both = |pair: &[usize]| records[pair[0]].issue > Some(records[pair[1]].arrival + Nanos::from_millis(2));
            let at = order.windows(2).skip(20).position(both).unwrap() + 20;
            let (a, b) = (order[at], order[at + 1]);
            let times = |r: &TraceRecord| (r.issue, r.completion);
            let (of_a, of_b) = (times(&records[a]), times(&records[b]));
            (records[a].issue, records[a].completion) = of_b;
            (records[b].issue, records[b].completion) = of_a;
            let picks = picks(&records, Nanos::ZERO, &spec, &machine, 4).unwrap();
            assert!(picks.same < picks.all, "{scheduler}: it is seen");
            assert!(picks.same * 100 >= picks.all * 95, "{scheduler}: {picks:?}");
        }
    }
}
