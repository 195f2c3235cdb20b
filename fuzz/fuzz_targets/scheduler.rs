//! The parser of lists of schedulers.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| iopilot_fuzz::scheduler(text));
