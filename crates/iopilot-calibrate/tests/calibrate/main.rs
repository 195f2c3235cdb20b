//! Calibration and validation, of drives whose true parameters are known and of measured ones.
//!
//! The measurements are not part of this repository: `IOPILOT_TEST_DATA` names their folder.

mod calibration;
mod validation;

use std::path::PathBuf;

/// The folder of DiskSim's files; `None`, with a message, if it does not exist.
fn data() -> Option<PathBuf> {
    iopilot_testing::data("disksim")
}
