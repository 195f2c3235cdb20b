//! The autopilot on live disks: captures what reaches them, lets [`iopilot_dads`] decide, and changes their schedulers.
//!
//! A thread a disk watches and acts; a second one simulates, so that watching goes on meanwhile. Whatever was changed is
//! put back at the end, also after an error, a panic or a signal; after `kill -9` by the next start, from a [`Journal`].

mod audit;
mod autopilot;
mod candidate_set;
mod control;
mod daemon;
mod journal;
mod metrics;
mod pilot_thread;
mod reorder;
mod status;
mod window;

pub use audit::{Audit, Event};
pub use autopilot::{BUDGET, FlightOptions, Model};
pub use control::{SOCKET, ask};
pub use daemon::{Daemon, DaemonOptions};
pub use journal::{Journal, RUNTIME_FOLDER, Recovery, recover};
pub use status::{CheckSummary, DiskStatus, Phase, Status};
