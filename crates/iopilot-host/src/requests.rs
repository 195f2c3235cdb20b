//! [`Requests`]: the requests of all processes, what they were taken for and what came of them.

use iopilot_block::{Criticality, Histogram, Nanos, Op, RequestClass, TimeLimits};

/// A request, until it is complete and has been wanted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    pub(crate) process: usize,
    pub(crate) op: Op,
    pub(crate) class: Criticality,
    pub(crate) cpu: usize,
    issued: Nanos,
    wanted: Option<Nanos>,
    pub(crate) complete: Option<Nanos>,
}

/// All requests that are under way or may still be wanted, in a slab, and statistics of the others.
#[derive(Clone, Debug, Default)]
pub(crate) struct Requests {
    slots: Vec<Request>,
    free: Vec<usize>,
    /// Responses by direction (writes second) and class.
    responses: [[Histogram; 3]; 2],
    limits: Histogram,
    late: Histogram,
    satisfied: u64,
    unused: u64,
}

impl Requests {
    pub(crate) fn issue(&mut self, process: usize, io: &crate::program::RawIo, cpu: usize, now: Nanos) -> usize {
        // Who waits at once wants it at once.
        let wanted = (io.class == Criticality::TimeCritical).then_some(now);
        let (op, class) = (io.op, io.class);
        let request = Request { process, op, class, cpu, issued: now, wanted, complete: None };
        match self.free.pop() {
            Some(slot) => {
                self.slots[slot] = request;
                slot
            }
            None => {
                self.slots.push(request);
                self.slots.len() - 1
            }
        }
    }

    pub(crate) fn get(&self, slot: usize) -> &Request {
        &self.slots[slot]
    }

    /// It is complete.
    pub(crate) fn complete(&mut self, slot: usize, now: Nanos) {
        let request = &mut self.slots[slot];
        request.complete = Some(now);
        let direction = usize::from(request.op != Op::Read);
        self.responses[direction][request.class as usize].record(now.since(request.issued));
    }

    /// Its process wants what it requested.
    pub(crate) fn want(&mut self, slot: usize, now: Nanos) {
        self.slots[slot].wanted.get_or_insert(now);
    }

    /// Whether nothing more can happen to it, or its process no longer `cares`; then it is counted and forgotten.
    pub(crate) fn forget_if_over(&mut self, slot: usize, cares: bool) -> bool {
        let Request { class, issued, wanted, complete, .. } = self.slots[slot];
        let Some(complete) = complete else { return false };
        if cares && wanted.is_none() && class == Criticality::TimeLimited {
            return false;
        }
        if class == Criticality::TimeLimited {
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
        self.free.push(slot);
        true
    }

    pub(crate) fn limits(&self) -> TimeLimits {
        let wanted = self.limits.count();
        TimeLimits {
            wanted,
            unused: self.unused,
            satisfied_percent: if wanted > 0 { 100.0 * self.satisfied as f64 / wanted as f64 } else { 0.0 },
            limit_ms: self.limits.distribution(),
            late_ms: self.late.distribution(),
        }
    }

    /// Those that are complete, by direction and class; what there was none of is left out.
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
