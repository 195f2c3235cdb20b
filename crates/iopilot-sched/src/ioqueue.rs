//! [`IoQueue`]: a queue of requests with any of 28 scheduling policies, for drivers, controllers and drives.
//!
//! It is the queue module of DiskSim, whose parameters and policy numbers it takes (Ganger A.1.2.1 "Request
//! Queues/Schedulers", [Worthington 94]): a base queue, a queue for what has waited too long and one for what somebody
//! waits for, each with a policy of its own; sequential requests may become one, or stay in sequence. Where DiskSim 4.0
//! departs from its manual, this follows the manual.
//!
//! The queue decides and remembers; it sends nothing. The caller names requests by small dense numbers, asks
//! [`IoQueue::pick`] when it can send one, and reports [`IoQueue::completed`].

mod by_block;
mod by_cylinder;
mod config;
mod line;
mod places;
mod policy;
mod request;
mod shortest;
mod streams;
#[cfg(test)]
mod tests;
mod tour;
mod view;

pub use config::{CylinderMapping, DistanceRule, IoQueueConfig, OverlapScheme, StreamScheme, TimeoutScheme};
pub use policy::Policy;
pub use request::{IoPick, IoRequest};

use iopilot_block::{Criticality, Links, Nanos, Positions, RequestId};
use line::{Line, cylinder_of};
use places::SERVED;
use policy::Order;
use request::{Entry, Place};
use shortest::Visited;
use tour::Tour;
use view::{Last, MayStart, View};

/// A queue of requests. See the module for what it is; nothing is allocated per request in the steady state.
#[derive(Clone, Debug)]
pub struct IoQueue {
    config: IoQueueConfig,
    /// By the index of a request's name.
    entries: Vec<Entry>,
    links: Links,
    lines: [Line; 3],
    last: Last,
    waiting: usize,
    picked: usize,
    /// How many have come.
    inserted: u64,
    /// The batch of the youngest request, as long as more of it may come.
    open_batch: Option<u32>,
    visited: Visited,
    /// For the policies with slack: positioning times, distances, names.
    near: Vec<(f64, u32, RequestId)>,
    tour: Option<Box<Tour>>,
    /// For [`IoQueue::completed`].
    finished: Vec<RequestId>,
}

impl IoQueue {
    /// An empty queue.
    pub fn new(config: IoQueueConfig) -> Self {
        let policies = [config.priority_policy, config.timeout_policy, config.policy];
        let tour = policies.contains(&Policy::Tsps).then(|| Box::new(Tour::new()));
        Self {
            config,
            entries: Vec::new(),
            links: Links::default(),
            lines: policies.map(Line::new),
            last: Last::default(),
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

    /// Changes the parameters. What waits stays, in its queues. O(n log n).
    pub fn reconfigure(&mut self, config: IoQueueConfig) {
        let mut new = Self::new(config);
        std::mem::swap(&mut new.lines, &mut self.lines);
        std::mem::swap(&mut new.tour, &mut self.tour);
        self.config = new.config;
        let waiting: Vec<_> = new.lines.iter().flat_map(|line| line.by_age.iter(&self.links)).collect();
        for id in waiting {
            self.put(id, self.place_for(&self.entries[id.index()].request));
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

    /// Whether none does.
    pub fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    /// How many requests were picked and are not complete, each part counted.
    pub fn outstanding(&self) -> usize {
        self.picked
    }

    /// The requests that wait: queue after queue in the order in which they are served, the oldest first in each.
    pub fn iter(&self) -> impl Iterator<Item = &IoRequest> + '_ {
        let ids = self.lines.iter().flat_map(|line| line.by_age.iter(&self.links));
        ids.map(|id| &self.entries[id.index()].request)
    }

    /// Takes in a request that arrives at `now`. O(1).
    pub fn insert(&mut self, request: IoRequest, now: Nanos) {
        let id = request.id;
        let entry = Entry {
            request,
            arrived: now,
            number: self.inserted,
            started: now,
            key: None,
            place: Place::Nowhere,
            next_part: None,
        };
        self.inserted += 1;
        if id.index() >= self.entries.len() {
            self.entries.resize(id.index() + 1, entry);
        }
        debug_assert!(self.entries[id.index()].place == Place::Nowhere, "a name is in the queue once");
        self.entries[id.index()] = entry;
        self.open_batch = request.batch;
        self.waiting += 1;
        self.put(id, self.place_for(&request));
    }

    /// Somebody now waits for `id`: where priorities are on, it goes to the priority queue. Nothing happens where it does
    /// not wait here.
    pub fn raise(&mut self, id: RequestId) {
        let Some(entry) = self.entries.get_mut(id.index()) else { return };
        entry.request.criticality = Criticality::TimeCritical;
        let place = entry.place;
        if self.config.priorities && matches!(place, Place::Base | Place::Timeout) {
            self.take_out(id);
            self.put(id, Place::Priority);
        }
    }

    /// No more requests of the batch that the last inserted one belongs to will come.
    pub fn close_batch(&mut self) {
        self.open_batch = None;
    }

    /// Takes back a request that waits; false where it does not.
    pub fn remove(&mut self, id: RequestId) -> bool {
        let waits = self.entries.get(id.index()).is_some_and(|e| !matches!(e.place, Place::Nowhere | Place::Picked));
        if waits {
            self.take_out(id);
            self.entries[id.index()].place = Place::Nowhere;
            self.waiting -= 1;
        }
        waits
    }

    /// Chooses what to send at `now`; `None` where nothing waits.
    ///
    /// # Panics
    /// Where the policy needs `positions` and there are none: see [`IoQueue::needs_positions`].
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
        for (place, index) in SERVED {
            if self.lines[index].by_age.is_empty() {
                continue;
            }
            self.lines[index].settle(&mut self.entries, &self.config, positions);
            if let Some(id) = self.choose(index, now, positions, may_start) {
                debug_assert!(self.entries[id.index()].place == place);
                return Some(self.start(index, id, now, may_start));
            }
        }
        None
    }

    /// The choice of the policy of line `index`.
    fn choose(
        &mut self,
        index: usize,
        now: Nanos,
        positions: Option<&dyn Positions>,
        may_start: Option<MayStart<'_>>,
    ) -> Option<RequestId> {
        let before = self.last;
        let line = &self.lines[index];
        let view = View {
            config: &self.config,
            line,
            place: SERVED[index].0,
            links: &self.links,
            entries: &self.entries,
            last: &before,
            now,
            positions,
            may_start,
        };
        let last = &mut self.last;
        let chosen = match line.policy {
            Policy::Fcfs => view.oldest(),
            Policy::ElevatorLbn => view.elevator(),
            Policy::CycleLbn => view.cycle(),
            Policy::SstfLbn => view.nearest_block(last),
            Policy::ElevatorCyl => view.elevator_cylinder(),
            Policy::CycleCyl => view.cycle_cylinder(),
            Policy::SstfCyl => view.nearest_cylinder(last),
            Policy::VscanLbn => view.vscan_block(),
            Policy::VscanCyl => view.vscan_cylinder(),
            Policy::PriVscanLbn => view.weighed_block(),
            Policy::SdfApprox => view.shortest_distance(view.last_cylinder()),
            Policy::SdfExact => view.shortest_distance(view.device().arm(now)),
            Policy::SptfRotWeight | Policy::SptfSeekWeight => view.within_slack(&mut self.near),
            Policy::Tsps => {
                let tour = self.tour.get_or_insert_with(|| Box::new(Tour::new()));
                tour.next(&view)
            }
            Policy::BatchFcfs => view.oldest_of_whole_batches(self.open_batch),
            Policy::Sptf
            | Policy::Spctf
            | Policy::Satf
            | Policy::Wptf
            | Policy::Wpctf
            | Policy::Watf
            | Policy::Asptf
            | Policy::Aspctf
            | Policy::Asatf
            | Policy::PriAsptf
            | Policy::PriAspctf
            | Policy::SptfRotOpt => {
                self.visited.clear(self.entries.len());
                view.shortest(&mut self.visited)
            }
        };
        if let Some(id) = chosen {
            let first = self.entries[id.index()].request.lba;
            self.last.upwards = match (line.policy.order(), self.entries[id.index()].key) {
                (Order::Mapped | Order::Exact, Some(key)) => match cylinder_of(key).cmp(&view.last_cylinder()) {
                    std::cmp::Ordering::Equal => before.upwards,
                    way => way.is_gt(),
                },
                _ if first == before.first => before.upwards,
                _ => first > before.first,
            };
        }
        chosen
    }

    /// The part behind `id` in a pick that several requests became.
    pub fn next_part(&self, id: RequestId) -> Option<RequestId> {
        self.entries[id.index()].next_part
    }

    /// The device has finished the pick named `id` at `now`. Appends to `also` what is complete with it: its other parts,
    /// and, as the overlap scheme says, waiting requests for the same blocks.
    ///
    /// # Panics
    /// Where `id` was not picked.
    pub fn completed(&mut self, id: RequestId, now: Nanos, also: &mut Vec<RequestId>) {
        debug_assert!(now >= self.entries[id.index()].started, "time goes back");
        let mut part = Some(id);
        while let Some(id) = part {
            let entry = &mut self.entries[id.index()];
            assert!(entry.place == Place::Picked, "only what was picked completes");
            entry.place = Place::Nowhere;
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
