//! Whole systems: driver, organisations, and synthetic load or traces, over a storage subsystem.
//!
//! [`run_system`] implements `iopilot disksim run`. It has DiskSim's device driver with its queues, logical
//! organisations and synthetic processes, and draws the same random numbers in the same order. The buses, controllers
//! and drives are those of `iopilot-scsi`.

mod build;
mod distribution;
mod driver;
mod error;
mod generator;
mod iomap;
mod limits;
mod load;
mod measures;
mod organisation;
mod processors;
mod queue;
mod rand48;
mod report;
mod run;
mod simulation;
mod subsystem;
mod trace;

pub use build::SystemOptions;
pub use error::RunError;
pub use report::{BusUse, CacheUse, DeviceUse, OrganisationReport, Overall, SystemReport, TimeDistribution};
pub use run::{Override, SystemRun, run_system};
pub use trace::{TraceFormat, TraceInput};

use generator::{Drawn, GeneratorConfig, SyntheticGenerator};
use processors::IssuedOperation;
use rand48::Rand48;
use simulation::RunEnding;
