//! The parser of fio job files.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| iopilot_fuzz::fio_job(text));
