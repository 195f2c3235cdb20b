//! `kyber` (Linux 6.12 to 6.18): four domains of requests share the device by tokens, and their numbers of tokens
//! follow the latencies of the requests.
//!
//! Each CPU has a FIFO for each domain (read, write, discard, other), where new requests may merge with the last eight.
//! A hardware queue serves one domain for a batch, then the next in turn. A batch ends early if requests or tokens run
//! out. When a domain's own list is empty, those of the queue's CPUs are moved to it in their order. All queues share
//! the tokens.
//!
//! A tenth of a second after a completion, latencies are evaluated. The device is congested if the 90th percentile of
//! its own latency is beyond target in any domain. Then domains whose total latency is good lose tokens. A domain whose
//! 99th percentile is beyond target gains tokens. The timer expires when the scheduler is next called, which is before
//! the difference can be visible.

mod latency;
mod replay;

use crate::jiffies::{Jiffies, ms_to_ticks};
use crate::software_queue::merge_recent;
use crate::tunables::{plain_tunables, tunables};
use crate::{Dispatch, Environment, MergeLimits, Merged, QueueMap, Scheduler};
use iopilot_block::{Links, List, Nanos, Op, Request, RequestId, Requests};
use latency::{GOOD_BUCKETS, Latencies};

tunables! {
    /// The tunables of `kyber`, as in `/sys/block/*/queue/iosched` of Linux 6.12 to 6.18.
    pub(crate) struct KyberTunables {
        /// Target latency of reads.
        read_lat_nsec: u64, Ns = 2_000_000, 0..=1_000_000_000_000_000u64;
        /// Target latency of synchronous and other writes.
        write_lat_nsec: u64, Ns = 10_000_000, 0..=1_000_000_000_000_000u64;
    }
}

/// Read, write, discard, other.
const DOMAINS: usize = 4;
/// The most requests of a domain in flight.
const MAX_DEPTH: [u32; DOMAINS] = [256, 128, 64, 16];
/// The requests of a domain in a batch.
const BATCH: [u32; DOMAINS] = [16, 8, 1, 1];
/// Target latency of discards, which no tunable changes.
const DISCARD_LATENCY: u64 = 5_000_000_000;
/// The share of the scheduler tags that requests other than reads may hold, in percent.
const ASYNC_PERCENT: u32 = 75;
/// The number of domains whose latency is measured: all but the last.
const WATCHED: usize = 3;

/// The token scheduler of Linux 6.
#[derive(Clone, Debug)]
pub(crate) struct Kyber {
    links: Links,
    /// The software queues of each CPU.
    cpus: Vec<[List; DOMAINS]>,
    hardware: Vec<HardwareQueue>,
    map: QueueMap,
    depth: [u32; DOMAINS],
    in_flight: [u32; DOMAINS],
    /// The times of insertion and of dispatch of each request, by its index.
    times: Vec<(Nanos, Nanos)>,
    latencies: [Latencies; WATCHED],
    /// When latencies are evaluated next.
    timer: Option<Jiffies>,
    queued: usize,
    tunables: KyberTunables,
}

/// The state of a hardware queue (`struct kyber_hctx_data`).
#[derive(Clone, Debug, Default)]
struct HardwareQueue {
    /// How many requests are in the software queues of its CPUs.
    waiting: [usize; DOMAINS],
    /// The requests to send next.
    ready: [List; DOMAINS],
    domain: usize,
    batching: u32,
    queued: usize,
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
    pub(crate) fn new(env: &Environment) -> Self {
        let map = env.queue_map();
        Self {
            links: Links::default(),
            cpus: vec![Default::default(); usize::from(env.cpus)],
            hardware: vec![HardwareQueue::default(); map.queues()],
            map,
            depth: MAX_DEPTH,
            in_flight: [0; DOMAINS],
            times: Vec::new(),
            latencies: Default::default(),
            timer: None,
            queued: 0,
            tunables: KyberTunables::default(),
        }
    }

    fn target(&self, domain: usize) -> u64 {
        [self.tunables.read_lat_nsec, self.tunables.write_lat_nsec, DISCARD_LATENCY][domain]
    }

    fn next_of_domain(&mut self, queue: usize) -> Option<RequestId> {
        let hardware = &mut self.hardware[queue];
        let domain = hardware.domain;
        if self.in_flight[domain] >= self.depth[domain] {
            return None; // Without a token, requests stay where they can merge.
        }
        if hardware.ready[domain].is_empty() && hardware.waiting[domain] > 0 {
            for cpu in &mut self.cpus[self.map.cpus_of(queue)] {
                hardware.ready[domain].append(&mut self.links, &mut cpu[domain]);
            }
            hardware.waiting[domain] = 0;
        }
        let id = hardware.ready[domain].pop_front(&mut self.links)?;
        hardware.batching += 1;
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

    /// Evaluates the latencies and scales the depths.
    fn adapt(&mut self, now: Jiffies) {
        let mut congested = false;
        for l in &mut self.latencies {
            congested |= l.io_percentile(90, now).is_some_and(|bucket| bucket >= GOOD_BUCKETS);
        }
        for (domain, l) in self.latencies.iter_mut().enumerate() {
            let mut p99 = l.total_percentile(99, now);
            if congested {
                // Each evaluation throttles once. Without new samples, the remembered one is used, and then dropped.
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
        let cpu = &self.cpus[self.map.cpu(rqs[id].cpu)];
        merge_recent(&cpu[domain_of(&rqs[id])], &self.links, rqs, id, limits)
    }

    fn insert(&mut self, rqs: &mut Requests, id: RequestId, now: Nanos) {
        self.run_timer(now);
        let (cpu, domain) = (self.map.cpu(rqs[id].cpu), domain_of(&rqs[id]));
        if id.index() >= self.times.len() {
            self.times.resize(id.index() + 1, Default::default());
        }
        self.times[id.index()].0 = now;
        self.cpus[cpu][domain].push_back(&mut self.links, id);
        let queue = &mut self.hardware[self.map.queue_of(rqs[id].cpu)];
        queue.waiting[domain] += 1;
        queue.queued += 1;
        self.queued += 1;
    }

    fn dispatch(&mut self, rqs: &mut Requests, now: Nanos) -> Dispatch {
        self.dispatch_queue(rqs, 0, now)
    }

    fn dispatch_queue(&mut self, _: &mut Requests, queue: usize, now: Nanos) -> Dispatch {
        self.run_timer(now);
        if self.hardware[queue].queued == 0 {
            return Dispatch::Empty;
        }
        let mut next = None;
        if self.hardware[queue].batching < BATCH[self.hardware[queue].domain] {
            next = self.next_of_domain(queue);
        }
        if next.is_none() {
            self.hardware[queue].batching = 0;
            for _ in 0..DOMAINS {
                self.hardware[queue].domain = (self.hardware[queue].domain + 1) % DOMAINS;
                next = self.next_of_domain(queue);
                if next.is_some() {
                    break;
                }
            }
        }
        let Some(id) = next else { return Dispatch::Empty };
        self.hardware[queue].queued -= 1;
        self.queued -= 1;
        self.times[id.index()].1 = now;
        Dispatch::Request(id)
    }

    fn serves_queues_apart(&self) -> bool {
        true
    }

    fn withdraw(&mut self, rqs: &mut Requests, id: RequestId, now: Nanos) {
        self.run_timer(now);
        let (cpu, domain) = (self.map.cpu(rqs[id].cpu), domain_of(&rqs[id]));
        let queue = &mut self.hardware[self.map.queue_of(rqs[id].cpu)];
        if queue.ready[domain].iter(&self.links).any(|ready| ready == id) {
            queue.ready[domain].remove(&mut self.links, id);
        } else {
            self.cpus[cpu][domain].remove(&mut self.links, id);
            queue.waiting[domain] -= 1;
        }
        queue.queued -= 1;
        self.queued -= 1;
    }

    fn completed(&mut self, rqs: &mut Requests, id: RequestId, now: Nanos) {
        self.run_timer(now);
        let domain = domain_of(&rqs[id]);
        self.in_flight[domain] -= 1;
        if domain >= WATCHED {
            return;
        }
        let (inserted, dispatched) = self.times[id.index()];
        // After the dispatch, the block layer may have held the request back for a tag.
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
