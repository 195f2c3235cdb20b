//! What is fuzzed: every parser of what users give to iopilot, and what is done with that input then.
//!
//! A [`FuzzTarget`] is a plain function of bytes. The fuzzer of this crate runs it on stable Rust, `fuzz/` under cargo-fuzz.
//! A target panics where there is a fault. Trace formats are targets because they are in the table of formats.

mod faulty;
mod mutate;
mod seeds;
mod target;
mod traces;
mod used;

pub use mutate::Mutator;
pub use seeds::seeds;
pub use target::{FuzzTarget, TARGETS, TRACES, fuzz, fuzz_traces, target};
