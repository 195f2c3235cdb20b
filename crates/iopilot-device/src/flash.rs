//! [`FlashDrive`]: a solid-state drive with a page-mapped flash translation layer.
//!
//! Channels carry the data of chips, and chips hold dies. A die does one thing at a time: it reads a page, programs a
//! row of pages (one in each plane), moves valid data out of a block, or erases a block. Above them are a write
//! buffer in DRAM, the map from logical units to places in flash, greedy garbage collection and wear levelling
//! (Agrawal et al., USENIX ATC 2008). Command processing and the link to the host are modelled too. See
//! `docs/explanation/ssd-model.md`.

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

/// No index: the end of a list, no place, no owner.
const NONE: u32 = u32::MAX;

#[cfg(test)]
mod tests;
