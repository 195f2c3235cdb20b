//! What the source says of the cache, and what must hold whatever happens.

mod bench;
mod body;
mod contents;
mod errors;
pub(crate) mod fifo_disk;
mod properties;
mod reads;
mod switching;
mod times;
mod warm;
mod writes;
