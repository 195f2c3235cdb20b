//! Idling: whether to keep the device idle for a queue that has run empty but will soon have more requests.

use super::Bfq;
use super::queue::QueueId;
use super::rate::IMMEDIATE;
use iopilot_block::Nanos;

/// The shortest idling for a raised queue, ns.
const RAISED_IDLE: u64 = 20_000_000;

impl Bfq {
    /// Whether idling raises throughput. It does on a rotational device without queueing. On a rotational device with
    /// queueing, or a solid-state device without it, it does if the queue is sequential, I/O-bound and has short think
    /// times. It does not while raised queues are busy.
    pub(super) fn idling_boosts_throughput(&self, q: QueueId) -> bool {
        let queue = &self.queues[q];
        if queue.process_refs == 0 {
            return false;
        }
        let queueing = self.hardware_queueing();
        let sequential = !queue.seeky() && queue.behaviour.io_bound && queue.behaviour.has_short_think_time;
        let boosts = (self.rotational && !queueing) || ((self.rotational || !queueing) && sequential);
        boosts && self.raised_busy == 0
    }

    /// Whether the queue would lose its share to others without idling.
    pub(super) fn idling_keeps_guarantees(&self, q: QueueId) -> bool {
        let queue = &self.queues[q];
        if queue.process_refs == 0 {
            return false;
        }
        let busy = self.total_busy();
        (queue.raising.coeff > 1 && (self.raised_busy < busy as i32 || self.in_driver >= queue.dispatched + 4))
            || self.asymmetric(q)
            || busy == 1
    }

    /// `bfq_better_to_idle`.
    pub(super) fn better_to_idle(&self, q: QueueId) -> bool {
        let queue = &self.queues[q];
        if queue.process_refs == 0 {
            return false;
        }
        if self.tunables.strict_guarantees {
            return true;
        }
        if self.slice_idle() == 0 || !queue.sync || queue.class == 2 {
            return false;
        }
        self.idling_boosts_throughput(q) || self.idling_keeps_guarantees(q)
    }

    /// Whether to wait for the next request of `q`, which is empty and in service.
    pub(super) fn waits_for(&self, q: QueueId) -> bool {
        let queue = &self.queues[q];
        queue.waiting || (queue.dispatched > 0 && self.better_to_idle(q))
    }

    pub(super) fn must_idle(&self, q: QueueId) -> bool {
        self.queues[q].sorted.is_empty() && self.better_to_idle(q)
    }

    /// Starts to idle for `q`, which is in service.
    pub(super) fn start_idling(&mut self, q: QueueId) {
        let asymmetric = self.asymmetric(q);
        let slice = self.slice_idle();
        let queue = &mut self.queues[q];
        queue.waiting = true;
        let wait = if queue.seeky() && queue.raising.coeff == 1 && !asymmetric {
            slice.min(IMMEDIATE)
        } else if queue.raising.coeff > 1 {
            slice.max(RAISED_IDLE)
        } else {
            slice
        };
        self.idling_since = self.now;
        self.timer = Some(Nanos(self.now.0 + wait));
    }

    /// Updates, at a completion, the estimate of whether the device queues requests.
    pub(super) fn update_hardware_queueing(&mut self) {
        const THRESHOLD: u32 = 3;
        const SAMPLES: u32 = 32;
        self.max_in_driver = self.max_in_driver.max(self.in_driver);
        if self.hw_tag == Some(true) || self.in_driver + self.queued as u32 <= THRESHOLD {
            return;
        }
        if let Some(q) = self.in_service {
            let queue = &self.queues[q];
            let own = queue.dispatched + queue.queued[0] + queue.queued[1];
            if queue.behaviour.has_short_think_time && own < THRESHOLD && self.in_driver < THRESHOLD {
                return;
            }
        }
        self.hw_tag_samples += 1;
        if self.hw_tag_samples <= SAMPLES {
            return;
        }
        self.hw_tag = Some(self.max_in_driver > THRESHOLD);
        self.max_in_driver = 0;
        self.hw_tag_samples = 0;
        self.solid_state_with_queueing = !self.rotational && self.hw_tag == Some(true);
    }

    /// Whether the device queues requests, as is assumed until it is known.
    fn hardware_queueing(&self) -> bool {
        self.hw_tag != Some(false)
    }
}
