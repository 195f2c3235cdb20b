//! The arguments of `iopilot disksim`.

use clap::{ArgAction, Args, Subcommand, ValueHint};
use std::path::PathBuf;

/// `iopilot disksim`
#[derive(Debug, Subcommand)]
pub(crate) enum DisksimCommand {
    /// Run a DiskSim 4.0 parameter file under its synthetic load, or under a trace.
    #[command(after_help = DISKSIM_EXAMPLES)]
    Run(DisksimRunArgs),
}

const DISKSIM_EXAMPLES: &str = "Examples:
  iopilot disksim run synthraid5.parv
  iopilot disksim run ascii.parv --trace ascii.trace --json
  iopilot disksim run system.parv --set 'driver0:Scheduler:Scheduling policy=2' --set 'disk*:Fast write level=0'";

/// `iopilot disksim run`
#[derive(Debug, Args)]
pub(crate) struct DisksimRunArgs {
    /// The parameter file (.parv). Files that it names are looked for beside it, then in the folders of LP_PATH.
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// Take requests from this trace instead of the file's synthetic load; `-` is standard input.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) trace: Option<PathBuf>,
    /// The format of the trace: ascii, batch, validate, emcsymm, emcbackend, hpl, or one of `iopilot trace`. Default:
    /// recognised by its content.
    #[arg(long, value_name = "FORMAT", requires = "trace")]
    pub(crate) trace_format: Option<String>,
    /// Seed of the random numbers, instead of the file's.
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u32>,
    /// A parameter to replace, written COMPONENT:PARAMETER=VALUE; may be repeated. COMPONENT is a name, `disk0 ..
    /// disk3`, `disk*` or `*`; PARAMETER may be one of a nested block: `Scheduler:Scheduling policy`.
    #[arg(long, value_name = "OVERRIDE", action = ArgAction::Append)]
    pub(crate) set: Vec<String>,
    /// Print JSON instead of a table.
    #[arg(long)]
    pub(crate) json: bool,
}
