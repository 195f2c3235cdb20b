//! [`HybridDisk`]: a hard disk drive with a flash cache, both devices of their own (GF 1.1.3 and future work, 6.2).
//!
//! The cache is divided into lines. A line that is read often enough is copied to flash behind the host's back; the
//! least recently used line makes room. Which lines were read lately is remembered beyond the cache, so that one pass
//! over the disk does not fill it: the idea of 2Q (Johnson and Shasha, VLDB 1994), whose queue of first reads is here
//! the disk's own buffer. Writes go around the cache, through it, or into it to be destaged when the disk is idle.

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
