//! [`Urings`]: the queues of `io_uring`, as `/proc/PID/fdinfo` shows them (`io_uring_show_fdinfo`).
//!
//! A submission that would sleep for a tag is handed to one of a few worker threads of the kernel. So no more than
//! these workers and the device's own requests are seen, however many the process has submitted.

use iopilot_block::ProcessId;
use std::fs;

/// The file descriptors of a process that are such queues.
#[derive(Debug)]
pub(super) struct Urings {
    descriptors: Vec<u32>,
}

impl Urings {
    /// The queues of `process`; empty where it has none, has exited, or may not be inspected.
    pub(super) fn of(process: ProcessId) -> Self {
        let Ok(entries) = fs::read_dir(format!("/proc/{}/fd", process.0)) else {
            return Self { descriptors: Vec::new() };
        };
        let is_uring = |entry: &fs::DirEntry| {
            fs::read_link(entry.path()).is_ok_and(|target| target.to_string_lossy() == "anon_inode:[io_uring]")
        };
        let number = |entry: fs::DirEntry| entry.file_name().to_string_lossy().parse().ok();
        Self { descriptors: entries.flatten().filter(is_uring).filter_map(number).collect() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.descriptors.is_empty()
    }

    /// How many requests `process` has submitted to them, and not fetched the result of.
    pub(super) fn submitted(&self, process: ProcessId) -> u32 {
        let text = |number: &u32| fs::read_to_string(format!("/proc/{}/fdinfo/{number}", process.0)).ok();
        self.descriptors.iter().filter_map(|number| submitted_in(&text(number)?)).sum()
    }
}

/// The same, of one queue: what the kernel has taken from the submission queue, less what the process has fetched from
/// the completion queue. Both counters wrap.
fn submitted_in(fdinfo: &str) -> Option<u32> {
    let counter = |name: &str| -> Option<u32> {
        let line = fdinfo.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().parse().ok()
    };
    Some(counter("CachedSqHead:")?.wrapping_sub(counter("CqHead:")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_submitted_and_not_fetched_is_in_flight() {
        let fdinfo = "pos:\t0\nSqMask:\t0x3f\nSqHead:\t70\nSqTail:\t70\nCachedSqHead:\t70\nCqMask:\t0x3f\nCqHead:\t6\n\
                      CqTail:\t66\nCachedCqTail:\t66\n";
        assert_eq!(submitted_in(fdinfo), Some(64));
        assert_eq!(
            submitted_in(
                &fdinfo.replace("CachedSqHead:\t70", "CachedSqHead:\t5").replace("CqHead:\t6", "CqHead:\t4294967295")
            ),
            Some(6)
        );
        assert_eq!(submitted_in("pos:\t0\n"), None);
        assert!(Urings::of(ProcessId(std::process::id())).is_empty());
    }
}
