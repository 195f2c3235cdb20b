//! [`Awake`]: CPUs that do not sleep.

use anyhow::Context as _;
use std::process::{Child, Command, Stdio};
use std::thread::available_parallelism;

/// Loops that run where nobody else wants a CPU (`SCHED_IDLE`), one for each. They end when it is dropped.
pub(super) struct Awake(Vec<Child>);

impl Awake {
    /// Starts them.
    ///
    /// # Errors
    /// Without `chrt` of util-linux.
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

impl Drop for Awake {
    fn drop(&mut self) {
        for program in &mut self.0 {
            // It may have ended already.
            let _ = program.kill();
            let _ = program.wait();
        }
    }
}
