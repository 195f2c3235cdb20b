//! The arguments of `iopilot dads`.

use super::{FitArg, MachineArgs, OutputArgs, ReplayArgs, quantity};
use clap::{ArgAction, Args, Subcommand, ValueEnum, ValueHint};
use iopilot_dads::{DEFAULT_CANDIDATES, Policy, Rule};
use serde::Deserialize;
use std::path::PathBuf;

/// `iopilot dads`
#[derive(Debug, Subcommand)]
pub(crate) enum DadsCommand {
    /// Run a workload on a simulated disk with the autopilot, and compare it with each scheduler alone.
    #[command(after_help = DADS_REPLAY_EXAMPLES)]
    Replay(DadsReplayArgs),
    /// Run the autopilot on live disks: change each one's scheduler to the best for the traffic of the last seconds
    /// (needs root).
    ///
    /// Runs in the foreground until SIGINT or SIGTERM. Then, as after an error, every disk gets its previous scheduler
    /// and tunables back. After a kill, the next start or `iopilot dads restore` puts them back.
    #[command(after_help = DADS_RUN_EXAMPLES)]
    Run(DadsRunArgs),
    /// Show what a running daemon does.
    Status(DadsStatusArgs),
    /// Explain the last decision on each disk in plain words.
    Explain(DadsExplainArgs),
    /// Undo what a killed daemon changed.
    Restore(DadsRestoreArgs),
}

const DADS_RUN_EXAMPLES: &str = "Examples:
  iopilot dads run /dev/sda --model hd-500-16 --dry-run
  iopilot dads run /dev/sda --model sda-model.toml --objective blocked-time --audit /var/log/iopilot-dads.jsonl
  iopilot dads run /dev/sda /dev/sdb --model hd-500-16 --candidates none,mq-deadline:fifo_batch=1,16,64 --tui
  iopilot dads run --config /etc/iopilot/dads.toml";

/// `iopilot dads run`
#[derive(Debug, Args)]
pub(crate) struct DadsRunArgs {
    /// The disks.
    #[arg(value_name = "DEVICE", value_hint = ValueHint::FilePath)]
    pub(crate) devices: Vec<PathBuf>,
    /// Read settings from this TOML file (docs/reference/dads.md); options of the command line override it.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) config: Option<PathBuf>,
    /// The model of the disk: a disk of the catalogue (`iopilot disk list`), a TOML file, or a DiskSim file. Without it
    /// and --machine, a table of times is learned from the disk's requests, and kept (--learned).
    #[arg(long, visible_alias = "disk", short = 'd', value_name = "NAME|FILE", conflicts_with = "machine")]
    pub(crate) model: Option<String>,
    /// The model, with the machine around it: a TOML file that describes a disk, the block layer and the host.
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) machine: Option<PathBuf>,
    /// Where a learned table is kept. Default: in /var/lib/iopilot, by the disk's identity.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["model", "machine"], value_hint = ValueHint::FilePath)]
    pub(crate) learned: Option<PathBuf>,
    /// Where it is remembered what candidates did with each kind of load, for the next start. Default: in
    /// /var/lib/iopilot, by the disk's identity.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) memory: Option<PathBuf>,
    /// Requests that the disk takes at once. Default: as the model says, else as the kernel says.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1 << 16))]
    pub(crate) depth: Option<u32>,
    /// What to do with requests past the end of the model. Default: a model smaller than its disk is an error.
    #[arg(long, value_enum)]
    pub(crate) fit: Option<FitArg>,
    /// The schedulers to choose from, separated by commas; a tunable with several values stands for as many candidates:
    /// `none,mq-deadline:fifo_batch=1,16,64`. Default: all that the kernel offers, and variants of `bfq` that are known
    /// to matter. The one in use is always a candidate.
    #[arg(long, short, visible_alias = "candidate", value_name = "LIST", action = ArgAction::Append)]
    pub(crate) candidates: Vec<String>,
    /// The scheduler to return to after too many changes in a row. Default: the one in use.
    #[arg(long, value_name = "SCHEDULER")]
    pub(crate) default: Option<String>,
    /// What makes a candidate better: service-time (the default), busy-time, p99, throughput, fairness or
    /// blocked-time.
    #[arg(long, value_name = "OBJECTIVE")]
    pub(crate) objective: Option<String>,
    #[command(flatten)]
    pub(crate) decisions: DecisionArgs,
    /// With the policies thesis and guarded: change nothing while the prediction for the scheduler in use differs from
    /// the measurement by more than this. 0: no limit. Default: as the policy says.
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u32))]
    pub(crate) max_error: Option<u32>,
    /// Accepted for scripts of earlier versions: no policy reverts by itself any more.
    #[arg(long, hide = true)]
    pub(crate) no_revert: bool,
    /// The same, for reinstallations.
    #[arg(long, hide = true)]
    pub(crate) no_renew: bool,
    /// Change nothing; print what would have been done.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Add a line of JSON for every check and change to this file.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) audit: Option<PathBuf>,
    /// Serve metrics for Prometheus at this address: 127.0.0.1:9419.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) metrics: Option<String>,
    /// How to capture requests: auto, ebpf or tracefs.
    #[arg(long, value_name = "BACKEND")]
    pub(crate) backend: Option<String>,
    /// Show a dashboard on the terminal; q leaves it, and ends the autopilot.
    #[arg(long)]
    pub(crate) tui: bool,
    #[command(flatten)]
    pub(crate) runtime: RuntimeArgs,
}

/// Where a daemon keeps the files that must outlive it.
#[derive(Debug, Args)]
pub(crate) struct RuntimeArgs {
    /// The folder of the control socket and of the settings to restore.
    #[arg(long, value_name = "DIR", default_value = iopilot_live::dads::RUNTIME_FOLDER, value_hint = ValueHint::DirPath)]
    pub(crate) runtime_dir: PathBuf,
}

/// `iopilot dads status`
#[derive(Debug, Args)]
pub(crate) struct DadsStatusArgs {
    /// Print JSON instead of a table.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) runtime: RuntimeArgs,
}

/// `iopilot dads explain`
#[derive(Debug, Args)]
pub(crate) struct DadsExplainArgs {
    /// Only this disk.
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) device: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) runtime: RuntimeArgs,
}

/// `iopilot dads restore`
#[derive(Debug, Args)]
pub(crate) struct DadsRestoreArgs {
    #[command(flatten)]
    pub(crate) runtime: RuntimeArgs,
}

const DADS_REPLAY_EXAMPLES: &str = "Examples:
  iopilot dads replay trace.parquet --disk hd-500-16 --candidates none,mq-deadline,kyber,bfq
  iopilot dads replay load.fio --disk hd-250-32 --candidates noop,deadline,as,cfq --initial noop --interval 2
  iopilot dads replay load.fio --disk hd-500-16 --candidates bfq,mq-deadline:fifo_batch=1,16,64 --objective p99";

/// `iopilot dads replay`
#[derive(Debug, Args)]
pub(crate) struct DadsReplayArgs {
    /// A trace in any known format, a fio job file (.fio) or a description of synthetic load (.toml).
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) workload: PathBuf,
    #[command(flatten)]
    pub(crate) machine: MachineArgs,
    /// A cache above the block layer, which the trials have, too: `64x128k`, `64x128k,algorithm=v2`.
    #[arg(long, value_name = "CACHE")]
    pub(crate) redcap: Option<String>,
    /// The schedulers to choose from, of one kernel, separated by commas. A tunable with several values stands for as
    /// many candidates: `none,mq-deadline:fifo_batch=1,16,64`.
    #[arg(long, short, visible_alias = "candidate", value_name = "LIST", default_value = DEFAULT_CANDIDATES,
          action = ArgAction::Append)]
    pub(crate) candidates: Vec<String>,
    /// The candidate in use at the start. Default: the first.
    #[arg(long, value_name = "SCHEDULER")]
    pub(crate) initial: Option<String>,
    /// The candidate that too many changes in a row return to. Default: the one in use at the start.
    #[arg(long, value_name = "SCHEDULER")]
    pub(crate) default: Option<String>,
    /// What makes a candidate better: service-time, busy-time, p99, throughput, fairness or blocked-time.
    #[arg(long, value_name = "OBJECTIVE", default_value = "service-time")]
    pub(crate) objective: String,
    #[command(flatten)]
    pub(crate) decisions: DecisionArgs,
    /// Write a line of JSON for every check.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) audit: Option<PathBuf>,
    /// Do not run the oracle, which tries every candidate in every interval.
    #[arg(long)]
    pub(crate) no_oracle: bool,
    #[command(flatten)]
    pub(crate) replay: ReplayArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// How the autopilot decides: the same for a replay and for a live disk.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct DecisionArgs {
    /// How to decide. Default: confirmed.
    #[arg(long, value_enum)]
    pub(crate) policy: Option<PolicyArg>,
    /// With the policy confirmed: never try a candidate on the disk; predictions by simulation decide alone.
    #[arg(long)]
    pub(crate) no_disk_trials: bool,
    /// With the policies thesis and guarded: the time between two checks, in seconds or with a unit (`500ms`). In a replay
    /// it is the oracle's interval, too. Default: 5.
    #[arg(long, value_name = "TIME", allow_negative_numbers = true, value_parser = quantity::seconds)]
    pub(crate) interval: Option<f64>,
    /// With the policies thesis and guarded: revert a change that made things worse.
    #[arg(long)]
    pub(crate) revert: bool,
    /// With the policies thesis and guarded: restart a scheduler that is much slower than it would be after a restart.
    /// Restarts need long trials (--trial-requests).
    #[arg(long)]
    pub(crate) renew: bool,
    /// Simulate each candidate on at least N requests, for schedulers that take a while to adapt. In a window with
    /// fewer, the processes continue as before; only the second half counts. 0, as in the thesis, simulates each window
    /// once. Default: 8000 with the policy confirmed, else 0.
    #[arg(long, value_name = "N")]
    pub(crate) trial_requests: Option<u64>,
}

/// How the autopilot decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum PolicyArg {
    /// Simulation proposes a candidate, a short trial on the disk confirms it, and what is in use is measured on.
    #[default]
    Confirmed,
    /// The thesis' rule with its settings: when a candidate would have been better by 5 %, including the cost of the
    /// change.
    Thesis,
    /// The thesis' rule, if the gain is 95 % certain and the model's error has been within 20 %.
    Guarded,
}

impl PolicyArg {
    /// The policy of this name.
    pub(crate) fn policy(self, disk_trials: bool) -> Policy {
        match self {
            Self::Confirmed => Policy::Confirmed { disk_trials },
            Self::Thesis => Policy::Interval(Rule::THESIS),
            Self::Guarded => Policy::Interval(Rule::GUARDED),
        }
    }
}
