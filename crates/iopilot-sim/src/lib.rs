//! The event loop and the block layer: runs a workload on a machine, and reports the results.
//!
//! GF is González-Férez' thesis of 2012; Ganger is Ganger's thesis of 1995.

mod block_config;
mod block_layer;
mod cache_decider;
mod cpu_overheads;
mod cpu_timing;
mod engine;
mod error;
mod file_tables;
mod intervals;
mod ios;
mod learning_disk;
mod machine;
mod metrics;
mod plug;
mod recorded_settings;
mod redcap_layer;
mod redcap_reference_disk;
mod redcap_report;
mod report;
mod request_log;
mod run;
mod run_config;
mod session;
mod simulate;
mod spread;
mod storage_report;
mod tags;
mod waiting_queue;
mod warm_up;
mod writeback_throttle;

pub use block_config::BlockConfig;
pub use cache_decider::{CacheDecider, CacheDecision, RedcapUse};
pub use cpu_overheads::CpuOverheads;
pub use cpu_timing::{CpuTiming, QueueRun};
pub use error::SimError;
pub use machine::{Machine, train_two_tables};
pub use redcap_reference_disk::RedcapReferenceDisk;
pub use redcap_report::{CheckReport, DiskView, RedcapReport, StateChange};
pub use report::{MachineSummary, ProcessReport, RequestOutcome, RunReport, SeekPoint, Series};
pub use run::{LogSink, Progress, run, run_logged, run_timed};
pub use run_config::RunConfig;
pub use session::Session;
pub use simulate::{RunOptions, begin, simulate, simulate_decided, simulate_logged};
pub use spread::{Range, Spread};
pub use storage_report::StorageReport;
pub use warm_up::WarmUp;
