//! I/O traces: reading and writing formats, and inferring dependencies and think times. Comments cite GF
//! (González-Férez' thesis of 2012) and Ganger (1995) by section.

mod block_events;
mod correlate;
mod destination;
mod error;
mod fields;
mod format;
mod head;
mod infer;
mod line_records;
mod line_writer;
mod lines;
mod metadata;
mod reader;
mod record;
mod recorded_system;
mod reorder;
mod source;
mod stats;
mod writer;

pub use destination::Destination;
pub use error::TraceError;
pub use format::Format;
pub use format::disksim_validate::{CacheOutcome, ValidateReader, ValidateRecord, read_validate};
pub use format::named_columns::ColumnLayout;
pub use format::spec::{FormatSpec, KeptFields, Writing};
pub use format::think_time::ThinkTime;
pub use infer::{ArrivalSimulator, Dependencies, InferOptions, NotInferable, ReadAhead, Stall, infer};
pub use metadata::ReadNotes;
pub use reader::{ReadOptions, STANDARD_INPUT, TraceReader, detect, read_all};
pub use record::TraceRecord;
pub use recorded_system::RecordedSystem;
pub use stats::{Bin, DeviceSummary, DistributionSummary, ProcessSummary, RequestCounts, TraceStats, TraceSummary};
pub use writer::TraceWriter;
