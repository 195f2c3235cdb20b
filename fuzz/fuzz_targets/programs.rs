//! What `programs` of the library does with an input.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| iopilot_fuzz::fuzz("programs", bytes));
