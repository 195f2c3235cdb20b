//! The command line. Help, man pages and completions are all generated from these definitions.

mod dads;
mod disk;
mod disksim;
mod experiment;
mod machine;
mod quantity;
mod redcap;
mod trace;
mod tune;
mod vdisk;

pub(crate) use dads::{
    DadsCommand, DadsExplainArgs, DadsReplayArgs, DadsRestoreArgs, DadsRunArgs, DadsStatusArgs, DecisionArgs, PolicyArg,
};
pub(crate) use disk::{
    CalibrateArgs, DiskCommand, DiskProbeArgs, DiskTrainArgs, DiskValidateArgs, ThinkPlace, ValidateClock, ValidatePart,
};
pub(crate) use disksim::{DisksimCommand, DisksimRunArgs};
pub(crate) use experiment::{ExperimentCommand, ExperimentRunArgs};
pub(crate) use machine::{MachineCommand, MachineProbeArgs};
pub(crate) use redcap::{RedcapAttachArgs, RedcapCommand};
pub(crate) use trace::{ConvertArgs, RecordArgs, StatArgs, TraceCommand};
pub(crate) use tune::{TuneArgs, TuneClassArg};
pub(crate) use vdisk::{VdiskAttachArgs, VdiskCommand};

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum, ValueHint};
use iopilot_block::InputError;
use iopilot_sched::KERNEL_DEFAULT;
use iopilot_sim::WarmUp;
use iopilot_trace::ColumnLayout;
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// Simulate real traffic under every I/O scheduler, and say which is best.
///
/// iopilot replays a recorded trace, a fio job file or a synthetic workload on a modelled disk, under any of the
/// kernel's I/O schedulers, and compares them. Only what touches live disks needs root:
/// `iopilot trace record`, `vdisk`, `redcap`, `dads run`, `machine probe`, and `disk train` of a device.
#[derive(Debug, Parser)]
#[command(name = "iopilot", version, max_term_width = 100, arg_required_else_help = true, after_help = EXIT_CODES)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
    #[command(subcommand)]
    pub(crate) command: CliCommand,
}

const EXIT_CODES: &str =
    "Exit codes: 0 done, 1 a run failed, 2 bad input or usage; `trace record` returns that of its command.";

/// Options of every command.
#[derive(Debug, Args)]
pub(crate) struct GlobalArgs {
    /// Print nothing but the result: no progress, no notes on standard error.
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
    /// Simulations to run in parallel; the result does not depend on it. Default: one per CPU.
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) threads: Option<u16>,
    /// Print without colours; NO_COLOR in the environment does the same.
    #[arg(long, global = true)]
    pub(crate) no_color: bool,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum CliCommand {
    /// Compare schedulers on a recorded workload that comes with iopilot, and write a report.
    Demo(DemoArgs),
    /// Run a workload under several schedulers and say which is best.
    #[command(after_help = COMPARE_EXAMPLES)]
    Compare(CompareArgs),
    /// Run a workload and show everything about each run.
    #[command(after_help = SIMULATE_EXAMPLES)]
    Simulate(SimulateArgs),
    /// The autopilot: changes the scheduler to the one that is best for the traffic of the last seconds.
    #[command(subcommand)]
    Dads(DadsCommand),
    /// The catalogue of disks.
    #[command(subcommand)]
    Disk(DiskCommand),
    /// Run DiskSim configurations unchanged.
    #[command(subcommand)]
    Disksim(DisksimCommand),
    /// Describe this machine in a machine file: what its CPUs add to a request, and the settings of a disk's queue.
    #[command(subcommand)]
    Machine(MachineCommand),
    /// Cached disks: a cache in RAM over a disk, which prefetches in disk order while that pays.
    #[command(subcommand)]
    Redcap(RedcapCommand),
    /// The I/O schedulers and their tunables.
    #[command(subcommand)]
    Scheduler(SchedulerCommand),
    /// Tables, figures and claims of the literature, reproduced.
    #[command(subcommand)]
    Experiment(ExperimentCommand),
    /// Describe, convert and record traces.
    #[command(subcommand)]
    Trace(TraceCommand),
    /// Find the settings of a disk's queue that serve loads best, and say how to apply them.
    #[command(after_help = tune::TUNE_EXAMPLES)]
    Tune(Box<TuneArgs>),
    /// Virtual disks: block devices that store data, with the timing of a model.
    #[command(subcommand)]
    Vdisk(VdiskCommand),
    /// Print the completion script of a shell.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Print the man page, or write the man pages of all commands to a folder.
    Man {
        /// The folder to write to; created if it does not exist.
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        out: Option<PathBuf>,
    },
}

const COMPARE_EXAMPLES: &str = "Examples:
  iopilot compare trace.parquet --disk hd-250-32
  iopilot compare load.fio --disk wd1200bb --scheduler deadline,bfq:low_latency=0,mq-deadline:fifo_batch=4
  iopilot compare monday.parquet tuesday.parquet --disk hd-250-32 --scheduler none,mq-deadline,kyber,bfq
  iopilot compare trace.blkparse --disk hd-500-16 --report report.html --json > report.json";

const SIMULATE_EXAMPLES: &str = "Examples:
  iopilot simulate trace.parquet --disk hd-250-32 --scheduler bfq
  iopilot simulate load.fio --machine machine.toml --scheduler none --requests-out requests.parquet";

/// `iopilot demo`
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// The page to write.
    #[arg(long, value_name = "FILE", default_value = "iopilot-demo.html", value_hint = ValueHint::FilePath)]
    pub(crate) report: PathBuf,
    /// Print JSON instead of a table.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `iopilot compare`
#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// A trace in any known format, a fio job file (.fio), a description of synthetic load or of programs (.toml), or
    /// programs by name with keys (`synrgen:users=4`); `-` is standard input. Several recordings of one load make one
    /// comparison: their results are pooled, and their differences are part of the spread.
    #[arg(required = true, value_hint = ValueHint::FilePath)]
    pub(crate) workload: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) machine: MachineArgs,
    /// Schedulers, separated by commas, each with the tunables to set: `bfq:low_latency=0:slice_idle=4`. `all` means
    /// every scheduler that runs on any disk, `positional` those that need the position of the disk's arm. `prio(LIST)`
    /// puts criticality-based scheduling around each scheduler of the list.
    #[arg(long, short, value_name = "LIST", default_value = "all", action = ArgAction::Append)]
    pub(crate) scheduler: Vec<String>,
    /// Caches above the block layer, separated by commas, to compare under each scheduler: `off,64x128k,algorithm=v2`.
    /// `off` means no cache; a setting with `=` belongs to the cache before it.
    #[arg(long, value_name = "LIST")]
    pub(crate) redcap: Option<String>,
    /// Compare the schedulers under models of the workload instead (Ganger 6), separated by commas: `open`, `closed`
    /// and `system`. The system model keeps the causes of requests. The requests of its run under the first scheduler
    /// are replayed at their arrival times (open), or with their mean number outstanding (closed).
    #[arg(long, value_name = "LIST", conflicts_with_all = ["redcap", "replays", "report"])]
    pub(crate) models: Option<String>,
    #[command(flatten)]
    pub(crate) replay: ReplayArgs,
    /// Leave the beginning out of the results: a time of the simulation (`10s`), or a number of requests (`5000`). Its
    /// statistics are dropped; the state that it leaves is kept, so that caches are warm.
    #[arg(long, value_name = "TIME|N", value_parser = quantity::warm_up, conflicts_with = "models")]
    pub(crate) warm_up: Option<WarmUp>,
    /// Runs of each scheduler, each with other think times or another seed. Their spread shows how certain the result
    /// is. Default: 5 for a trace with processes, 3 for synthetic load, 1 for others.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) replays: Option<u32>,
    /// The order of the table; JSON always has the order asked for.
    #[arg(long, value_enum, default_value_t = SortArg::Best)]
    pub(crate) sort: SortArg,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// `iopilot simulate`
#[derive(Debug, Args)]
pub(crate) struct SimulateArgs {
    /// A trace in any known format, a fio job file (.fio), a description of synthetic load or of programs (.toml), or programs
    /// by name with keys: compress, uncompress, copytree, removetree or synrgen (`synrgen:users=4`); `-` is standard input.
    #[arg(value_hint = ValueHint::FilePath, required_unless_present = "workload_option")]
    workload: Option<PathBuf>,
    /// The workload, as an option.
    #[arg(long = "workload", short, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "workload")]
    workload_option: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) machine: MachineArgs,
    /// The scheduler with the tunables to set: `bfq:low_latency=0`; may be repeated.
    #[arg(long, short, value_name = "SCHEDULER", default_value = KERNEL_DEFAULT, action = ArgAction::Append)]
    pub(crate) scheduler: Vec<String>,
    /// A cache above the block layer: `64x128k,algorithm=v2,miss=split`.
    #[arg(long, value_name = "CACHE")]
    pub(crate) redcap: Option<String>,
    #[command(flatten)]
    pub(crate) replay: ReplayArgs,
    /// Leave the beginning out of the results: a time of the simulation (`10s`), or a number of requests (`5000`). Its
    /// statistics are dropped; the state that it leaves is kept, so that caches are warm.
    #[arg(long, value_name = "TIME|N", value_parser = quantity::warm_up)]
    pub(crate) warm_up: Option<WarmUp>,
    /// Write every request with its times as a trace, also those of a warm-up; only with one scheduler. The name's ending gives
    /// the format.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) requests_out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

impl SimulateArgs {
    /// The workload, in whichever way it is given.
    pub(crate) fn workload(&self) -> &Path {
        self.workload.as_deref().or(self.workload_option.as_deref()).unwrap_or(Path::new(""))
    }
}

/// The disk or machine to run on.
#[derive(Debug, Args)]
pub(crate) struct MachineArgs {
    /// A disk of the catalogue (`iopilot disk list`), a TOML file, or a DiskSim file (.diskspecs, .parv).
    #[arg(long, short, value_name = "NAME|FILE", conflicts_with = "machine", required_unless_present = "machine")]
    pub(crate) disk: Option<String>,
    /// A TOML file that describes a disk, the block layer and the host.
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) machine: Option<PathBuf>,
}

/// How a workload is read and replayed.
#[derive(Debug, Args)]
#[command(next_help_heading = "Workload")]
pub(crate) struct ReplayArgs {
    /// How a trace is replayed. Default: dependent where the trace names processes, else open.
    #[arg(long, value_enum)]
    pub(crate) mode: Option<ReplayModeArg>,
    /// Requests in flight in closed replay.
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) population: u32,
    /// The format of the file, if its name and content do not show it: fio, ganger, programs, or one of `iopilot trace
    /// formats`.
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<String>,
    #[command(flatten)]
    pub(crate) columns: ColumnsArgs,
    /// The device to replay, from a trace of several devices.
    #[arg(long, value_name = "N")]
    pub(crate) device: Option<u32>,
    #[command(flatten)]
    pub(crate) order: ReorderArgs,
    /// Replay only the first N requests of a trace.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) limit: Option<u64>,
    /// What to do with requests past the end of the disk.
    #[arg(long, value_enum, default_value_t = FitArg::Error)]
    pub(crate) fit: FitArg,
    /// Requests that asynchronous processes keep in flight, if the trace shows too few.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) window: Option<u32>,
    /// Stretch arrival times (open) or think times (dependent) by this factor; below 1 is a heavier load.
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, allow_negative_numbers = true)]
    pub(crate) time_scale: f64,
    /// The source of the block layer's settings that the machine file does not set. A recording of `iopilot trace
    /// record` carries those of its machine.
    #[arg(long, value_enum, default_value_t = SettingsArg::Recorded)]
    pub(crate) settings: SettingsArg,
    /// The random seed of synthetic workloads and of the host.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
}

/// The columns of a trace in no known format.
#[derive(Clone, Debug, Args)]
pub(crate) struct ColumnsArgs {
    /// The columns of a text that is in no known format: names separated by commas or blanks, as in the text
    /// (`time_us,op,lba,sectors`), or a format of `blkparse -f`. docs/reference/trace-formats.md has the names.
    #[arg(long, value_name = "LAYOUT")]
    pub(crate) columns: Option<String>,
}

impl ColumnsArgs {
    /// As a value of [`iopilot_trace::ReadOptions`].
    pub(crate) fn layout(&self) -> Result<Option<ColumnLayout>, InputError> {
        self.columns.as_deref().map(str::parse).transpose()
    }
}

/// How records that are not in order of time are read.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct ReorderArgs {
    /// Sort records that stand up to N places late (8192 if no N is given). Without it, a time that goes back is an
    /// error, except between the CPUs of blkparse and blktrace.
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "8192",
          value_parser = clap::value_parser!(u32).range(1..=1 << 24))]
    pub(crate) reorder: Option<u32>,
}

impl ReorderArgs {
    /// As a value of [`iopilot_trace::ReadOptions`].
    pub(crate) fn window(self) -> Option<usize> {
        self.reorder.map(|n| n as usize)
    }
}

/// What to print and write.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// Print JSON instead of a table: docs/reference/report.md lists the keys.
    #[arg(long)]
    pub(crate) json: bool,
    /// Write a self-contained page with charts.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) report: Option<PathBuf>,
}

/// The replay of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReplayModeArg {
    /// Requests arrive at their recorded times.
    Open,
    /// A fixed number of requests is in flight.
    Closed,
    /// Processes wait for their requests and think, as the trace shows they did.
    Dependent,
}

/// The source of the block layer's settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SettingsArg {
    /// The recording, if it carries them; else the kernel's defaults.
    Recorded,
    /// The kernel's defaults.
    Default,
}

/// Requests past the end of the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum FitArg {
    /// Report an error.
    Error,
    /// Wrap their addresses around.
    Wrap,
}

/// The order of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SortArg {
    /// Best first.
    Best,
    /// In the order asked for.
    Asked,
}

/// `iopilot scheduler`
#[derive(Debug, Subcommand)]
pub(crate) enum SchedulerCommand {
    /// List the schedulers.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show a scheduler's tunables with their units, defaults and ranges.
    Show {
        /// The scheduler, `prio`, or `prio(SCHEDULER)`.
        name: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn definitions_are_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_disk_or_a_machine_is_needed_and_not_both() {
        let parse = |args: &str| Cli::try_parse_from(args.split(' '));
        assert!(parse("iopilot compare t").is_err());
        assert!(parse("iopilot compare t --disk d").is_ok());
        assert!(parse("iopilot compare t --machine m.toml").is_ok());
        assert!(parse("iopilot compare t --disk d --machine m.toml").is_err());
    }

    #[test]
    fn simulate_takes_its_workload_by_place_or_as_an_option() {
        let workload = |args: &str| match Cli::try_parse_from(args.split(' ')).unwrap().command {
            CliCommand::Simulate(args) => args.workload().to_owned(),
            other => panic!("{other:?}"),
        };
        for form in ["t", "--workload t", "-w t"] {
            assert_eq!(workload(&format!("iopilot simulate {form} --disk d")), Path::new("t"), "{form}");
        }
        assert_eq!(workload("iopilot simulate - -d d"), Path::new("-"));
    }

    #[test]
    fn a_live_disk_has_a_model_which_was_once_called_its_disk() {
        for command in ["dads run /dev/sda", "redcap attach /dev/sda", "machine probe /dev/sda"] {
            for option in ["--model", "--disk", "-d"] {
                let args = format!("iopilot {command} {option} m");
                assert!(
                    format!("{:?}", Cli::try_parse_from(args.split(' ')).unwrap()).contains("model: Some(\"m\")"),
                    "{args}"
                );
            }
        }
    }
}
