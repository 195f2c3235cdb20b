//! Real-time priority and other properties of threads and processes on Linux.

use rustix::process::{chdir, setsid};
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};
use rustix::time::{ClockId, clock_gettime};
use std::fs::File;
use std::io;
use std::path::Path;

/// Real time: nanoseconds of `CLOCK_MONOTONIC`.
pub(crate) fn monotonic() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Gives the calling thread, and those it starts, real-time priority (`SCHED_FIFO`). Returns whether the kernel allowed
/// it.
pub(crate) fn become_real_time(priority: i32) -> bool {
    let parameters = libc::sched_param { sched_priority: priority };
    // SAFETY: the kernel reads the structure, which outlives the call; 0 is the calling thread.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) == 0 }
}

/// Runs `what` with real-time priority, if the kernel allows it.
pub(crate) fn before_all_others<T>(what: impl FnOnce() -> T) -> T {
    /// The middle of the range.
    const PRIORITY: i32 = 50;
    // SAFETY: takes and gives a number; 0 is the calling thread.
    let usual = unsafe { libc::sched_getscheduler(0) };
    let raised = usual == libc::SCHED_OTHER && become_real_time(PRIORITY);
    let done = what();
    if raised {
        let parameters = libc::sched_param { sched_priority: 0 };
        // SAFETY: as above; the kernel reads the structure, which outlives the call.
        unsafe { libc::sched_setscheduler(0, libc::SCHED_OTHER, &raw const parameters) };
    }
    done
}

/// Tells the kernel that the calling thread, and those it starts, serve a disk. The kernel then does not free memory
/// for them by writing to that disk, which would deadlock. Returns whether the kernel allowed it.
pub(crate) fn become_io_flusher() -> bool {
    // From include/uapi/linux/prctl.h.
    const PR_SET_IO_FLUSHER: libc::c_int = 57;
    const ON: libc::c_ulong = 1;
    const UNUSED: libc::c_ulong = 0;
    // SAFETY: takes numbers only.
    unsafe { libc::prctl(PR_SET_IO_FLUSHER, ON, UNUSED, UNUSED, UNUSED) == 0 }
}

/// Detaches from the terminal, the standard streams and the working folder. Standard error then goes to the file `log`.
pub(super) fn leave_terminal(log: &Path) -> io::Result<()> {
    let log = File::create(log)?;
    let nothing = File::options().read(true).write(true).open("/dev/null")?;
    // It fails for the leader of a process group.
    let _ = setsid();
    chdir("/")?;
    dup2_stdin(&nothing)?;
    dup2_stdout(&nothing)?;
    dup2_stderr(&log)?;
    Ok(())
}
