//! [`HostRequests`]: the requests of all processes, with their classes and results.

use crate::page_cache::PageKey;
use iopilot_block::{Criticality, Histogram, Nanos, Op, RequestClass, Slab, TimeLimits};

/// A request. It is kept until it is complete and was wanted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostRequest {
    pub(crate) process: usize,
    pub(crate) op: Op,
    pub(crate) class: Criticality,
    pub(crate) cpu: usize,
    /// The cache page that it is for, and whether the page keeps it until a process wants the page.
    pub(crate) page: Option<PageKey>,
    is_kept: bool,
    issued: Nanos,
    wanted: Option<Nanos>,
    pub(crate) complete: Option<Nanos>,
    /// Whether the interrupt of its completion has been handled.
    pub(crate) is_handled: bool,
    /// Its index among the requests of its process, if it is there.
    pub(crate) place: Option<usize>,
}

/// All requests in flight or possibly still wanted, in a slab; and statistics of the others.
#[derive(Clone, Debug, Default)]
pub(crate) struct HostRequests {
    requests: Slab<HostRequest, usize>,
    /// The number of requests issued so far.
    issued: u64,
    /// Requests issued before this time are not counted.
    from: Nanos,
    /// Responses by direction (writes second) and class.
    responses: [[Histogram; 3]; 2],
    limits: Histogram,
    late: Histogram,
    satisfied: u64,
    unused: u64,
}

impl HostRequests {
    /// Adds a request of a process, which keeps it at index `place`.
    pub(crate) fn issue(
        &mut self,
        process: usize,
        io: &crate::program::RawIo,
        place: usize,
        cpu: usize,
        now: Nanos,
    ) -> usize {
        let slot = self.add(process, io.op, io.class, cpu, None, now);
        self.requests[slot].place = Some(place);
        slot
    }

    /// Adds a request for a cache page. It stays until it is released.
    pub(crate) fn issue_page(
        &mut self,
        process: usize,
        op: Op,
        class: Criticality,
        page: PageKey,
        cpu: usize,
        now: Nanos,
    ) -> usize {
        self.add(process, op, class, cpu, Some(page), now)
    }

    fn add(
        &mut self,
        process: usize,
        op: Op,
        class: Criticality,
        cpu: usize,
        page: Option<PageKey>,
        now: Nanos,
    ) -> usize {
        // A time-critical request is wanted at once.
        let wanted = (class == Criticality::TimeCritical).then_some(now);
        let is_kept = page.is_some();
        self.issued += 1;
        self.requests.insert(HostRequest {
            process,
            op,
            class,
            cpu,
            page,
            is_kept,
            issued: now,
            wanted,
            complete: None,
            is_handled: false,
            place: None,
        })
    }

    /// The number issued, including those not counted.
    pub(crate) const fn issued(&self) -> u64 {
        self.issued
    }

    pub(crate) fn get(&self, slot: usize) -> &HostRequest {
        &self.requests[slot]
    }

    /// Turns the statistics off.
    pub(crate) fn count_nothing(&mut self) {
        self.from = Nanos::MAX;
    }

    /// Notes that its completion interrupt has been handled.
    pub(crate) fn handled(&mut self, slot: usize) {
        self.requests[slot].is_handled = true;
    }

    /// Notes that its process now keeps it at index `place`.
    pub(crate) fn moved(&mut self, slot: usize, place: usize) {
        self.requests[slot].place = Some(place);
    }

    /// Restarts the statistics with the requests issued from now on.
    pub(crate) fn restart(&mut self, now: Nanos) {
        let requests = std::mem::take(&mut self.requests);
        *self = Self { requests, issued: self.issued, from: now, ..Self::default() };
    }

    /// Notes its completion.
    pub(crate) fn complete(&mut self, slot: usize, now: Nanos) {
        let request = &mut self.requests[slot];
        request.complete = Some(now);
        if request.issued < self.from {
            return;
        }
        let direction = usize::from(request.op != Op::Read);
        self.responses[direction][request.class as usize].record(now.since(request.issued));
    }

    /// Notes that a process wants the data. Returns whether it is the first to do so.
    pub(crate) fn want(&mut self, slot: usize, now: Nanos) -> bool {
        let is_first = self.requests[slot].wanted.is_none();
        self.requests[slot].wanted.get_or_insert(now);
        is_first
    }

    /// Whether it is time-limited and not wanted yet.
    pub(crate) fn is_unwanted(&self, slot: usize) -> bool {
        let request = &self.requests[slot];
        request.class == Criticality::TimeLimited && request.wanted.is_none()
    }

    /// The page no longer needs this complete request.
    pub(crate) fn release(&mut self, slot: usize) {
        self.requests[slot].is_kept = false;
        self.forget_if_over(slot, false);
    }

    /// Counts and frees a request to which nothing more can happen, or whose process no longer `cares`. Returns whether it did.
    pub(crate) fn forget_if_over(&mut self, slot: usize, cares: bool) -> bool {
        let HostRequest { class, issued, wanted, complete, is_kept, .. } = self.requests[slot];
        let Some(complete) = complete.filter(|_| !is_kept) else { return false };
        if cares && wanted.is_none() && class == Criticality::TimeLimited {
            return false;
        }
        if class == Criticality::TimeLimited && issued >= self.from {
            match wanted {
                Some(wanted) => {
                    self.limits.record(wanted.since(issued));
                    if complete <= wanted {
                        self.satisfied += 1;
                    } else {
                        self.late.record(complete.since(wanted));
                    }
                }
                None => self.unused += 1,
            }
        }
        self.requests.remove(slot).complete = None;
        true
    }

    /// The share of the response times of time-limited requests during which a process waited.
    pub(crate) fn lateness(&self) -> Option<f64> {
        let limited = self.responses.iter().map(|of| &of[Criticality::TimeLimited as usize]);
        let responses: f64 = limited.map(|h| h.distribution().mean * h.count() as f64).sum();
        let late = self.late.distribution().mean * self.late.count() as f64;
        (responses > 0.0).then(|| (late / responses).min(1.0))
    }

    pub(crate) fn limits(&self) -> TimeLimits {
        let wanted = self.limits.count();
        let counts = |slot: usize| self.requests[slot].complete.is_some() && self.requests[slot].issued >= self.from;
        let is_unwanted = |slot: &usize| counts(*slot) && self.is_unwanted(*slot);
        let never = (0..self.requests.slots()).filter(is_unwanted).count() as u64;
        TimeLimits {
            wanted,
            unused: self.unused + never,
            satisfied_percent: if wanted > 0 { 100.0 * self.satisfied as f64 / wanted as f64 } else { 0.0 },
            limit_ms: self.limits.distribution(),
            late_ms: self.late.distribution(),
        }
    }

    /// Complete requests by direction and class, without empty classes.
    pub(crate) fn classes(&self) -> Vec<RequestClass> {
        let classes = [Criticality::TimeCritical, Criticality::TimeLimited, Criticality::TimeNonCritical];
        let all = [Op::Read, Op::Write].into_iter().zip(&self.responses);
        let each = all.flat_map(|(op, of_op)| classes.into_iter().zip(of_op).map(move |(class, h)| (op, class, h)));
        each.filter(|(_, _, responses)| responses.count() > 0)
            .map(|(op, class, responses)| RequestClass {
                op,
                class,
                requests: responses.count(),
                response_ms: responses.distribution(),
            })
            .collect()
    }
}
