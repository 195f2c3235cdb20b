//! Live Linux block devices: capturing their requests, setting their schedulers, and serving virtual and cached ones.
//! Deciding and simulating is done by other crates. GF is González-Férez' thesis of 2012.

mod block_server;
mod capture;
pub mod dads;
mod describe;
mod error;
mod exposition;
mod identity;
mod learned;
mod machine_probe;
mod metrics_server;
mod queue;
mod record;
pub mod redcap;
mod signals;
mod timed;
pub mod vdisk;

pub use capture::{Backend, Capture, CaptureOptions, Delivery, TracefsMount};
pub use describe::describe;
pub use error::LiveError;
pub use identity::DiskIdentity;
pub use learned::LearnedDisk;
pub use machine_probe::{Cost, MachineCosts, MachineProbe, QueueSettings, probe_machine};
pub use queue::{BlockQueue, QueueState, Traffic};
pub use record::{RecordOptions, RecordSummary, record};
pub use signals::Signals;
pub use timed::TimedDisk;
