//! I/O traces: formats in and out, and what a trace says of dependencies and think times.

mod infer;
mod record;

pub use infer::{ArrivalSimulator, Dependencies, InferOptions, NotInferable, ReadAhead, can_infer, infer};
pub use record::TraceRecord;
