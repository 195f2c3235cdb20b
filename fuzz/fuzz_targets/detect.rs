//! Format detection, decompression, and whatever parser it picks.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| iopilot_fuzz::parse(bytes, None));
