//! [`in_threads`]: the processes of a load on a live disk.

use std::io;
use std::thread;

/// Runs `work` in `count` threads, each with its index, and waits for all. A thread is a task of its own, which is what
/// schedulers call a process.
///
/// # Errors
/// The first error of a thread.
pub(super) fn in_threads(count: u32, work: impl Fn(u32) -> io::Result<()> + Sync) -> io::Result<()> {
    thread::scope(|scope| {
        let work = &work;
        let tasks: Vec<_> = (0..count).map(|n| scope.spawn(move || work(n))).collect();
        let ends: Vec<_> =
            tasks.into_iter().map(|task| task.join().unwrap_or_else(|e| std::panic::resume_unwind(e))).collect();
        ends.into_iter().collect()
    })
}
