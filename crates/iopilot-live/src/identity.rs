//! [`DiskIdentity`]: identifies a disk, wherever it is plugged in.

use crate::{BlockQueue, LiveError};
use std::fs;
use std::path::{Path, PathBuf};

/// The identity of a disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskIdentity {
    /// A unique, permanent identifier: the World Wide Name, else the serial number, else (as the next best) the file
    /// behind a loop device, or the kernel's name.
    pub id: String,
    /// The maker's model name; the kernel's name if that is unknown.
    pub model: String,
    /// Size in 512-byte sectors.
    pub sectors: u64,
    /// Whether it is rotational.
    pub rotational: bool,
}

impl DiskIdentity {
    /// The disk of `queue`.
    ///
    /// # Errors
    /// Where the disk is gone.
    pub fn of(queue: &BlockQueue) -> Result<Self, LiveError> {
        let rotational = queue.read("rotational")? == "1";
        let read = |file: &str| {
            let text = fs::read_to_string(queue.sysfs().join(file)).ok()?;
            Some(text.trim().to_owned()).filter(|text| !text.is_empty())
        };
        let sectors = read("size").and_then(|text| text.parse().ok());
        let sectors = sectors.ok_or_else(|| LiveError::Unplugged(queue.name().to_owned()))?;
        let id = ["wwid", "device/wwid", "device/serial", "serial", "loop/backing_file"].into_iter().find_map(read);
        let model = read("device/model").map(|model| match read("device/vendor") {
            // SATA disks have "ATA" there, virtual ones a number.
            Some(vendor) if vendor != "ATA" && !vendor.starts_with("0x") => format!("{vendor} {model}"),
            _ => model,
        });
        let name = || queue.name().to_owned();
        Ok(Self { id: id.unwrap_or_else(name), model: model.unwrap_or_else(name), sectors, rotational })
    }

    /// A name for files and lists: letters, digits, `.`, `-` and `_`, no longer than a file name may be.
    pub fn file_name(&self) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' };
        let id: String = self.id.trim_matches('/').chars().map(plain).collect();
        // Most identifiers differ at their end.
        let id: String = id.chars().skip(id.chars().count().saturating_sub(180)).collect();
        format!("{}-{}", id.trim_start_matches(['.', '-']), self.sectors)
    }

    /// The file of its learned model, in `/var/lib/iopilot`.
    pub fn state_file(&self) -> PathBuf {
        Path::new("/var/lib/iopilot").join(format!("{}.toml", self.file_name()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(id: &str) -> DiskIdentity {
        DiskIdentity { id: id.to_owned(), model: "disk".to_owned(), sectors: 2048, rotational: true }
    }

    #[test]
    fn any_identifier_makes_a_file_name() {
        assert_eq!(identity("naa.5000c500a1b2c3d4").file_name(), "naa.5000c500a1b2c3d4-2048");
        assert_eq!(identity("/tmp/my disk.img").file_name(), "tmp-my-disk.img-2048");
        assert_eq!(identity("../../etc/passwd").file_name(), "etc-passwd-2048");
        assert!(identity(&"ü".repeat(4000)).file_name().len() < 255);
        assert_eq!(identity("x.y").state_file(), Path::new("/var/lib/iopilot/x.y-2048.toml"));
    }
}
