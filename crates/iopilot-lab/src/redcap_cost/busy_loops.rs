//! [`BusyLoops`]: CPUs that do not sleep.

use anyhow::Context as _;
use std::process::{Child, Command, Stdio};
use std::thread::available_parallelism;

/// A busy loop for each CPU, of the lowest priority (`SCHED_IDLE`). The loops end when this is dropped.
pub(super) struct BusyLoops(Vec<Child>);

impl BusyLoops {
    /// Starts the loops.
    ///
    /// # Errors
    /// If `chrt` of util-linux is missing.
    pub(super) fn keep() -> anyhow::Result<Self> {
        let mut awake = Self(Vec::new());
        for _ in 0..available_parallelism().context("counting CPUs")?.get() {
            let mut chrt = Command::new("chrt");
            chrt.args(["--idle", "0", "sh", "-c", "while :; do :; done"]).stdin(Stdio::null());
            awake.0.push(chrt.spawn().context("running chrt")?);
        }
        Ok(awake)
    }
}

impl Drop for BusyLoops {
    fn drop(&mut self) {
        for program in &mut self.0 {
            // It may have ended already.
            let _ = program.kill();
            let _ = program.wait();
        }
    }
}
