//! Workloads: processes that issue requests, wait for them and think. Replay of traces, fio jobs, Ganger's generators (Ganger
//! is G. R. Ganger's thesis of 1995; GF is P. González-Férez' thesis of 2012), and programs on a host with a file system:
//! built-in ones by name, and ones that a user describes.
//!
//! A [`Source`] is a pure state machine in virtual time. [`AnySource`] holds any source as one concrete type. [`Workload`] is
//! any workload, by a file or a name.

mod any_source;
mod builtin_programs;
mod description;
mod error;
mod fio;
pub mod ganger;
pub mod replay;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod text_file;
mod trace;
mod user_programs;
mod workload;

pub use any_source::AnySource;
pub use builtin_programs::BuiltinProgramsSpec;
pub use error::WorkloadError;
pub use fio::{FioJobs, FioSource};
pub use ganger::GangerSpec;
pub use iopilot_block::{Agenda, Arrival, Source, SourceHandle, Step};
pub use trace::{AddressFit, Recording, RecordingMetrics, TraceOptions, TraceWorkload};
pub use user_programs::UserProgramsSpec;
pub use workload::{Workload, WorkloadOptions, WorkloadSummary};
