//! From parameters to models.
//!
//! A drive goes through [`DriveSpec`](iopilot_catalogue::DriveSpec), the same that our own files hold, so that a converted
//! file and the one it comes from make the same model.

mod convert;
mod layout;
mod load;
mod locate;
mod rules;
mod seek;

pub use load::{DriveFromDiskSim, Reading, drive_model, is_disksim_file, load_drive, load_drive_as};
