//! The arguments of `iopilot machine`.

use clap::{Args, Subcommand, ValueHint};
use std::path::PathBuf;

/// `iopilot machine`
#[derive(Debug, Subcommand)]
pub(crate) enum MachineCommand {
    /// Measure what this machine's CPUs add to a request, and write it with the disk's queue settings to a machine file.
    #[command(after_help = PROBE_EXAMPLES)]
    Probe(MachineProbeArgs),
}

const PROBE_EXAMPLES: &str = "Examples:
  iopilot machine probe /dev/sdb --model exos-x18-18t -o machine.toml
  iopilot compare trace.parquet --machine machine.toml";

/// `iopilot machine probe`
///
/// Needs root. Tasks read at random, bypassing the page cache, while the kernel's events are recorded: one task, then
/// more than the disk takes, then more than there are tags. Nothing is written to the disk, and no setting is changed.
#[derive(Debug, Args)]
pub(crate) struct MachineProbeArgs {
    /// A live disk, such as /dev/sdb.
    pub(crate) device: PathBuf,
    /// The machine file to write. Default: standard output.
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
    /// The model of the disk: a name of the catalogue or a TOML file. Default: a drive of the same kind.
    #[arg(long, visible_alias = "disk", short = 'd', value_name = "NAME|FILE")]
    pub(crate) model: Option<String>,
    /// How long each load lasts, in seconds.
    #[arg(long, value_name = "S", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=600))]
    pub(crate) seconds: u32,
}
