//! Virtual disks: real block devices whose requests take the time that a device model says, on data that is stored.
//!
//! A process ([`VdiskServer`]) serves a file over FUSE, and a loop device makes that file a disk. A request enters the
//! model when the server reads it. Its data are moved to or from the backing file meanwhile, and its answer leaves when
//! the model has completed it. See `docs/explanation/virtual-disks.md`.

mod checks;
mod clock;
mod engine;
mod image;
mod image_store;
mod model_queue;
mod parts;
mod request_log;
mod server;
mod stats;
mod wake_margin;

pub use crate::block_server::{OpCounts, Via};
pub use server::VdiskServer;
pub use stats::VdiskStats;

use crate::LiveError;
use crate::block_server::{AttachedDevice, ask, find_served, look, release};
use iopilot_catalogue::AnyDevice;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The default folder of the state files of virtual disks.
pub const VDISK_STATE: &str = "/run/iopilot/vdisk";
/// The default folder for the data of virtual disks.
const VDISK_DATA: &str = "/var/lib/iopilot/vdisk";

/// The settings of a new virtual disk.
#[derive(Clone, Debug)]
pub struct VdiskOptions {
    /// What the disk is called: a name of the catalogue, a file, `none`.
    pub disk: String,
    /// The model; `None` for answers that wait for nothing.
    pub device: Option<AnyDevice>,
    /// Bytes: a multiple of 512, at most the model's. Default: as the backing file, else the model's.
    pub size: Option<u64>,
    /// The driver of its block device.
    pub via: Via,
    /// Requests that the kernel keeps in the device, 4 to 128, by ublk 1 to 4096. Default: the model's, as near as
    /// there can be.
    pub depth: Option<u32>,
    /// Where its data are stored.
    pub backing: Backing,
    /// Its name. Default: the first of vd0, vd1, ... that is free.
    pub name: Option<String>,
    /// The I/O scheduler. Default: as the kernel has it.
    pub scheduler: Option<String>,
    /// Seconds of the model per real second: above 1 is faster than real time.
    pub speed: f64,
    /// A file that gets a line for each request.
    pub log: Option<PathBuf>,
    /// The folder with its state file.
    pub state: PathBuf,
}

impl VdiskOptions {
    /// The disk called `disk`, of the model `device`, with default settings.
    pub fn new(disk: impl Into<String>, device: Option<AnyDevice>) -> Self {
        Self {
            disk: disk.into(),
            device,
            size: None,
            via: Via::Loop,
            depth: None,
            backing: Backing::In(VDISK_DATA.into()),
            name: None,
            scheduler: None,
            speed: 1.0,
            log: None,
            state: VDISK_STATE.into(),
        }
    }
}

/// Where the data of a virtual disk are. The file stays when the disk is detached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Backing {
    /// In this file; made, sparse, where it does not exist.
    File(PathBuf),
    /// In this folder, in a file called after disk and size: the same disk finds the same data again.
    In(PathBuf),
}

/// An attached virtual disk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Attachment {
    /// The block device, such as `/dev/loop0`.
    pub device: PathBuf,
    /// Its name among virtual disks.
    pub name: String,
    /// The disk that it models.
    pub disk: String,
    /// Bytes.
    pub size: u64,
    /// Requests that the kernel keeps in it.
    pub depth: u32,
    /// The I/O scheduler that it began with.
    pub scheduler: String,
    /// The file that holds its data.
    pub backing: PathBuf,
    /// Seconds of the model per real second.
    pub time_scale: f64,
    /// Whether its server has real-time priority (`SCHED_FIFO`).
    pub real_time: bool,
    /// The process that serves it.
    pub pid: u32,
    /// Whether it is served. If not, its server is dead, but its device is still in use, and all its requests fail.
    #[serde(default = "yes")]
    pub served: bool,
    /// Warnings for the user.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

fn yes() -> bool {
    true
}

/// The clocks at the reset of a virtual disk. The rotational position follows from the model's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VdiskReset {
    /// `CLOCK_MONOTONIC`, ns.
    pub monotonic_ns: u64,
    /// The model's, ns since it was attached, at its time scale.
    pub model_ns: u64,
}

/// The virtual disks of the folder `state`, by name. Leftovers of dead servers are cleared away, unless the device is
/// in use: such a disk is listed as not [served](Attachment::served).
///
/// # Errors
/// Where the folder cannot be made or read, or the leftovers of a dead server cannot be cleared away.
pub fn list(state: &Path) -> Result<Vec<Attachment>, LiveError> {
    Ok(look::<Attachment>(state)?.1.attached)
}

/// The statistics of the disk called `which`, by name or device.
///
/// # Errors
/// Where there is no such disk, or its server does not answer.
pub fn stats(state: &Path, which: &str) -> Result<(Attachment, VdiskStats), LiveError> {
    let (attachment, folder) = find_served(state, which)?;
    let stats = ask(&folder, &Command::Stats)?;
    Ok((attachment, stats))
}

/// Resets the model of the disk called `which`, by name or device: its cache is empty and its arm is at the start. Its
/// clock goes on; its data and statistics stay.
///
/// # Errors
/// Where there is no such disk, it has no model, requests are in flight, or its server does not answer.
pub fn reset(state: &Path, which: &str) -> Result<(Attachment, VdiskReset), LiveError> {
    let (attachment, folder) = find_served(state, which)?;
    let clocks = ask(&folder, &Command::Reset)?;
    Ok((attachment, clocks))
}

/// Detaches the disk called `which`, by name or device; done on return. What was written stays in its backing file.
///
/// # Errors
/// Where there is no such disk, its server does not answer, or somebody uses it (unless `force`: they then get I/O
/// errors).
pub fn detach(state: &Path, which: &str, force: bool) -> Result<Attachment, LiveError> {
    release(state, which, force, &Command::Detach { force })
}

/// A command to the server of a virtual disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Command {
    /// Asks for the statistics.
    Stats,
    /// Resets the model.
    Reset,
    /// Detaches the disk.
    Detach {
        /// Even if somebody uses it.
        force: bool,
    },
}

impl AttachedDevice for Attachment {
    const KIND: &'static str = "virtual disk";
    const PREFIX: &'static str = "vd";

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
