//! The event loop and the block layer: runs a workload on a machine, and reports.

mod block_config;
mod block_layer;
mod cpu_overheads;
mod cpu_timing;
mod engine;
mod error;
mod file_tables;
mod ios;
mod machine;
mod metrics;
mod plug;
mod recorded_settings;
mod redcap_layer;
mod redcap_report;
mod redcap_virtual_disk;
mod report;
mod request_log;
mod run;
mod session;
mod simulate;
mod spread;
mod tags;
mod waiting_queue;
mod writeback_throttle;

pub use block_config::BlockConfig;
pub use cpu_overheads::CpuOverheads;
pub use cpu_timing::{CpuTiming, FixedCosts, QueueRun};
pub use error::SimError;
pub use machine::{Machine, train_two_tables};
pub use redcap_report::{CheckReport, DiskView, RedcapReport, StateChange};
pub use redcap_virtual_disk::RedcapVirtualDisk;
pub use report::{MachineSummary, ProcessReport, RequestOutcome, RunReport, SeekPoint, Series};
pub use run::{LogSink, Progress, RunConfig, run, run_logged, run_timed};
pub use session::Session;
pub use simulate::{RunOptions, begin, simulate, simulate_logged};
pub use spread::{Range, Spread};
