//! [`Tasks`]: parents and start times of the tasks alive.

use iopilot_block::Nanos;
use std::collections::HashMap;
use std::fs;

/// A task's parent and start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TaskOrigin {
    /// The task that created it; for tasks older than the trace, the parent process.
    pub(super) parent: Option<u32>,
    /// On the monotonic clock; zero for tasks older than the trace.
    pub(super) start: Nanos,
}

/// The known tasks.
#[derive(Debug, Default)]
pub(super) struct Tasks(HashMap<u32, TaskOrigin>);

impl Tasks {
    /// The tasks alive now.
    pub(super) fn snapshot() -> Self {
        let mut tasks = Self::default();
        for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
            if let Some(pid) = entry.file_name().to_str().and_then(|n| n.parse().ok()) {
                tasks.get(pid);
            }
        }
        tasks
    }

    pub(super) fn fork(&mut self, parent: u32, child: u32, time: Nanos) {
        self.0.insert(child, TaskOrigin { parent: Some(parent), start: time });
    }

    pub(super) fn exit(&mut self, pid: u32) {
        self.0.remove(&pid);
    }

    /// The task `pid`. An unknown one is older than the trace, and looked up in `/proc` (threads have entries there,
    /// too, though unlisted).
    pub(super) fn get(&mut self, pid: u32) -> TaskOrigin {
        *self.0.entry(pid).or_insert_with(|| {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            TaskOrigin { parent: parent_in(&stat), start: Nanos::ZERO }
        })
    }
}

/// The name of a task, which the kernel pads with zeros.
pub(super) fn comm_text(comm: &[u8; 16]) -> String {
    let end = comm.iter().position(|&c| c == 0).unwrap_or(comm.len());
    String::from_utf8_lossy(&comm[..end]).into_owned()
}

/// The parent in the contents of `/proc/PID/stat`: the second field after the name, which may itself hold anything.
fn parent_in(stat: &str) -> Option<u32> {
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_parent_behind_any_name() {
        assert_eq!(parent_in("17 (a) S 3 (b) R 12 17 17 0"), Some(12));
        assert_eq!(parent_in(""), None);
        assert_eq!(Tasks::snapshot().get(std::process::id()).parent, Some(std::os::unix::process::parent_id()));
    }

    #[test]
    fn a_task_lives_from_fork_to_exit() {
        let mut tasks = Tasks::default();
        tasks.fork(5, u32::MAX, Nanos(9));
        assert_eq!(tasks.get(u32::MAX), TaskOrigin { parent: Some(5), start: Nanos(9) });
        tasks.exit(u32::MAX);
        assert_eq!(tasks.get(u32::MAX), TaskOrigin { parent: None, start: Nanos::ZERO });
    }
}
