//! What is answered to whom: [`VdiskAnswer`], and [`Timing`], which says when.

use super::clock::monotonic;
use super::desk::Order;
use super::engine::{Answer, Engine};
use super::filesystem::FuseAnswer;
use super::stats::{Counted, Tally};
#[cfg(feature = "ublk")]
use super::ublk::UblkAnswer;
use iopilot_block::{Nanos, RequestId};
use iopilot_device::AnyDevice;
use std::sync::{Arc, Mutex};

/// What keeps the time of a model.
pub(super) type ModelEngine = Engine<AnyDevice, VdiskAnswer>;

/// An answer that is ready to be sent.
pub(super) enum VdiskAnswer {
    /// To FUSE.
    Fuse(FuseAnswer),
    /// To the ublk driver.
    #[cfg(feature = "ublk")]
    Ublk(UblkAnswer),
}

impl Answer for VdiskAnswer {
    fn send(self) {
        match self {
            Self::Fuse(answer) => answer.send(),
            #[cfg(feature = "ublk")]
            Self::Ublk(answer) => answer.send(),
        }
    }
}

/// What the requests wait for.
#[derive(Clone)]
pub(super) enum Timing {
    /// A model.
    Model(Arc<ModelEngine>),
    /// Nothing: each is answered by the thread that moved its data.
    None(Arc<Mutex<Tally>>),
}

/// An order that is under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Begun {
    order: Order,
    stamp: u64,
    /// What the model calls it.
    id: Option<RequestId>,
}

impl Timing {
    /// An order has come now: the model begins with it.
    pub(super) fn begin(&self, order: Order) -> Begun {
        let stamp = monotonic();
        let id = match self {
            Self::Model(engine) => Some(engine.enter(order, stamp)),
            Self::None(_) => None,
        };
        Begun { order, stamp, id }
    }

    /// The data of an order have been moved: `answer` is sent when it is due.
    pub(super) fn finish(&self, begun: Begun, answer: VdiskAnswer) {
        match (self, begun) {
            (Self::Model(engine), Begun { id: Some(id), .. }) => engine.deliver(id, answer),
            // It waited for nothing.
            (Self::Model(_), _) => answer.send(),
            (Self::None(tally), Begun { order: Order { op, sectors, .. }, stamp, .. }) => {
                answer.send();
                let took = monotonic().saturating_sub(stamp);
                if let Ok(mut tally) = tally.lock() {
                    tally.count(&Counted { op, sectors, late: 0, took, modelled: Nanos::ZERO });
                }
            }
        }
    }
}
