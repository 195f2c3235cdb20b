//! The arguments of `iopilot dads`.

use super::{MachineArgs, Output, Replay};
use clap::{ArgAction, Args, Subcommand, ValueEnum, ValueHint};
use std::path::PathBuf;

/// `iopilot dads`
#[derive(Debug, Subcommand)]
pub(crate) enum Dads {
    /// Run a workload on a simulated disk with the autopilot, and compare it with each scheduler alone.
    #[command(after_help = DADS_REPLAY_EXAMPLES)]
    Replay(DadsReplay),
}

const DADS_REPLAY_EXAMPLES: &str = "Examples:
  iopilot dads replay trace.parquet --disk hd-500-16 --candidates none,mq-deadline,kyber,bfq
  iopilot dads replay load.fio --disk hd-250-32 --candidates noop,deadline,as,cfq --initial noop --interval 2
  iopilot dads replay load.fio --disk hd-500-16 --candidates bfq,mq-deadline:fifo_batch=1,16,64 --objective p99";

/// `iopilot dads replay`
#[derive(Debug, Args)]
pub(crate) struct DadsReplay {
    /// A trace in any known format, a fio job file (.fio) or a description of synthetic load (.toml).
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) workload: PathBuf,
    #[command(flatten)]
    pub(crate) machine: MachineArgs,
    /// The schedulers to choose from, of one kernel, separated by commas. A tunable with several values stands for as
    /// many candidates: `none,mq-deadline:fifo_batch=1,16,64`.
    #[arg(long, short, visible_alias = "candidate", value_name = "LIST", default_value = "none,mq-deadline,kyber,bfq",
          action = ArgAction::Append)]
    pub(crate) candidates: Vec<String>,
    /// The candidate in use at the start. Default: the first.
    #[arg(long, value_name = "SCHEDULER")]
    pub(crate) initial: Option<String>,
    /// The candidate that too many changes in a row return to. Default: the one in use at the start.
    #[arg(long, value_name = "SCHEDULER")]
    pub(crate) default: Option<String>,
    /// Seconds from one check to the next.
    #[arg(long, value_name = "SECONDS", default_value_t = 5.0, allow_negative_numbers = true)]
    pub(crate) interval: f64,
    /// What makes a candidate better: service-time, p99, throughput, fairness or blocked-time.
    #[arg(long, value_name = "OBJECTIVE", default_value = "service-time")]
    pub(crate) objective: String,
    /// When to change.
    #[arg(long, value_enum, default_value_t = Policy::Thesis)]
    pub(crate) policy: Policy,
    /// Take a change back that made things worse than they would have been.
    #[arg(long)]
    pub(crate) revert: bool,
    /// Write a line of JSON for every check.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) audit: Option<PathBuf>,
    /// Do not run the oracle, which tries every candidate in every interval.
    #[arg(long)]
    pub(crate) no_oracle: bool,
    #[command(flatten)]
    pub(crate) replay: Replay,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// When the autopilot changes the scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Policy {
    /// Where a candidate, with the cost of the change, would have been better by 5 %.
    Thesis,
    /// The same, where that is 95 % sure and the model has been right to 20 %.
    Guarded,
}
