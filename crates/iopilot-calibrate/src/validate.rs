//! Compares a drive's model with times measured on the drive.
//!
//! A trace of DiskSim's validate format holds requests that were sent one at a time to a real disk, with the service
//! time of each. [`replay`] sends them to a model. [`compare`] reports how well the two agree: as distributions (the
//! demerit figure of Ruemmler and Wilkes, as DiskSim 4.0 computes it), and request by request.

mod demerit;
mod phase;
mod replay;
mod result;

pub use demerit::demerit;
pub use phase::think_by_phase;
pub use replay::{ReplayClock, Replayed, replay};
pub use result::{Errors, PartValidation, Validation, compare};
