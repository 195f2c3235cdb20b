//! The command line. Help, man pages and completions are all generated from these definitions.

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum, ValueHint};
use std::ffi::OsString;
use std::path::PathBuf;

/// Simulate real traffic under every I/O scheduler, and say which is best.
///
/// iopilot replays a recorded trace, a fio job file or a synthetic workload on a modelled disk, under any of the
/// kernel's I/O schedulers, and compares them. Nothing here needs root but `iopilot trace record`.
#[derive(Debug, Parser)]
#[command(name = "iopilot", version, max_term_width = 100, arg_required_else_help = true, after_help = EXIT_CODES)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXIT_CODES: &str =
    "Exit codes: 0 done, 1 a run failed, 2 bad input or usage; of `trace record`, that of the command.";

/// Options of every command.
#[derive(Debug, Args)]
pub(crate) struct Global {
    /// Print nothing but the result: no progress, no notes on standard error.
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
    /// Simulations to run at once; the result does not depend on it. Default: one a CPU.
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) threads: Option<u16>,
    /// Print without colours; NO_COLOR in the environment does the same.
    #[arg(long, global = true)]
    pub(crate) no_color: bool,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Compare schedulers on a recorded workload that comes with iopilot, and write a report.
    Demo(Demo),
    /// Run a workload under several schedulers and tell which is best.
    #[command(after_help = COMPARE_EXAMPLES)]
    Compare(Compare),
    /// Run a workload and tell everything about each run.
    #[command(after_help = SIMULATE_EXAMPLES)]
    Simulate(Simulate),
    /// The autopilot: changes the scheduler to the one that is best for the traffic of the last seconds.
    #[command(subcommand)]
    Dads(Dads),
    /// The catalogue of disks.
    #[command(subcommand)]
    Disk(Disk),
    /// DiskSim configurations, as they are.
    #[command(subcommand)]
    Disksim(Disksim),
    /// The I/O schedulers and their tunables.
    #[command(subcommand)]
    Scheduler(Scheduler),
    /// Tables, figures and claims of the literature, reproduced.
    #[command(subcommand)]
    Experiment(Experiment),
    /// Describe, convert and record traces.
    #[command(subcommand)]
    Trace(Trace),
    /// Print the completion script of a shell.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Print the man page, or write those of all commands to a folder.
    Man {
        /// The folder to write to; made where it does not exist.
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        out: Option<PathBuf>,
    },
}

const COMPARE_EXAMPLES: &str = "Examples:
  iopilot compare trace.parquet --disk hd-250-32
  iopilot compare load.fio --disk wd1200bb --scheduler deadline,bfq:low_latency=0,mq-deadline:fifo_batch=4
  iopilot compare trace.blkparse --disk hd-500-16 --report report.html --json > report.json";

const SIMULATE_EXAMPLES: &str = "Examples:
  iopilot simulate --workload trace.parquet --disk hd-250-32 --scheduler bfq
  iopilot simulate --workload load.fio --machine machine.toml --scheduler none --requests-out requests.parquet";

/// `iopilot demo`
#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// The page to write.
    #[arg(long, value_name = "FILE", default_value = "iopilot-demo.html", value_hint = ValueHint::FilePath)]
    pub(crate) report: PathBuf,
    /// Print JSON instead of a table.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `iopilot compare`
#[derive(Debug, Args)]
pub(crate) struct Compare {
    /// A trace in any known format, a fio job file (.fio) or a description of synthetic load (.toml).
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) workload: PathBuf,
    #[command(flatten)]
    pub(crate) machine: MachineArgs,
    /// Schedulers, separated by commas, each with the tunables to set: `bfq:low_latency=0:slice_idle=4`. `all` is every
    /// one that runs on any disk, `positional` those that ask the disk where its arm is.
    #[arg(long, short, value_name = "LIST", default_value = "all", action = ArgAction::Append)]
    pub(crate) scheduler: Vec<String>,
    #[command(flatten)]
    pub(crate) replay: Replay,
    /// The order of the table; JSON is always in the order asked for.
    #[arg(long, value_enum, default_value_t = Sort::Best)]
    pub(crate) sort: Sort,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// `iopilot simulate`
#[derive(Debug, Args)]
pub(crate) struct Simulate {
    /// A trace in any known format, a fio job file (.fio) or a description of synthetic load (.toml).
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) workload: PathBuf,
    #[command(flatten)]
    pub(crate) machine: MachineArgs,
    /// The scheduler with the tunables to set: `bfq:low_latency=0`; may be repeated.
    #[arg(long, short, value_name = "SCHEDULER", default_value = "mq-deadline", action = ArgAction::Append)]
    pub(crate) scheduler: Vec<String>,
    #[command(flatten)]
    pub(crate) replay: Replay,
    /// Write every request with its times as a trace; only with one scheduler. The name's ending gives the format.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) requests_out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) output: Output,
}

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

/// On what to run.
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
pub(crate) struct Replay {
    /// How a trace is replayed. Default: dependent where the trace tells processes, else open.
    #[arg(long, value_enum)]
    pub(crate) mode: Option<Mode>,
    /// Requests in flight in closed replay.
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) population: u32,
    /// What the file is, where it cannot be told from name and content: fio, ganger, or one of `iopilot trace formats`.
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<String>,
    /// The device to take from a trace of several.
    #[arg(long, value_name = "N")]
    pub(crate) device: Option<u32>,
    #[command(flatten)]
    pub(crate) order: Order,
    /// Only the first so many requests of a trace.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) limit: Option<u64>,
    /// What becomes of requests past the end of the disk.
    #[arg(long, value_enum, default_value_t = Fit::Error)]
    pub(crate) fit: Fit,
    /// Requests that asynchronous processes keep in flight, where the trace understates it.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) window: Option<u32>,
    /// Stretch arrival times (open) or think times (dependent) by this factor; below 1 is a heavier load.
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, allow_negative_numbers = true)]
    pub(crate) time_scale: f64,
    /// The random seed of synthetic workloads and of the host.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
}

/// What becomes of records that are not in order of time.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Order {
    /// Put records of a trace in order that stand up to N places late (8192 if no N is given). Without it a time that
    /// goes back is an error; only the CPUs of blkparse and blktrace need not agree.
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "8192",
          value_parser = clap::value_parser!(u32).range(1..=1 << 24))]
    pub(crate) reorder: Option<u32>,
}

impl Order {
    /// As [`iopilot_trace::ReadOptions`] has it.
    pub(crate) fn window(self) -> Option<usize> {
        self.reorder.map(|n| n as usize)
    }
}

/// What to print and write.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct Output {
    /// Print JSON instead of a table: docs/report.md tells the keys.
    #[arg(long)]
    pub(crate) json: bool,
    /// Write a self-contained page with charts.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) report: Option<PathBuf>,
}

/// The replay of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    /// Requests arrive at their recorded times.
    Open,
    /// A fixed number of requests is in flight.
    Closed,
    /// Processes wait for their requests and think, as the trace shows they did.
    Dependent,
}

/// Requests past the end of the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Fit {
    /// They are an error.
    Error,
    /// Their addresses wrap around.
    Wrap,
}

/// The order of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Sort {
    /// Best first.
    Best,
    /// In the order asked for.
    Asked,
}

/// `iopilot disk`
#[derive(Debug, Subcommand)]
pub(crate) enum Disk {
    /// List the catalogue.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Tell everything about a disk.
    Show {
        /// A disk of the catalogue, a TOML file, or a DiskSim file (.diskspecs, .parv).
        disk: String,
        /// Print the model's parameters as JSON.
        #[arg(long, conflicts_with = "toml")]
        json: bool,
        /// Print the TOML, to be changed and given to --disk.
        #[arg(long)]
        toml: bool,
    },
    /// Turn a drive that DiskSim describes into a TOML file.
    Convert {
        /// A .diskspecs with one drive, or a .parv, of which the first disk is taken, with the times of its bus.
        #[arg(value_hint = ValueHint::FilePath)]
        spec: PathBuf,
        /// The file to write; standard output where left out.
        #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
        output: Option<PathBuf>,
    },
    /// Draw the seek curve, the zones and the service times of a disk, each an SVG file.
    Plot {
        /// A disk of the catalogue, a TOML file, or a DiskSim file (.diskspecs, .parv).
        disk: String,
        /// The folder to write to; made where it does not exist.
        #[arg(long, short, value_name = "DIR", default_value = ".", value_hint = ValueHint::DirPath)]
        output: PathBuf,
        /// The seed of the places that are read and written.
        #[arg(long, value_name = "N", default_value_t = 0)]
        seed: u64,
    },
    /// Fit a drive's model to times that were measured on the drive.
    Calibrate(Calibrate),
    /// Turn a disk into tables of times by direction, size and distance.
    #[command(after_help = TRAIN_EXAMPLES)]
    Train(DiskTrain),
    /// Compare a drive's model with service times measured on the drive.
    #[command(after_help = VALIDATE_EXAMPLES)]
    Validate(DiskValidate),
}

/// `iopilot disk calibrate`
///
/// The model is fitted to the first requests of the trace, and told is how well it predicts the rest.
#[derive(Debug, Args)]
pub(crate) struct Calibrate {
    /// The drive: a DiskSim file (.diskspecs, .parv) or a TOML file.
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) spec: String,
    /// A trace of measured service times, in the format of DiskSim's validation traces.
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) trace: PathBuf,
    /// Write the calibrated drive to this TOML file.
    #[arg(long, short, value_name = "MODEL.toml", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
    /// The first requests that are fitted to, as a percentage of all.
    #[arg(long, value_name = "PERCENT", default_value = "50%", value_parser = percentage)]
    pub(crate) train: f64,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

const TRAIN_EXAMPLES: &str = "Examples:
  iopilot disk train hd-250-32 -o hd-250-32-table.toml
  iopilot disk train atlas10k.diskspecs -o atlas10k.toml --form 2 --samples 16
  iopilot compare trace.parquet --disk hd-250-32-table.toml";

/// `iopilot disk train`
///
/// Random requests over all sizes and distances fill the tables; the file is a disk for --disk.
#[derive(Debug, Args)]
pub(crate) struct DiskTrain {
    /// A disk of the catalogue, a TOML file, or a DiskSim file (.diskspecs, .parv).
    pub(crate) disk: String,
    /// The TOML file to write.
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,
    /// 2: a table of reads and one of writes. 3: one of reads that hit the disk's cache, one of those that miss it, one
    /// of writes, and a simulated cache.
    #[arg(long, value_name = "2|3", default_value_t = 3, value_parser = clap::value_parser!(u8).range(2..=3))]
    pub(crate) form: u8,
    /// Samples for each cell, and how many a cell keeps as it goes on learning.
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(crate) samples: u32,
    /// The size of the disk's cache, where its description does not tell; with --form 3.
    #[arg(long, value_name = "KIB")]
    pub(crate) cache_kib: Option<u32>,
    /// A read of 4 kB that takes longer missed the disk's cache, µs; with --form 3.
    #[arg(long, value_name = "US", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) hit_limit_us: u32,
    /// The seed of the requests.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// A share from `50%`, strictly between none and all.
fn percentage(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim();
    match number.parse::<f64>() {
        Ok(percent) if percent > 0.0 && percent < 100.0 => Ok(percent / 100.0),
        _ => Err("a percentage above 0 and below 100, as 50%".to_owned()),
    }
}

const VALIDATE_EXAMPLES: &str = "Examples:
  iopilot disk validate atlas10k.parv atlas10k.trace
  iopilot disk validate atlas10k.diskspecs atlas10k.trace --clock measured --json
  iopilot disk validate atlas10k.parv atlas10k.trace --calibrate --part test
  iopilot disk validate mine.toml measured.trace --report cdf.html";

/// `iopilot disk validate`
#[derive(Debug, Args)]
pub(crate) struct DiskValidate {
    /// The drive: a parameter file of DiskSim (.parv, .diskspecs), a TOML file, or a disk of the catalogue.
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) spec: String,
    /// The trace, in DiskSim's validate format: `R|W Hit|Miss|Doub|Trip block blocks service(us) think(us)`.
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) trace: PathBuf,
    /// When the next request is issued.
    #[arg(long, value_enum, default_value_t = ValidateClock::Model)]
    pub(crate) clock: ValidateClock,
    /// Which think time stands in a line of the trace. Default: what a calibration found; else after with the model's
    /// clock, and with the measured one what the phase of the spindle tells.
    #[arg(long, value_enum)]
    pub(crate) think: Option<ThinkPlace>,
    /// The requests that are compared; the others are replayed as well.
    #[arg(long, value_enum, default_value_t = ValidatePart::All)]
    pub(crate) part: ValidatePart,
    /// Where the trace is cut, for `--part` and `--calibrate`, as a percentage of all requests.
    #[arg(long, value_name = "PERCENT", default_value = "50%", value_parser = percentage)]
    pub(crate) train: f64,
    /// Calibrate the drive on the first part of the trace before.
    #[arg(long)]
    pub(crate) calibrate: bool,
    /// Read a DiskSim file as DiskSim 4.0 does, not as the drive it describes.
    #[arg(long)]
    pub(crate) as_disksim: bool,
    /// Print JSON instead of a table.
    #[arg(long)]
    pub(crate) json: bool,
    /// Also write a page with both distributions.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) report: Option<PathBuf>,
}

/// What part of a trace is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ValidatePart {
    /// The whole.
    All,
    /// What a calibration is fitted to.
    Train,
    /// The rest.
    Test,
}

/// Whose completions the next request of a validation follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ValidateClock {
    /// After the modelled completion, as DiskSim does.
    Model,
    /// After the measured completion: the phase of the spindle is kept, single requests can be predicted.
    Measured,
}

/// Where a think time belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ThinkPlace {
    /// After its request, as DiskSim takes it.
    After,
    /// Before its request.
    Before,
    /// Whichever makes the spindle turn evenly.
    Auto,
}

/// `iopilot disksim`
#[derive(Debug, Subcommand)]
pub(crate) enum Disksim {
    /// Run a DiskSim 4.0 parameter file under its synthetic load, or under a trace.
    #[command(after_help = DISKSIM_EXAMPLES)]
    Run(DisksimRun),
}

const DISKSIM_EXAMPLES: &str = "Examples:
  iopilot disksim run synthraid5.parv
  iopilot disksim run ascii.parv --trace ascii.trace --json
  iopilot disksim run system.parv --set 'driver0:Scheduler:Scheduling policy=2' --set 'disk*:Fast write level=0'";

/// `iopilot disksim run`
#[derive(Debug, Args)]
pub(crate) struct DisksimRun {
    /// The parameter file (.parv). Files that it names are looked for beside it, then in the folders of LP_PATH.
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// Requests from this trace, not from the file's synthetic load; - is the standard input.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) trace: Option<PathBuf>,
    /// The format of the trace: ascii, batch, validate, emcsymm, emcbackend, hpl, or one of `iopilot trace`. Default:
    /// found out from its content.
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

/// `iopilot scheduler`
#[derive(Debug, Subcommand)]
pub(crate) enum Scheduler {
    /// List the schedulers.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Tell a scheduler's tunables with their units, defaults and ranges.
    Show {
        /// The scheduler.
        name: String,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

/// `iopilot experiment`
#[derive(Debug, Subcommand)]
pub(crate) enum Experiment {
    /// List the experiments.
    List {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Run an experiment, and tell of each claim whether it is reproduced.
    #[command(after_help = EXPERIMENT_EXAMPLES)]
    Run(ExperimentRun),
}

const EXPERIMENT_EXAMPLES: &str = "Examples:
  iopilot experiment run gf-cache-times
  iopilot experiment run gf-cache-times --quick --json
  iopilot experiment run gf-cache-times --out results";

/// `iopilot experiment run`
#[derive(Debug, Args)]
pub(crate) struct ExperimentRun {
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
    /// Also write everything to this folder, as JSON, CSV and pictures; made where it does not exist.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
}

/// `iopilot trace`
#[derive(Debug, Subcommand)]
pub(crate) enum Trace {
    /// Requests, span, read share, sizes, inter-arrival times, sequentiality, footprint, seeks, processes.
    Stat(Stat),
    /// Write a trace in another format.
    Convert(Convert),
    /// Record what reaches a block device (needs root).
    ///
    /// The kernel's own trace events are read through a tracefs instance: nothing is installed, and nothing remains.
    /// Without a command or --duration the recording ends at ctrl-C. What a command leaves in the page cache is written
    /// back later and not recorded: let the command end with `sync` where that matters. The exit code is the command's.
    Record(Record),
    /// List the formats that can be read and written.
    Formats,
}

/// `iopilot trace stat`
#[derive(Debug, Args)]
pub(crate) struct Stat {
    /// The trace.
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) trace: PathBuf,
    /// Its format, where it cannot be told from the content: `iopilot trace formats`.
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<String>,
    /// Only this device of a trace of several.
    #[arg(long, value_name = "N")]
    pub(crate) device: Option<u32>,
    #[command(flatten)]
    pub(crate) order: Order,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// `iopilot trace convert`
#[derive(Debug, Args)]
pub(crate) struct Convert {
    /// The trace.
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) input: PathBuf,
    /// The file to write; text is packed where the name ends in .gz or .zst.
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,
    /// The input's format, where it cannot be told from the content: `iopilot trace formats`.
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<String>,
    /// The output's format, where the name's ending does not tell it.
    #[arg(long, value_name = "FORMAT")]
    pub(crate) to: Option<String>,
    /// Only this device of a trace of several.
    #[arg(long, value_name = "N")]
    pub(crate) device: Option<u32>,
    #[command(flatten)]
    pub(crate) order: Order,
}

/// `iopilot trace record`
#[derive(Debug, Args)]
pub(crate) struct Record {
    /// The block device or partition.
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) device: PathBuf,
    /// The file to write.
    #[arg(long, short, value_name = "FILE", default_value = "trace.parquet", value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,
    /// The output's format, where the name's ending does not tell it.
    #[arg(long, value_name = "FORMAT")]
    pub(crate) to: Option<String>,
    /// Stop after so many seconds; a command still running is then sent SIGTERM.
    #[arg(long, short = 't', value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) duration: Option<u64>,
    /// Ring buffer of each CPU in KiB: more loses fewer events under heavy load.
    #[arg(long, value_name = "KIB", default_value_t = 8192, value_parser = clap::value_parser!(u32).range(8..))]
    pub(crate) buffer_kb: u32,
    /// The command to run while recording, with its arguments.
    #[arg(last = true, num_args = 1.., value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
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
}
