//! [`TracefsMount`]: the tracefs file system, mounted already or for this process alone.

use crate::LiveError;
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

/// Where distributions mount it.
const MOUNTS: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
/// A folder that every tracefs has.
const INSTANCES: &str = "instances";

/// The file system of the kernel's tracing, as it can be used by this process.
///
/// If it is not mounted, this value holds a detached mount. It is in no mount table and no folder, no other process
/// sees it, and it ends with the value. That needs Linux 5.2 and CAP_SYS_ADMIN.
#[derive(Debug)]
pub struct TracefsMount {
    path: PathBuf,
    /// Keeps the detached mount.
    _own: Option<OwnedFd>,
}

impl TracefsMount {
    /// Finds it, or mounts it.
    ///
    /// # Errors
    /// [`LiveError::NotPermitted`] if it is mounted, but not accessible; [`LiveError::NoTracefs`] if it cannot be
    /// mounted.
    pub fn open() -> Result<Self, LiveError> {
        for mount in MOUNTS {
            let instances = Path::new(mount).join(INSTANCES);
            match fs::read_dir(&instances) {
                Ok(_) => return Ok(Self { path: mount.into(), _own: None }),
                Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                Err(e) => return Err(LiveError::io(instances, e)),
            }
        }
        Self::mount().map_err(|e| {
            LiveError::NoTracefs(match e.kind() {
                io::ErrorKind::PermissionDenied => "mounting it needs root, with CAP_SYS_ADMIN".to_owned(),
                _ => format!("mounting it for this process alone: {e}; mount -t tracefs tracefs /sys/kernel/tracing"),
            })
        })
    }

    fn mount() -> io::Result<Self> {
        let context = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
        fsconfig_create(&context)?;
        let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID
            | MountAttrFlags::MOUNT_ATTR_NODEV
            | MountAttrFlags::MOUNT_ATTR_NOEXEC
            | MountAttrFlags::MOUNT_ATTR_RELATIME;
        let own = fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)?;
        // A path through the descriptor leads into the mount, which has no name of its own.
        Ok(Self { path: format!("/proc/self/fd/{}", own.as_raw_fd()).into(), _own: Some(own) })
    }

    /// The folder of the private tracing instances. Valid for this process, as long as the value lives.
    #[must_use]
    pub fn instances(&self) -> PathBuf {
        self.path.join(INSTANCES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_own_mount_is_the_same_tracing_and_leaves_nothing() {
        let mounts = || fs::read_to_string("/proc/self/mounts").unwrap();
        let before = mounts();
        let (one, other) = match (TracefsMount::mount(), TracefsMount::mount()) {
            (Ok(one), Ok(other)) => (one, other),
            (Err(e), _) | (_, Err(e)) => return iopilot_testing::skipped(&format!("cannot mount tracefs: {e}")),
        };
        assert_eq!(before, mounts(), "nobody sees it");
        let name = format!("iopilot-test-{}", std::process::id());
        fs::create_dir(one.instances().join(&name)).unwrap();
        assert!(other.instances().join(&name).join("tracing_on").exists());
        let path = one.path.to_owned();
        drop(one);
        assert!(!path.join("instances").join(&name).exists(), "the mount ended");
        fs::remove_dir(other.instances().join(&name)).unwrap();
    }
}
