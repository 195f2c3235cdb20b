//! The arguments of `iopilot vdisk`.

use super::quantity;
use clap::{Args, Subcommand, ValueEnum, ValueHint};
use iopilot_live::vdisk::Via;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// `iopilot vdisk`
#[derive(Debug, Subcommand)]
pub(crate) enum VdiskCommand {
    /// Make a block device of a model, and print its path.
    #[command(after_help = ATTACH_EXAMPLES)]
    Attach(VdiskAttachArgs),
    /// List the attached virtual disks, and remove what crashed ones left behind.
    List {
        #[command(flatten)]
        state: VdiskStateArgs,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Detach virtual disks; what was written stays in their backing files.
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
        state: VdiskStateArgs,
    },
    /// Show the statistics of a virtual disk, and how late its answers were.
    Stats {
        /// Its name or device.
        disk: String,
        #[command(flatten)]
        state: VdiskStateArgs,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Reset a virtual disk's model to its state when attached, with an empty cache; its data stay.
    Reset {
        /// Its name or device.
        disk: String,
        #[command(flatten)]
        state: VdiskStateArgs,
        /// Print the clocks at the reset, as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Serve a disk for `attach`, which describes it on standard input.
    #[command(hide = true)]
    Serve,
}

const ATTACH_EXAMPLES: &str = "Examples:
  iopilot vdisk attach --disk hd-500-16 --size 8G --depth 4
  iopilot vdisk attach --disk exos-x18-18t --size 100G --backing /data/disk.img --scheduler mq-deadline --json
  iopilot vdisk attach --disk none --size 1G

The data are in a sparse file that stays when the disk is detached: the same command finds them again.";

/// `iopilot vdisk attach`
#[derive(Clone, Debug, Args, Serialize, Deserialize)]
pub(crate) struct VdiskAttachArgs {
    /// A disk of the catalogue (`iopilot disk list`), a TOML file, or a DiskSim file (.diskspecs, .parv); `none` answers
    /// as soon as the data are moved.
    #[arg(long, short, value_name = "NAME|FILE")]
    pub(crate) disk: String,
    /// Its size, in bytes or with a unit of 1024: 512M, 8G, 1.5T. Default: that of the backing file, else of the model.
    #[arg(long, value_name = "SIZE", value_parser = quantity::size)]
    pub(crate) size: Option<u64>,
    /// The kernel drivers that make it a block device: loop and FUSE, or ublk if the kernel and this program support
    /// it.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) via: VdiskVia,
    /// Requests that the kernel keeps in the device: 4 to 128, or 1 to 4096 with ublk. Default: the possible value
    /// nearest to the model's.
    #[arg(long, value_name = "N")]
    pub(crate) depth: Option<u32>,
    /// The file that holds its data; created, sparse, if it does not exist. Default: one in /var/lib/iopilot/vdisk,
    /// called after disk and size.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) backing: Option<PathBuf>,
    /// Its name. Default: the first of vd0, vd1, ... that is free.
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// The I/O scheduler. Default: what the kernel gives such devices.
    #[arg(long, short)]
    pub(crate) scheduler: Option<String>,
    /// How much faster than real time the model's clock runs: at 10, a request of 10 ms takes 1 ms.
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, allow_negative_numbers = true)]
    pub(crate) time_scale: f64,
    /// Write a line of CSV for every request: when it arrived, when it was due, and when its answer left.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) requests_out: Option<PathBuf>,
    /// Serve it in the foreground until a signal arrives.
    #[arg(long)]
    pub(crate) foreground: bool,
    #[command(flatten)]
    pub(crate) state: VdiskStateArgs,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// [`Via`], as an option.
#[derive(Clone, Copy, Debug, Default, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum VdiskVia {
    #[default]
    Loop,
    Ublk,
}

impl From<VdiskVia> for Via {
    fn from(via: VdiskVia) -> Self {
        match via {
            VdiskVia::Loop => Self::Loop,
            VdiskVia::Ublk => Self::Ublk,
        }
    }
}

/// Where the records of virtual disks are kept.
#[derive(Clone, Debug, Args, Serialize, Deserialize)]
pub(crate) struct VdiskStateArgs {
    /// The folder with a record of each virtual disk.
    #[arg(long, value_name = "DIR", default_value = iopilot_live::vdisk::VDISK_STATE, value_hint = ValueHint::DirPath)]
    pub(crate) state_dir: PathBuf,
}
