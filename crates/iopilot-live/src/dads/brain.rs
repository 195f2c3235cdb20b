//! The thread that simulates and decides, while another one watches the disk.

use iopilot_block::Nanos;
use iopilot_dads::{Check, Pilot};
use iopilot_device::AnyDevice;
use iopilot_sim::SimError;
use iopilot_trace::TraceRecord;
use std::sync::mpsc::{Receiver, Sender};
use std::time::{Duration, Instant};

/// What the brain is told.
pub(super) enum Order {
    /// Check what was collected, with so many requests inside.
    Check { window: Vec<TraceRecord>, pending: usize, at: Nanos },
    /// A model that knows more.
    Model(Box<AnyDevice>),
    /// A change took so long, with so many requests inside.
    Changed { pending: usize, took: Nanos },
    /// The change was not carried out.
    Declined,
    /// A candidate is not to be chosen again.
    Exclude(usize),
    /// Somebody else put a candidate in place.
    Adopt(usize),
}

/// What came of a check.
pub(super) struct Answer {
    pub(super) check: Result<Check, SimError>,
    /// The window, emptied, to be filled again.
    pub(super) window: Vec<TraceRecord>,
    pub(super) took: Duration,
}

/// Follows orders until nobody is left to give them.
pub(super) fn think(mut pilot: Pilot<AnyDevice>, orders: &Receiver<Order>, answers: &Sender<Answer>) {
    for order in orders {
        match order {
            Order::Check { mut window, pending, at } => {
                let began = Instant::now();
                let check = pilot.check(&window, pending, at);
                window.clear();
                if answers.send(Answer { check, window, took: began.elapsed() }).is_err() {
                    return;
                }
            }
            Order::Model(device) => pilot.replace_model(*device),
            Order::Changed { pending, took } => pilot.changed(pending, took),
            Order::Declined => pilot.declined(),
            Order::Exclude(which) => pilot.exclude(which),
            Order::Adopt(which) => pilot.adopt(which),
        }
    }
}
