//! The models against the claims of their sources.

mod claims;
mod controlled;
mod documentation;
mod flash;
mod hybrid;
mod positions;
mod probe;
mod properties;
mod provenance;
mod queue;
mod rig;
mod scaled;
mod table;
mod timed;
