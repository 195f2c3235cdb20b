//! The arguments of `iopilot redcap`.

use super::quantity;
use super::vdisk::VdiskVia;
use clap::{Args, Subcommand, ValueHint};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// `iopilot redcap`
#[derive(Debug, Subcommand)]
pub(crate) enum RedcapCommand {
    /// Make a block device over a disk, with a cache in RAM that prefetches, and print its path.
    #[command(after_help = ATTACH_EXAMPLES)]
    Attach(Box<RedcapAttachArgs>),
    /// Show what a cache does: hits, prefetches, and the latest decisions.
    Status {
        /// Its name or device. Default: the only one there is.
        disk: Option<String>,
        #[command(flatten)]
        state: RedcapStateArgs,
        /// Print JSON.
        #[arg(long)]
        json: bool,
        /// Show a dashboard until `q` is pressed.
        #[arg(long, conflicts_with = "json")]
        tui: bool,
    },
    /// List the attached cached disks, and remove what crashed ones left behind.
    List {
        #[command(flatten)]
        state: RedcapStateArgs,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Detach cached disks; all that was written is on the disks below.
    Detach {
        /// Names or devices, as `list` shows them.
        #[arg(required_unless_present = "all")]
        disks: Vec<String>,
        /// Detach all.
        #[arg(long, conflicts_with = "disks")]
        all: bool,
        /// Detach even a disk in use; its users then get I/O errors.
        #[arg(long)]
        force: bool,
        #[command(flatten)]
        state: RedcapStateArgs,
    },
    /// Serve a cached disk for `attach`, which describes it on standard input.
    #[command(hide = true)]
    Serve,
}

const ATTACH_EXAMPLES: &str = "Examples:
  iopilot redcap attach /dev/sdb
  iopilot redcap attach /dev/sdb1 --size 512M --model hd-500-16
  iopilot redcap attach /dev/sda --dry-run --duration 10m
  iopilot redcap attach /dev/vg/home --algorithm v2 --segment 256K --json

Mount the device that is printed, not the disk itself. Writes are on the disk when they are answered.";

/// `iopilot redcap attach`
#[derive(Clone, Debug, Args, Serialize, Deserialize)]
pub(crate) struct RedcapAttachArgs {
    /// The disk, partition or volume. It must not be in use.
    #[arg(value_name = "DEVICE", value_hint = ValueHint::FilePath)]
    pub(crate) device: PathBuf,
    /// The cache's size, in bytes or with a unit of 1024: 64M, 1G.
    #[arg(long, value_name = "SIZE", default_value = "64M", value_parser = quantity::size)]
    pub(crate) size: u64,
    /// The size of a segment: 32K, 64K, 128K or 256K. A read that misses makes the cache read the rest of its segment.
    #[arg(long, value_name = "SIZE", default_value = "128K", value_parser = quantity::size)]
    pub(crate) segment: u64,
    /// What turns the cache on and off: adaptive tries both in virtual time; v0, v1, v2 and vd are those of the thesis; always
    /// and never.
    #[arg(long, value_name = "NAME", default_value = "adaptive")]
    pub(crate) algorithm: String,
    /// Further settings, as in `simulate --redcap`: miss=combined, strict=on, and others.
    #[arg(long, value_name = "KEY=VALUE,...")]
    pub(crate) set: Option<String>,
    /// The model of the disk, which adaptive simulates and vd begins with: a disk of the catalogue (`iopilot disk list`), a
    /// TOML file, or a DiskSim file. Default: one that learns from the disk's requests.
    #[arg(long, visible_alias = "disk", short = 'd', value_name = "NAME|FILE")]
    pub(crate) model: Option<String>,
    /// The file that the learned model is kept in. Default: one in /var/lib/iopilot, called after the disk.
    #[arg(long, value_name = "FILE", conflicts_with = "model", value_hint = ValueHint::FilePath)]
    pub(crate) learned: Option<PathBuf>,
    /// The kernel drivers that make it a block device: loop and FUSE, or ublk if the kernel and this program support
    /// it.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) via: VdiskVia,
    /// Requests that the kernel keeps in the device: 4 to 128, or 1 to 4096 with ublk. Default: 128.
    #[arg(long, value_name = "N")]
    pub(crate) depth: Option<u32>,
    /// Its name. Default: the first of redcap0, redcap1, ... that is free.
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// Its I/O scheduler. Default: none, as the disk below has one.
    #[arg(long, short)]
    pub(crate) scheduler: Option<String>,
    /// Serve metrics for Prometheus at this address, such as 127.0.0.1:9420.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) metrics: Option<String>,
    /// Keep the addresses of the cached blocks in this file, and read the blocks again at the next start while the disk
    /// is idle. The file holds no data.
    #[arg(long, value_name = "FILE", conflicts_with = "dry_run", value_hint = ValueHint::FilePath)]
    pub(crate) warm: Option<PathBuf>,
    /// Attach nothing: watch the disk in use, and print what the cache would have saved.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// How long to watch, such as 10m. Default: until Ctrl-C.
    #[arg(long, value_name = "TIME", requires = "dry_run", value_parser = quantity::duration)]
    pub(crate) duration: Option<std::time::Duration>,
    /// Serve it in the foreground until a signal arrives.
    #[arg(long)]
    pub(crate) foreground: bool,
    #[command(flatten)]
    pub(crate) state: RedcapStateArgs,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Where the records of cached disks are kept.
#[derive(Clone, Debug, Args, Serialize, Deserialize)]
pub(crate) struct RedcapStateArgs {
    /// The folder with a record of each cached disk.
    #[arg(long, value_name = "DIR", default_value = iopilot_live::redcap::REDCAP_STATE, value_hint = ValueHint::DirPath)]
    pub(crate) state_dir: PathBuf,
}
