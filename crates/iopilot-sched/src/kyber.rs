//! `kyber` (Linux 6.12 to 6.18): four kinds of requests share the device by tokens, and the number of tokens follows
//! the latencies they see.
//!
//! Each CPU has a FIFO a domain (read, write, discard, other), where new requests may merge with the last eight. A
//! domain is served for a batch, then the next in turn; running dry or out of tokens ends a batch early. When a
//! domain's own list is empty, those of all CPUs are moved to it in the order of the CPUs. A tenth of a second after
//! a completion, latencies are judged: if the device is congested (the 90th percentile of its own latency beyond
//! target in any domain), domains whose total latency is good lose tokens; a domain whose 99th percentile is beyond
//! target gains. The timer runs when the scheduler is next called, which is before anything can see the difference.

mod latency;

use crate::jiffies::{Jiffies, ms_to_ticks};
use crate::software_queue::merge_recent;
use crate::tunables::{plain_tunables, tunables};
use crate::{Dispatch, Environment, MergeLimits, Merged, Scheduler};
use iopilot_block::{Links, List, Nanos, Op, Request, RequestId, Requests};
use latency::{GOOD_BUCKETS, Latencies};

tunables! {
    /// The tunables of `kyber`, as in `/sys/block/*/queue/iosched` of Linux 6.12 to 6.18.
    pub struct KyberTunables {
        /// Target latency of reads.
        read_lat_nsec: u64, Ns = 2_000_000, 0..=1_000_000_000_000_000u64;
        /// Target latency of synchronous and other writes.
        write_lat_nsec: u64, Ns = 10_000_000, 0..=1_000_000_000_000_000u64;
    }
}

/// Read, write, discard, other.
const DOMAINS: usize = 4;
/// Most requests of a domain in flight.
const MAX_DEPTH: [u32; DOMAINS] = [256, 128, 64, 16];
/// Requests of a domain in a row.
const BATCH: [u32; DOMAINS] = [16, 8, 1, 1];
/// Target latency of discards, which no tunable changes.
const DISCARD_LATENCY: u64 = 5_000_000_000;
/// Share of the scheduler tags that requests other than reads may hold, in percent.
const ASYNC_PERCENT: u32 = 75;
/// Domains whose latency is watched: all but the last.
const WATCHED: usize = 3;

/// The token scheduler of Linux 6.
#[derive(Clone, Debug)]
pub struct Kyber {
    links: Links,
    /// The software queues of each CPU, not yet moved.
    cpus: Vec<[List; DOMAINS]>,
    /// How many requests are in software queues.
    waiting: [usize; DOMAINS],
    /// What is next to be sent.
    ready: [List; DOMAINS],
    depth: [u32; DOMAINS],
    in_flight: [u32; DOMAINS],
    domain: usize,
    batching: u32,
    /// When each request was inserted, then when it was dispatched, by its index.
    times: Vec<(Nanos, Nanos)>,
    latencies: [Latencies; WATCHED],
    /// When latencies are judged next.
    timer: Option<Jiffies>,
    queued: usize,
    tunables: KyberTunables,
}

fn domain_of(rq: &Request) -> usize {
    match rq.op {
        Op::Read => 0,
        Op::Write => 1,
        Op::Discard => 2,
        Op::Flush => 3,
    }
}

impl Kyber {
    /// Empty queues for the CPUs of `env`.
    pub fn new(env: &Environment) -> Self {
        Self {
            links: Links::default(),
            cpus: vec![Default::default(); usize::from(env.cpus)],
            waiting: [0; DOMAINS],
            ready: Default::default(),
            depth: MAX_DEPTH,
            in_flight: [0; DOMAINS],
            domain: 0,
            batching: 0,
            times: Vec::new(),
            latencies: Default::default(),
            timer: None,
            queued: 0,
            tunables: KyberTunables::default(),
        }
    }

    /// How many requests of each domain (read, write, discard, other) may be in flight now.
    pub fn depths(&self) -> [u32; DOMAINS] {
        self.depth
    }

    /// Makes `id`, which is queued, the next. What was ready before it must have missed the moment when the software
    /// queues were emptied, and goes back there.
    fn make_next(&mut self, rqs: &Requests, id: RequestId) {
        let (cpu, domain) = (usize::from(rqs[id].cpu), domain_of(&rqs[id]));
        if self.ready[domain].iter(&self.links).any(|ready| ready == id) {
            let late: Vec<RequestId> = self.ready[domain].iter(&self.links).take_while(|&ready| ready != id).collect();
            for other in late.into_iter().rev() {
                self.ready[domain].remove(&mut self.links, other);
                self.cpus[usize::from(rqs[other].cpu)][domain].push_front(&mut self.links, other);
                self.waiting[domain] += 1;
            }
        } else {
            self.cpus[cpu][domain].remove(&mut self.links, id);
            self.waiting[domain] -= 1;
            self.ready[domain].push_front(&mut self.links, id);
        }
        if self.domain != domain || self.batching >= BATCH[domain] {
            (self.domain, self.batching) = (domain, 0);
        }
    }

    fn target(&self, domain: usize) -> u64 {
        [self.tunables.read_lat_nsec, self.tunables.write_lat_nsec, DISCARD_LATENCY][domain]
    }

    fn next_of_domain(&mut self) -> Option<RequestId> {
        let domain = self.domain;
        if self.in_flight[domain] >= self.depth[domain] {
            return None; // without a token, leave requests where they can merge
        }
        if self.ready[domain].is_empty() && self.waiting[domain] > 0 {
            for cpu in &mut self.cpus {
                self.ready[domain].append(&mut self.links, &mut cpu[domain]);
            }
            self.waiting[domain] = 0;
        }
        let id = self.ready[domain].pop_front(&mut self.links)?;
        self.batching += 1;
        self.in_flight[domain] += 1;
        Some(id)
    }

    fn run_timer(&mut self, now: Nanos) {
        if self.timer.is_some_and(|due| due <= Jiffies::at(now)) {
            if let Some(due) = self.timer.take() {
                self.adapt(due);
            }
        }
    }

    /// Judges the latencies and scales the depths.
    fn adapt(&mut self, now: Jiffies) {
        let mut congested = false;
        for l in &mut self.latencies {
            congested |= l.io_percentile(90, now).is_some_and(|bucket| bucket >= GOOD_BUCKETS);
        }
        for (domain, l) in self.latencies.iter_mut().enumerate() {
            let mut p99 = l.total_percentile(99, now);
            if congested {
                // Each judgement throttles once: without new samples the remembered one serves, and is used up.
                p99 = p99.or(l.remembered.take());
                l.remembered = None;
            } else if p99.is_some() {
                l.remembered = p99;
            }
            if let Some(bucket) = p99.filter(|&bucket| congested || bucket >= GOOD_BUCKETS) {
                let depth = (self.depth[domain] * (bucket as u32 + 1)) >> 2;
                self.depth[domain] = depth.clamp(1, MAX_DEPTH[domain]);
            }
        }
    }
}

impl Scheduler for Kyber {
    fn try_merge(&mut self, rqs: &mut Requests, id: RequestId, limits: &MergeLimits, _: Nanos) -> Option<Merged> {
        let cpu = self.cpus.get(usize::from(rqs[id].cpu))?;
        merge_recent(&cpu[domain_of(&rqs[id])], &self.links, rqs, id, limits)
    }

    fn insert(&mut self, rqs: &mut Requests, id: RequestId, now: Nanos) {
        self.run_timer(now);
        let (cpu, domain) = (usize::from(rqs[id].cpu), domain_of(&rqs[id]));
        if cpu >= self.cpus.len() {
            self.cpus.resize(cpu + 1, Default::default());
        }
        if id.index() >= self.times.len() {
            self.times.resize(id.index() + 1, Default::default());
        }
        self.times[id.index()].0 = now;
        self.cpus[cpu][domain].push_back(&mut self.links, id);
        self.waiting[domain] += 1;
        self.queued += 1;
    }

    fn dispatch(&mut self, _: &mut Requests, now: Nanos) -> Dispatch {
        self.run_timer(now);
        if self.queued == 0 {
            return Dispatch::Empty;
        }
        let mut next = None;
        if self.batching < BATCH[self.domain] {
            next = self.next_of_domain();
        }
        if next.is_none() {
            self.batching = 0;
            for _ in 0..DOMAINS {
                self.domain = (self.domain + 1) % DOMAINS;
                next = self.next_of_domain();
                if next.is_some() {
                    break;
                }
            }
        }
        let Some(id) = next else { return Dispatch::Empty };
        self.queued -= 1;
        self.times[id.index()].1 = now;
        Dispatch::Request(id)
    }

    fn follow(&mut self, rqs: &mut Requests, id: RequestId, now: Nanos) -> bool {
        self.make_next(rqs, id);
        self.dispatch(rqs, now) == Dispatch::Request(id)
    }

    fn completed(&mut self, rqs: &mut Requests, id: RequestId, now: Nanos) {
        self.run_timer(now);
        let domain = domain_of(&rqs[id]);
        self.in_flight[domain] -= 1;
        if domain >= WATCHED {
            return;
        }
        let (inserted, dispatched) = self.times[id.index()];
        // The block layer may have held the request back for a tag after it left here.
        let issued = dispatched.max(rqs[id].issued).min(now);
        let target = self.target(domain);
        self.latencies[domain].record(now.since(inserted).0, now.since(issued).0, target);
        self.timer.get_or_insert(Jiffies(Jiffies::at(now).0 + ms_to_ticks(100)));
    }

    fn depth_limit(&self, rq: &Request, nr_requests: u32) -> u32 {
        if rq.op == Op::Read { nr_requests } else { (nr_requests * ASYNC_PERCENT / 100).max(1) }
    }

    fn queued(&self) -> usize {
        self.queued
    }

    plain_tunables!();
}

#[cfg(test)]
mod tests;
