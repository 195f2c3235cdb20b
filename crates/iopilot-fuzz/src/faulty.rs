//! Targets with faults, to check that the fuzzer finds them. They are not among [`crate::TARGETS`].

use crate::target::{FuzzInput, FuzzTarget};

/// One for each kind of fault.
pub(crate) static FAULTY: [FuzzTarget; 4] = [
    FuzzTarget { name: "faulty-panic", input: FuzzInput::Other(panics) },
    FuzzTarget { name: "faulty-loop", input: FuzzInput::Other(loops) },
    FuzzTarget { name: "faulty-memory", input: FuzzInput::Other(asks_for_memory) },
    FuzzTarget { name: "faulty-recursion", input: FuzzInput::Other(recurses) },
];

/// True of some damaged inputs, but not of most.
fn is_bad(bytes: &[u8]) -> bool {
    bytes.contains(&b'7')
}

fn panics(bytes: &[u8]) -> String {
    assert!(!is_bad(bytes), "this input is bad");
    "ok".to_owned()
}

fn loops(bytes: &[u8]) -> String {
    while is_bad(bytes) {
        std::thread::yield_now();
    }
    "ok".to_owned()
}

fn asks_for_memory(bytes: &[u8]) -> String {
    let wanted = if is_bad(bytes) { 1 << 40 } else { 1 };
    let memory: Vec<u8> = Vec::with_capacity(wanted);
    format!("ok {}", memory.capacity() >= wanted)
}

fn recurses(bytes: &[u8]) -> String {
    fn down(bytes: &[u8], depth: u64) -> u64 {
        let frame = std::hint::black_box([depth; 64]);
        if is_bad(bytes) { down(bytes, depth + 1) + frame[3] } else { frame[0] }
    }
    format!("ok {}", down(bytes, 0))
}
