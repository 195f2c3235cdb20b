//! Calibration and validation, on drives whose truth is known and on measured ones.
//!
//! The measurements are not part of this repository: `IOPILOT_TEST_DATA` names the folder they are in.

mod calibration;
mod validation;

use std::path::PathBuf;

/// The folder of DiskSim's files; `None`, said aloud, where it is not there.
fn data() -> Option<PathBuf> {
    iopilot_testing::data("disksim")
}
