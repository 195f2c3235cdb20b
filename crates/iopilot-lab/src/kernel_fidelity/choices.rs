//! (a) [`choices`]: does a scheduler choose the same request as the kernel's?
//!
//! A scheduler gets the requests and completions of a recording when the kernel's got them. It is asked for the next
//! request when the kernel dispatched one: Linux 6 keeps one request ahead of the device, so that it chooses when the
//! request before has gone. A different choice is counted. The scheduler is then made to follow the kernel
//! ([`ReplayDispatch`](iopilot_sched::ReplayDispatch)), so that the next choice is judged by itself.

mod queue;

use iopilot_block::{Nanos, ProcessId};
use iopilot_sched::{Environment, Scheduler, SchedulerSpec};
use iopilot_sim::Machine;
use iopilot_trace::TraceRecord;
use queue::FollowedQueue;
use std::collections::HashMap;
use std::ops::Add;

/// The number of choices, and of those that agree with the kernel's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Choices {
    pub(super) all: u64,
    pub(super) same: u64,
}

impl Choices {
    /// The share that agrees, in percent; NaN without any choice.
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

/// What happened, with the index of the record. Events of one moment are in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Completed(usize),
    /// The process of this request has exited; the request was its last.
    Exited(usize),
    Issued(usize),
    Inserted(usize),
}

/// Compares the choices of `scheduler` with the kernel's in `records`. Their times count from `origin` on the kernel's
/// clock, which gives the phase of its ticks.
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

/// The events in order of time.
fn events(records: &[TraceRecord]) -> Vec<(Nanos, Event)> {
    let mut events = Vec::with_capacity(3 * records.len());
    // The processes of a load exit as soon as their last read is complete.
    let mut last: HashMap<ProcessId, (Nanos, usize)> = HashMap::new();
    for (n, r) in records.iter().enumerate() {
        let (Some(issue), Some(completion)) = (r.issue, r.completion) else { continue };
        // A request that goes straight to the device was inserted first, even if the clock does not show it.
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

/// A scheduler that follows a recording.
struct Follower<'a> {
    queue: FollowedQueue<'a>,
    /// The queue before a choice that is not issued yet, and the events since then.
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

    /// Chooses the next request, unless it is chosen already.
    fn look_ahead(&mut self, now: Nanos) {
        if self.queue.chosen.is_empty() {
            let before = self.queue.clone();
            self.before = self.queue.choose(now).then(|| (before, Vec::new()));
        }
    }

    /// The kernel has issued record `n`: compares the choice.
    fn issued(&mut self, n: usize, now: Nanos) {
        self.look_ahead(now);
        self.choices.all += 1;
        if self.queue.is_next(n) {
            self.choices.same += 1;
        } else {
            // Goes back to the queue before the choice, and makes the kernel's choice.
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
        // bfq's timers start when it is told of a completion, and the time of that is not recorded to the microsecond.
        for (scheduler, percent) in [("mq-deadline", 99), ("kyber", 99), ("bfq", 97)] {
            let (records, spec, machine) = recorded(scheduler);
            let choices = choices(&records, Nanos::ZERO, &spec, &machine).unwrap();
            assert_eq!(choices.all, 600);
            assert!(choices.same * 100 >= choices.all * percent, "{scheduler}: {choices:?}");
        }
    }

    #[test]
    fn another_scheduler_and_another_tunable_choose_differently() {
        let others = [("bfq", "bfq:low_latency=0"), ("bfq", "kyber"), ("mq-deadline", "mq-deadline:fifo_batch=1")];
        for (scheduler, other) in others {
            let (records, _, machine) = recorded(scheduler);
            let choices = choices(&records, Nanos::ZERO, &SchedulerSpec::parse(other).unwrap(), &machine).unwrap();
            assert!(choices.same * 100 < choices.all * 95, "{scheduler} as {other}: {choices:?}");
        }
    }

    #[test]
    fn a_different_choice_counts_once() {
        for scheduler in ["mq-deadline", "kyber", "bfq"] {
            let (mut records, spec, machine) = recorded(scheduler);
            // Two requests that waited are swapped.
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
