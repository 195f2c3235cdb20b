use super::*;
use iopilot_block::{Lba, Op, Sectors};
use iopilot_sim::{BlockConfig, RunConfig, RunOptions, Session};
use iopilot_workload::replay::{Open, ReplayRecord};
use std::collections::BTreeSet;

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
/// `late` only after the next request of the same process has come; nothing is issued meanwhile.
fn held_up(late: Option<usize>) -> Vec<TraceRecord> {
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
    let mut due: BTreeSet<(Nanos, Event)> =
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
                        let heard = us(now, if late == Some(n) { 60 } else { 0 });
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
