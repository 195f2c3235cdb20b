//! I/O traces: formats in and out, and what a trace says of dependencies and think times.

mod infer;
mod record;
#[cfg(target_os = "linux")]
mod tracefs;

pub use infer::{ArrivalSimulator, Dependencies, InferOptions, NotInferable, ReadAhead, can_infer, infer};
pub use record::TraceRecord;
#[cfg(target_os = "linux")]
pub use tracefs::{RecordError, RecordOptions, RecordSummary, record};
