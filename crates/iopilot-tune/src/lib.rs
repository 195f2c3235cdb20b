//! Searches the settings of a disk's queue for those that serve given loads best, in virtual time: schedulers, their tunables,
//! `nr_requests`, the device's queue depth, and read-ahead where the load has files. It also says what to do with the result.
//!
//! [`tune()`] is the whole of it: a search by successive halving (`search`), a comparison of the finalists over several replays,
//! and a second search on one part of the load that is judged on the other part. It is a pure function of its arguments.

mod advice;
mod judge;
mod report;
mod search;
mod settings;
mod space;
mod trial_pair;
mod trials;
mod tune;
mod udev;

pub use report::{DiskClass, HeldOut, TuneReport, TuneRow, TunedClass, TunedLoad};
pub use settings::TunedSettings;
pub use tune::{REQUESTS_PER_SECOND, TuneLoad, TuneOptions, tune};
