//! A private loop device, for tests of live disks.

use iopilot_testing::{has, skipped};
use std::process::Command;

/// A loop device on a temporary file, both gone when dropped.
pub(crate) struct Loop {
    /// Such as `/dev/loop0`.
    pub(crate) device: String,
    _file: tempfile::NamedTempFile,
}

impl Loop {
    /// `None` where there can be none: the test then says that it is skipped.
    pub(crate) fn attach(bytes: u64) -> Option<Self> {
        if !has(&["root", "/dev/loop-control", "losetup"]) {
            return None;
        }
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(bytes).unwrap();
        match Command::new("losetup").args(["-f", "--show"]).arg(file.path()).output() {
            Ok(out) if out.status.success() => {
                let device = String::from_utf8(out.stdout).unwrap().trim().to_owned();
                Some(Self { device, _file: file })
            }
            other => {
                skipped(&format!("no loop device: {other:?}"));
                None
            }
        }
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["-d", &self.device]).status();
    }
}
