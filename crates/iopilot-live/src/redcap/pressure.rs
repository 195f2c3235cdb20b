//! Releases memory while the machine is short of it, by the kernel's pressure stall information (PSI).

use super::cached_disk::CachedDisk;
use crate::block_server::Buffers;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const PRESSURE: &str = "/proc/pressure/memory";
/// Some process waits for memory for more than 100 ms in a second (`Documentation/accounting/psi.rst`). A process
/// without `CAP_SYS_RESOURCE`, as in a container, must use windows of two seconds, or a multiple of that.
const TRIGGERS: [&[u8]; 2] = [b"some 100000 1000000\0", b"some 200000 2000000\0"];
/// The time between two steps in which the cache grows again, seconds.
const CALM: i64 = 10;
/// It grows by its full size divided by this.
const STEP: u64 = 8;
/// It shrinks to its full size divided by this, at most.
const LEAST: u64 = 16;

/// How many bytes a cache may hold, and how often it had to shrink.
#[derive(Debug)]
pub(super) struct CacheLimit {
    pub(super) full: u64,
    pub(super) now: AtomicU64,
    pub(super) shrinks: AtomicU64,
}

impl CacheLimit {
    pub(super) fn new(bytes: u64) -> Self {
        Self { full: bytes, now: AtomicU64::new(bytes), shrinks: AtomicU64::new(0) }
    }

    /// Half of it, or of the `used` size if that is less, but no less than a sixteenth of the full size.
    fn shrink(&self, used: u64) -> u64 {
        self.shrinks.fetch_add(1, Ordering::Relaxed);
        let next = (self.now.load(Ordering::Relaxed).min(used) / 2).max(self.full / LEAST).max(1);
        self.now.store(next, Ordering::Relaxed);
        next
    }

    /// An eighth of the full size more.
    pub(super) fn grow(&self) -> u64 {
        let next = (self.now.load(Ordering::Relaxed) + (self.full / STEP).max(1)).min(self.full);
        self.now.store(next, Ordering::Relaxed);
        next
    }
}

/// Asks the kernel to report memory pressure. Fails where the kernel was built without that.
pub(super) fn watch() -> io::Result<File> {
    let ask = |trigger: &[u8]| {
        let mut file = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(PRESSURE)?;
        file.write_all(trigger).map(|()| file)
    };
    match ask(TRIGGERS[0]) {
        Err(e) if e.kind() == io::ErrorKind::InvalidInput => ask(TRIGGERS[1]),
        asked => asked,
    }
}

/// Halves the cache at each sign of pressure, and lets it grow in calm, until `stop` is closed.
pub(super) fn shrink_under_pressure(
    pressure: &File,
    stop: &UnixStream,
    disk: &CachedDisk,
    limit: &CacheLimit,
    buffers: &Arc<Buffers>,
) {
    loop {
        let mut both = [PollFd::new(pressure, PollFlags::PRI), PollFd::new(stop, PollFlags::IN)];
        let timeout = Timespec { tv_sec: CALM, tv_nsec: 0 };
        match poll(&mut both, Some(&timeout)) {
            Err(rustix::io::Errno::INTR) => continue,
            Err(_) => return,
            Ok(_) => {}
        }
        if !both[1].revents().is_empty() || both[0].revents().contains(PollFlags::ERR) {
            return;
        }
        if both[0].revents().contains(PollFlags::PRI) {
            disk.with(|body| body.set_limit(limit.shrink(body.geometry().bytes())));
            buffers.shrink();
        } else if limit.now.load(Ordering::Relaxed) < limit.full {
            let bytes = limit.grow();
            disk.with(|body| body.set_limit(bytes));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_that_reports_pressure_reports_it_to_root() {
        // It is there, but cannot be read, where the kernel has that turned off.
        if iopilot_testing::has(&["root"]) && std::fs::read(PRESSURE).is_ok() {
            assert!(watch().is_ok(), "{:?}", watch());
        }
    }

    #[test]
    fn it_shrinks_fast_and_grows_slowly() {
        let limit = CacheLimit::new(64);
        assert_eq!([limit.shrink(64), limit.shrink(64), limit.grow()], [32, 16, 24]);
        assert_eq!((0..10).map(|_| limit.shrink(64)).last(), Some(4));
        assert_eq!(limit.shrinks.load(Ordering::Relaxed), 12);
        assert_eq!((0..10).map(|_| limit.grow()).last(), Some(64));
        assert_eq!(CacheLimit::new(1).shrink(1), 1);
        assert_eq!(CacheLimit::new(64).shrink(20), 10, "of what may be used, that is all that is");
    }
}
