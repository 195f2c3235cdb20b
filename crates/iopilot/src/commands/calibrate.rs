//! `iopilot disk calibrate`: fits a drive's model to times measured on the drive.

use super::{CommandContext, session};
use crate::args::CalibrateArgs;
use crate::render::{self, Alignment, Table, wrap};
use anyhow::Context as _;
use iopilot_block::InputError;
use iopilot_calibrate::{Calibration, PhaseFit, calibrate};
use iopilot_calibrate::{PartValidation, Validation};
use iopilot_catalogue::{DeviceSpec, DiskSpec, DriveSpec, ThinkSide};
use iopilot_trace::Destination;
use serde::Serialize;
use std::fmt::Write;
use std::io::Write as _;
use std::path::Path;

/// A calibration, as `--json` prints it.
#[derive(Serialize)]
struct CalibrationReport<'a> {
    train_requests: usize,
    test_requests: usize,
    /// The calibrated drive's errors on the requests that were not used for the fit.
    test: Errors,
    /// The errors on the same requests before the calibration.
    before: Errors,
    think: Option<ThinkSide>,
    phase: Option<&'a PhaseFit>,
    rules: &'a [String],
}

/// Prediction errors; shares are of all test requests.
#[derive(Serialize)]
struct Errors {
    mean_measured_ms: f64,
    mean_model_ms: f64,
    demerit_ms: f64,
    reads: Option<PartValidation>,
    writes: Option<PartValidation>,
    rmse_ms: f64,
    within_half_ms: f64,
    off_half_rotation: f64,
}

impl From<&Validation> for Errors {
    fn from(v: &Validation) -> Self {
        Self {
            mean_measured_ms: v.mean_measured_ms,
            mean_model_ms: v.mean_model_ms,
            demerit_ms: v.demerit_ms,
            reads: v.reads.clone(),
            writes: v.writes.clone(),
            rmse_ms: v.errors.rmse_ms,
            within_half_ms: v.errors.within_half_ms,
            off_half_rotation: v.errors.off_half_rotation,
        }
    }
}

/// Runs the command and returns the text to print.
pub(super) fn run(args: &CalibrateArgs, context: &CommandContext) -> anyhow::Result<String> {
    session::check_writable("--output", args.output.as_ref())?;
    let mut disk = load(&args.spec, context)?;
    let drive = complete(&args.spec, &disk)?;
    let records = iopilot_trace::read_validate(&args.trace)?;
    let calibration = calibrate(drive, &records, args.train).map_err(|e| e.in_file(args.trace.display()))?;

    if let Some(output) = &args.output {
        let share = 100.0 * args.train;
        disk.sources.push(format!("calibrated on the first {share} % of {}", file_name(&args.trace)));
        disk.device = DeviceSpec::Drive(Box::new(calibration.drive.clone()));
        write(output, &disk.to_toml()).with_context(|| format!("writing {}", output.display()))?;
        context.note(format_args!("calibrated drive written to {}", output.display()));
    }
    if !args.json {
        return Ok(table(&calibration, context));
    }
    render::json(&CalibrationReport {
        train_requests: calibration.train_requests,
        test_requests: calibration.test_requests,
        test: (&calibration.test).into(),
        before: (&calibration.before).into(),
        think: calibration.drive.measured.map(|m| m.think),
        phase: calibration.phase.as_ref(),
        rules: &calibration.rules,
    })
}

/// The drive called `name`: a file of DiskSim's, or one of ours.
fn load(name: &str, context: &CommandContext) -> anyhow::Result<DiskSpec> {
    let path = Path::new(name);
    if !iopilot_disksim::is_disksim_file(path) {
        return Ok(iopilot_catalogue::load_disk(name)?);
    }
    let drive = iopilot_disksim::load_drive(path)?;
    drive.warnings.iter().for_each(|warning| context.note(warning));
    Ok(drive.spec)
}

fn complete<'a>(name: &str, disk: &'a DiskSpec) -> Result<&'a DriveSpec, InputError> {
    let DeviceSpec::Drive(drive) = &disk.device else {
        let expected = "a drive with all its parameters (type = \"drive\", or a DiskSim file)";
        return Err(InputError::new("type", "another kind of device", expected).in_file(name));
    };
    Ok(drive)
}

fn file_name(path: &Path) -> String {
    path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

fn write(output: &Path, text: &str) -> std::io::Result<()> {
    let (destination, mut file) = Destination::create(output)?;
    file.write_all(text.as_bytes())?;
    destination.commit(&file)
}

fn table(c: &Calibration, context: &CommandContext) -> String {
    let mut out = format!("fitted to {} requests, tested on the {} after them\n\n", c.train_requests, c.test_requests);
    let side = match c.drive.measured.map(|m| m.think) {
        Some(ThinkSide::Before) => "before",
        _ => "after",
    };
    match &c.phase {
        Some(phase) => {
            let PhaseFit { reads, period_ms, file_period_ms, coherence, file_coherence, spread_ms, zones } = phase;
            let [of_file, common, own] = zones;
            let _ = writeln!(out, "think times   {side} their requests");
            let _ = writeln!(out, "revolution    {period_ms:.5} ms; the file says {file_period_ms:.5}");
            let _ = writeln!(
                out,
                "phase         {reads} reads agree to {coherence:.3}, by the file's skews {file_coherence:.3}"
            );
            let _ = writeln!(out, "              half of them end within {spread_ms:.3} ms of where the spindle is");
            let _ = writeln!(
                out,
                "skews         of zones: {common} common angles, {own} own angles, {of_file} as in the file"
            );
        }
        None => {
            let _ = writeln!(out, "phase         none to be seen: angles and period stay those of the file");
        }
    }
    let rules = if c.rules.is_empty() { "none".to_owned() } else { c.rules.join(", ") };
    out.push_str(&wrap(&format!("rules changed: {rules}"), context.terminal.width));

    let mut rows = Table::new(&[
        ("test requests, at the measured clock", Alignment::Left),
        ("as in the file", Alignment::Right),
        ("calibrated", Alignment::Right),
    ]);
    let mut row = |name: &str, value: &dyn Fn(&Validation) -> String| {
        rows.row(vec![name.to_owned(), value(&c.before), value(&c.test)]);
    };
    let percent = |share: f64| format!("{:.2} %", 100.0 * share);
    let demerit = |part: Option<&PartValidation>| {
        part.map_or_else(|| "-".to_owned(), |p| format!("{:.3} ({:.1} %)", p.demerit_ms, p.demerit_percent))
    };
    row("mean service time, ms (measured)", &|v| format!("{:.3} ({:.3})", v.mean_model_ms, v.mean_measured_ms));
    row("demerit, ms (of the mean)", &|v| format!("{:.3} ({:.1} %)", v.demerit_ms, v.demerit_percent));
    row("  of reads", &|v| demerit(v.reads.as_ref()));
    row("  of writes", &|v| demerit(v.writes.as_ref()));
    row("root mean square error, ms", &|v| format!("{:.3}", v.errors.rmse_ms));
    row("median error, ms", &|v| format!("{:.3}", v.errors.median_ms));
    row("within 0.5 ms", &|v| percent(v.errors.within_half_ms));
    row("off by over half a rotation", &|v| percent(v.errors.off_half_rotation));
    out.push('\n');
    out.push_str(&rows.render(context.terminal));
    out
}
