//! The state files of served block devices, by which every process finds them and clears away those of dead servers.

use super::block_device::is_in_use;
use super::filesystem::FILE;
use super::loop_device::LoopDevice;
use super::queue_depth;
#[cfg(feature = "ublk")]
use super::ublk;
use crate::{BlockQueue, LiveError};
use iopilot_block::InputError;
use rustix::fs::{FlockOperation, flock};
use rustix::mount::{UnmountFlags, unmount};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder, File};
use std::io;
use std::marker::PhantomData;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process;
use std::time::Duration;

/// The record of a served block device.
pub(crate) trait AttachedDevice: Clone + Serialize + DeserializeOwned {
    /// What it is called in messages.
    const KIND: &'static str;
    /// The prefix of default names.
    const PREFIX: &'static str;

    /// Its name.
    fn name(&self) -> &str;
    /// Its path.
    fn device(&self) -> &Path;
    /// Whether it is served. If not, its server is dead, but it is still in use.
    fn is_served(&self) -> bool;
    /// Notes that its server is dead.
    fn died(&mut self);
}

/// How long to wait for others to close a dead server's device. After that it is detached when they close it.
const PATIENCE: Duration = Duration::from_secs(2);

/// The folder of all block devices of a kind.
#[derive(Clone, Debug)]
pub(crate) struct StateFolder<A> {
    path: PathBuf,
    kind: PhantomData<A>,
}

/// The folder of one block device, claimed by this process.
#[derive(Debug)]
pub(crate) struct DeviceClaim<A> {
    folder: PathBuf,
    note: Note<A>,
}

/// The block devices that were found.
#[derive(Debug)]
pub(crate) struct FoundDevices<A> {
    /// Those that are served, and those whose servers are dead, but which are still in use; by name.
    pub(crate) attached: Vec<A>,
    /// Those whose servers were dead; they are cleared away.
    pub(crate) cleared: Vec<A>,
}

/// The content of `state.json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Note<A> {
    /// The process that serves it.
    pid: u32,
    /// When that process started, in ticks since boot, since process identifiers are reused.
    started: u64,
    /// Set once the device is served.
    attachment: Option<A>,
}

impl<A: AttachedDevice> StateFolder<A> {
    /// The folder at `path`, made where it does not exist.
    pub(crate) fn open(path: &Path) -> Result<Self, LiveError> {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
        // The kernel lists mounts by their real paths.
        let real = made.and_then(|()| fs::canonicalize(path));
        Ok(Self { path: real.map_err(|e| LiveError::io(path, e))?, kind: PhantomData })
    }

    /// Finds the devices, and clears away those of dead servers that are not in use.
    pub(crate) fn look(&self) -> Result<FoundDevices<A>, LiveError> {
        let _lock = self.lock()?;
        let mut found = FoundDevices { attached: Vec::new(), cleared: Vec::new() };
        for folder in self.folders()? {
            match note::<A>(&folder) {
                Some(note) if note.is_alive() => found.attached.extend(note.attachment),
                Some(Note { attachment: Some(mut attachment), .. }) if is_left_in_use(&folder, attachment.device()) => {
                    attachment.died();
                    found.attached.push(attachment);
                }
                dead => {
                    #[cfg(feature = "ublk")]
                    dead.as_ref().map_or(Ok(()), |note| ublk::clear(note.token()))?;
                    clear(&folder)?;
                    found.cleared.extend(dead.and_then(|note| note.attachment));
                }
            }
        }
        found.attached.sort_by(|a, b| a.name().cmp(b.name()));
        Ok(found)
    }

    /// Clears away the device `name`, whose server is dead, although it is in use.
    pub(crate) fn clear_away(&self, name: &str) -> Result<(), LiveError> {
        let _lock = self.lock()?;
        clear(&self.folder(name))
    }

    /// Notes this process as the one that serves the device `name`; where that is `None`, the first free one of the
    /// [prefix](AttachedDevice::PREFIX) and a number.
    pub(crate) fn claim(&self, name: Option<&str>) -> Result<DeviceClaim<A>, LiveError> {
        let _lock = self.lock()?;
        let folder = match name {
            Some(name) => {
                let folder = self.path.join(name);
                if folder.exists() {
                    return Err(InputError::new("--name", name, format!("a name that no {} has", A::KIND)).into());
                }
                folder
            }
            None => {
                let mut free =
                    (0..).map(|n| self.path.join(format!("{}{n}", A::PREFIX))).filter(|folder| !folder.exists());
                free.next().ok_or_else(|| LiveError::io(&self.path, io::ErrorKind::QuotaExceeded.into()))?
            }
        };
        let pid = process::id();
        let started =
            start_of(pid).ok_or_else(|| LiveError::io("/proc/self/stat", io::ErrorKind::InvalidData.into()))?;
        let claim = DeviceClaim { folder, note: Note { pid, started, attachment: None } };
        let made = DirBuilder::new().recursive(true).mode(0o700).create(claim.mount_point());
        made.map_err(|e| LiveError::io(claim.mount_point(), e))?;
        claim.write()?;
        Ok(claim)
    }

    /// The folder of the device `name`.
    pub(crate) fn folder(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    fn folders(&self) -> Result<Vec<PathBuf>, LiveError> {
        let failed = |e| LiveError::io(&self.path, e);
        let mut folders = Vec::new();
        for entry in fs::read_dir(&self.path).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            if entry.file_type().map_err(failed)?.is_dir() {
                folders.push(entry.path());
            }
        }
        Ok(folders)
    }

    fn lock(&self) -> Result<File, LiveError> {
        let path = self.path.join("lock");
        let file = File::create(&path).map_err(|e| LiveError::io(&path, e))?;
        flock(&file, FlockOperation::LockExclusive).map_err(|e| LiveError::io(&path, e.into()))?;
        Ok(file)
    }
}

impl<A: AttachedDevice> DeviceClaim<A> {
    /// The disk's name.
    pub(crate) fn name(&self) -> String {
        self.folder.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// Where its file system is to be mounted.
    pub(crate) fn mount_point(&self) -> PathBuf {
        self.folder.join("mnt")
    }

    /// Identifies this process: its number and its start time, in one number.
    #[cfg(feature = "ublk")]
    pub(super) fn token(&self) -> u64 {
        self.note.token()
    }

    /// Its folder.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Notes that the disk is served.
    pub(crate) fn served(&mut self, attachment: A) -> Result<(), LiveError> {
        self.note.attachment = Some(attachment);
        self.write()
    }

    /// Forgets it; its file system is unmounted.
    pub(crate) fn release(&self) -> Result<(), LiveError> {
        remove(&self.folder)
    }

    fn write(&self) -> Result<(), LiveError> {
        let (path, new) = (self.folder.join("state.json"), self.folder.join("state.json.new"));
        let text = serde_json::to_string_pretty(&self.note).map_err(|e| LiveError::io(&path, e.into()))?;
        fs::write(&new, text).and_then(|()| fs::rename(&new, &path)).map_err(|e| LiveError::io(&path, e))
    }
}

impl<A> Note<A> {
    fn is_alive(&self) -> bool {
        start_of(self.pid) == Some(self.started)
    }

    #[cfg(feature = "ublk")]
    fn token(&self) -> u64 {
        /// Process numbers have at most this many bits.
        const PID_BITS: u32 = 22;
        (self.started << PID_BITS) | u64::from(self.pid)
    }
}

fn note<A: DeserializeOwned>(folder: &Path) -> Option<Note<A>> {
    serde_json::from_str(&fs::read_to_string(folder.join("state.json")).ok()?).ok()
}

/// When process `pid` started, in ticks since boot; `None` where there is none, or it is a zombie.
fn start_of(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, in brackets, may hold anything.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    // The state is field 3, the start field 22.
    fields.nth(18)?.parse().ok().filter(|_| state != "Z" && state != "X")
}

/// Clears away a disk whose server is dead.
fn clear(folder: &Path) -> Result<(), LiveError> {
    let mount_point = folder.join("mnt");
    for device in loop_devices_on(&mount_point.join(FILE)) {
        // Its requests fail at once, so nothing blocks here.
        if let Ok(queue) = BlockQueue::open(device.path()) {
            // A device that is being removed may refuse; no other disk will get it then.
            let _ = queue_depth::set(&queue, queue_depth::MOST);
        }
        device.detach(PATIENCE)?;
    }
    // There are several mounts if one was mounted over another.
    while unmount(&mount_point, UnmountFlags::DETACH).is_ok() {}
    remove(folder)
}

/// Removes the folder of a disk, but nothing that is still mounted there.
fn remove(folder: &Path) -> Result<(), LiveError> {
    let gone = |result: io::Result<()>| match result {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(LiveError::io(folder, e)),
        _ => Ok(()),
    };
    gone(fs::remove_dir(folder.join("mnt")))?;
    gone(fs::remove_dir_all(folder))
}

/// Whether `device`, the loop device of the dead disk in `folder`, is still used by somebody.
fn is_left_in_use(folder: &Path, device: &Path) -> bool {
    let still_its = || loop_devices_on(&folder.join("mnt").join(FILE)).iter().any(|found| found.path() == device);
    is_in_use(device) && still_its()
}

/// The loop devices that are attached to `file`.
fn loop_devices_on(file: &Path) -> Vec<LoopDevice> {
    let Ok(entries) = fs::read_dir("/sys/block") else { return Vec::new() };
    let names = entries.flatten().map(|entry| entry.file_name());
    let devices = names.filter(|name| name.to_string_lossy().starts_with("loop"));
    let devices = devices.map(|name| LoopDevice::at(&Path::new("/dev").join(name)));
    devices.filter(|device| device.backing().as_deref() == Some(file)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vdisk::Attachment;

    fn state() -> (tempfile::TempDir, StateFolder<Attachment>) {
        let folder = tempfile::tempdir().unwrap();
        let state = StateFolder::open(&folder.path().join("state")).unwrap();
        (folder, state)
    }

    #[test]
    fn names_are_given_in_order_and_once() {
        let (_folder, state) = state();
        let first = state.claim(None).unwrap();
        let named = state.claim(Some("vd1")).unwrap();
        assert_eq!((first.name().as_str(), state.claim(None).unwrap().name().as_str()), ("vd0", "vd2"));
        assert_eq!(
            state.claim(Some("vd1")).unwrap_err().to_string(),
            "--name: got vd1, expected a name that no virtual disk has"
        );
        named.release().unwrap();
        assert_eq!(state.claim(None).unwrap().name(), "vd1");
    }

    #[test]
    fn what_the_dead_left_goes_and_the_living_stay() {
        let (_folder, state) = state();
        let living = state.claim(Some("living")).unwrap();
        let mut dead = state.claim(Some("dead")).unwrap();
        dead.note.started -= 1;
        dead.write().unwrap();
        fs::create_dir(state.folder("damaged")).unwrap();
        // None of them is served yet.
        let found = state.look().unwrap();
        assert!(found.attached.is_empty() && found.cleared.is_empty());
        assert!(living.folder().exists() && !state.folder("dead").exists() && !state.folder("damaged").exists());
    }

    #[test]
    fn a_process_is_known_by_its_start() {
        assert!(start_of(process::id()).is_some_and(|t| t > 0));
        assert_eq!(start_of(u32::MAX), None);
    }
}
