//! The parser of descriptions of disks.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| iopilot_fuzz::disk(text));
