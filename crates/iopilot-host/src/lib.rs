//! The host: processes as programs of events, CPUs that run them, interrupts, and which process waits for which request.
//!
//! A workload consists of causes: what processes compute and request. Requests, context switches, interrupts and waits are
//! effects, which the host produces. "Ganger" in comments is G. R. Ganger's thesis of 1995 (here section 4.3). [`Host`] is a
//! [`Source`](iopilot_block::Source) like any other: a pure state machine in virtual time.

mod costs;
mod cpu;
mod cpu_scheduler;
mod external;
mod file_call;
mod file_op;
mod file_system;
mod files;
mod host;
mod names;
mod page_cache;
mod process;
mod process_times;
mod program;
mod requests;
mod run_queue;
mod settings;
mod sync_primitives;
mod time_line;
mod totals;

pub use costs::{CostSettings, Costs, Preset};
pub use cpu_scheduler::{CpuScheduler, FairSettings};
pub use external::{AnyArrivals, Arrivals, ExternalInterrupts, InterruptEffect};
pub use file_call::{FileCall, FileId, FileKind};
pub use file_system::{BLOCK_BYTES, FileError, FileSystem, Metadata, MetadataUpdate, PageMapping, Ufs, UfsSettings};
pub use files::{CacheSettings, FileSetup, WriteBack};
pub use host::{Host, HostEnd, InitialState, Placement, TaskSpec};
pub use names::WorkloadNames;
pub use program::{AnyProgram, Call, Child, Key, Program, ProgramEvent, RawIo, Script};
pub use settings::{HostSettings, IdleLoop, InterruptCpu};
