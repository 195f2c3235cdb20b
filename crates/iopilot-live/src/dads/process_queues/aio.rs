//! [`AioRings`]: the rings of `io_submit` (`struct aio_ring`, `fs/aio.c`).
//!
//! A process does not fetch results while it sleeps in `io_submit`: they gather in a ring in its memory. When it has
//! submitted all that it wants to keep in flight, there are as many results in the ring as there were submissions, less
//! those at the device.

use iopilot_block::ProcessId;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;

/// The magic number of a ring.
const MAGIC: u32 = 0xa10a_10a1;
/// Bytes of its header.
const HEADER: usize = 32;

/// The rings of a process.
#[derive(Debug)]
pub(super) struct AioRings {
    memory: Option<File>,
    addresses: Vec<u64>,
}

impl AioRings {
    /// The rings of `process`; empty where it has none, has exited, or may not be inspected.
    pub(super) fn of(process: ProcessId) -> Self {
        let maps = fs::read_to_string(format!("/proc/{}/maps", process.0)).unwrap_or_default();
        let addresses: Vec<u64> = maps.lines().filter_map(ring_address).collect();
        let memory = match addresses.is_empty() {
            true => None,
            false => File::open(format!("/proc/{}/mem", process.0)).ok(),
        };
        Self { memory, addresses }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.addresses.is_empty()
    }

    /// How many results are in them.
    pub(super) fn results(&self) -> u32 {
        self.addresses.iter().filter_map(|&at| results(self.memory.as_ref()?, at)).sum()
    }
}

/// Where a ring begins that is mapped by this line of `/proc/PID/maps`.
fn ring_address(line: &str) -> Option<u64> {
    let is_ring = line.contains(" /[aio]");
    u64::from_str_radix(line.split('-').next().filter(|_| is_ring)?, 16).ok()
}

/// How many results are in the ring at `address`; `None` where there is none any more.
fn results(memory: &File, address: u64) -> Option<u32> {
    let mut header = [0; HEADER];
    memory.read_exact_at(&mut header, address).ok()?;
    results_in(&header)
}

/// The same, in the header of a ring: identifier, size, head, tail, magic number.
fn results_in(header: &[u8; HEADER]) -> Option<u32> {
    let word = |n: usize| Some(u32::from_ne_bytes(header.get(4 * n..4 * n + 4)?.try_into().ok()?));
    let (size, head, tail) = (word(1)?, word(2)?, word(3)?);
    let is_ring = word(4)? == MAGIC && head < size && tail < size;
    is_ring.then(|| if tail >= head { tail - head } else { tail + size - head })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_is_found_and_read() {
        let line = "7f1c2e9f5000-7f1c2e9f8000 rw-s 00000000 00:0f 12345                      /[aio] (deleted)";
        assert_eq!(ring_address(line), Some(0x7f1c_2e9f_5000));
        assert_eq!(ring_address("7f1c2e9f5000-7f1c2e9f8000 rw-s 00000000 00:0f 12345 /dev/zero"), None);
        let header = |words: [u32; 8]| {
            let mut bytes = [0; HEADER];
            bytes.chunks_exact_mut(4).zip(words).for_each(|(to, word)| to.copy_from_slice(&word.to_ne_bytes()));
            bytes
        };
        assert_eq!(results_in(&header([0, 128, 5, 65, MAGIC, 1, 0, 32])), Some(60));
        assert_eq!(results_in(&header([0, 128, 120, 4, MAGIC, 1, 0, 32])), Some(12));
        assert_eq!(results_in(&header([0, 128, 5, 65, 7, 1, 0, 32])), None);
        assert_eq!(results_in(&header([0, 128, 5, 128, MAGIC, 1, 0, 32])), None);
    }
}
