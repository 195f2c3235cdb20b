//! The host: processes as programs of events, CPUs that run them, interrupts, and who waits for which request.
//!
//! A workload is causes: what processes compute and ask for. Requests, context switches, interrupts and waits are effects,
//! which this makes (Ganger 4.3). [`Host`] is a [`Source`](iopilot_block::Source) like any other: a pure state machine in
//! virtual time.

mod costs;
mod cpu;
mod host;
mod process;
mod program;
mod requests;
mod settings;
mod sync;
mod totals;

pub use costs::{CostSettings, Costs, Preset};
pub use host::{Host, HostEnd, TaskSpec};
pub use program::{AnyProgram, Call, Child, Event, Key, Program, RawIo, Script};
pub use settings::{HostSettings, InterruptCpu};
