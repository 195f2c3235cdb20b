//! Every trace format: the first byte of an input is the format's place in the table of formats.
#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};

fuzz_target!(|bytes: &[u8]| -> Corpus {
    if iopilot_fuzz::fuzz_traces(bytes) { Corpus::Keep } else { Corpus::Reject }
});
