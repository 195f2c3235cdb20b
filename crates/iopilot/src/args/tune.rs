//! The arguments of `iopilot tune`.

use super::{ReplayArgs, quantity};
use clap::{ArgAction, Args, ValueEnum, ValueHint};
use std::path::PathBuf;
use std::time::Duration;

pub(super) const TUNE_EXAMPLES: &str = "Examples:
  iopilot tune my.parquet --disk hd-500-16
  iopilot tune load.fio --disk hd-500-16 --objective p99-waiting --budget 2m
  iopilot tune monday.parquet tuesday.parquet --disk hd-500-16,ssd-160 --udev 60-iopilot.rules
  iopilot tune make.toml --machine desktop.toml --requests 500000 --json";

/// `iopilot tune`
#[derive(Debug, Args)]
pub(crate) struct TuneArgs {
    /// The loads, as `compare` takes them: traces, fio job files, descriptions (.toml), programs by name. Each counts the same.
    #[arg(required = true, value_hint = ValueHint::FilePath)]
    pub(crate) workload: Vec<PathBuf>,
    /// Disks of the catalogue (`iopilot disk list`), TOML files, or DiskSim files, separated by commas. Each load is run on each.
    #[arg(long, short, value_name = "NAME|FILE", value_delimiter = ',', action = ArgAction::Append,
          required_unless_present = "machine")]
    pub(crate) disk: Vec<String>,
    /// TOML files that describe a disk, the block layer and the host.
    #[arg(long, short, value_name = "FILE", action = ArgAction::Append, value_hint = ValueHint::FilePath)]
    pub(crate) machine: Vec<PathBuf>,
    /// What decides: throughput, waiting, process-waiting, task-time, elapsed, p99-waiting or response-time. Default: what
    /// decides when `compare` runs the load.
    #[arg(long, value_name = "NAME")]
    pub(crate) objective: Option<String>,
    /// How long the search may take, as an estimate made beforehand: 200000 simulated requests for each second. So the result
    /// depends neither on the machine nor on what else it does.
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = quantity::duration)]
    pub(crate) budget: Duration,
    /// The same in simulated requests.
    #[arg(long, value_name = "N", conflicts_with = "budget", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) requests: Option<u64>,
    /// One set of settings for all disks that turn and one for all others, or one for each model of disk.
    #[arg(long, value_enum, default_value_t = TuneClassArg::Rotational)]
    pub(crate) class: TuneClassArg,
    /// Do not try a REDCAP cache above the queue.
    #[arg(long)]
    pub(crate) no_redcap: bool,
    #[command(flatten)]
    pub(crate) replay: ReplayArgs,
    /// Write the udev rules to this file.
    #[arg(long, value_name = "FILE", help_heading = "Output", value_hint = ValueHint::FilePath)]
    pub(crate) udev: Option<PathBuf>,
    /// Print JSON: docs/reference/tune.md lists the keys.
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

/// Which disks get the same settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TuneClassArg {
    /// All that turn, and all others.
    Rotational,
    /// Those of one model.
    Model,
}
