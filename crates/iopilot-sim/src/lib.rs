//! The event loop and the block layer: runs a workload on a machine, and reports.

mod block_config;
mod block_layer;
mod engine;
mod host;
mod ios;
mod metrics;
mod plug;
mod report;
mod source;
mod tags;
pub mod workload;

pub use block_config::BlockConfig;
pub use host::HostConfig;
pub use report::{Comparison, MachineSummary, ProcessReport, RunReport, SeekPoint, Series, Verdict, WorkloadSummary};
pub use source::{Arrival, Source, Step};
