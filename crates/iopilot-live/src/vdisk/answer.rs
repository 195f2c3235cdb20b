//! [`VdiskAnswer`]: an answer and its receiver; and [`Timing`]: when it is sent.

use super::clock::monotonic;
use super::engine::{Answer, Engine};
use super::filesystem::FuseAnswer;
use super::model_queue::DiskRequest;
use super::stats::{Counted, Tally};
#[cfg(feature = "ublk")]
use super::ublk::UblkAnswer;
use iopilot_block::{Nanos, RequestId};
use iopilot_device::AnyDevice;
use std::sync::{Arc, Mutex};

/// The engine of a virtual disk.
pub(super) type ModelEngine = Engine<AnyDevice, VdiskAnswer>;

/// An answer that is ready to be sent.
pub(super) enum VdiskAnswer {
    /// For FUSE.
    Fuse(FuseAnswer),
    /// For the ublk driver.
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

    fn is_error(&self) -> bool {
        match self {
            Self::Fuse(answer) => answer.is_error(),
            #[cfg(feature = "ublk")]
            Self::Ublk(answer) => answer.is_error(),
        }
    }
}

/// When requests are answered.
#[derive(Clone)]
pub(super) enum Timing {
    /// When a model has completed them.
    Model(Arc<ModelEngine>),
    /// At once, by the thread that moved the data.
    None(Arc<Mutex<Tally>>),
}

/// A request under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct PendingRequest {
    request: DiskRequest,
    stamp: u64,
    /// Its identifier in the model.
    id: Option<RequestId>,
}

impl Timing {
    /// Submits a request that arrives now to the model.
    pub(super) fn begin(&self, request: DiskRequest) -> PendingRequest {
        let stamp = monotonic();
        let id = match self {
            Self::Model(engine) => Some(engine.enter(request, stamp)),
            Self::None(_) => None,
        };
        PendingRequest { request, stamp, id }
    }

    /// Takes the answer of a request whose data have been moved; it is sent when it is due.
    pub(super) fn finish(&self, pending: PendingRequest, answer: VdiskAnswer) {
        match (self, pending) {
            (Self::Model(engine), PendingRequest { id: Some(id), .. }) => engine.deliver(id, answer),
            // No model had it.
            (Self::Model(_), _) => answer.send(),
            (Self::None(tally), PendingRequest { request: DiskRequest { op, sectors, .. }, stamp, .. }) => {
                let failed = answer.is_error();
                answer.send();
                let took = monotonic().saturating_sub(stamp);
                if let Ok(mut tally) = tally.lock() {
                    tally.count(&Counted { op, sectors, late: 0, took, modelled: Nanos::ZERO, failed });
                }
            }
        }
    }
}
