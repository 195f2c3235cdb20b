//! The parser of descriptions of generators.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| iopilot_fuzz::ganger(text));
