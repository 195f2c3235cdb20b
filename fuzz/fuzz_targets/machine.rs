//! The parser of descriptions of machines.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| iopilot_fuzz::machine(text));
