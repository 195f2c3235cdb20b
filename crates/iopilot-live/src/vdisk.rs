//! Virtual disks: real block devices whose requests take the time that a device model says, on data that is stored.
//!
//! A process ([`VdiskServer`]) serves a file over FUSE, and a loop device makes that file a disk. A request enters the
//! model when the server reads it. Its data are moved to or from the backing file meanwhile, and its answer leaves when
//! the model has completed it. See `docs/explanation/virtual-disks.md`.

mod answer;
mod block_device;
mod checks;
mod clock;
mod control;
mod engine;
mod filesystem;
mod fuse;
mod image;
mod loop_device;
mod model_queue;
mod parts;
mod queue_depth;
mod request_log;
mod server;
mod state;
mod stats;
mod sys;
#[cfg(feature = "ublk")]
mod ublk;
mod wake_margin;

pub use server::VdiskServer;
pub use stats::{OpCounts, VdiskStats};
pub(crate) use sys::{become_real_time, before_all_others};

use crate::LiveError;
use control::Command;
use iopilot_block::InputError;
use iopilot_device::AnyDevice;
use serde::{Deserialize, Serialize};
use state::{Found, StateFolder};
use std::path::{Path, PathBuf};

/// The folder in which virtual disks are noted where no other is asked for.
pub const VDISK_STATE: &str = "/run/iopilot/vdisk";
/// The folder for the data of virtual disks where no file is asked for.
pub const VDISK_DATA: &str = "/var/lib/iopilot/vdisk";

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
    /// Requests that the kernel keeps in the device, 4 to 128, by ublk 1 to 4096. Default: the model's, as near as there can be.
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
    /// The disk called `disk`, of the model `device`, and nothing special.
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

/// The kernel drivers by which a process serves a block device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Via {
    /// A loop device on a file of FUSE.
    #[default]
    Loop,
    /// The driver ublk, where the kernel has it and this was built with the feature `ublk`.
    Ublk,
}

/// Where the data of a virtual disk are. The file stays when the disk is detached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Backing {
    /// In this file; made, sparse, where it does not exist.
    File(PathBuf),
    /// In this folder, in a file called after disk and size: the same disk finds the same data again.
    In(PathBuf),
}

/// A virtual disk that is there.
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
    /// What its user should know.
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

/// The virtual disks noted in `state`, by name. What dead servers left is cleared away, unless somebody still uses the device:
/// such a disk is listed as not [served](Attachment::served).
///
/// # Errors
/// Where the folder cannot be made or read, or what a dead server left cannot be cleared away.
pub fn list(state: &Path) -> Result<Vec<Attachment>, LiveError> {
    Ok(look(state)?.1.attached)
}

/// The statistics of the disk called `which`, by name or device.
///
/// # Errors
/// Where there is no such disk, or its server does not answer.
pub fn stats(state: &Path, which: &str) -> Result<(Attachment, VdiskStats), LiveError> {
    let (state, found) = look(state)?;
    let attachment = pick_served(found.attached, which)?;
    let stats = control::ask(&state.folder(&attachment.name), Command::Stats)?;
    Ok((attachment, stats))
}

/// Resets the model of the disk called `which`, by name or device: its cache is empty and its arm is at the start. Its clock
/// goes on; its data and statistics stay.
///
/// # Errors
/// Where there is no such disk, it has no model, requests are under way, or its server does not answer.
pub fn reset(state: &Path, which: &str) -> Result<(Attachment, VdiskReset), LiveError> {
    let (state, found) = look(state)?;
    let attachment = pick_served(found.attached, which)?;
    let clocks = control::ask(&state.folder(&attachment.name), Command::Reset)?;
    Ok((attachment, clocks))
}

/// Detaches the disk called `which`, by name or device; done on return. What was written stays in its backing file.
///
/// # Errors
/// Where there is no such disk, its server does not answer, or somebody uses it (unless `force`: they then get I/O
/// errors).
pub fn detach(state: &Path, which: &str, force: bool) -> Result<Attachment, LiveError> {
    let (state, Found { attached, cleared }) = look(state)?;
    // A disk whose server is dead has just been cleared away.
    if let Some(attachment) = cleared.into_iter().find(|attachment| attachment.is_called(which)) {
        return Ok(attachment);
    }
    let attachment = pick(attached, which)?;
    if !attachment.served {
        if !force {
            return Err(dead(&attachment));
        }
        state.clear_away(&attachment.name)?;
        return Ok(attachment);
    }
    control::ask::<()>(&state.folder(&attachment.name), Command::Detach { force })?;
    Ok(attachment)
}

impl Attachment {
    fn is_called(&self, which: &str) -> bool {
        self.name == which || self.device == Path::new(which)
    }
}

fn look(state: &Path) -> Result<(StateFolder, Found), LiveError> {
    checks::check_user()?;
    let state = StateFolder::open(state)?;
    let found = state.look()?;
    Ok((state, found))
}

/// A disk whose server can be asked.
fn pick_served(attached: Vec<Attachment>, which: &str) -> Result<Attachment, LiveError> {
    let attachment = pick(attached, which)?;
    if attachment.served { Ok(attachment) } else { Err(dead(&attachment)) }
}

/// The server of `attachment` is dead, and its device still in use.
fn dead(attachment: &Attachment) -> LiveError {
    let path = attachment.device.clone();
    let mounts = block_device::mount_points(&path);
    let reason = match mounts.first() {
        Some(place) => format!("its server is dead, and it is still mounted: umount {place}"),
        None => {
            "its server is dead, and it is still in use: end those that use it, or detach it with --force".to_owned()
        }
    };
    LiveError::Device { path, reason }
}

fn pick(attached: Vec<Attachment>, which: &str) -> Result<Attachment, InputError> {
    let known: Vec<String> = attached.iter().map(|a| format!("{} ({})", a.name, a.device.display())).collect();
    attached.into_iter().find(|attachment| attachment.is_called(which)).ok_or_else(|| {
        let expected = match known.is_empty() {
            true => "a virtual disk; there is none".to_owned(),
            false => format!("one of {}", known.join(", ")),
        };
        InputError::new("virtual disk", which, expected)
    })
}
