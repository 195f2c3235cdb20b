//! Workloads: what issues requests.

mod agenda;
mod any;
mod error;
pub mod fio;
pub mod ganger;
mod gf;
pub mod postmark;
pub mod replay;
mod source;
#[cfg(test)]
mod testing;
mod trace;

pub use any::{Workload, WorkloadOptions};
pub use error::WorkloadError;
pub use fio::{FioJobs, FioSource};
pub use ganger::{GangerSource, GangerSpec};
pub use gf::{GfBenchmark, InARow};
pub use postmark::{PostmarkSource, PostmarkSpec};
pub(crate) use source::AnySource;
pub use trace::{Fit, TraceOptions, TraceWorkload};
