//! REDCAP on live disks: a block device over a real one, with a cache in RAM that prefetches in disk order (GF 2, 3.3).
//!
//! A process ([`RedcapServer`]) holds the disk below exclusively, and serves the device above. The policy is
//! [`iopilot_redcap`]'s, as in simulations. Writes go to the disk before they are answered; a flush, too.

mod body;
mod cached_disk;
mod decider;
mod disagreement;
mod dry_run;
mod frames;
mod lower_disk;
mod metrics;
mod monitor;
mod parts;
mod pilot;
mod pressure;
mod ring;
mod server;
mod status;
mod streams;
mod tally;
mod warm_file;
mod warmer;

pub use crate::block_server::{OpCounts, Via};
pub use decider::RedcapModel;
pub use dry_run::{DryRunOptions, DryRunReport, dry_run};
pub use server::RedcapServer;
pub use status::{CheckNote, MemoryUse, RedcapStatus, WarmStatus};
pub use tally::{ApplicationTraffic, DiskTraffic};

use crate::LiveError;
use crate::block_server::{AttachedDevice, ask, find_served, look, release};
use iopilot_redcap::RedcapSpec;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The default folder of the state files of cached disks.
pub const REDCAP_STATE: &str = "/run/iopilot/redcap";

/// The settings of a new cache.
#[derive(Clone, Debug)]
pub struct RedcapOptions {
    /// The disk, partition or volume below.
    pub lower: PathBuf,
    /// The cache.
    pub spec: RedcapSpec,
    /// The model of the disk for `adaptive`.
    pub model: RedcapModel,
    /// The driver of the block device above.
    pub via: Via,
    /// Requests that the kernel keeps in it. Default: as many as there can be.
    pub depth: Option<u32>,
    /// Its name. Default: the first of redcap0, redcap1, ... that is free.
    pub name: Option<String>,
    /// Its I/O scheduler. Default: none, as the disk below has one.
    pub scheduler: Option<String>,
    /// The address of its metrics, such as `127.0.0.1:9420`.
    pub metrics: Option<String>,
    /// The file with the addresses of what the cache holds, which is read again at the next start.
    pub warm: Option<PathBuf>,
    /// The folder with its state file.
    pub state: PathBuf,
}

impl RedcapOptions {
    /// A cache `spec` over the disk `lower`, with default settings.
    pub fn new(lower: impl Into<PathBuf>, spec: RedcapSpec) -> Self {
        Self {
            lower: lower.into(),
            spec,
            model: RedcapModel::Learned { state: None },
            via: Via::Loop,
            depth: None,
            name: None,
            scheduler: None,
            metrics: None,
            warm: None,
            state: REDCAP_STATE.into(),
        }
    }
}

/// An attached cached disk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RedcapAttachment {
    /// The block device, such as `/dev/loop0`.
    pub device: PathBuf,
    /// Its name among cached disks.
    pub name: String,
    /// The disk below.
    pub disk: PathBuf,
    /// Bytes of it.
    pub size: u64,
    /// The cache, as [`RedcapSpec`] is written.
    pub settings: String,
    /// Its algorithm.
    pub algorithm: String,
    /// Bytes of memory that it may take for data.
    pub cache: u64,
    /// Requests that the kernel keeps in the device.
    pub depth: u32,
    /// The device's I/O scheduler.
    pub scheduler: String,
    /// The process that serves it.
    pub pid: u32,
    /// Whether it is served. If not, its server is dead, but its device is still in use, and all its requests fail.
    pub served: bool,
    /// Warnings for the user.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

impl AttachedDevice for RedcapAttachment {
    const KIND: &'static str = "cached disk";
    const PREFIX: &'static str = "redcap";

    fn name(&self) -> &str {
        &self.name
    }

    fn device(&self) -> &Path {
        &self.device
    }

    fn is_served(&self) -> bool {
        self.served
    }

    fn died(&mut self) {
        self.served = false;
    }
}

/// A command to the server of a cached disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Command {
    /// Asks for the status.
    Status,
    /// Detaches the device.
    Detach {
        /// Even if somebody uses it.
        force: bool,
    },
}

/// The cached disks of the folder `state`, by name. Leftovers of dead servers are cleared away, unless the device is in
/// use: such a disk is listed as not [served](RedcapAttachment::served).
///
/// # Errors
/// Where the folder cannot be made or read, or the leftovers of a dead server cannot be cleared away.
pub fn list(state: &Path) -> Result<Vec<RedcapAttachment>, LiveError> {
    Ok(look::<RedcapAttachment>(state)?.1.attached)
}

/// The status of the cached disk called `which`, by name or device.
///
/// # Errors
/// Where there is no such disk, or its server does not answer.
pub fn status(state: &Path, which: &str) -> Result<(RedcapAttachment, RedcapStatus), LiveError> {
    let (attachment, folder) = find_served(state, which)?;
    let status = ask(&folder, &Command::Status)?;
    Ok((attachment, status))
}

/// Detaches the cached disk called `which`, by name or device; done on return. All that was written is on the disk
/// below.
///
/// # Errors
/// Where there is no such disk, its server does not answer, or somebody uses it (unless `force`: they then get I/O
/// errors).
pub fn detach(state: &Path, which: &str, force: bool) -> Result<RedcapAttachment, LiveError> {
    release(state, which, force, &Command::Detach { force })
}
