//! [`MemoryLimit`]: a memory control group for a load, page cache included.

use anyhow::Context as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

/// By version of cgroups: where the controllers are mounted, and the file that sets the limit.
const VERSIONS: [(&str, &str); 2] =
    [("/sys/fs/cgroup", "memory.max"), ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")];

/// A control group with limited memory. The kernel charges a file's pages to the group that read them first. The group
/// is removed when this is dropped.
pub(super) struct MemoryLimit {
    folder: PathBuf,
}

impl MemoryLimit {
    /// A group of `bytes` for `whom`.
    ///
    /// # Errors
    /// If the kernel does not offer such groups to this process.
    pub(super) fn new(whom: &str, bytes: u64) -> anyhow::Result<Self> {
        let name = format!("iopilot-lab-{}-{whom}", std::process::id());
        let (root, file) = VERSIONS
            .iter()
            .find(|(root, _)| has_memory(Path::new(root)))
            .context("the memory controller of cgroups is not mounted at /sys/fs/cgroup")?;
        let folder = Path::new(root).join(name);
        let failed = || format!("making the control group {}", folder.display());
        match fs::create_dir(&folder) {
            // A group may be left from an earlier run.
            Err(e) if e.kind() != std::io::ErrorKind::AlreadyExists => return Err(e).with_context(failed),
            _ => {}
        }
        let group = Self { folder: folder.clone() };
        fs::write(folder.join(file), bytes.to_string()).with_context(failed)?;
        Ok(group)
    }

    /// A command that runs `program` in the group; the caller adds arguments.
    pub(super) fn command(&self, program: &str) -> Command {
        let mut command = Command::new("sh");
        let enter = "echo $$ > \"$0\" && exec \"$@\"";
        command.args(["-c", enter]).arg(self.folder.join("cgroup.procs")).arg(program);
        command
    }
}

impl Drop for MemoryLimit {
    fn drop(&mut self) {
        // The kernel needs a moment to notice that the last process has exited.
        for _ in 0..50 {
            if fs::remove_dir(&self.folder).is_ok() {
                return;
            }
            sleep(Duration::from_millis(20));
        }
        eprintln!("{} stays", self.folder.display());
    }
}

/// Whether groups in `root` can have a memory limit.
fn has_memory(root: &Path) -> bool {
    let controllers = fs::read_to_string(root.join("cgroup.subtree_control")).unwrap_or_default();
    controllers.split_whitespace().any(|name| name == "memory") || root.join("memory.limit_in_bytes").exists()
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_testing::{has, skipped};

    #[test]
    fn what_runs_in_it_has_no_more_memory() {
        if !has(&["root", "sh", "dd"]) {
            return;
        }
        let group = match MemoryLimit::new("test", 16 << 20) {
            Ok(group) => group,
            Err(e) => return skipped(&format!("{e:#}")),
        };
        let folder = group.folder.clone();
        // dd fills a buffer of 64 MiB.
        let dd = |block: &str| {
            let mut dd = group.command("dd");
            dd.args(["if=/dev/zero", "of=/dev/null", "count=1", "status=none", block]);
            dd.status().unwrap().success()
        };
        assert!(!dd("bs=64M") && dd("bs=1M"));
        drop(group);
        assert!(!folder.exists());
    }
}
