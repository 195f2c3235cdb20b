//! The event loop and the block layer: runs a workload on a machine, and reports.

mod asks;
mod block_config;
mod block_layer;
mod compare;
mod engine;
mod error;
mod hand_over;
mod host;
mod ios;
mod machine;
mod metrics;
mod plug;
mod report;
mod request_log;
mod run;
mod session;
mod tag_race;
mod tags;
mod turnaround;
mod verdict;

pub use block_config::BlockConfig;
pub use compare::{RunOptions, begin, compare, comparison, simulate, simulate_logged};
pub use error::SimError;
pub use hand_over::{Ask, AskedAfter, HandOver, HandOvers};
pub use host::HostConfig;
pub use machine::Machine;
pub use report::{Comparison, MachineSummary, Outcome, ProcessReport, RunReport, SeekPoint, Series, Verdict};
pub use run::{LogSink, Progress, RunConfig, run, run_logged};
pub use session::Session;
pub use tag_race::{TagMoves, TagOdds};
pub use turnaround::{Left, Situation, Turnaround, Turnarounds};
