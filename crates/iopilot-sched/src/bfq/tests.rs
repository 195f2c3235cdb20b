use super::*;
use crate::ReplayDispatch;
use crate::bench_queue::Bench;
use iopilot_block::{EventQueue, Flags, IoPriority, PriorityClass, Scheduled, Sectors};
use std::collections::VecDeque;

/// A process of a test: its load and its service.
#[derive(Clone)]
struct Process {
    priority: IoPriority,
    op: Op,
    sync: bool,
    sectors: u32,
    /// Sequential from here; random if `None`.
    position: Option<u64>,
    think: Nanos,
    start: Nanos,
    /// Stops after this many requests.
    requests: u64,
    /// How many requests it keeps outstanding.
    depth: u32,
    done: u64,
    served: u64,
    longest: Nanos,
    total: Nanos,
}

fn reader(position: Option<u64>) -> Process {
    Process {
        priority: IoPriority { class: PriorityClass::BestEffort, level: 4 },
        op: Op::Read,
        sync: true,
        sectors: 128,
        position,
        think: Nanos::from_micros(50),
        start: Nanos::ZERO,
        requests: u64::MAX,
        depth: 1,
        done: 0,
        served: 0,
        longest: Nanos::ZERO,
        total: Nanos::ZERO,
    }
}

fn level(mut p: Process, level: u8) -> Process {
    p.priority.level = level;
    p
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Done,
    Arrive(usize),
    Poll,
}

/// A disk with 8 ms for a seek and 100 sectors a millisecond, or a solid-state one with 0.2 ms for a request.
struct World {
    scheduler: Bfq,
    rqs: Requests,
    processes: Vec<Process>,
    now: Nanos,
    events: EventQueue<Event>,
    device: VecDeque<RequestId>,
    depth: usize,
    head: u64,
    random: u64,
    most_in_device: usize,
    idle: Nanos,
    idle_since: Option<Nanos>,
}

impl World {
    fn new(rotational: bool, depth: usize, processes: Vec<Process>) -> Self {
        let scheduler = Bfq::new(&Environment { rotational, ..Environment::default() });
        let mut world = Self {
            scheduler,
            rqs: Requests::new(),
            processes,
            now: Nanos::ZERO,
            events: EventQueue::new(),
            device: VecDeque::new(),
            depth,
            head: 0,
            random: 7,
            most_in_device: 0,
            idle: Nanos::ZERO,
            idle_since: None,
        };
        for i in 0..world.processes.len() {
            for _ in 0..world.processes[i].depth {
                world.at(world.processes[i].start, Event::Arrive(i));
            }
        }
        world
    }

    fn at(&mut self, time: Nanos, event: Event) {
        self.events.push(time, event);
    }

    fn set(mut self, name: &str, value: f64) -> Self {
        self.scheduler.set(name, value).expect("tests set what exists");
        self
    }

    fn start_device(&mut self) {
        let Some(&id) = self.device.front() else { return };
        let rq = &self.rqs[id];
        let time = if self.scheduler.rotational {
            let seek = if rq.lba.0 == self.head { 0 } else { 8_000_000 };
            Nanos(seek + u64::from(rq.sectors.0) * 10_000)
        } else {
            Nanos::from_micros(200)
        };
        self.head = rq.end().0;
        self.at(self.now + time, Event::Done);
    }

    fn arrive(&mut self, i: usize) {
        let p = &mut self.processes[i];
        if p.requests == 0 {
            return;
        }
        p.requests -= 1;
        let lba = match &mut p.position {
            Some(next) => {
                *next += u64::from(p.sectors);
                *next - u64::from(p.sectors)
            }
            None => {
                self.random = self.random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                (self.random >> 33) % 100_000_000 / 8 * 8
            }
        };
        let mut rq = Request::new(p.op, Lba(lba), Sectors(p.sectors), ProcessId(i as u32));
        rq.priority = p.priority;
        if p.sync {
            rq.flags |= Flags::SYNC;
        }
        rq.arrived = self.now;
        let id = self.rqs.insert(rq);
        if self.scheduler.try_merge(&mut self.rqs, id, &MergeLimits::default(), self.now).is_none() {
            self.scheduler.insert(&mut self.rqs, id, self.now);
        }
    }

    fn complete(&mut self) {
        let id = self.device.pop_front().expect("the device was busy");
        self.scheduler.completed(&mut self.rqs, id, self.now);
        let mut part = Some(id);
        while let Some(id) = part {
            part = self.rqs.next_part(id);
            let rq = &self.rqs[id];
            let i = rq.process.0 as usize;
            let waited = self.now.since(rq.arrived);
            let p = &mut self.processes[i];
            p.done += 1;
            p.served += u64::from(rq.own_sectors.0);
            p.longest = p.longest.max(waited);
            p.total += waited;
            let think = p.think;
            self.rqs.remove(id);
            self.at(self.now + think, Event::Arrive(i));
        }
        self.start_device();
    }

    fn run(mut self, until: Nanos) -> Self {
        while let Some(Scheduled { at, event, .. }) = self.events.pop_due(until) {
            self.now = at;
            match event {
                Event::Arrive(i) => self.arrive(i),
                Event::Done => self.complete(),
                Event::Poll => {}
            }
            while self.device.len() < self.depth {
                match self.scheduler.dispatch(&mut self.rqs, self.now) {
                    Dispatch::Request(id) => {
                        if let Some(since) = self.idle_since.take() {
                            self.idle += self.now.since(since);
                        }
                        self.device.push_back(id);
                        if self.device.len() == 1 {
                            self.start_device();
                        }
                    }
                    Dispatch::WaitUntil(time) => {
                        self.at(time, Event::Poll);
                        break;
                    }
                    Dispatch::Empty => break,
                }
            }
            self.most_in_device = self.most_in_device.max(self.device.len());
            if self.device.is_empty() {
                self.idle_since.get_or_insert(self.now);
            }
        }
        self
    }

    fn served(&self, i: usize) -> f64 {
        self.processes[i].served as f64
    }

    fn total(&self) -> f64 {
        self.processes.iter().map(|p| p.served as f64).sum()
    }
}

const MINUTE: Nanos = Nanos::from_secs(60);

#[test]
fn greedy_readers_share_the_sectors_by_weight() {
    let readers = vec![level(reader(Some(0)), 0), level(reader(Some(1 << 30)), 7)];
    let w = World::new(true, 1, readers).set("low_latency", 0.0).run(MINUTE);
    let ratio = w.served(0) / w.served(1);
    assert!((7.0..9.0).contains(&ratio), "weights are 80 and 10: {ratio}");
}

#[test]
fn equal_readers_get_equal_shares() {
    let w = World::new(true, 1, (0..4).map(|i| reader(Some(i << 28))).collect()).run(MINUTE);
    for i in 1..4 {
        assert!((0.9..1.1).contains(&(w.served(i) / w.served(0))), "{i}: {} {}", w.served(i), w.served(0));
    }
}

#[test]
fn idling_is_what_makes_two_sequential_readers_fast() {
    let run = |slice_idle| {
        let readers = vec![reader(Some(0)), reader(Some(1 << 30))];
        World::new(true, 1, readers).set("low_latency", 0.0).set("slice_idle", slice_idle).run(MINUTE).total()
    };
    let (with, without) = (run(8.0), run(0.0));
    assert!(with > 3.0 * without, "{with} {without}");
}

#[test]
fn switching_low_latency_off_under_load_disables_idling_for_throughput_as_in_the_kernel() {
    let readers = || (0..8).map(|i| reader(Some(i << 28))).collect();
    let rested = World::new(true, 1, readers()).set("low_latency", 0.0).run(MINUTE);
    let under_load = World::new(true, 1, readers()).run(MINUTE);
    let before = under_load.total();
    let under_load = under_load.set("low_latency", 0.0).run(Nanos(2 * MINUTE.0));
    assert!(under_load.scheduler.raised_busy < 0, "{}", under_load.scheduler.raised_busy);
    let after = under_load.total() - before;
    assert!(after < rested.total() / 3.0, "{after} after {before}, {} if switched off without load", rested.total());
}

#[test]
fn the_device_waits_for_the_queue_in_service_and_an_arrival_ends_it() {
    let mut b = Bench::new(Bfq::new(&Environment::default()));
    b.set("low_latency", 0.0);
    let submit = |b: &mut Bench<Bfq>, process, lba| {
        let mut rq = b.request(Op::Read, lba, 64);
        rq.process = ProcessId(process);
        b.put(rq);
    };
    submit(&mut b, 1, 0);
    let first = b.dispatch().expect("it is alone");
    submit(&mut b, 2, 1 << 20);
    b.now = Nanos::from_millis(1);
    b.complete(first);
    let due = Nanos::from_millis(9);
    assert_eq!(b.scheduler.dispatch(&mut b.rqs, b.now), Dispatch::WaitUntil(due), "slice_idle is 8 ms");
    b.now = Nanos::from_millis(3);
    submit(&mut b, 1, 64);
    assert_eq!(b.take(1), [64]);
    b.now = Nanos::from_millis(12);
    assert_eq!(b.take(1), [1 << 20], "the idling ends after 8 ms");
}

#[test]
fn low_latency_favours_a_reader_that_has_just_started() {
    let run = |low_latency| {
        let mut processes: Vec<_> = (0..4).map(|i| reader(Some(i << 28))).collect();
        let mut newcomer = reader(None);
        newcomer.sectors = 8;
        newcomer.start = Nanos::from_secs(20);
        newcomer.requests = 100;
        processes.push(newcomer);
        World::new(true, 1, processes).set("low_latency", low_latency).run(MINUTE)
    };
    let (with, without) = (run(1.0), run(0.0));
    let mean = |w: &World| w.processes[4].total.as_millis_f64() / w.processes[4].done as f64;
    assert_eq!(with.processes[4].done, 100);
    assert!(mean(&with) * 4.0 < mean(&without), "{} {}", mean(&with), mean(&without));
}

#[test]
fn strict_guarantees_sends_one_at_a_time_and_always_waits() {
    let processes = || (0..3).map(|i| Process { depth: 4, ..reader((i > 0).then_some(i << 28)) }).collect();
    let strict = World::new(false, 8, processes()).set("strict_guarantees", 1.0).run(Nanos::from_secs(2));
    let lax = World::new(false, 8, processes()).run(Nanos::from_secs(2));
    assert_eq!(strict.most_in_device, 1);
    assert_eq!(lax.most_in_device, 8);
}

#[test]
fn classes_go_before_weights_but_the_idle_class_does_not_starve() {
    let mut idle = reader(Some(1 << 30));
    idle.priority.class = PriorityClass::Idle;
    let mut rt = level(reader(Some(1 << 29)), 7);
    rt.priority.class = PriorityClass::RealTime;
    let w = World::new(true, 1, vec![level(reader(Some(0)), 0), idle, rt]).run(MINUTE);
    assert!(w.served(2) > 10.0 * w.served(0), "{} {}", w.served(2), w.served(0));
    assert!(w.processes[1].done > 20, "{}", w.processes[1].done);
}

#[test]
fn asynchronous_writes_leave_room_for_a_reader() {
    let mut writer = reader(Some(1 << 30));
    (writer.op, writer.sync, writer.depth) = (Op::Write, false, 32);
    let w = World::new(true, 1, vec![reader(Some(0)), writer]).set("low_latency", 0.0).run(MINUTE);
    assert!(w.served(0) > 1.5 * w.served(1), "{} {}", w.served(0), w.served(1));
    assert!(w.served(1) > 0.0);
}

#[test]
fn the_queues_of_readers_of_interleaved_stripes_merge() {
    let mut b = Bench::new(Bfq::new(&Environment::default()));
    let submit = |b: &mut Bench<Bfq>, process, lba| {
        let mut rq = b.request(Op::Read, lba, 8);
        rq.process = ProcessId(process);
        b.put(rq)
    };
    submit(&mut b, 9, 1 << 24);
    assert!(!submit(&mut b, 1, 1000));
    assert!(submit(&mut b, 2, 1008) || submit(&mut b, 2, 1008), "it merges with the request of the first process");
    let queue = |b: &Bench<Bfq>, process| {
        let s = &b.scheduler;
        s.contexts[s.contexts.find(ProcessId(process)).unwrap()].queues[1]
    };
    assert_eq!(queue(&b, 1), queue(&b, 2));
    assert_ne!(queue(&b, 1), queue(&b, 9));
}

#[test]
fn queues_and_contexts_of_exited_processes_are_freed() {
    let mut b = Bench::new(Bfq::new(&Environment::default()));
    for process in 0..1000 {
        let mut rq = b.request(Op::Read, u64::from(process) * 5000, 8);
        rq.process = ProcessId(process);
        b.put(rq);
        b.now += Nanos::from_millis(30);
        assert_eq!(b.take(1).len(), 1);
        b.now += Nanos::from_millis(30);
        b.scheduler.process_exited(ProcessId(process), b.now);
    }
    b.now += Nanos::from_secs(5);
    b.read(1);
    b.take(1);
    assert!(b.scheduler.queues.live().count() < 5, "{}", b.scheduler.queues.live().count());
    assert!(b.scheduler.contexts.len() < 5);
}

#[test]
fn setting_a_tunable_updates_the_ones_that_depend_on_it() {
    let mut b = Bfq::new(&Environment::default());
    b.set("slice_idle_us", 2500.0).unwrap();
    assert_eq!(b.tunables().get("slice_idle"), Some(2.0));
    b.set("strict_guarantees", 1.0).unwrap();
    assert_eq!(b.tunables().get("slice_idle_us"), Some(8000.0));
    b.set("slice_idle", 0.0).unwrap();
    assert_eq!(b.tunables().get("slice_idle_us"), Some(0.0));
    assert!(b.set("back_seek_penalty", 0.0).is_err());
}

#[test]
fn tags_are_reserved_for_reads_and_for_queues_below_their_share() {
    let mut b = Bench::new(Bfq::new(&Environment::default()));
    let (read, write) = (b.request(Op::Read, 0, 8), b.request(Op::Write, 0, 8));
    assert_eq!(b.scheduler.depth_limit(&read, 128), 128);
    assert_eq!(b.scheduler.depth_limit(&write, 128), 64, "asynchronous: half");
    let mut sync = write;
    sync.flags |= Flags::SYNC;
    assert_eq!(b.scheduler.depth_limit(&sync, 128), 96, "synchronous: three quarters");
    for i in 0..40 {
        b.read(i * 10_000);
    }
    assert_eq!(b.scheduler.depth_limit(&sync, 16), 1, "over its share");
}

/// Process `process` reads a sector at `lba`.
fn read_of(b: &mut Bench<Bfq>, process: u32, lba: u64) {
    let mut rq = b.request(Op::Read, lba, 1);
    rq.process = ProcessId(process);
    rq.flags |= Flags::NO_MERGE;
    b.put(rq);
}

#[test]
fn the_queue_is_run_after_a_completion_if_the_device_has_run_empty() {
    let mut b = Bench::new(Bfq::new(&Environment::default()));
    (0..4).for_each(|i| read_of(&mut b, 1, 10_000 * i));
    let (first, second) = (b.dispatch().unwrap(), b.dispatch().unwrap());
    b.now = Nanos::from_millis(8);
    b.complete(first);
    assert!(b.scheduler.runs_after_completion().is_none_or(|at| at > b.now), "the device still has a request");
    b.complete(second);
    assert_eq!(b.scheduler.runs_after_completion(), Some(b.now));
}

#[test]
fn it_dispatches_what_another_bfq_chose() {
    let mut b = Bench::new(Bfq::new(&Environment::default()));
    (0..3).for_each(|i| read_of(&mut b, 1, 10_000 * i));
    (0..3).for_each(|i| read_of(&mut b, 2, 900_000 + 10_000 * i));
    let own = b.dispatch().unwrap();
    assert_eq!((b.rqs[own].process, b.rqs[RequestId::from_index(5)].lba), (ProcessId(1), Lba(920_000)));
    let last = RequestId::from_index(5);
    assert!(b.scheduler.dispatch_recorded(&mut b.rqs, last, b.now));
    // Its process is in service now. No request is lost.
    let next = b.dispatch().unwrap();
    assert_eq!(b.rqs[next].process, ProcessId(2));
    for id in [own, last, next] {
        b.complete(id);
    }
    b.now = Nanos::from_secs(1);
    assert_eq!(b.take(9).len(), 3);
}

#[test]
fn a_negative_time_in_service_is_charged_as_in_the_kernel() {
    // The kernel takes the difference of two clocks as an unsigned number (`bfq_bfqq_is_slow`).
    let mut b = Bench::new(Bfq::new(&Environment::default()));
    b.now = Nanos::from_secs(1);
    read_of(&mut b, 1, 10_000);
    b.dispatch().unwrap();
    let q = b.scheduler.in_service.unwrap();
    let took_ms = |b: &mut Bench<Bfq>, since: Nanos| {
        b.scheduler.budget_start = since;
        b.scheduler.is_slow(q, false).1
    };
    let now = b.now;
    assert_eq!(took_ms(&mut b, now.since(Nanos::from_micros(1999))), 1);
    assert!(took_ms(&mut b, now + Nanos::from_millis(2)) > 3_600_000, "a negative time is more than an hour");
}
