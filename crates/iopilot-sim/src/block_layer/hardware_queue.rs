//! [`HardwareQueue`]: the state of one hardware queue (`struct blk_mq_hw_ctx`).

use super::flush_queue::FlushQueue;
use crate::block_config::ResolvedQueue;
use crate::tags::Tags;
use iopilot_block::{Nanos, RequestId};
use std::collections::VecDeque;

/// One hardware queue. It sends one request at a time.
#[derive(Clone, Debug)]
pub(super) struct HardwareQueue {
    pub(super) tags: Tags,
    pub(super) flushes: FlushQueue,
    /// Flushes, and data after a flush, which bypass the scheduler.
    pub(super) bypass: VecDeque<RequestId>,
    /// Requests that have left the scheduler and wait for a slot in the device (`hctx->dispatch`): one request of lookahead, and
    /// those that an elevator dispatched while another queue was run.
    pub(super) waiting: VecDeque<RequestId>,
    /// The request that is being sent to the driver, and when it arrives there.
    pub(super) sending: Option<(Nanos, RequestId)>,
    /// The number of requests of its CPUs that have left for the device and are not complete.
    pub(super) in_flight: u32,
    /// Whether the present batch has inserted a request for it.
    pub(super) inserted: bool,
}

impl HardwareQueue {
    /// All hardware queues of `queue`, idle.
    pub(super) fn all(queue: &ResolvedQueue) -> Vec<Self> {
        let one = || Self {
            tags: Tags::new(queue.tag_rule, queue.nr_requests),
            flushes: FlushQueue::default(),
            bypass: VecDeque::new(),
            waiting: VecDeque::new(),
            sending: None,
            in_flight: 0,
            inserted: false,
        };
        std::iter::repeat_with(one).take(queue.map.queues()).collect()
    }
}
