//! [`DeviceError`]: everything that can go wrong in this crate.

use iopilot_block::InputError;
use std::path::PathBuf;

/// What can go wrong when a device is described, found or built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// A drive's description is wrong. The error says where, and what was expected.
    #[error(transparent)]
    Spec(#[from] InputError),
    /// No drive of that name is in the catalogue.
    #[error("disk: got {name:?}, expected a TOML file or one of the catalogue's names: {names}{hint}")]
    UnknownDisk {
        /// The name asked for.
        name: String,
        /// The known names, separated by commas.
        names: String,
        /// `; did you mean ...?` or empty.
        hint: String,
    },
    /// A file could not be read.
    #[error("{}: cannot read: {source}", path.display())]
    Read {
        /// Its path.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
}
