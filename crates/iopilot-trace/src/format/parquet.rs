//! iopilot's stored format: Parquet, packed with zstd, in row groups of 65,536 requests. The schema is documented on
//! the page `docs/reference/trace-formats.md`.

mod read;
mod write;

use super::spec::{Detect, FormatSpec, KeptFields, Writing};
use iopilot_block::Nanos;
pub(super) const SPEC: FormatSpec = FormatSpec {
    name: "parquet",
    summary: "iopilot's own",
    endings: &[],
    detect: &[Detect::Magic(|head| head.starts_with(b"PAR1"))],
    open: read::open,
    file_set: None,
    sample: "",
    writing: Some(Writing { time_unit: Nanos(1), keeps: KeptFields::EVERY_FIELD, create: write::create }),
};

/// Keys of the file's metadata.
const VERSION_KEY: &str = "iopilot.trace.version";
const PROCESSES_KEY: &str = "iopilot.trace.processes";
const DEVICES_KEY: &str = "iopilot.trace.devices";
const SYSTEM_KEY: &str = "iopilot.trace.system";

/// The only version so far. Columns may be added without a new one.
const VERSION: &str = "1";
