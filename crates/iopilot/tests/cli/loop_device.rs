//! A loop device for a test.

use crate::Sandbox;
use iopilot_testing::{has, skipped};
use std::fs;
use std::process::Command;

/// A loop device on a sparse file `image` of the sandbox; detached when dropped.
pub(crate) struct Loop(pub(crate) String);

impl Loop {
    /// `None` if it cannot be made; the reason has been printed.
    pub(crate) fn attach(sandbox: &Sandbox, bytes: u64) -> Option<Self> {
        if !has(&["root", "/dev/loop-control", "losetup"]) {
            return None;
        }
        let image = sandbox.path().join("image");
        fs::File::create(&image).unwrap().set_len(bytes).unwrap();
        match Command::new("losetup").args(["-f", "--show"]).arg(image).output() {
            Ok(out) if out.status.success() => Some(Self(String::from_utf8(out.stdout).unwrap().trim().to_owned())),
            other => {
                skipped(&format!("no loop device: {other:?}"));
                None
            }
        }
    }

    /// Its kernel name.
    pub(crate) fn name(&self) -> &str {
        self.0.trim_start_matches("/dev/")
    }

    /// An attribute of its queue.
    pub(crate) fn queue(&self, attribute: &str) -> String {
        let path = format!("/sys/block/{}/queue/{attribute}", self.name());
        fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}")).trim().to_owned()
    }

    /// Whether its queue has an attribute with this value now. Attributes of a scheduler come and go with it.
    pub(crate) fn has(&self, attribute: &str, value: &str) -> bool {
        let path = format!("/sys/block/{}/queue/{attribute}", self.name());
        fs::read_to_string(path).is_ok_and(|text| text.trim() == value)
    }

    /// Sets an attribute of its queue.
    pub(crate) fn set(&self, attribute: &str, value: &str) {
        fs::write(format!("/sys/block/{}/queue/{attribute}", self.name()), value).unwrap();
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["-d", &self.0]).status();
    }
}
