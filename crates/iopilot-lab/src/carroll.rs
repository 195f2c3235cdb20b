//! Carroll's study: I/O schedulers on hardware RAID (2008).
//!
//! His host, arrays and loads are those of chapter 4; the machines are shipped as `examples/machines/carroll-*.toml`.
//! Each of his statements in chapters 5 and 6 that can be read without the graphs, which are lost, is a claim that is
//! checked on the figures just measured. A claim says in `goal` what he found and, in brackets, what is asked of ours.

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
