//! Carroll's study: I/O schedulers on hardware RAID (2008).
//!
//! Carroll's host, arrays and loads are those of chapter 4. The machines are shipped as
//! `examples/machines/carroll-*.toml`. The graphs are lost. Each statement in chapters 5 and 6 that can be read without
//! them is a claim, checked on the figures just measured. A claim's `goal` says what Carroll found and, in brackets,
//! what is asked of this experiment.

mod anticipation;
mod bench;
mod cfq_idling;
mod deadline;
mod deep_queue;
mod postmark;
mod random;
mod readers;
mod sequential;

use crate::figure;

pub(super) use anticipation::EXPERIMENT as ANTICIPATION;
pub(super) use cfq_idling::EXPERIMENT as CFQ_IDLING;
pub(super) use deadline::EXPERIMENT as DEADLINE;
pub(super) use deep_queue::EXPERIMENT as DEEP_QUEUE;
pub(super) use postmark::EXPERIMENT as POSTMARK;
pub(super) use random::EXPERIMENT as RANDOM;
pub(super) use sequential::EXPERIMENT as SEQUENTIAL;
