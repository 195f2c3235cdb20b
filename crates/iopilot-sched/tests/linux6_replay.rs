//! Replays of arrivals and completions that a kernel recorded: the schedulers must dispatch what the kernel dispatched.
//!
//! Recorded through tracefs (`block_rq_insert`, `block_rq_issue`, `block_rq_complete` and the merges) on Linux 6.18, on
//! a loop device over a file server that answers like a disk, four requests at once. Times count from a jiffy's edge
//! (since 6.4 these are the multiples of 4 ms of the monotonic clock at HZ=250). A line is: microseconds, event
//! (`I`nsert, issue to `D`river, `C`ompletion, `B`ack or `F`ront merge of a bio, `M`erge of a request), kind, first
//! sector, sectors, CPU, process, priority class, level. Set `IOPILOT_REPLAY=SCHEDULER:FILE[,ROTATIONAL[,DEPTH]]` to
//! replay another recording.

use iopilot_block::{
    Flags, IoPriority, Lba, Nanos, Op, PriorityClass, ProcessId, Request, RequestId, Requests, Sectors,
};
use iopilot_sched::{AnyScheduler, Dispatch, Environment, MergeLimits, Scheduler, SchedulerSpec};
use std::collections::{HashMap, VecDeque};

/// After this time the kernel runs a queue again if its scheduler had requests but dispatched none
/// (`BLK_MQ_BUDGET_DELAY`).
const RETRY: Nanos = Nanos::from_millis(3);

/// From the record of a completion to the start of the timer that bfq arms on it.
const LATENCY: Nanos = Nanos::from_micros(20);

#[derive(Clone, Debug)]
struct Line {
    at: Nanos,
    event: char,
    request: Request,
}

fn parse(text: &str) -> Vec<Line> {
    text.lines()
        .map(|line| {
            let f: Vec<&str> = line.split_whitespace().collect();
            let number = |i: usize| f[i].parse::<u64>().expect("a number");
            let op = if f[2].starts_with('R') { Op::Read } else { Op::Write };
            let mut request = Request::new(op, Lba(number(3)), Sectors(number(4) as u32), ProcessId(number(6) as u32));
            if f[2].contains('S') {
                request.flags |= Flags::SYNC;
            }
            request.cpu = number(5) as u16;
            let class = match f[7] {
                "rt" => PriorityClass::RealTime,
                "be" => PriorityClass::BestEffort,
                "idle" => PriorityClass::Idle,
                _ => PriorityClass::None,
            };
            request.priority = IoPriority { class, level: number(8) as u8 };
            // Times start at one second, as in a kernel that has been up for a while.
            Line {
                at: Nanos::from_secs(1) + Nanos::from_micros(number(0)),
                event: f[1].chars().next().expect("an event"),
                request,
            }
        })
        .collect()
}

/// The block layer around a scheduler, driven by a kernel's recorded events.
struct Replay {
    scheduler: AnyScheduler,
    bfq: bool,
    rqs: Requests,
    depth: usize,
    /// How many requests the kernel has in the device.
    in_flight: usize,
    /// Requests chosen here and not yet issued by the kernel. The last may be held back until a tag is free.
    chosen: VecDeque<RequestId>,
    held: Option<RequestId>,
    /// The chosen requests that the kernel has passed over: each is a miss when the kernel issues it.
    passed_over: Vec<RequestId>,
    /// Requests issued by the kernel while still queued here: they count as sent when they are chosen.
    ahead: Vec<RequestId>,
    done_ahead: Vec<RequestId>,
    by_sector: HashMap<(u64, bool), RequestId>,
    wake: Option<Nanos>,
    equal: usize,
    picks: usize,
    verbose: bool,
}

impl Replay {
    fn pull(&mut self, now: Nanos) -> Option<RequestId> {
        loop {
            if self.scheduler.queued() == 0 {
                return None;
            }
            match self.scheduler.dispatch(&mut self.rqs, now) {
                Dispatch::Request(id) => {
                    self.rqs[id].issued = now;
                    let Some(at) = self.ahead.iter().position(|&a| a == id) else { return Some(id) };
                    self.ahead.swap_remove(at);
                    if let Some(at) = self.done_ahead.iter().position(|&d| d == id) {
                        self.done_ahead.swap_remove(at);
                        self.finish(id, now);
                    }
                }
                Dispatch::WaitUntil(at) => {
                    self.wake = Some(at.min(now + RETRY));
                    return None;
                }
                Dispatch::Empty => {
                    self.wake = Some(now + RETRY);
                    return None;
                }
            }
        }
    }

    /// Runs the queue: pulls while there are tags, and one more.
    fn run(&mut self, now: Nanos) {
        self.wake = None;
        while self.held.is_none() {
            let waiting = self.chosen.len() - self.passed_over.len();
            let Some(id) = self.pull(now) else { break };
            self.chosen.push_back(id);
            if self.in_flight + waiting >= self.depth {
                self.held = Some(id);
            }
        }
    }

    fn finish(&mut self, id: RequestId, now: Nanos) {
        self.scheduler.completed(&mut self.rqs, id, now);
        let mut part = Some(id);
        while let Some(id) = part {
            part = self.rqs.next_part(id);
            self.rqs.remove(id);
        }
    }

    fn arrive(&mut self, rq: &Request, now: Nanos, merge: bool) {
        let mut rq = rq.clone();
        (rq.arrived, rq.inserted) = (now, now);
        let key = |rq: &Request| (rq.lba.0, rq.is_write());
        let id = self.rqs.insert(rq);
        if merge {
            let Some(merged) = self.scheduler.try_merge(&mut self.rqs, id, &MergeLimits::default(), now) else {
                self.rqs.remove(id); // The kernel merged it into a request that has already left here.
                return;
            };
            self.by_sector.retain(|_, &mut host| host != merged.host && Some(host) != merged.absorbed);
            self.by_sector.insert(key(&self.rqs[merged.host]), merged.host);
            return;
        }
        self.by_sector.insert(key(&self.rqs[id]), id);
        self.scheduler.insert(&mut self.rqs, id, now);
    }

    fn issued(&mut self, rq: &Request, now: Nanos) {
        if self.chosen.is_empty() {
            self.run(now);
        }
        let Some(&id) = self.by_sector.get(&(rq.lba.0, rq.is_write())) else { return };
        self.picks += 1;
        let front = self.chosen.iter().copied().find(|c| !self.passed_over.contains(c));
        if front == Some(id) {
            self.equal += 1;
            self.chosen.retain(|&c| c != id);
        } else {
            if self.verbose {
                let ours = front.map(|f| (self.rqs[f].process, self.rqs[f].lba));
                eprintln!("{} kernel {} {:?} here {ours:?}", now.0 / 1000, rq.process, rq.lba);
            }
            match self.chosen.iter().position(|&c| c == id) {
                Some(at) => {
                    self.chosen.remove(at);
                    self.passed_over.retain(|&c| c != id);
                }
                None => {
                    self.ahead.push(id);
                    self.passed_over.extend(front);
                }
            }
        }
        self.in_flight += 1;
        // When the held request was issued (here: when another one was issued instead), the next is pulled.
        if self.held.is_some_and(|held| held == id || self.passed_over.contains(&held)) {
            self.held = None;
            self.run(now);
        }
    }

    fn completed(&mut self, rq: &Request, now: Nanos) {
        let Some(id) = self.by_sector.remove(&(rq.lba.0, rq.is_write())) else { return };
        self.in_flight = self.in_flight.saturating_sub(1);
        if self.ahead.contains(&id) {
            self.done_ahead.push(id);
        } else {
            self.finish(id, now);
        }
        if self.bfq && self.in_flight == 0 && self.held.is_none() {
            self.run(now);
        }
    }
}

/// How many of the kernel's picks are equal here, and how many there are.
fn replay(spec: &str, text: &str, rotational: bool, depth: usize) -> (usize, usize) {
    let lines = parse(text);
    let cpus = lines.iter().map(|l| l.request.cpu).max().unwrap_or(0) + 1;
    let env = Environment { cpus, rotational, queue_depth: depth as u32, ..Environment::default() };
    let scheduler = SchedulerSpec::parse(spec).expect("a scheduler").build(&env).expect("its tunables");
    let mut r = Replay {
        scheduler,
        bfq: spec.starts_with("bfq"),
        rqs: Requests::new(),
        depth,
        in_flight: 0,
        chosen: VecDeque::new(),
        passed_over: Vec::new(),
        held: None,
        ahead: Vec::new(),
        done_ahead: Vec::new(),
        by_sector: HashMap::new(),
        wake: None,
        equal: 0,
        picks: 0,
        verbose: std::env::var_os("IOPILOT_REPLAY_VERBOSE").is_some(),
    };
    for (i, line) in lines.iter().enumerate() {
        while let Some(at) = r.wake.filter(|&at| at < line.at) {
            r.run(at);
            if r.wake == Some(at) {
                break;
            }
        }
        let (rq, now) = (&line.request, line.at);
        match line.event {
            'I' => {
                r.arrive(rq, now, false);
                // A plug is flushed as a whole before the queue runs.
                let next = lines.get(i + 1);
                let same_plug = |n: &Line| {
                    n.event == 'I' && n.request.process == rq.process && n.at.since(now) < Nanos::from_micros(3)
                };
                if !next.is_some_and(same_plug) {
                    r.run(now);
                }
            }
            'B' | 'F' => r.arrive(rq, now, true),
            'D' => r.issued(rq, now),
            'C' => {
                // The scheduler gets the completion, and its timers start, a little after the event was recorded.
                let heard = now + LATENCY;
                r.completed(rq, lines.get(i + 1).map_or(heard, |next| next.at.min(heard)));
            }
            _ => {}
        }
    }
    (r.equal, r.picks)
}

fn agrees(spec: &str, text: &str) {
    let (equal, picks) = replay(spec, text, true, 4);
    assert!(picks > 500 && equal * 100 >= picks * 99, "{spec}: {equal} of {picks} picks as the kernel");
}

/// `fio --rw=randrw --bs=4k --iodepth=16 --numjobs=2`.
#[test]
fn mq_deadline_dispatches_what_the_kernel_dispatched() {
    agrees("mq-deadline", include_str!("data/linux-6.18-mq-deadline.txt"));
}

/// Two of `fio --rw=randrw --bs=4k --iodepth=16`, a second apart, on two CPUs.
#[test]
fn kyber_dispatches_what_the_kernel_dispatched() {
    agrees("kyber", include_str!("data/linux-6.18-kyber.txt"));
}

/// A sequential reader of priority 0, a random one of priority 7, and a random writer, each a second after the other.
#[test]
fn bfq_dispatches_what_the_kernel_dispatched() {
    agrees("bfq", include_str!("data/linux-6.18-bfq.txt"));
}

#[test]
fn replays_the_recording_that_is_named() {
    let Ok(what) = std::env::var("IOPILOT_REPLAY") else {
        iopilot_testing::skipped("IOPILOT_REPLAY names no recording");
        return;
    };
    let mut parts = what.split(',');
    let (spec, file) = parts.next().and_then(|p| p.rsplit_once(':')).expect("SCHEDULER:FILE");
    let rotational = parts.next().is_none_or(|r| r == "1");
    let depth = parts.next().map_or(4, |d| d.parse().expect("a depth"));
    let text = std::fs::read_to_string(file).expect("the recording");
    let (equal, picks) = replay(spec, &text, rotational, depth);
    eprintln!("{spec} {file}: {equal} of {picks} picks as the kernel, {:.2} %", 100.0 * equal as f64 / picks as f64);
}
