//! [`HardwareQueue`]: what a hardware queue (`struct blk_mq_hw_ctx`) has of its own.

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
    /// Flushes, and data behind a flush, which no scheduler sees.
    pub(super) bypass: VecDeque<RequestId>,
    /// Requests that have left the scheduler and wait for room in the device (`hctx->dispatch`): one request of lookahead, and
    /// those that an elevator gave while it was asked for another queue.
    pub(super) waiting: VecDeque<RequestId>,
    /// The request on its way to the device, and when it gets there.
    pub(super) sending: Option<(Nanos, RequestId)>,
    /// Requests of its CPUs that the device has, or that are on their way there.
    pub(super) in_flight: u32,
    /// Whether the present batch has inserted a request for it.
    pub(super) inserted: bool,
}

impl HardwareQueue {
    /// The idle queues of `queue`.
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
