//! [`Machine`]: a disk, the block layer above it and the CPUs above that.

use crate::block_config::BlockConfig;
use crate::error::SimError;
use crate::host::HostConfig;
use crate::report::MachineSummary;
use iopilot_block::{InputError, SECTOR_BYTES, parse_toml};
use iopilot_device::{AnyDevice, Device, DeviceSpec, DiskSpec, load_disk};
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
        let spec = load_disk(disk)?;
        Ok(Self {
            name: disk.to_owned(),
            disk_name: disk.to_owned(),
            pristine: spec.build()?,
            disk: spec,
            block: BlockConfig::default(),
            host: HostConfig::default(),
        })
    }

    /// Reads a machine from a TOML file; a `disk` that ends in `.toml` is looked for beside it.
    ///
    /// # Errors
    /// Where it cannot be read, and as [`Machine::from_toml`].
    pub fn load(path: &Path) -> Result<Self, SimError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| SimError::Io { path: path.display().to_string(), source })?;
        Self::from_toml(&text, path)
    }

    /// Reads the description `text` of the file at `path`.
    ///
    /// # Errors
    /// Names the file, line and key that is wrong, and what was expected.
    pub fn from_toml(text: &str, path: &Path) -> Result<Self, SimError> {
        let shown = path.display().to_string();
        let description: Description = parse_toml(text, &shown)?;
        let beside = path.with_file_name(&description.disk);
        let is_file = description.disk.ends_with(".toml") && beside.exists();
        let disk = if is_file { beside.display().to_string() } else { description.disk };
        let machine = Self {
            name: description.name.unwrap_or_else(|| shown.clone()),
            block: description.block,
            host: description.host,
            ..Self::for_disk(&disk)?
        };
        machine.check().map_err(|e| e.in_file(shown))?;
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
        matches!(self.disk.device, DeviceSpec::Mechanical(_))
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
