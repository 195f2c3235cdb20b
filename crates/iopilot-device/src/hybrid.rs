//! [`HybridDisk`]: a hard disk drive with a flash cache, each a device of its own (GF 1.1.3 and future work, 6.2).
//!
//! The cache is divided into lines. A line that is read often enough is copied to flash in the background, and the
//! least recently used line is evicted for it. Recent reads are remembered for more lines than the cache holds, so
//! that one pass over the disk does not fill it. This is the idea of 2Q (Johnson and Shasha, VLDB 1994); here the
//! disk's own buffer takes the place of its queue of first reads. Writes go around the cache, through it, or into it,
//! to be destaged when the disk is idle.

mod cache;
mod device;
mod line;
mod model;
mod parts;
mod read;
mod stats;
mod write;

pub use device::HybridDisk;
pub use model::{HybridModel, HybridWrite};
pub use stats::HybridStats;
