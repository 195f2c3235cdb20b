//! The arguments of `iopilot experiment`.

use clap::{Args, Subcommand, ValueHint};
use std::path::PathBuf;

/// `iopilot experiment`
#[derive(Debug, Subcommand)]
pub(crate) enum ExperimentCommand {
    /// List the experiments.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Run an experiment, and say of each claim whether it is reproduced.
    #[command(after_help = EXPERIMENT_EXAMPLES)]
    Run(ExperimentRunArgs),
}

const EXPERIMENT_EXAMPLES: &str = "Examples:
  iopilot experiment run gf-cache-times
  iopilot experiment run gf-cache-times --quick --json
  iopilot experiment run gf-cache-times --out results";

/// `iopilot experiment run`
#[derive(Debug, Args)]
pub(crate) struct ExperimentRunArgs {
    /// The experiment (`iopilot experiment list`).
    pub(crate) name: String,
    /// A smaller version that takes seconds; its figures are rougher.
    #[arg(long)]
    pub(crate) quick: bool,
    /// The random seed.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Print JSON instead of tables.
    #[arg(long)]
    pub(crate) json: bool,
    /// Also write everything to this folder, as JSON, CSV and pictures; created if it does not exist.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
}
