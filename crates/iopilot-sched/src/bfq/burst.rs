//! Bursts of new queues: eight or more created shortly after each other belong to one job, which needs throughput.

use super::Bfq;
use super::queue::QueueId;

/// A burst of this many queues is large.
const LARGE: u32 = 8;
/// A queue created later than this after the last one of a burst is not part of it, ms.
const INTERVAL_MS: u64 = 180;

/// The present burst.
#[derive(Clone, Debug, Default)]
pub(super) struct Burst {
    list: Vec<QueueId>,
    pub(super) size: u32,
    pub(super) large: bool,
}

/// A queue created within this time after another may merge stably with it at once, ms: the interval of a burst.
pub(super) const EARLY_MERGE_MS: u64 = INTERVAL_MS;

impl Bfq {
    /// Assigns a new queue, which gets its first request, to a burst.
    pub(super) fn note_birth(&mut self, q: QueueId) {
        let jiffies = self.jiffies();
        let queue = &self.queues[q];
        if queue.in_burst_list || queue.in_large_burst || queue.split_time.plus_ms(10) >= jiffies {
            return;
        }
        if self.last_in_burst.plus_ms(INTERVAL_MS) < jiffies {
            self.burst.large = false;
            self.clear_burst();
            self.burst.size = 0;
            if self.total_busy() == 0 {
                self.join_burst(q);
                self.burst.size = 1;
            }
        } else if self.burst.large {
            self.queues[q].in_large_burst = true;
        } else {
            self.burst.size += 1;
            if self.burst.size == LARGE {
                self.burst.large = true;
                for member in self.burst.list.clone() {
                    self.queues[member].in_large_burst = true;
                }
                self.queues[q].in_large_burst = true;
                self.clear_burst();
            } else {
                self.join_burst(q);
            }
        }
        self.last_in_burst = jiffies;
    }

    fn clear_burst(&mut self) {
        while let Some(member) = self.burst.list.pop() {
            self.queues[member].in_burst_list = false;
        }
    }

    pub(super) fn join_burst(&mut self, q: QueueId) {
        self.queues[q].in_burst_list = true;
        self.burst.list.push(q);
    }

    pub(super) fn leave_burst(&mut self, q: QueueId) {
        if std::mem::take(&mut self.queues[q].in_burst_list) {
            self.burst.list.retain(|&member| member != q);
        }
    }
}
