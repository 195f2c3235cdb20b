//! [`CommandSlot`]: a request in a drive.

use super::stream::MediaStream;
use crate::MessageKind;
use iopilot_block::{Nanos, Op, RequestId};
use iopilot_device::{DeviceRequest, ServiceBreakdown};

/// What a request does on the bus.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum BusStage {
    /// Its command is being looked at.
    Command { until: f64 },
    /// The firmware prepares a message.
    Overhead { kind: MessageKind, until: f64 },
    /// The message was sent and is not acknowledged.
    Sent(MessageKind),
    /// `blocks` move: block `k` has moved at `from + (k + 1) * step`.
    Burst { from: f64, step: f64, blocks: u64 },
    /// It is on the bus and waits for the medium.
    Stalled,
    /// It is off the bus.
    Off,
    /// It was completed; the medium is still to come.
    Gone,
}

/// What a request has to do with the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Media {
    /// It waits for its turn.
    Waiting,
    /// It had its turn: the rest is up to the stream, or it needs none.
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
    /// The arm starts for it no earlier, ns.
    pub(super) arm_from: f64,
    /// It does not go back to the bus earlier, ns.
    pub(super) bus_from: f64,
    /// It waits for its turn, off the bus and without a segment: nothing can happen to it before.
    pub(super) dozes: bool,
    /// In order of arrival.
    pub(super) number: u64,
    /// Reported when in the buffer.
    pub(super) fast: bool,
    /// It left the bus before its data came (`ExtraDisconnect`).
    pub(super) extra: bool,
    /// The queue chose it, and is to be told when it is done.
    pub(super) picked: bool,
    /// How often it came back to the bus.
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

    /// Nothing of it is left to move over the bus.
    pub(super) fn all_moved(&self) -> bool {
        self.moved == self.count()
    }

    /// The first block that has not moved over the bus.
    pub(super) fn unmoved(&self) -> u64 {
        self.first() + self.moved
    }

    /// Its time on the bus is set off against the arm's.
    pub(super) fn is_streamed_by(&self, stream: Option<&MediaStream>) -> bool {
        stream.is_some_and(|s| Some(s.segment) == self.segment)
    }
}
