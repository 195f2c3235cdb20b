//! DiskSim 4.0's parameter files, read as they are.
//!
//! [`Spec::load`] reads the language: blocks, lists, ranges, inclusion, inheritance, instances and the topology, with
//! file and line kept for every value. [`params::System::read`] makes typed and checked parameters of it.
//! [`Spec::override_parameter`] applies what a command line changes. [`system::run_system`] runs a whole configuration.

mod build;
pub mod params;
mod parse;
pub mod system;

pub use build::{DriveFromDiskSim, Reading, drive_model, is_disksim_file, load_drive, load_drive_as};
pub use parse::{Block, ComponentInstance, FileLine, MODULES, Param, ParameterFiles, Spec, TopologyNode, Value};
