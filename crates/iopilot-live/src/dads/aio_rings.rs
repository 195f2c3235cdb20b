//! [`AioRings`]: how many requests processes keep in flight with the kernel's asynchronous I/O (`io_submit`).
//!
//! Under `none` a process sleeps in `io_submit` until the device has a tag for its request, so the block layer sees one
//! request more than the device takes, however many the process keeps in flight. But it does not fetch results while it
//! sleeps: they gather in a ring in its memory (`struct aio_ring`, `fs/aio.c`). When it has submitted all that it wants to
//! keep in flight, there are as many results in the ring as there were submissions, less those at the device.

use iopilot_block::ProcessId;
use iopilot_trace::TraceRecord;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

/// The most processes that are looked at; more would cost more than it tells.
const MOST: usize = 32;
/// How long to wait before the rings of a process are searched for again.
const SEARCH_EVERY: Duration = Duration::from_secs(1);
/// The magic number of a ring.
const MAGIC: u32 = 0xa10a_10a1;
/// Bytes of its header.
const HEADER: usize = 32;

/// The rings of the processes that issue requests, and what was in them.
#[derive(Debug, Default)]
pub(super) struct AioRings {
    processes: BTreeMap<ProcessId, Rings>,
}

#[derive(Debug)]
struct Rings {
    memory: Option<File>,
    addresses: Vec<u64>,
    searched: Instant,
    /// The most results in them since the last take, and in the time before that.
    most: u32,
    before: u32,
    /// Whether it has issued a request since the last take.
    active: bool,
}

impl AioRings {
    /// Looks at the rings of the processes that issued `records`, which have just completed, and of those before.
    pub(super) fn look(&mut self, records: &[TraceRecord], now: Instant) {
        for process in records.iter().filter_map(|r| r.process) {
            if let Some(rings) = self.processes.get_mut(&process) {
                rings.active = true;
            } else if self.processes.len() < MOST {
                self.processes.insert(process, Rings::of(process, now));
            }
        }
        for (process, rings) in &mut self.processes {
            if rings.addresses.is_empty() && now.saturating_duration_since(rings.searched) >= SEARCH_EVERY {
                *rings = Rings { before: rings.before, active: rings.active, ..Rings::of(*process, now) };
            }
            let results: u32 = rings.addresses.iter().filter_map(|&at| results(rings.memory.as_ref()?, at)).sum();
            rings.most = rings.most.max(results);
        }
    }

    /// Takes what each process was seen to keep in flight: the results that it had not fetched, and `at_device`, the
    /// requests that the device takes. Processes without a ring are left out; those that have issued nothing are forgotten.
    pub(super) fn take(&mut self, at_device: u32) -> BTreeMap<ProcessId, u32> {
        self.processes.retain(|_, rings| std::mem::take(&mut rings.active));
        let mut in_flight = BTreeMap::new();
        for (process, rings) in &mut self.processes {
            let most = std::mem::take(&mut rings.most);
            if !rings.addresses.is_empty() {
                in_flight.insert(*process, at_device + most.max(rings.before));
            }
            rings.before = most;
        }
        in_flight
    }
}

impl Rings {
    /// Those of `process`. None where it has none, has gone, or may not be looked at.
    fn of(process: ProcessId, now: Instant) -> Self {
        let maps = fs::read_to_string(format!("/proc/{}/maps", process.0)).unwrap_or_default();
        let addresses: Vec<u64> = maps.lines().filter_map(ring_address).collect();
        let memory = match addresses.is_empty() {
            true => None,
            false => File::open(format!("/proc/{}/mem", process.0)).ok(),
        };
        Self { memory, addresses, searched: now, most: 0, before: 0, active: true }
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

    #[test]
    fn who_has_no_ring_is_not_told_of() {
        let mut rings = AioRings::default();
        let me = TraceRecord {
            process: Some(ProcessId(std::process::id())),
            ..TraceRecord::new(
                iopilot_block::Nanos(0),
                iopilot_block::Op::Read,
                iopilot_block::Lba(0),
                iopilot_block::Sectors(8),
            )
        };
        rings.look(&[me], Instant::now());
        assert_eq!(rings.take(4), BTreeMap::new());
        assert!(rings.take(4).is_empty() && rings.processes.is_empty());
    }
}
