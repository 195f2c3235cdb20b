//! [`Machine`]: a disk, the block layer above it and the CPUs above that.

use crate::block_config::BlockConfig;
use crate::error::SimError;
use crate::host::HostConfig;
use crate::report::MachineSummary;
use iopilot_block::{InputError, SECTOR_BYTES, parse_toml};
use iopilot_device::{AnyDevice, Device, DeviceError, DeviceSpec, DiskSpec, load_disk};
use serde::Deserialize;
use std::path::Path;

/// A machine with one disk.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Its name.
    pub name: String,
    /// The disk's catalogue name or file.
    pub disk_name: String,
    /// The disk as described.
    pub disk: DiskSpec,
    /// The disk as it is before its first request.
    pristine: AnyDevice,
    /// The block layer's settings.
    pub block: BlockConfig,
    /// The CPUs.
    pub host: HostConfig,
}

/// A machine as described in TOML.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Description {
    name: Option<String>,
    disk: String,
    #[serde(default)]
    block: BlockConfig,
    #[serde(default)]
    host: HostConfig,
}

impl Machine {
    /// A machine with the kernel's defaults around `disk`, a name of the catalogue or a TOML file.
    ///
    /// # Errors
    /// Where there is no such disk, or its description is wrong.
    pub fn for_disk(disk: &str) -> Result<Self, SimError> {
        Self::with_disk(disk, load_disk(disk)?)
    }

    /// The same around the disk that `spec` describes, called `name`.
    ///
    /// # Errors
    /// Where the description contradicts itself.
    pub fn with_disk(name: &str, spec: DiskSpec) -> Result<Self, SimError> {
        Ok(Self {
            name: name.to_owned(),
            disk_name: name.to_owned(),
            pristine: spec.build()?,
            disk: spec,
            block: BlockConfig::default(),
            host: HostConfig::default(),
        })
    }

    /// Reads a machine from a TOML file; a `disk` that is a file is looked for beside it.
    ///
    /// # Errors
    /// Where it cannot be read, and as [`Machine::from_toml`].
    pub fn load(path: &Path) -> Result<Self, SimError> {
        Self::load_with(path, load_disk)
    }

    /// As [`Machine::load`]; `load_disk` finds the disk by its name or path.
    ///
    /// # Errors
    /// As [`Machine::load`].
    pub fn load_with(path: &Path, load_disk: impl Fn(&str) -> Result<DiskSpec, DeviceError>) -> Result<Self, SimError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| SimError::Io { path: path.display().to_string(), source })?;
        Self::from_toml_with(&text, path, load_disk)
    }

    /// Reads the description `text` of the file at `path`.
    ///
    /// # Errors
    /// Names the file, line and key that is wrong, and what was expected.
    pub fn from_toml(text: &str, path: &Path) -> Result<Self, SimError> {
        Self::from_toml_with(text, path, load_disk)
    }

    fn from_toml_with(
        text: &str,
        path: &Path,
        load_disk: impl Fn(&str) -> Result<DiskSpec, DeviceError>,
    ) -> Result<Self, SimError> {
        let shown = path.display().to_string();
        let description: Description = parse_toml(text, &shown)?;
        let beside = path.with_file_name(&description.disk);
        let is_file = Path::new(&description.disk).extension().is_some() && beside.exists();
        let disk = if is_file { beside.display().to_string() } else { description.disk };
        let at = |e: InputError| {
            let key = e.field.rsplit('.').next().unwrap_or_default();
            let line = text.lines().zip(1..).find(|(line, _)| line.split('=').next().is_some_and(|k| k.trim() == key));
            let e = e.in_file(&shown);
            line.map_or(e.clone(), |(_, number)| e.at_line(number))
        };
        let on_disk = load_disk(&disk).map_err(SimError::from).and_then(|spec| Self::with_disk(&disk, spec));
        let on_disk = on_disk.map_err(|e| match e {
            SimError::Device(DeviceError::UnknownDisk { name, names, hint }) => {
                let expected = format!("a TOML file or one of the catalogue's names: {names}{hint}");
                SimError::Input(at(InputError::new("disk", name, expected)))
            }
            e => e,
        })?;
        let machine = Self {
            name: description.name.unwrap_or_else(|| shown.clone()),
            block: description.block,
            host: description.host,
            ..on_disk
        };
        machine.check().map_err(at)?;
        Ok(machine)
    }

    /// Whether the settings make sense together.
    ///
    /// # Errors
    /// Names the one that does not.
    pub fn check(&self) -> Result<(), InputError> {
        self.host.check()?;
        self.block.check()
    }

    /// A device of this machine, new and idle.
    pub fn device(&self) -> AnyDevice {
        self.pristine.clone()
    }

    /// The disk's size in sectors.
    pub fn capacity(&self) -> u64 {
        self.pristine.capacity()
    }

    /// Whether seeks cost time on its disk (`queue/rotational`).
    pub fn is_rotational(&self) -> bool {
        matches!(self.disk.device, DeviceSpec::Mechanical(_) | DeviceSpec::Drive(_))
    }

    /// The machine in a few words.
    pub fn summary(&self) -> MachineSummary {
        let depth = self.pristine.queue_depth();
        MachineSummary {
            name: self.name.clone(),
            disk: self.disk_name.clone(),
            capacity_bytes: self.capacity() * SECTOR_BYTES,
            queue_depth: self.block.queue_depth.map_or(depth, |d| d.min(depth)),
            cpus: self.host.cpus,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        Machine::from_toml(text, Path::new("m.toml")).unwrap_err().to_string()
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        assert_eq!(
            error("disk = \"hd-500-16\"\n[block]\nnomerges = 3\n"),
            "m.toml:3: block.nomerges: got 3, expected 0, 1 or 2"
        );
        assert!(
            error("\ndisk = \"hd-500\"\n").starts_with("m.toml:2: disk: got hd-500, expected a TOML file or one of")
        );
        assert!(error("disk = \"hd-500-16\"\n[host]\ncpu = 2\n").contains("m.toml:3: key: got cpu, expected"));
        assert_eq!(error("[host]\n"), "m.toml:1: disk: got nothing, expected a value for this key");
    }
}
