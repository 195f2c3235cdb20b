//! The models against the claims of their sources.

mod claims;
mod properties;
mod rig;
