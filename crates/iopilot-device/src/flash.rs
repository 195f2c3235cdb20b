//! [`FlashDrive`]: a solid-state drive with a page-mapped flash translation layer.
//!
//! Channels carry the data of chips, chips hold dies, and a die does one thing at a time: read a page, program a row of
//! pages (one in each plane), move what is still valid out of a block, erase a block. Above them are a write buffer in
//! DRAM, the map from logical units to places in flash, greedy garbage collection and wear levelling (Agrawal et al.,
//! USENIX ATC 2008); beside them the command processing and the link to the host. See `docs/explanation/ssd-model.md`.

mod agenda;
mod blocks;
mod buffer;
mod collect;
mod device;
mod dies;
mod ftl;
mod host;
mod initial;
mod link;
mod map;
mod model;
mod ops;
mod permutation;
mod shape;
mod stats;
mod theory;

pub use device::FlashDrive;
pub use model::{FlashBufferModel, FlashHostModel, FlashModel, FtlModel, NandModel, Precondition, StripeOrder};
pub use stats::FlashStats;
pub use theory::{steady_victim_share, steady_write_amplification};

/// No index: the end of a list, no place, nobody.
const NONE: u32 = u32::MAX;

#[cfg(test)]
mod tests;
