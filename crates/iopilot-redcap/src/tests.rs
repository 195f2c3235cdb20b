//! Tests of the cache: the claims of the thesis, and invariants under random events.

mod bench;
mod body;
mod contents;
mod errors;
pub(crate) mod fifo_disk;
mod properties;
mod put_off;
mod reads;
mod switching;
mod times;
mod warm;
mod writes;
