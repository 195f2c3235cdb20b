//! DiskSim 4.0's parameter files, as published.
//!
//! [`Spec::load`] reads the language: blocks, lists, ranges, inclusion, inheritance, instances and the topology. It
//! keeps file and line for every value. [`params::System::read`] turns them into typed and checked parameters.
//! [`Spec::override_parameter`] applies the changes of a command line. [`system::run_system`] runs a whole
//! configuration.
//!
//! Comments cite *Ganger* by section: Ganger's thesis of 1995.

mod build;
pub mod params;
mod parse;
pub mod system;

pub use build::{DriveFromDiskSim, Reading, drive_model, is_disksim_file, load_drive, load_drive_as};
pub use parse::{Block, ComponentInstance, FileLine, Param, ParameterFiles, Spec, TopologyNode, Value};
