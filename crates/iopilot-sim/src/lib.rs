//! The event loop and the block layer: runs a workload on a machine, and reports.

mod report;
mod source;
pub mod workload;

pub use report::{Comparison, MachineSummary, ProcessReport, RunReport, SeekPoint, Series, Verdict, WorkloadSummary};
pub use source::{Arrival, Source, Step};
