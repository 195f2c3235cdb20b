//! [`picks`]: does a scheduler choose what the kernel's chose?

mod guess;
mod queue;

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
        let overtaken = self.overtaken(now, event);
        if let Event::Issued(n) = event {
            self.issued(n, now);
        } else {
            self.in_flight -= u32::from(matches!(event, Event::Completed(_)));
            self.each(|guess, others| guess.take(now, event, others));
            let later: Vec<_> = self.guesses.iter().flat_map(|guess| guess.later(now)).collect();
            let overtook: Vec<_> = self.guesses.iter().flat_map(|guess| guess.overtook(now, event)).collect();
            self.add(later);
            self.add(overtook);
            self.add(overtaken);
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
    fn overtaken(&mut self, now: Nanos, event: Event) -> Vec<Guess<'a>> {
        let process = |n: usize| self.records[n].process;
        match (event, self.unheard.take()) {
            (Event::Completed(n), _) => {
                // Where a request waits for the room, it takes it first, unless that CPU is held up.
                let held_up = |guess: &&Guess<'_>| guess.queue.is_bfq() && !guess.queue.pulled.is_empty();
                self.unheard = Some((n, self.guesses.iter().filter(held_up).cloned().collect()));
                Vec::new()
            }
            (Event::Inserted(n), Some((completed, guesses))) if process(n) == process(completed) => {
                guesses.into_iter().flat_map(|guess| guess.overtaken(now, event, Event::Completed(completed))).collect()
            }
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
    fn another_scheduler_is_told_from_it_and_another_tunable() {
        let others = [("bfq", "bfq:low_latency=0"), ("bfq", "kyber"), ("mq-deadline", "mq-deadline:fifo_batch=1")];
        for (scheduler, other) in others {
            let (records, _, machine) = recorded(scheduler);
            let picks = picks(&records, Nanos::ZERO, &SchedulerSpec::parse(other).unwrap(), &machine, 4).unwrap();
            assert!(picks.same * 100 < picks.all * 95, "{scheduler} as {other}: {picks:?}");
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

    /// What bfq makes of eight processes that read backward, two in the disk, where the kernel tells it of the completion of the request
    /// `held_up` only after the next request of the same process has come; nothing is issued meanwhile.
    fn held_up(held_up: Option<usize>) -> Vec<TraceRecord> {
        const PROCESSES: usize = 8;
        const READS: usize = 320;
        let us = |time: Nanos, us: u64| time + Nanos::from_micros(us);
        let mut records: Vec<TraceRecord> = (0..READS)
            .map(|n| TraceRecord {
                process: Some(ProcessId((n % PROCESSES) as u32)),
                cpu: Some(0),
                ..TraceRecord::new(
                    Nanos::ZERO,
                    Op::Read,
                    Lba(100_000_000 * (1 + n % PROCESSES) as u64 - 32 * (n / PROCESSES) as u64),
                    Sectors(16),
                )
            })
            .collect();
        let spec = SchedulerSpec::parse("bfq").unwrap();
        let environment = Environment { queue_depth: 2, ..Environment::default() };
        let reads = records.clone();
        let mut queue = Queue::new(spec.build(&environment).unwrap(), &reads);
        // `Exited` stands for the scheduler's hearing of a completion.
        let mut due: std::collections::BTreeSet<(Nanos, Event)> =
            (0..PROCESSES).map(|n| (us(Nanos::ZERO, 40 * n as u64), Event::Inserted(n))).collect();
        let mut in_disk = 0;
        loop {
            let timer = queue.next_timer().filter(|timer| due.first().is_none_or(|(at, _)| timer < at));
            let Some(now) = timer.or(due.first().map(|(at, _)| *at)) else { break };
            match timer {
                Some(_) => (queue.timer, queue.retry) = (None, None),
                None => {
                    let Some((_, event)) = due.pop_first() else { break };
                    match event {
                        Event::Inserted(n) => {
                            (records[n].arrival, records[n].inserted) = (now, Some(now));
                            queue.apply(now, event);
                        }
                        Event::Completed(n) => {
                            records[n].completion = Some(now);
                            let heard = us(now, if held_up == Some(n) { 60 } else { 0 });
                            due.extend([(heard, Event::Exited(n))]);
                            due.extend((n + PROCESSES < READS).then(|| (us(now, 50), Event::Inserted(n + PROCESSES))));
                        }
                        Event::Exited(n) => {
                            queue.apply(now, Event::Completed(n));
                            in_disk -= 1;
                        }
                        Event::Issued(n) => {
                            records[n].issue = Some(now);
                            let took = 3_000 + 700 * (n as u64 * 7 % 11);
                            due.extend([(us(now, took), Event::Completed(n))]);
                        }
                    }
                }
            }
            if queue.pulled.is_empty() {
                queue.pull(now);
            }
            if let Some(&id) = queue.pulled.first().filter(|_| in_disk < 2) {
                let n = *queue.ids.iter().find(|(_, of)| **of == id).unwrap().0;
                queue.issued(n, now);
                in_disk += 1;
                due.extend([(us(now, 5), Event::Issued(n))]);
                queue.pull(us(now, 5));
            }
        }
        records
    }

    #[test]
    fn a_request_that_overtakes_the_completion_before_it_is_seen() {
        let order = |records: &[TraceRecord]| {
            let mut order: Vec<usize> = (0..records.len()).collect();
            order.sort_by_key(|&n| records[n].issue);
            order
        };
        let machine = Machine::for_disk("hd-500-16").unwrap();
        let spec = SchedulerSpec::parse("bfq").unwrap();
        let usual = order(&held_up(None));
        for n in [100, 113, 139] {
            let records = held_up(Some(n));
            assert!(order(&records) != usual, "{n}: it matters");
            let picks = picks(&records, Nanos::ZERO, &spec, &machine, 2).unwrap();
            assert_eq!((picks.all, picks.same), (320, 320), "{n}");
        }
    }
}
