//! The models against the claims of their sources.

mod array;
mod claims;
mod documentation;
mod flash;
mod hybrid;
mod positions;
mod probe;
mod properties;
mod provenance;
mod queue;
mod rig;
mod table;
