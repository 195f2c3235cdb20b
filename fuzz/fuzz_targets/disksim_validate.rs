//! The parser of disksim-validate traces.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| iopilot_fuzz::parse(bytes, Some("disksim-validate")));
