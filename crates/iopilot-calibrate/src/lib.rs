//! From times measured on a drive to its description.
//!
//! [`replay`] and [`compare`] validate: they send measured requests to a drive's model and compare the times.
//! [`calibrate`](calibrate()) fits the description to the first part of a measurement, and predicts the rest.
//!
//! Comments cite *Ganger* by section: Ganger's thesis of 1995.

mod calibrate;
mod validate;

pub use calibrate::{
    Calibration, PhaseFit, PhaseTracker, Predicted, Timed, calibrate, predict, replay_at_measured_times, timeline,
};
pub use validate::{
    Errors, PartValidation, ReplayClock, Replayed, Validation, compare, demerit, replay, think_by_phase,
};
