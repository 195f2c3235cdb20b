//! (a) [`choices`]: does a scheduler choose what the kernel's chose?
//!
//! A scheduler is handed the requests and completions of a recording when the kernel's got them. It is asked for the next
//! request when the kernel dispatched: Linux 6 keeps one request ahead of the device, so that the choice is made when the
//! request before it has gone. Where it chooses otherwise, that is counted, and it is made to follow the kernel
//! ([`Scheduler::follow`]): the next choice is judged by itself.

mod queue;

use iopilot_block::{Nanos, ProcessId};
use iopilot_sched::{Environment, Scheduler, SchedulerSpec};
use iopilot_sim::Machine;
use iopilot_trace::TraceRecord;
use queue::FollowedQueue;
use std::collections::HashMap;
use std::ops::Add;

/// How often it chose the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Choices {
    pub(super) all: u64,
    pub(super) same: u64,
}

impl Choices {
    /// The share that was the same; NaN of none.
    pub(super) fn percent(self) -> f64 {
        100.0 * self.same as f64 / self.all as f64
    }
}

impl Add for Choices {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { all: self.all + other.all, same: self.same + other.same }
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

/// How often `scheduler` chooses what the kernel's chose in `records`, whose times count from `origin` on the kernel's clock,
/// which tells where its ticks are.
pub(super) fn choices(
    records: &[TraceRecord],
    origin: Nanos,
    scheduler: &SchedulerSpec,
    machine: &Machine,
) -> anyhow::Result<Choices> {
    let depth = machine.summary().queue_depth;
    let environment = Environment {
        cpus: machine.host.cpus.max(records.iter().filter_map(|r| r.cpu).max().map_or(1, |cpu| cpu + 1)),
        hardware_queues: 1,
        rotational: machine.is_rotational(),
        capacity: machine.capacity(),
        queue_depth: machine.block.queue_depth.unwrap_or(depth),
        nr_requests: machine.block.nr_requests.unwrap_or(super::NR_REQUESTS),
    };
    let queue = FollowedQueue::new(scheduler.build(&environment)?, records);
    let mut follower = Follower { queue, before: None, choices: Choices::default() };
    events(records).into_iter().for_each(|(now, event)| follower.take(origin + now, event));
    Ok(follower.choices)
}

/// In order of time.
fn events(records: &[TraceRecord]) -> Vec<(Nanos, Event)> {
    let mut events = Vec::with_capacity(3 * records.len());
    // The processes of a load end as soon as they have what they read last.
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

/// A scheduler that is led through a recording.
struct Follower<'a> {
    queue: FollowedQueue<'a>,
    /// The queue before the choice that is not issued yet, and what happened since then.
    before: Option<(FollowedQueue<'a>, Vec<(Nanos, Event)>)>,
    choices: Choices,
}

impl Follower<'_> {
    fn take(&mut self, now: Nanos, event: Event) {
        while let Some(at) = self.queue.expire_timers(now) {
            self.look_ahead(at);
        }
        if let Event::Issued(n) = event {
            self.issued(n, now);
        } else {
            self.queue.apply(now, event);
            self.before.iter_mut().for_each(|(_, since)| since.push((now, event)));
        }
        match event {
            Event::Completed(_) if self.queue.chosen.is_empty() => match self.queue.scheduler.runs_after_completion() {
                Some(at) if at <= now => self.look_ahead(now),
                at => self.queue.run_at(at),
            },
            Event::Completed(_) => {}
            _ => self.look_ahead(now),
        }
    }

    /// Chooses the next one, unless that is chosen already.
    fn look_ahead(&mut self, now: Nanos) {
        if self.queue.chosen.is_empty() {
            let before = self.queue.clone();
            self.before = self.queue.choose(now).then(|| (before, Vec::new()));
        }
    }

    /// The kernel's choice is known.
    fn issued(&mut self, n: usize, now: Nanos) {
        self.look_ahead(now);
        self.choices.all += 1;
        if self.queue.is_next(n) {
            self.choices.same += 1;
        } else {
            // It had not chosen yet, and chooses what the kernel chose.
            let (mut queue, since) = self.before.take().unwrap_or_else(|| (self.queue.clone(), Vec::new()));
            since.into_iter().for_each(|(at, event)| queue.apply(at, event));
            if queue.follow(n, now) {
                self.queue = queue;
            }
        }
        self.queue.issued(n, now);
        self.before = None;
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::recorded;
    use super::*;

    #[test]
    fn a_scheduler_chooses_what_it_chose() {
        // bfq's timers start when it hears of a completion, which a record does not tell to the microsecond.
        for (scheduler, percent) in [("mq-deadline", 99), ("kyber", 99), ("bfq", 97)] {
            let (records, spec, machine) = recorded(scheduler);
            let choices = choices(&records, Nanos::ZERO, &spec, &machine).unwrap();
            assert_eq!(choices.all, 600);
            assert!(choices.same * 100 >= choices.all * percent, "{scheduler}: {choices:?}");
        }
    }

    #[test]
    fn another_scheduler_is_told_from_it_and_another_tunable() {
        let others = [("bfq", "bfq:low_latency=0"), ("bfq", "kyber"), ("mq-deadline", "mq-deadline:fifo_batch=1")];
        for (scheduler, other) in others {
            let (records, _, machine) = recorded(scheduler);
            let choices = choices(&records, Nanos::ZERO, &SchedulerSpec::parse(other).unwrap(), &machine).unwrap();
            assert!(choices.same * 100 < choices.all * 95, "{scheduler} as {other}: {choices:?}");
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
            let choices = choices(&records, Nanos::ZERO, &spec, &machine).unwrap();
            assert!(choices.same < choices.all, "{scheduler}: it is seen");
            assert!(choices.same * 100 >= choices.all * 95, "{scheduler}: {choices:?}");
        }
    }
}
