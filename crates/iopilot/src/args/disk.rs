//! The arguments of `iopilot disk`.

use super::quantity;
use clap::{Args, Subcommand, ValueEnum, ValueHint};
use std::path::PathBuf;

/// `iopilot disk`
#[derive(Debug, Subcommand)]
pub(crate) enum DiskCommand {
    /// List the catalogue.
    List {
        /// Print JSON.
        #[arg(long, conflicts_with = "markdown")]
        json: bool,
        /// Print the table of docs/reference/disks.md: what each drive is, and what its model does.
        #[arg(long)]
        markdown: bool,
    },
    /// Show everything about a disk.
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
        /// A .diskspecs file with one drive, or a .parv file, of which the first disk and the times of its bus are
        /// taken.
        #[arg(value_hint = ValueHint::FilePath)]
        spec: PathBuf,
        /// The file to write. Default: standard output.
        #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
        output: Option<PathBuf>,
    },
    /// Draw the seek curve, the zones and the service times of a disk, each an SVG file.
    Plot {
        /// A disk of the catalogue, a TOML file, or a DiskSim file (.diskspecs, .parv).
        disk: String,
        /// The folder to write to; created if it does not exist.
        #[arg(long, short, value_name = "DIR", default_value = ".", value_hint = ValueHint::DirPath)]
        output: PathBuf,
        /// The seed of the random addresses.
        #[arg(long, value_name = "N", default_value_t = 0)]
        seed: u64,
    },
    /// Fit a drive's model to times measured on the drive.
    Calibrate(CalibrateArgs),
    /// Turn a disk into tables of times by direction, size and distance.
    #[command(after_help = TRAIN_EXAMPLES)]
    Train(DiskTrainArgs),
    /// Identify a disk by the times of reads: cache, rotation, zones, heads, seek curve.
    #[command(after_help = PROBE_EXAMPLES)]
    Probe(DiskProbeArgs),
    /// Compare a drive's model with service times measured on the drive.
    #[command(after_help = VALIDATE_EXAMPLES)]
    Validate(DiskValidateArgs),
}

/// `iopilot disk calibrate`
///
/// The model is fitted to the first requests of the trace. The result says how well it predicts the rest.
#[derive(Debug, Args)]
pub(crate) struct CalibrateArgs {
    /// The drive: a DiskSim file (.diskspecs, .parv) or a TOML file.
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) spec: String,
    /// A trace of measured service times, in the format of DiskSim's validation traces.
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) trace: PathBuf,
    /// Write the calibrated drive to this TOML file.
    #[arg(long, short, value_name = "MODEL.toml", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
    /// The requests to fit to, from the first on, as a percentage of all.
    #[arg(long, value_name = "PERCENT", default_value = "50%", value_parser = percentage)]
    pub(crate) train: f64,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

const TRAIN_EXAMPLES: &str = "Examples:
  iopilot disk train hd-250-32 -o hd-250-32-table.toml
  iopilot disk train atlas10k.diskspecs -o atlas10k.toml --form 2 --samples 16
  iopilot disk train /dev/sdb -o sdb.toml --samples 4 --cache-kib 65536
  iopilot compare trace.parquet --disk hd-250-32-table.toml";

/// `iopilot disk train`
///
/// Random requests over all sizes and distances fill the tables; --disk takes the file. A live disk (needs root) is
/// only read, bypassing the page cache; writes then take the times of reads.
#[derive(Debug, Args)]
pub(crate) struct DiskTrainArgs {
    /// A disk of the catalogue, a TOML file, a DiskSim file (.diskspecs, .parv), or a live disk such as /dev/sdb.
    pub(crate) disk: String,
    /// The TOML file to write.
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,
    /// Also write, all over the live disk: its data are lost. Refused if anything uses the disk.
    #[arg(long)]
    pub(crate) destroy_data: bool,
    /// 2: a table of reads and one of writes. 3: one of reads that hit the disk's cache, one of those that miss it, one
    /// of writes, and a simulated cache.
    #[arg(long, value_name = "2|3", default_value_t = 3, value_parser = clap::value_parser!(u8).range(2..=3))]
    pub(crate) form: u8,
    /// Samples for each cell; a cell keeps as many while it goes on learning.
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(crate) samples: u32,
    /// The size of the disk's cache in KiB or with a unit (`64M`), if its description does not give it; with --form 3.
    #[arg(long, value_name = "KIB", value_parser = quantity::kibibytes)]
    pub(crate) cache_kib: Option<u32>,
    /// A read of 4 kB that takes longer missed the disk's cache, in µs or with a unit (`1ms`); with --form 3.
    #[arg(long, value_name = "US", default_value = "1000", value_parser = quantity::microseconds)]
    pub(crate) hit_limit_us: u32,
    /// The seed of the requests.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

const PROBE_EXAMPLES: &str = "Examples:
  iopilot disk probe hd-250-32
  iopilot disk probe hd-250-32 --json
  iopilot disk probe hd-250-32 -o found.toml && iopilot disk show found.toml
  iopilot disk probe /dev/sdb -o sdb.toml";

/// `iopilot disk probe`
///
/// Nothing is written to the disk. A live disk (needs root) is read for some ten minutes, bypassing the page cache. Any
/// other use of it disturbs the result.
#[derive(Debug, Args)]
pub(crate) struct DiskProbeArgs {
    /// A disk of the catalogue, a TOML file, a DiskSim file (.diskspecs, .parv), or a live disk such as /dev/sdb.
    pub(crate) disk: String,
    /// Write the result to this TOML file, which --disk takes.
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
    /// A read of 4 kB that takes longer missed the disk's cache, in µs or with a unit (`1ms`).
    #[arg(long, value_name = "US", default_value = "1000", value_parser = quantity::microseconds)]
    pub(crate) hit_limit_us: u32,
    /// Give up after this much of the disk's time, in seconds or with a unit (`10m`). Default for a live disk: 3600.
    #[arg(long, value_name = "TIME", value_parser = quantity::whole_seconds)]
    pub(crate) time_limit: Option<u32>,
    /// The seed of the random addresses.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// A share such as `50%`, strictly between none and all.
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
pub(crate) struct DiskValidateArgs {
    /// The drive: a parameter file of DiskSim (.parv, .diskspecs), a TOML file, or a disk of the catalogue.
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) spec: String,
    /// The trace, in DiskSim's validate format: `R|W Hit|Miss|Doub|Trip block blocks service(us) think(us)`.
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) trace: PathBuf,
    /// When the next request is issued.
    #[arg(long, value_enum, default_value_t = ValidateClock::Model)]
    pub(crate) clock: ValidateClock,
    /// Whether the think time in a line of the trace comes before or after its request. Default: what a calibration
    /// found; else after with the model's clock, and with the measured clock the side that the phase of the spindle
    /// shows.
    #[arg(long, value_enum)]
    pub(crate) think: Option<ThinkPlace>,
    /// The requests that are compared; the others are replayed as well.
    #[arg(long, value_enum, default_value_t = ValidatePart::All)]
    pub(crate) part: ValidatePart,
    /// Where the trace is cut, for `--part` and `--calibrate`, as a percentage of all requests.
    #[arg(long, value_name = "PERCENT", default_value = "50%", value_parser = percentage)]
    pub(crate) train: f64,
    /// First calibrate the drive on the first part of the trace.
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

/// The completion that the next request of a validation follows: modelled or measured.
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
