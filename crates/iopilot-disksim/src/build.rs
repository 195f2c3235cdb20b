//! From parameters to models.
//!
//! A drive goes through [`DriveSpec`](iopilot_catalogue::DriveSpec), the form of our own files. So a converted file and
//! its original make the same model.

mod convert;
mod layout;
mod load;
mod locate;
mod rules;
mod seek;

pub use load::{DriveFromDiskSim, Reading, drive_model, is_disksim_file, load_drive, load_drive_as};
