//! iopilot's stored format: Parquet, packed with zstd, in row groups of 65,536 requests. The schema is documented on
//! the page `docs/trace-format.md`.

mod read;
mod write;

pub(crate) use read::Reader;
pub(crate) use write::Writer;

use std::collections::BTreeMap;

/// Keys of the file's metadata.
pub(crate) const VERSION_KEY: &str = "iopilot.trace.version";
const PROCESSES_KEY: &str = "iopilot.trace.processes";
const DEVICES_KEY: &str = "iopilot.trace.devices";

/// The only version so far. Columns may be added without a new one.
pub(crate) const VERSION: &str = "1";

/// Names that a trace carries along.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Names {
    /// Commands by process id.
    pub(crate) processes: BTreeMap<u32, String>,
    /// Devices by number.
    pub(crate) devices: Vec<String>,
}
