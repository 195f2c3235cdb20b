//! Fuzz targets: every parser of user input, and the use that iopilot makes of what it parsed.
//!
//! A [`FuzzTarget`] is a plain function of bytes. The fuzzer of this crate runs it on stable Rust, `fuzz/` under
//! cargo-fuzz. A target panics if it finds a fault. Trace formats are targets because they are in the table of formats.

mod answer;
mod faulty;
mod mutate;
mod seeds;
mod target;
mod traces;
mod used;

pub use mutate::Mutator;
pub use seeds::seeds;
pub use target::{FuzzTarget, TARGETS, fuzz, fuzz_traces, target};
