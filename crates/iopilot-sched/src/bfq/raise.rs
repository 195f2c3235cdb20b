//! Weight raising (`low_latency`): a queue that looks interactive or soft real-time weighs 30 or 3000 times more.

use super::queue::QueueId;
use super::{Bfq, SOFT_RT_FACTOR, SOFT_RT_MAX_TIME, WR_COEFF};
use crate::jiffies::{HZ, Jiffies, ms_to_ticks};

/// Raising ends after this many sectors, which is slightly more than the start of a large application needs.
const MAX_SERVICE: i64 = 120_000;
/// The highest rate of a soft real-time process, in sectors a second.
const SOFT_RT_MAX_RATE: i64 = 7000;
/// A queue that was idle for this long counts as new, ms.
pub(super) const MIN_IDLE_MS: u64 = 2000;
/// Asynchronous requests at this interval count as interactive, ms.
pub(super) const MIN_ASYNC_GAP_MS: u64 = 500;

impl Bfq {
    /// The duration of interactive raising, in jiffies: the time in which this device starts a large application.
    pub(super) fn raising_duration(&self) -> i64 {
        let (reference_rate, reference_ms) = if self.rotational { (14_000, 7_000) } else { (33_000, 2_500) };
        let duration = reference_rate * ms_to_ticks(reference_ms) / i64::from(self.rate.rate);
        duration.clamp(ms_to_ticks(3_000), ms_to_ticks(25_000))
    }

    fn raise_interactive(&mut self, q: QueueId) {
        let max_time = self.raising_duration();
        let raising = &mut self.queues[q].raising;
        (raising.coeff, raising.max_time) = (WR_COEFF, max_time);
    }

    pub(super) fn interactive_is_over(&self, q: QueueId) -> bool {
        Jiffies(self.queues[q].raising.interactive_since.0 + self.raising_duration()) < self.jiffies()
    }

    /// Returns from soft real-time to the interactive raising that it had interrupted.
    pub(super) fn back_to_interactive(&mut self, q: QueueId) {
        self.raise_interactive(q);
        let raising = &mut self.queues[q].raising;
        raising.changed = raising.interactive_since;
    }

    /// Updates the raising of a queue when it is activated.
    pub(super) fn raise_at_activation(
        &mut self,
        q: QueueId,
        old_coeff: u64,
        deserves: bool,
        interactive: bool,
        soft_rt: bool,
    ) {
        let jiffies = self.jiffies();
        let least = 2 * self.min_budget();
        let in_burst = self.queues[q].in_large_burst;
        if old_coeff == 1 && deserves {
            if interactive {
                self.queues[q].raising.service = 0;
                self.raise_interactive(q);
            } else {
                let raising = &mut self.queues[q].raising;
                raising.interactive_since = Jiffies::LONG_AGO;
                (raising.coeff, raising.max_time) = (WR_COEFF * SOFT_RT_FACTOR, SOFT_RT_MAX_TIME);
            }
            let e = &mut self.queues[q].entity;
            e.budget = e.budget.min(least);
        } else if old_coeff > 1 {
            if interactive {
                self.raise_interactive(q);
            } else if in_burst {
                self.queues[q].raising.coeff = 1;
            } else if soft_rt {
                let raising = &mut self.queues[q].raising;
                if raising.max_time != SOFT_RT_MAX_TIME {
                    raising.interactive_since = raising.changed;
                    (raising.coeff, raising.max_time) = (WR_COEFF * SOFT_RT_FACTOR, SOFT_RT_MAX_TIME);
                }
                raising.changed = jiffies;
            }
        }
    }

    pub(super) fn end_raising(&mut self, q: QueueId) {
        let jiffies = self.jiffies();
        let queue = &mut self.queues[q];
        if queue.raising.max_time != SOFT_RT_MAX_TIME {
            queue.soft_rt_next_start = jiffies;
        }
        // It is subtracted whether it is raised or not: see `end_all_raising`.
        self.raised_busy -= i32::from(queue.busy);
        queue.raising.coeff = 1;
        queue.raising.max_time = 0;
        queue.raising.changed = jiffies;
        queue.entity.prio_changed = true;
    }

    /// Ends raising that has lasted long enough or served enough. Called at each dispatch of the queue in service.
    pub(super) fn update_raising(&mut self, q: QueueId) {
        let jiffies = self.jiffies();
        let queue = &self.queues[q];
        let raising = queue.raising;
        if raising.coeff > 1 {
            if queue.in_large_burst {
                self.end_raising(q);
            } else if Jiffies(raising.changed.0 + raising.max_time) < jiffies {
                if raising.max_time != SOFT_RT_MAX_TIME || self.interactive_is_over(q) {
                    self.end_raising(q);
                } else {
                    self.back_to_interactive(q);
                    self.queues[q].entity.prio_changed = true;
                }
            }
            let raising = self.queues[q].raising;
            if raising.coeff > 1 && raising.max_time != SOFT_RT_MAX_TIME && raising.service > MAX_SERVICE {
                self.end_raising(q);
            }
        }
        let queue = &self.queues[q];
        if (queue.entity.weight > queue.entity.own_weight) != (queue.raising.coeff > 1) {
            self.update_weight(q, false);
        }
    }

    /// Ends the raising of all queues, as `low_latency` was switched off (`bfq_end_wr`).
    ///
    /// This keeps a fault of the kernel, observed on Linux 6.18. Each queue that has requests is subtracted from the
    /// number of raised queues, whether it was raised or not; asynchronous queues are subtracted twice. The queue in
    /// service is in no list and stays raised. Under load the number then never returns to 0, and bfq no longer idles
    /// for throughput until the scheduler is set again: 32 streams fall from 60 to 10 MB/s.
    pub(super) fn end_all_raising(&mut self) {
        for q in self.queues.live() {
            if self.in_service != Some(q) {
                self.end_raising(q);
            }
        }
        let asynchronous: Vec<QueueId> = self.async_queues.iter().flatten().flatten().copied().collect();
        asynchronous.into_iter().for_each(|q| self.end_raising(q));
    }

    /// The earliest time at which a next request shows a bandwidth low enough for soft real-time.
    pub(super) fn soft_rt_start(&self, q: QueueId) -> Jiffies {
        let queue = &self.queues[q];
        let slow_enough = queue.last_idle_backlogged.0 + HZ * queue.service_from_backlogged / SOFT_RT_MAX_RATE;
        let not_greedy = self.jiffies().0 + (self.slice_idle() / (1_000_000_000 / HZ as u64)) as i64 + 4;
        queue.soft_rt_next_start.max(Jiffies(slow_enough)).max(Jiffies(not_greedy))
    }
}
