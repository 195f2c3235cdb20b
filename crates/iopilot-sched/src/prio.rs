//! `prio(SCHED)`: criticality-based scheduling (Ganger 7) around any scheduler.
//!
//! It has two lists, each an instance of the scheduler inside. Time-critical and time-limited requests, for which a
//! process waits or soon will, go to the high list. Time-noncritical requests go to the low list. Each list orders and
//! merges its own requests. The low list has its turn only while the high list is empty. Requests at the disk are not
//! preempted. No kernel has this: it can only be simulated. If each hardware queue serves only its own CPUs (`none`,
//! `kyber`), the rule applies to each queue separately.
//!
//! A request of the low list moves to the high one when a process begins to wait for it ([`Scheduler::raise`]), and
//! after `aging_ms`, which bounds its wait (7.4). It is withdrawn from one instance and inserted into the other, like a
//! request that arrives then.
//!
//! While the high list keeps the disk idle for the next request of a process (`as`, `cfq`, `bfq`), the low list waits,
//! too: idling protects requests for which a process waits. Each list learns about the arm's position and about
//! processes only from the requests that it has served itself.
//!
//! There are two variants, which the thesis leaves to future work (8.2). With `limited`, time-limited requests wait in
//! a third list between the two. They move to the high list when a process waits for them or their estimated limit is
//! over, the earliest first. With `low_starved`, the low list has a turn after that many requests of the others. This
//! trades criticality for throughput: a burst of requests for which no process waits does not stay until it fills the
//! queue.

mod limits;
#[cfg(test)]
mod tests;

use self::limits::LimitEstimates;
use crate::deadlines::Deadlines;
use crate::tunables::tunables;
use crate::{
    AnyScheduler, Dispatch, Environment, MergeLimits, Merged, QueueMap, Scheduler, Tunable, TunableError, Tunables,
};
use iopilot_block::{Criticality, Nanos, Positions, ProcessId, Request, RequestId, Requests};

tunables! {
    /// The tunables of `prio`.
    pub struct PrioTunables {
        /// After how long a request for which no process waits moves to the high list; 0 for never.
        aging_ms: u64, Ms = 0, 0..=2_147_483_647;
        /// Whether time-limited requests have a list of their own until their estimated limit is over.
        limited: bool, Bool = false, 0..=1;
        /// How many requests of the other lists may pass over the low one; 0 for any number.
        low_starved: u64, Count = 0, 0..=2_147_483_647;
    }
}

/// The lists, in the order in which they are served.
const HIGH: usize = 0;
const LIMITED: usize = 1;
const LOW: usize = 2;

/// The state of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    /// Unknown here, or a part of another request.
    #[default]
    Nowhere,
    /// Queued in this list.
    Waits(usize),
    /// At the device, from this list.
    Sent(usize),
}

/// Lists of one scheduler: high, limited (if that is separate), low.
#[derive(Clone, Debug)]
pub struct Prio {
    lists: [AnyScheduler; 3],
    /// By the request's index.
    places: Vec<Place>,
    /// The requests of the low list, by the time they came there.
    came: Deadlines<1>,
    limits: LimitEstimates,
    /// How many requests passed over the low list since its last turn.
    passed: u64,
    /// The list of the last completed request.
    completed: usize,
    map: QueueMap,
    tunables: PrioTunables,
}

impl Prio {
    /// What it does, in one line.
    pub const SUMMARY: &'static str = "around any scheduler: requests that a process waits for go first";

    /// Lists around `inside`, which was built for `env` and is empty.
    pub(crate) fn new(inside: AnyScheduler, env: &Environment) -> Self {
        debug_assert_eq!(inside.queued(), 0, "the lists start empty");
        Self {
            lists: [inside.clone(), inside.clone(), inside],
            places: Vec::new(),
            came: Deadlines::default(),
            limits: LimitEstimates::default(),
            passed: 0,
            completed: HIGH,
            map: env.queue_map(),
            tunables: PrioTunables::default(),
        }
    }

    /// The scheduler inside: the instance of the high list.
    pub(crate) fn inside(&self) -> &AnyScheduler {
        &self.lists[HIGH]
    }

    /// The list for a request of `process` with this criticality.
    fn list_for(&self, process: ProcessId, class: Criticality) -> usize {
        match class {
            Criticality::TimeLimited if self.tunables.limited && self.limits.estimate(process).is_some() => LIMITED,
            Criticality::TimeCritical | Criticality::TimeLimited => HIGH,
            Criticality::TimeNonCritical => LOW,
        }
    }

    /// When `process` is expected to wait for a request that arrived at `came`.
    fn limit_of(&self, process: ProcessId, came: Nanos) -> Nanos {
        came.saturating_add(self.limits.estimate(process).unwrap_or_default())
    }

    /// Drops what is known about `id`, which is neither in a list nor at the device.
    fn forget(&mut self, id: RequestId) {
        self.came.remove(id);
        self.limits.forget(id);
        self.set_place(id, Place::Nowhere);
    }

    fn place(&self, id: RequestId) -> Place {
        self.places.get(id.index()).copied().unwrap_or_default()
    }

    fn set_place(&mut self, id: RequestId, place: Place) {
        if id.index() >= self.places.len() {
            self.places.resize(id.index() + 1, Place::Nowhere);
        }
        self.places[id.index()] = place;
    }

    fn put(&mut self, rqs: &mut Requests, id: RequestId, list: usize, now: Nanos) {
        debug_assert!(!matches!(self.place(id), Place::Waits(_)), "a request is in one list");
        self.lists[list].insert(rqs, id, now);
        self.set_place(id, Place::Waits(list));
        match list {
            LIMITED => self.limits.set(id, self.limit_of(rqs[id].process, rqs[id].arrived)),
            LOW => self.came.push(0, id, now),
            _ => {}
        }
    }

    /// Moves `id` from another list to the high one.
    fn promote(&mut self, rqs: &mut Requests, id: RequestId, list: usize, now: Nanos) {
        self.came.remove(id);
        self.limits.unset(id);
        self.lists[list].withdraw(rqs, id, now);
        self.set_place(id, Place::Nowhere);
        self.put(rqs, id, HIGH, now);
    }

    /// The oldest request of the low list, and when it moves to the high one.
    fn next_aging(&self) -> Option<(Nanos, RequestId)> {
        let oldest = self.came.oldest(0).filter(|_| self.tunables.aging_ms > 0)?;
        let came = self.came.expires(oldest)?;
        Some((came.saturating_add(Nanos::from_millis(self.tunables.aging_ms)), oldest))
    }

    fn age(&mut self, rqs: &mut Requests, now: Nanos) {
        while let Some(id) = self.limits.take(now) {
            self.promote(rqs, id, LIMITED, now);
        }
        while let Some((_, id)) = self.next_aging().filter(|&(at, _)| at <= now) {
            self.promote(rqs, id, LOW, now);
        }
    }

    /// Keeps the device idle until then, or until a request moves to the high list.
    fn wait(&self, until: Nanos) -> Dispatch {
        let next = self.next_aging().map(|(at, _)| at).into_iter().chain(self.limits.next()).min();
        Dispatch::WaitUntil(next.map_or(until, |at| at.min(until)))
    }

    /// `id` was dispatched from `list`, with the requests that merged into it at dispatch.
    fn sent(&mut self, rqs: &Requests, id: RequestId, list: usize) {
        self.came.remove(id);
        self.limits.unset(id);
        self.set_place(id, Place::Sent(list));
        if self.lists[list].joins_at_dispatch() {
            let mut part = rqs.next_part(id);
            while let Some(joined) = part {
                self.forget(joined);
                part = rqs.next_part(joined);
            }
        }
        self.passed = if list == LOW || self.lists[LOW].queued() == 0 { 0 } else { self.passed + 1 };
    }

    /// Asks `list` for its next request.
    fn take(
        &mut self,
        rqs: &mut Requests,
        list: usize,
        ask: &mut impl FnMut(&mut AnyScheduler, &mut Requests) -> Dispatch,
    ) -> Dispatch {
        let answer = ask(&mut self.lists[list], rqs);
        match answer {
            Dispatch::Request(id) => self.sent(rqs, id, list),
            Dispatch::WaitUntil(at) => return self.wait(at),
            Dispatch::Empty => {}
        }
        answer
    }

    /// Whether the lists after `list` must wait although `list` dispatched nothing for hardware queue `queue`. They
    /// must if `list` holds requests back, which then wait for its requests at the device. O(requests) if each queue
    /// serves its own CPUs.
    fn holds_back(&self, rqs: &Requests, list: usize, queue: Option<usize>) -> bool {
        let asked = &self.lists[list];
        match queue {
            Some(queue) if asked.queued() > 0 && asked.serves_queues_apart() => {
                let waiting = self.places.iter().enumerate().filter(|(_, place)| **place == Place::Waits(list));
                let mut cpus = waiting.map(|(id, _)| rqs[RequestId::from_index(id)].cpu);
                cpus.any(|cpu| self.map.queue_of(cpu) == queue)
            }
            _ => asked.queued() > 0,
        }
    }

    /// Lets the lists choose, for one of several hardware queues if `queue` is given. `ask` asks one list.
    fn choose(
        &mut self,
        rqs: &mut Requests,
        queue: Option<usize>,
        now: Nanos,
        mut ask: impl FnMut(&mut AnyScheduler, &mut Requests) -> Dispatch,
    ) -> Dispatch {
        self.age(rqs, now);
        if self.tunables.low_starved > 0 && self.passed >= self.tunables.low_starved {
            if let given @ Dispatch::Request(_) = self.take(rqs, LOW, &mut ask) {
                return given;
            }
        }
        for list in [HIGH, LIMITED] {
            if list == LIMITED && !self.tunables.limited && self.lists[LIMITED].queued() == 0 {
                continue;
            }
            let answer = self.take(rqs, list, &mut ask);
            let behind: usize = self.lists[list + 1..].iter().map(Scheduler::queued).sum();
            if answer != Dispatch::Empty || behind == 0 || self.holds_back(rqs, list, queue) {
                return answer;
            }
            if let Some(until) = self.lists[list].idles_until(rqs, now).filter(|&until| until > now) {
                return self.wait(until);
            }
        }
        self.take(rqs, LOW, &mut ask)
    }
}

impl Scheduler for Prio {
    fn try_merge(&mut self, rqs: &mut Requests, id: RequestId, limits: &MergeLimits, now: Nanos) -> Option<Merged> {
        let list = self.list_for(rqs[id].process, rqs.urgency(id));
        let Some(merged) = self.lists[list].try_merge(rqs, id, limits, now) else {
            for other in [HIGH, LIMITED, LOW].into_iter().filter(|&other| other != list) {
                if self.lists[other].joins_at_dispatch() {
                    // It only stores the limits: a request may move to it from the other list.
                    self.lists[other].try_merge(rqs, id, limits, now);
                }
            }
            return None;
        };
        if list == LIMITED {
            self.limits.set(merged.host, self.limit_of(rqs[id].process, rqs[id].arrived));
        }
        if let Some(gone) = merged.absorbed {
            self.set_place(gone, Place::Nowhere);
            self.came.absorb(merged.host, gone);
            self.limits.absorb(merged.host, gone);
        }
        Some(merged)
    }

    fn insert(&mut self, rqs: &mut Requests, id: RequestId, now: Nanos) {
        let (process, class) = (rqs[id].process, rqs.urgency(id));
        if self.tunables.limited && class == Criticality::TimeLimited {
            self.limits.issued(id, process, rqs[id].arrived);
        }
        self.put(rqs, id, self.list_for(process, class), now);
    }

    fn dispatch(&mut self, rqs: &mut Requests, now: Nanos) -> Dispatch {
        self.choose(rqs, None, now, |list, rqs| list.dispatch(rqs, now))
    }

    fn dispatch_at(&mut self, rqs: &mut Requests, now: Nanos, positions: Option<&dyn Positions>) -> Dispatch {
        self.choose(rqs, None, now, |list, rqs| list.dispatch_at(rqs, now, positions))
    }

    fn dispatch_queue(&mut self, rqs: &mut Requests, queue: usize, now: Nanos) -> Dispatch {
        self.choose(rqs, Some(queue), now, |list, rqs| list.dispatch_queue(rqs, queue, now))
    }

    fn serves_queues_apart(&self) -> bool {
        self.lists[HIGH].serves_queues_apart()
    }

    fn joins_at_dispatch(&self) -> bool {
        self.lists[HIGH].joins_at_dispatch()
    }

    fn needs_positions(&self) -> bool {
        self.lists[HIGH].needs_positions()
    }

    fn completed(&mut self, rqs: &mut Requests, id: RequestId, now: Nanos) {
        let Place::Sent(list) = self.place(id) else {
            debug_assert!(false, "only a dispatched request completes");
            return;
        };
        self.lists[list].completed(rqs, id, now);
        self.forget(id);
        self.completed = list;
    }

    fn collapsed(&mut self) -> Option<RequestId> {
        let id = self.lists[self.completed].collapsed()?;
        self.forget(id);
        Some(id)
    }

    /// The earliest time of the completed request's list and of the other lists that have requests.
    fn runs_after_completion(&self) -> Option<Nanos> {
        let asked =
            [HIGH, LIMITED, LOW].into_iter().filter(|&list| list == self.completed || self.lists[list].queued() > 0);
        asked.filter_map(|list| self.lists[list].runs_after_completion()).min()
    }

    fn withdraw(&mut self, rqs: &mut Requests, id: RequestId, now: Nanos) {
        let Place::Waits(list) = self.place(id) else { return };
        self.lists[list].withdraw(rqs, id, now);
        self.forget(id);
    }

    fn idles_until(&mut self, rqs: &mut Requests, now: Nanos) -> Option<Nanos> {
        self.lists.iter_mut().find_map(|list| list.idles_until(rqs, now))
    }

    fn raise(&mut self, rqs: &mut Requests, id: RequestId, now: Nanos) {
        if self.tunables.limited {
            self.limits.over(id, now);
        }
        match self.place(id) {
            Place::Waits(HIGH) => self.lists[HIGH].raise(rqs, id, now),
            Place::Waits(list) => self.promote(rqs, id, list, now),
            Place::Nowhere | Place::Sent(_) => {}
        }
    }

    fn process_exited(&mut self, process: ProcessId, now: Nanos) {
        self.limits.exited(process);
        self.lists.iter_mut().for_each(|list| list.process_exited(process, now));
    }

    fn depth_limit(&self, rq: &Request, nr_requests: u32) -> u32 {
        self.lists[self.list_for(rq.process, rq.criticality)].depth_limit(rq, nr_requests)
    }

    fn queued(&self) -> usize {
        self.lists.iter().map(Scheduler::queued).sum()
    }

    fn tunables(&self) -> &dyn Tunables {
        self
    }

    fn set(&mut self, name: &str, value: f64) -> Result<(), TunableError> {
        Tunables::set(self, name, value)
    }
}

/// Its own tunables, and by name those of the scheduler inside.
impl Tunables for Prio {
    fn specs(&self) -> &'static [Tunable] {
        PrioTunables::SPECS
    }

    fn get(&self, name: &str) -> Option<f64> {
        self.tunables.get(name).or_else(|| self.inside().tunables().get(name))
    }

    fn set(&mut self, name: &str, value: f64) -> Result<(), TunableError> {
        if self.tunables.get(name).is_some() || self.inside().tunables().get(name).is_none() {
            return self.tunables.set(name, value);
        }
        self.lists.iter_mut().try_for_each(|list| list.set(name, value))
    }
}
