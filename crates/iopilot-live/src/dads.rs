//! The autopilot on live disks: captures what reaches them, lets [`iopilot_dads`] decide, and changes their schedulers.
//!
//! Each disk has two threads. One captures requests and changes the scheduler; the other simulates, so that capturing
//! goes on meanwhile. All changes are undone at the end, also after an error, a panic or a signal. After `kill -9` the
//! next start undoes them, from a journal.

mod audit;
mod autopilot;
mod candidate_set;
mod control;
mod daemon;
mod device_lock;
mod experience_file;
mod installer;
mod journal;
mod load;
mod metrics;
mod pilot_thread;
mod process_queues;
mod status;

pub use autopilot::{FlightOptions, Model};
pub use control::ask;
pub use daemon::{Daemon, DaemonOptions};
pub(crate) use journal::Journal;
pub use journal::{RUNTIME_FOLDER, Recovery, recover};
pub(crate) use pilot_thread::{Simulators, simulators};
pub use status::{CheckSummary, DiskStatus, Phase, Status};
