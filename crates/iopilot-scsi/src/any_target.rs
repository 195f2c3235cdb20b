//! [`AnyTarget`]: one of the target models, with static dispatch.

use crate::{BlockTimes, Drive, Message, Signal, SimpleDisk, Target};
use iopilot_block::{Nanos, Positions, RequestId};
use iopilot_device::{DeviceRequest, ServiceBreakdown};

/// One of the models of a target on a bus.
#[derive(Clone, Debug)]
pub enum AnyTarget {
    /// A drive with a buffer and mechanics.
    Drive(Box<Drive>),
    /// A disk of constant access time.
    Simple(Box<SimpleDisk>),
}

impl From<Drive> for AnyTarget {
    fn from(drive: Drive) -> Self {
        Self::Drive(Box::new(drive))
    }
}

impl From<SimpleDisk> for AnyTarget {
    fn from(disk: SimpleDisk) -> Self {
        Self::Simple(Box::new(disk))
    }
}

macro_rules! each {
    ($self:ident, $target:ident => $call:expr) => {
        match $self {
            AnyTarget::Drive($target) => $call,
            AnyTarget::Simple($target) => $call,
        }
    };
}

impl Target for AnyTarget {
    fn submit(&mut self, request: DeviceRequest, now: Nanos, out: &mut Vec<Signal>) {
        each!(self, target => target.submit(request, now, out));
    }

    fn granted(&mut self, now: Nanos, out: &mut Vec<Signal>) {
        each!(self, target => target.granted(now, out));
    }

    fn acknowledged(&mut self, message: Message, now: Nanos, out: &mut Vec<Signal>) {
        each!(self, target => target.acknowledged(message, now, out));
    }

    fn next_event(&self) -> Option<Nanos> {
        each!(self, target => target.next_event())
    }

    fn advance(&mut self, now: Nanos, out: &mut Vec<Signal>) {
        each!(self, target => target.advance(now, out));
    }

    fn set_block_times(&mut self, times: BlockTimes) {
        each!(self, target => target.set_block_times(times));
    }

    fn own_block_times(&self) -> BlockTimes {
        each!(self, target => target.own_block_times())
    }

    fn service(&self, id: RequestId) -> ServiceBreakdown {
        each!(self, target => target.service(id))
    }

    fn capacity(&self) -> u64 {
        each!(self, target => target.capacity())
    }

    fn positions(&self) -> Option<&dyn Positions> {
        each!(self, target => target.positions())
    }

    fn queue_depth(&self) -> u32 {
        each!(self, target => target.queue_depth())
    }
}
