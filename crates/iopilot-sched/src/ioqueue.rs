//! [`IoQueue`]: a queue of requests with any of 28 scheduling policies, for drivers, controllers and drives.
//!
//! It is the queue module of DiskSim, with the same parameters and policy numbers (Ganger A.1.2.1 "Request
//! Queues/Schedulers", [Worthington 94]). It has three sub-queues, each with a policy of its own: a base queue, a
//! timeout queue for requests that have waited too long, and a priority queue for requests that a process waits for.
//! Sequential requests may merge, or stay in sequence. Where DiskSim 4.0 differs from its manual, this module follows
//! the manual.
//!
//! The queue decides and keeps state, but sends nothing. The caller names requests by small dense numbers, calls
//! [`IoQueue::pick`] when it can send one, and reports [`IoQueue::completed`].

mod by_block;
mod by_cylinder;
mod config;
mod location;
mod policy;
mod request;
mod shortest;
mod streams;
mod sub_queue;
#[cfg(test)]
mod tests;
mod tour;
mod view;

pub use config::{CylinderMapping, DistanceRule, IoQueueConfig, OverlapScheme, StreamScheme, TimeoutScheme};
pub use policy::IoQueuePolicy;
pub use request::{IoPick, IoRequest};

use iopilot_block::{Criticality, Links, Nanos, Positions, RequestId};
use location::SERVED;
use policy::PolicyOrder;
use request::{Entry, RequestLocation};
use shortest::Visited;
use sub_queue::{SubQueue, cylinder_of};
use tour::Tour;
use view::{LastPick, MayStart, PolicyView};

/// A queue of requests, as the module describes it. Nothing is allocated per request in the steady state.
#[derive(Clone, Debug)]
pub struct IoQueue {
    config: IoQueueConfig,
    /// By the request's index.
    entries: Vec<Entry>,
    links: Links,
    sub_queues: [SubQueue; 3],
    last: LastPick,
    waiting: usize,
    picked: usize,
    /// How many requests were inserted.
    inserted: u64,
    /// The batch of the youngest request, while more of its requests may come.
    open_batch: Option<u32>,
    visited: Visited,
    /// For the policies with slack: positioning time, distance and name of each request.
    near: Vec<(f64, u32, RequestId)>,
    tour: Option<Box<Tour>>,
    /// A buffer for [`IoQueue::completed`].
    finished: Vec<RequestId>,
}

impl IoQueue {
    /// An empty queue.
    pub fn new(config: IoQueueConfig) -> Self {
        let policies = [config.priority_policy, config.timeout_policy, config.policy];
        let tour = policies.contains(&IoQueuePolicy::Tsps).then(|| Box::new(Tour::new()));
        Self {
            config,
            entries: Vec::new(),
            links: Links::default(),
            sub_queues: policies.map(SubQueue::new),
            last: LastPick::default(),
            waiting: 0,
            picked: 0,
            inserted: 0,
            open_batch: None,
            visited: Visited::default(),
            near: Vec::new(),
            tour,
            finished: Vec::new(),
        }
    }

    /// The parameters.
    pub fn config(&self) -> &IoQueueConfig {
        &self.config
    }

    /// Changes the parameters. Waiting requests stay, and are sorted again. O(n log n).
    pub(crate) fn reconfigure(&mut self, config: IoQueueConfig) {
        let mut new = Self::new(config);
        std::mem::swap(&mut new.sub_queues, &mut self.sub_queues);
        std::mem::swap(&mut new.tour, &mut self.tour);
        self.config = new.config;
        let waiting: Vec<_> = new.sub_queues.iter().flat_map(|sub_queue| sub_queue.by_age.iter(&self.links)).collect();
        for id in waiting {
            self.put(id, self.location_for(&self.entries[id.index()].request));
        }
    }

    /// Whether [`IoQueue::pick`] must be given the device's positions.
    pub fn needs_positions(&self) -> bool {
        self.config.needs_positions()
    }

    /// How many requests wait.
    pub fn len(&self) -> usize {
        self.waiting
    }

    /// Whether no request waits.
    pub fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    /// How many requests were picked and are not complete. Each part counts.
    pub fn outstanding(&self) -> usize {
        self.picked
    }

    /// The waiting requests: sub-queue after sub-queue in the order of service, the oldest first in each.
    pub fn iter(&self) -> impl Iterator<Item = &IoRequest> + '_ {
        let ids = self.sub_queues.iter().flat_map(|sub_queue| sub_queue.by_age.iter(&self.links));
        ids.map(|id| &self.entries[id.index()].request)
    }

    /// Inserts a request that arrives at `now`. O(1).
    pub fn insert(&mut self, request: IoRequest, now: Nanos) {
        let id = request.id;
        let entry = Entry {
            request,
            arrived: now,
            number: self.inserted,
            started: now,
            key: None,
            location: RequestLocation::Nowhere,
            next_part: None,
        };
        self.inserted += 1;
        if id.index() >= self.entries.len() {
            self.entries.resize(id.index() + 1, entry);
        }
        debug_assert!(self.entries[id.index()].location == RequestLocation::Nowhere, "a request is in the queue once");
        self.entries[id.index()] = entry;
        self.open_batch = request.batch;
        self.waiting += 1;
        self.put(id, self.location_for(&request));
    }

    /// A process begins to wait for `id`. With priorities, the request moves to the priority queue. Nothing happens if
    /// it does not wait here.
    pub fn raise(&mut self, id: RequestId) {
        let Some(entry) = self.entries.get_mut(id.index()) else { return };
        entry.request.criticality = Criticality::TimeCritical;
        let location = entry.location;
        if self.config.priorities && matches!(location, RequestLocation::Base | RequestLocation::Timeout) {
            self.take_out(id);
            self.put(id, RequestLocation::Priority);
        }
    }

    /// Ends the batch of the last inserted request: no more requests of it will come.
    pub fn close_batch(&mut self) {
        self.open_batch = None;
    }

    /// Removes a waiting request; false if it does not wait.
    pub fn remove(&mut self, id: RequestId) -> bool {
        let waits = self
            .entries
            .get(id.index())
            .is_some_and(|e| !matches!(e.location, RequestLocation::Nowhere | RequestLocation::Picked));
        if waits {
            self.take_out(id);
            self.entries[id.index()].location = RequestLocation::Nowhere;
            self.waiting -= 1;
        }
        waits
    }

    /// Chooses the request to send at `now`; `None` if none waits.
    ///
    /// # Panics
    /// If the policy needs `positions` and there are none: see [`IoQueue::needs_positions`].
    pub fn pick(&mut self, now: Nanos, positions: Option<&dyn Positions>) -> Option<IoPick> {
        self.pick_among(now, positions, None)
    }

    /// As [`IoQueue::pick`], among the requests that `may_start`.
    ///
    /// # Panics
    /// As there.
    pub fn pick_where(
        &mut self,
        now: Nanos,
        positions: Option<&dyn Positions>,
        may_start: &dyn Fn(&IoRequest) -> bool,
    ) -> Option<IoPick> {
        self.pick_among(now, positions, Some(may_start))
    }

    fn pick_among(
        &mut self,
        now: Nanos,
        positions: Option<&dyn Positions>,
        may_start: Option<MayStart<'_>>,
    ) -> Option<IoPick> {
        if self.waiting == 0 {
            return None;
        }
        self.time_out(now);
        for (location, index) in SERVED {
            if self.sub_queues[index].by_age.is_empty() {
                continue;
            }
            self.sub_queues[index].settle(&mut self.entries, &self.config, positions);
            if let Some(id) = self.choose(index, now, positions, may_start) {
                debug_assert!(self.entries[id.index()].location == location);
                return Some(self.start(index, id, now, may_start));
            }
        }
        None
    }

    /// The choice of the policy of sub-queue `index`.
    fn choose(
        &mut self,
        index: usize,
        now: Nanos,
        positions: Option<&dyn Positions>,
        may_start: Option<MayStart<'_>>,
    ) -> Option<RequestId> {
        let before = self.last;
        let sub_queue = &self.sub_queues[index];
        let view = PolicyView {
            config: &self.config,
            sub_queue,
            location: SERVED[index].0,
            links: &self.links,
            entries: &self.entries,
            last: &before,
            now,
            positions,
            may_start,
        };
        let last = &mut self.last;
        let chosen = match sub_queue.policy {
            IoQueuePolicy::Fcfs => view.oldest(),
            IoQueuePolicy::ElevatorLbn => view.elevator(),
            IoQueuePolicy::CycleLbn => view.cycle(),
            IoQueuePolicy::SstfLbn => view.nearest_block(last),
            IoQueuePolicy::ElevatorCyl => view.elevator_cylinder(),
            IoQueuePolicy::CycleCyl => view.cycle_cylinder(),
            IoQueuePolicy::SstfCyl => view.nearest_cylinder(last),
            IoQueuePolicy::VscanLbn => view.vscan_block(),
            IoQueuePolicy::VscanCyl => view.vscan_cylinder(),
            IoQueuePolicy::PriVscanLbn => view.weighed_block(),
            IoQueuePolicy::SdfApprox => view.shortest_distance(view.last_cylinder()),
            IoQueuePolicy::SdfExact => view.shortest_distance(view.device().arm(now)),
            IoQueuePolicy::SptfRotWeight | IoQueuePolicy::SptfSeekWeight => view.within_slack(&mut self.near),
            IoQueuePolicy::Tsps => {
                let tour = self.tour.get_or_insert_with(|| Box::new(Tour::new()));
                tour.next(&view)
            }
            IoQueuePolicy::BatchFcfs => view.oldest_of_whole_batches(self.open_batch),
            IoQueuePolicy::Sptf
            | IoQueuePolicy::Spctf
            | IoQueuePolicy::Satf
            | IoQueuePolicy::Wptf
            | IoQueuePolicy::Wpctf
            | IoQueuePolicy::Watf
            | IoQueuePolicy::Asptf
            | IoQueuePolicy::Aspctf
            | IoQueuePolicy::Asatf
            | IoQueuePolicy::PriAsptf
            | IoQueuePolicy::PriAspctf
            | IoQueuePolicy::SptfRotOpt => {
                self.visited.clear(self.entries.len());
                view.shortest(&mut self.visited)
            }
        };
        if let Some(id) = chosen {
            let first = self.entries[id.index()].request.lba;
            self.last.upwards = match (sub_queue.policy.order(), self.entries[id.index()].key) {
                (PolicyOrder::Mapped | PolicyOrder::Exact, Some(key)) => {
                    match cylinder_of(key).cmp(&view.last_cylinder()) {
                        std::cmp::Ordering::Equal => before.upwards,
                        way => way.is_gt(),
                    }
                }
                _ if first == before.first => before.upwards,
                _ => first > before.first,
            };
        }
        chosen
    }

    /// The part after `id` in a pick of several requests.
    pub fn next_part(&self, id: RequestId) -> Option<RequestId> {
        self.entries[id.index()].next_part
    }

    /// The device has finished the pick named `id` at `now`. Appends to `also` the requests that are complete with it:
    /// its other parts and, depending on the overlap scheme, waiting requests for the same blocks.
    ///
    /// # Panics
    /// If `id` was not picked.
    pub fn completed(&mut self, id: RequestId, now: Nanos, also: &mut Vec<RequestId>) {
        debug_assert!(now >= self.entries[id.index()].started, "time goes back");
        let mut part = Some(id);
        while let Some(id) = part {
            let entry = &mut self.entries[id.index()];
            assert!(entry.location == RequestLocation::Picked, "only a picked request completes");
            entry.location = RequestLocation::Nowhere;
            part = entry.next_part.take();
            self.picked -= 1;
            self.finished.push(id);
        }
        let mut finished = std::mem::take(&mut self.finished);
        also.extend_from_slice(&finished[1..]);
        if self.config.overlap != OverlapScheme::Off {
            for &id in &finished {
                self.finish_overlapping(id, also);
            }
        }
        finished.clear();
        self.finished = finished;
    }
}
