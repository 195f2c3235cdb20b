//! Controllers: their parameters, and what each kind of them keeps. How they handle the messages that pass through
//! them is in `topology/messages.rs`.

mod chip;
mod model;
mod smart;
mod transfers;

pub use model::{ControllerCacheModel, ControllerModel, SmartModel};

pub(crate) use chip::{Chip, ChipState};
pub(crate) use smart::Smart;
