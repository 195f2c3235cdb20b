//! [`CommandSlot`]: a request in a drive.

use super::stream::MediaStream;
use crate::MessageKind;
use iopilot_block::{Nanos, Op, RequestId};
use iopilot_device::{DeviceRequest, ServiceBreakdown};

/// The state of a request on the bus.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum BusStage {
    /// The drive decodes its command.
    Command { until: f64 },
    /// The firmware prepares a message.
    Overhead { kind: MessageKind, until: f64 },
    /// The message was sent and not yet acknowledged.
    Sent(MessageKind),
    /// `blocks` move: block `k` has moved at `from + (k + 1) * step`.
    Burst { from: f64, step: f64, blocks: u64 },
    /// It is on the bus and waits for the medium.
    Stalled,
    /// It is disconnected.
    Off,
    /// Its completion was acknowledged; the medium is still to be written.
    Gone,
}

/// The state of a request at the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Media {
    /// It waits for its turn.
    Waiting,
    /// It had its turn: the stream does the rest, or it needs none.
    Begun,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct CommandSlot {
    pub(super) request: DeviceRequest,
    pub(super) stage: BusStage,
    pub(super) media: Media,
    /// The segment it uses.
    pub(super) segment: Option<usize>,
    /// Blocks that have moved over the bus.
    pub(super) moved: u64,
    /// The arm does not start for it earlier, ns.
    pub(super) arm_from: f64,
    /// It does not reconnect earlier, ns.
    pub(super) bus_from: f64,
    /// It waits for its turn, off the bus and without a segment: nothing can happen to it before.
    pub(super) parked: bool,
    /// Its number, in order of arrival.
    pub(super) number: u64,
    /// It is reported as done once it is in the buffer.
    pub(super) fast: bool,
    /// It left the bus before its data came (`ExtraDisconnect`).
    pub(super) extra: bool,
    /// The queue chose it, so the queue must be told of its end.
    pub(super) picked: bool,
    /// How often it has reconnected.
    pub(super) reselected: u32,
    pub(super) service: ServiceBreakdown,
    /// When data began to flow, ns; for the breakdown.
    pub(super) data_from: f64,
}

impl CommandSlot {
    /// The firmware prepares a message from `t` to `until`.
    pub(super) fn prepare(&mut self, kind: MessageKind, t: f64, until: f64) {
        self.stage = BusStage::Overhead { kind, until };
        self.service.overhead += Nanos((until - t) as u64);
    }

    pub(super) fn id(&self) -> RequestId {
        self.request.id
    }

    pub(super) fn is_read(&self) -> bool {
        self.request.op == Op::Read
    }

    pub(super) fn first(&self) -> u64 {
        self.request.lba.0
    }

    pub(super) fn count(&self) -> u64 {
        u64::from(self.request.sectors.0)
    }

    pub(super) fn end(&self) -> u64 {
        self.first() + self.count()
    }

    /// Whether no block is left to move over the bus.
    pub(super) fn all_moved(&self) -> bool {
        self.moved == self.count()
    }

    /// The first block that has not moved over the bus.
    pub(super) fn unmoved(&self) -> u64 {
        self.first() + self.moved
    }

    /// Whether the access in progress uses its segment.
    pub(super) fn is_streamed_by(&self, stream: Option<&MediaStream>) -> bool {
        stream.is_some_and(|s| Some(s.segment) == self.segment)
    }
}
