//! [`Journal`]: a file with the settings of a disk before the flight, so that they can be restored after a killed
//! daemon.

use crate::{BlockQueue, LiveError, QueueState};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// The folder of journals and the control socket. A reboot clears it, and the settings of disks as well.
pub const RUNTIME_FOLDER: &str = "/run/iopilot/dads";

/// The state to restore, and the process that changed it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    pid: u32,
    /// When that process started, in the kernel's clock ticks, since process identifiers are reused.
    started: u64,
    device: PathBuf,
    /// The kernel's sequence number of the disk, since names are reused.
    diskseq: Option<u64>,
    state: QueueState,
}

/// The journal of a disk that is flown. As long as the file exists, the state is to be restored.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
}

/// A disk restored from the journal of a dead process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovery {
    /// The disk.
    pub device: PathBuf,
    /// The scheduler that was restored; `None` if the disk is gone.
    pub scheduler: Option<String>,
}

impl Journal {
    /// Writes the state of `queue`, the disk at `device`, before it is changed. The file is durable on return.
    ///
    /// # Errors
    /// Where another process flies the disk, or the folder cannot be written to.
    pub(crate) fn begin(
        folder: &Path,
        device: &Path,
        queue: &BlockQueue,
        state: &QueueState,
    ) -> Result<Self, LiveError> {
        fs::create_dir_all(folder).map_err(|e| LiveError::io(folder, e))?;
        let path = folder.join(format!("{}.json", queue.name()));
        let pid = std::process::id();
        let entry = Entry {
            pid,
            started: started(pid).unwrap_or(0),
            device: device.to_owned(),
            diskseq: queue.diskseq(),
            state: state.clone(),
        };
        let text = serde_json::to_string_pretty(&entry).map_err(|e| LiveError::io(&path, e.into()))?;
        let write = || -> io::Result<()> {
            // Written under another name first; the link fails if there is a journal already.
            let mut file = tempfile::NamedTempFile::new_in(folder)?;
            file.write_all(text.as_bytes())?;
            file.as_file().sync_all()?;
            file.persist_noclobber(&path)?;
            Ok(())
        };
        match write() {
            Ok(()) => Ok(Self { path }),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Err(LiveError::Device {
                path: device.to_owned(),
                reason: match read(&path) {
                    Ok(other) => format!("process {} flies it already", other.pid),
                    Err(_) => "another process flies it already".to_owned(),
                },
            }),
            Err(e) => Err(LiveError::io(path, e)),
        }
    }

    /// Removes the journal, after the state has been restored.
    ///
    /// # Errors
    /// Where the file cannot be removed.
    pub(crate) fn end(self) -> Result<(), LiveError> {
        fs::remove_file(&self.path).map_err(|e| LiveError::io(&self.path, e))
    }
}

/// Restores what killed processes had changed.
///
/// # Errors
/// The first disk that could not be restored; all are tried.
pub fn recover(folder: &Path) -> Result<Vec<Recovery>, LiveError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(LiveError::io(folder, e)),
    };
    let (mut done, mut failed) = (Vec::new(), None);
    for path in entries.flatten().map(|e| e.path()).filter(|p| p.extension().is_some_and(|e| e == "json")) {
        match recover_one(&path) {
            Ok(recovery) => done.extend(recovery),
            Err(e) => failed = failed.or(Some(e)),
        }
    }
    failed.map_or(Ok(done), Err)
}

fn recover_one(path: &Path) -> Result<Option<Recovery>, LiveError> {
    let entry = read(path)?;
    if started(entry.pid) == Some(entry.started) {
        return Ok(None);
    }
    let same = |queue: &BlockQueue| entry.diskseq.is_none() || queue.diskseq() == entry.diskseq;
    let scheduler = match BlockQueue::open(&entry.device) {
        Ok(queue) if same(&queue) => {
            queue.restore(&entry.state)?;
            Some(entry.state.scheduler)
        }
        _ => None,
    };
    fs::remove_file(path).map_err(|e| LiveError::io(path, e))?;
    Ok(Some(Recovery { device: entry.device, scheduler }))
}

fn read(path: &Path) -> Result<Entry, LiveError> {
    let text = fs::read_to_string(path).map_err(|e| LiveError::io(path, e))?;
    serde_json::from_str(&text).map_err(|e| LiveError::io(path, e.into()))
}

/// When process `pid` started, in clock ticks since boot; `None` where it is dead, even if its parent has not waited
/// for it yet.
fn started(pid: u32) -> Option<u64> {
    started_by(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

fn started_by(stat: &str) -> Option<u64> {
    // The name, in parentheses, may hold anything; the state follows it, and the start time is the 20th field behind
    // it.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    if matches!(state, "Z" | "X") { None } else { fields.nth(18)?.parse().ok() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn a_zombie_does_not_run() {
        let stat = |state: &str| format!("7 (a) b) {state} 1 7 7 0 -1 4 0 0 0 0 0 0 0 0 20 0 1 0 5704633 0 0");
        assert_eq!(started_by(&stat("S")), Some(5_704_633));
        assert_eq!(started_by(&stat("Z")), None);
    }

    fn state() -> QueueState {
        QueueState { scheduler: "none".to_owned(), tunables: BTreeMap::new(), attributes: BTreeMap::new() }
    }

    fn write(folder: &Path, entry: &Entry) -> PathBuf {
        let path = folder.join("sdx.json");
        fs::write(&path, serde_json::to_string(entry).unwrap()).unwrap();
        path
    }

    #[test]
    fn a_journal_of_a_living_process_is_left_alone_and_that_of_a_dead_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let pid = std::process::id();
        let device = PathBuf::from("/dev/no-such-disk");
        let mine = Entry { pid, started: started(pid).unwrap(), device: device.clone(), diskseq: None, state: state() };
        let path = write(folder.path(), &mine);
        assert_eq!(recover(folder.path()).unwrap(), []);
        assert!(path.exists());
        // The same identifier, but a process that started at another time.
        write(folder.path(), &Entry { started: mine.started + 1, ..mine });
        assert_eq!(recover(folder.path()).unwrap(), [Recovery { device, scheduler: None }]);
        assert!(!path.exists());
    }

    #[test]
    fn a_broken_journal_is_reported_and_does_not_stop_the_others() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.json"), "{").unwrap();
        let dead = Entry { pid: 1, started: 0, device: "/dev/no-such-disk".into(), diskseq: None, state: state() };
        let path = write(folder.path(), &dead);
        assert!(recover(folder.path()).unwrap_err().to_string().contains("a.json"));
        assert!(!path.exists());
        assert_eq!(recover(&folder.path().join("nothing")).unwrap(), []);
    }
}
