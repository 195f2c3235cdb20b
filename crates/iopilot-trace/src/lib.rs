//! I/O traces: formats in and out, and what a trace says of dependencies and think times.

mod record;

pub use record::TraceRecord;
