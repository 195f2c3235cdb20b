//! The event loop and the block layer: runs a workload on a machine, and reports.

mod block_config;
mod block_layer;
mod compare;
mod cpu_overheads;
mod cpu_timing;
mod engine;
mod error;
mod host_fit;
mod ios;
mod machine;
mod metrics;
mod plug;
mod predict;
mod recorded_settings;
mod report;
mod request_log;
mod run;
mod self_replay;
mod session;
mod spread;
mod tags;
mod verdict;
mod writeback_throttle;

pub use block_config::BlockConfig;
pub use compare::{RunOptions, begin, compare, comparison, simulate, simulate_logged};
pub use cpu_overheads::CpuOverheads;
pub use cpu_timing::{CpuTiming, FixedCosts, QueueRun};
pub use error::SimError;
pub use machine::Machine;
pub use predict::{predict, replays_of};
pub use report::{Comparison, MachineSummary, ProcessReport, RequestOutcome, RunReport, SeekPoint, Series, Verdict};
pub use run::{LogSink, Progress, RunConfig, run, run_logged, run_timed};
pub use self_replay::{LARGEST_ERROR_PERCENT, Measured, SelfReplay};
pub use session::Session;
pub use spread::{Range, Spread};
