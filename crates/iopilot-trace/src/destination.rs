//! [`Destination`]: a file that is either complete or absent.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// A file to be written: under a temporary name in the same folder, and renamed to its path when it is complete.
///
/// Dropped before that, it leaves nothing behind. The temporary file of a killed process is removed when the same path is
/// written next. A path that is no regular file (a device, a pipe) is written to directly and never replaced.
#[derive(Debug)]
pub struct Destination {
    path: PathBuf,
    temporary: Option<PathBuf>,
}

impl Destination {
    /// Begins a file that will be at `path`; a link is followed.
    ///
    /// # Errors
    /// Where it cannot be written: there is no such folder, or it is a folder itself, or that is not allowed.
    pub fn create(path: &Path) -> io::Result<(Self, File)> {
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        if fs::metadata(&path).is_ok_and(|m| !m.is_file()) {
            let file = File::options().write(true).open(&path)?;
            return Ok((Self { path, temporary: None }, file));
        }
        let Some(name) = path.file_name() else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not the name of a file"));
        };
        let name = name.to_string_lossy();
        let temporary = path.with_file_name(format!(".{name}.{}.part", std::process::id()));
        let file = File::create(&temporary)?;
        #[cfg(target_os = "linux")]
        abandoned::lock_and_clean(&file, &temporary, &name);
        Ok((Self { path, temporary: Some(temporary) }, file))
    }

    /// Makes `file` durable, and puts it in place.
    ///
    /// # Errors
    /// Where that fails, as on a full disk; then nothing has changed.
    pub fn commit(mut self, file: &File) -> io::Result<()> {
        let Some(temporary) = &self.temporary else { return Ok(()) };
        file.sync_all()?;
        fs::rename(temporary, &self.path)?;
        self.temporary = None;
        Ok(())
    }
}

impl Drop for Destination {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            // Nothing can be done about a file that cannot be removed.
            let _ = fs::remove_file(temporary);
        }
    }
}

/// Temporary files of killed processes.
#[cfg(target_os = "linux")]
mod abandoned {
    use rustix::fs::{FlockOperation, flock};
    use std::fs::{self, File};
    use std::path::Path;

    /// Locks `own`, the temporary file for `name`, as long as it is open, and removes those of processes that have ended.
    /// On a shared file system a process may run on another machine, so a locked file is left alone.
    pub(super) fn lock_and_clean(own: &File, temporary: &Path, name: &str) {
        // Where nothing can be locked or listed, nothing is removed.
        if flock(own, FlockOperation::NonBlockingLockExclusive).is_err() {
            return;
        }
        let Some(entries) = temporary.parent().and_then(|folder| fs::read_dir(folder).ok()) else { return };
        for path in entries.flatten().map(|entry| entry.path()) {
            let writer = path.file_name().and_then(|found| found.to_str()).and_then(|found| writer(found, name));
            if path != temporary && writer.is_some_and(|pid| !Path::new("/proc").join(pid.to_string()).exists()) {
                let unlocked =
                    File::open(&path).is_ok_and(|file| flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok());
                if unlocked {
                    let _ = fs::remove_file(path);
                }
            }
        }
    }

    /// The process that wrote `found`, where that is a temporary file for `name`.
    fn writer(found: &str, name: &str) -> Option<u32> {
        found.strip_prefix('.')?.strip_prefix(name)?.strip_prefix('.')?.strip_suffix(".part")?.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::fs::{FileTypeExt, symlink};

    fn write(path: &Path, text: &str) -> io::Result<()> {
        let (destination, mut file) = Destination::create(path)?;
        file.write_all(text.as_bytes())?;
        destination.commit(&file)
    }

    #[test]
    fn replaces_when_whole_and_else_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        write(&path, "old").unwrap();
        drop(Destination::create(&path).unwrap());
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        write(&path, "new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn what_a_killed_writer_left_is_removed_by_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let in_folder = |name: &str| folder.path().join(name);
        // Linux numbers processes below 2^22.
        let nobody = i32::MAX;
        // Left by nobody, still being written on another machine, by a process that lives, and for another file.
        let (left, locked) = (in_folder(&format!(".a.{nobody}.part")), in_folder(".a.2147483646.part"));
        let others = [in_folder(".a.1.part"), in_folder(&format!(".b.{nobody}.part")), in_folder(".a.x.part")];
        others.iter().chain([&left, &locked]).for_each(|path| fs::write(path, "").unwrap());
        let writing = File::open(&locked).unwrap();
        rustix::fs::flock(&writing, rustix::fs::FlockOperation::LockExclusive).unwrap();
        write(&in_folder("a"), "new").unwrap();
        assert!(!left.exists());
        assert!(locked.exists() && others.iter().all(|path| path.exists()));
        drop(writing);
        write(&in_folder("a"), "newer").unwrap();
        assert!(!locked.exists());
    }

    #[test]
    fn follows_a_link_to_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        write(&file, "old").unwrap();
        symlink(&file, &link).unwrap();
        write(&link, "new").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
    }

    #[test]
    fn writes_to_a_device_and_leaves_it_one() {
        // A link to the device, so that a mistake here costs the link alone.
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("null");
        symlink("/dev/null", &link).unwrap();
        write(&link, "text").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink(), "the link was replaced");
        assert!(fs::metadata(&link).unwrap().file_type().is_char_device());
    }
}
