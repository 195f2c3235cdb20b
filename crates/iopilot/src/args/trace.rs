//! The arguments of `iopilot trace`.

use super::{ColumnsArgs, ReorderArgs, quantity};
use clap::{Args, Subcommand, ValueHint};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// `iopilot trace`
#[derive(Debug, Subcommand)]
pub(crate) enum TraceCommand {
    /// Describe a trace: requests, span, read share, sizes, inter-arrival times, sequentiality, footprint, seeks,
    /// processes.
    Stat(StatArgs),
    /// Write a trace in another format.
    Convert(ConvertArgs),
    /// Record what reaches a block device (needs root).
    ///
    /// Programs in the kernel (eBPF) capture the requests; where they may not be loaded, the kernel's own trace events
    /// do. Nothing is installed, and nothing remains. Without a command or --duration the recording ends at ctrl-C.
    /// Data that a command leaves in the page cache are written back later and not recorded: end the command with
    /// `sync` if that matters. The exit code is the command's.
    Record(RecordArgs),
    /// List the formats that can be read and written.
    Formats,
}

/// `iopilot trace stat`
#[derive(Debug, Args)]
pub(crate) struct StatArgs {
    /// The trace; `-` is standard input.
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) trace: PathBuf,
    /// Its format, if the content does not show it: `iopilot trace formats`.
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<String>,
    #[command(flatten)]
    pub(crate) columns: ColumnsArgs,
    /// Only this device, from a trace of several devices.
    #[arg(long, value_name = "N")]
    pub(crate) device: Option<u32>,
    #[command(flatten)]
    pub(crate) order: ReorderArgs,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `iopilot trace convert`
#[derive(Debug, Args)]
pub(crate) struct ConvertArgs {
    /// The trace; `-` is standard input.
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) input: PathBuf,
    /// The file to write; text is compressed if the name ends in .gz or .zst.
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,
    /// The input's format, if the content does not show it: `iopilot trace formats`.
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<String>,
    /// The output's format, if the name's ending does not show it.
    #[arg(long, value_name = "FORMAT")]
    pub(crate) to: Option<String>,
    #[command(flatten)]
    pub(crate) columns: ColumnsArgs,
    /// Only this device, from a trace of several devices.
    #[arg(long, value_name = "N")]
    pub(crate) device: Option<u32>,
    #[command(flatten)]
    pub(crate) order: ReorderArgs,
}

/// `iopilot trace record`
#[derive(Debug, Args)]
pub(crate) struct RecordArgs {
    /// The block device or partition.
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) device: PathBuf,
    /// The file to write.
    #[arg(long, short, value_name = "FILE", default_value = "trace.parquet", value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,
    /// The output's format, if the name's ending does not show it.
    #[arg(long, value_name = "FORMAT")]
    pub(crate) to: Option<String>,
    /// Stop after this time, in seconds or with a unit (`90`, `500ms`, `2m`); a command still running is then sent
    /// SIGTERM.
    #[arg(long, short = 't', value_name = "TIME", value_parser = quantity::duration)]
    pub(crate) duration: Option<Duration>,
    /// How to capture: with the kernel's trace events (tracefs), with programs in the kernel (ebpf), or with whichever
    /// is possible (auto). Programs cost less, and may miss completions.
    #[arg(long, value_name = "BACKEND", default_value = "auto", value_parser = ["auto", "ebpf", "tracefs"])]
    pub(crate) backend: String,
    /// The kernel's buffer for each CPU, in KiB or with a unit (`32M`): more loses fewer events under heavy load.
    #[arg(long, value_name = "KIB", default_value = "8192", value_parser = quantity::buffer_kibibytes)]
    pub(crate) buffer_kb: u32,
    /// The command to run while recording, with its arguments.
    #[arg(last = true, num_args = 1.., value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}
