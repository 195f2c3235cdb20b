//! `iopilot disk validate`: compares a model with times measured on the drive.

use super::CommandContext;
use super::session::load_disk;
use crate::args::{DiskValidateArgs, ThinkPlace, ValidateClock, ValidatePart};
use crate::render::{self, Alignment, Table, number, wrap};
use crate::report;
use iopilot_block::InputError;
use iopilot_calibrate::predict;
use iopilot_calibrate::{PartValidation, ReplayClock, Replayed, Validation, compare, replay, think_by_phase};
use iopilot_catalogue::{AnyDevice, DeviceSpec, DiskSpec, ThinkSide};
use iopilot_device::{Device, Mechanics};
use iopilot_disksim::{Reading, is_disksim_file, load_drive_as};
use iopilot_render::Terminal;
use iopilot_trace::{ThinkTime, ValidateRecord, read_validate};
use std::fmt::Write;
use std::path::Path;

/// Runs the command and returns the text to print.
pub(crate) fn run(args: &DiskValidateArgs, context: &CommandContext) -> anyhow::Result<String> {
    let mut disk = load(args, context)?;
    let records = read_validate(&args.trace)?;
    let cut = (records.len() as f64 * args.train).round() as usize;
    if args.calibrate {
        calibrate(args, &mut disk, &records)?;
    }
    let mut device = disk.build()?;
    let Some(mechanics) = mechanics(&device) else {
        return Err(InputError::new("disk", &*args.spec, "a disk that turns").into());
    };
    let rotation = mechanics.period / 1e6;
    let replayed = match as_calibrated(args, &disk, &records)? {
        Some(replayed) => replayed,
        None => {
            let think = think(args, &disk, mechanics, &records, context);
            let clock = match args.clock {
                ValidateClock::Model => ReplayClock::Model,
                ValidateClock::Measured => ReplayClock::Measured,
            };
            replay(&mut device, &records, clock, think)
        }
    };
    if replayed.len() < records.len() {
        let left_out = records.len() - replayed.len();
        context.note(format_args!("note: {left_out} requests lie beyond the end of the drive and are left out"));
    }
    let on_drive = |r: &&ValidateRecord| r.lba.0 + u64::from(r.sectors.0) <= device.capacity();
    let cut = records[..cut].iter().filter(on_drive).count();
    let replayed = match args.part {
        ValidatePart::All => &replayed[..],
        ValidatePart::Train => &replayed[..cut],
        ValidatePart::Test => &replayed[cut..],
    };
    let Some(validation) = compare(replayed, rotation) else {
        let e = InputError::new("trace", "no request", "requests that lie on the drive");
        return Err(e.in_file(args.trace.display()).into());
    };
    if let Some(path) = &args.report {
        report::write_validation(path, &title(args), &validation, replayed, &context.command_line)?;
        context.note(format_args!("report: {}", path.display()));
    }
    if args.json { render::json(&validation) } else { Ok(table(&validation, context.terminal)) }
}

fn load(args: &DiskValidateArgs, context: &CommandContext) -> anyhow::Result<DiskSpec> {
    let path = Path::new(&args.spec);
    if !args.as_disksim {
        return Ok(load_disk(&args.spec, context)?);
    }
    if !is_disksim_file(path) {
        let e = InputError::new("--as-disksim", &*args.spec, "a file of DiskSim's, .parv or .diskspecs");
        return Err(e.into());
    }
    let drive = load_drive_as(path, Reading::DiskSim)?;
    drive.warnings.iter().for_each(|warning| context.note(warning));
    Ok(drive.spec)
}

/// Fits the drive to the first part of the trace.
fn calibrate(args: &DiskValidateArgs, disk: &mut DiskSpec, records: &[ValidateRecord]) -> Result<(), InputError> {
    let DeviceSpec::Drive(drive) = &mut disk.device else {
        let expected = "a drive with all its parameters (type = \"drive\", or a DiskSim file)";
        return Err(InputError::new("--calibrate", "another kind of device", expected).in_file(&args.spec));
    };
    let fitted = iopilot_calibrate::calibrate(drive, records, args.train);
    **drive = fitted.map_err(|e| e.in_file(args.trace.display()))?.drive;
    Ok(())
}

/// The predictions of a calibrated drive with the measured clock, whose spindle phase is tracked as the calibration
/// found it. `None` for other drives, for the other clock, or if the user gave the side of the think times.
fn as_calibrated(
    args: &DiskValidateArgs,
    disk: &DiskSpec,
    records: &[ValidateRecord],
) -> Result<Option<Vec<Replayed>>, InputError> {
    let side_given = matches!(args.think, Some(ThinkPlace::Before | ThinkPlace::After));
    match &disk.device {
        DeviceSpec::Drive(drive) if args.clock == ValidateClock::Measured && !side_given => predict(drive, records),
        _ => Ok(None),
    }
}

fn mechanics(device: &AnyDevice) -> Option<&Mechanics> {
    match device {
        AnyDevice::Mechanical(disk) => Some(&disk.model().mechanics),
        AnyDevice::Drive(drive) => Some(&drive.drive().model().mechanics),
        _ => None,
    }
}

fn think(
    args: &DiskValidateArgs,
    disk: &DiskSpec,
    mechanics: &Mechanics,
    records: &[ValidateRecord],
    context: &CommandContext,
) -> ThinkTime {
    let calibrated = match &disk.device {
        DeviceSpec::Drive(drive) => drive.measured.map(|measured| measured.think),
        _ => None,
    };
    match (args.think, calibrated, args.clock) {
        (Some(ThinkPlace::After), ..) | (None, Some(ThinkSide::After), _) => ThinkTime::After,
        (Some(ThinkPlace::Before), ..) | (None, Some(ThinkSide::Before), _) => ThinkTime::Before,
        (None, None, ValidateClock::Model) => ThinkTime::After,
        (Some(ThinkPlace::Auto) | None, ..) => {
            let found = think_by_phase(mechanics, records);
            let text = match found {
                Some(ThinkTime::Before) => "think times are those before their requests, by the phase of the spindle",
                Some(ThinkTime::After) => "think times are those after their requests, by the phase of the spindle",
                None => "the spindle shows no phase; think times are taken as those after their requests",
            };
            context.note(format_args!("note: {text}"));
            found.unwrap_or_default()
        }
    }
}

fn title(args: &DiskValidateArgs) -> String {
    let name = |path: &Path| path.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
    format!("{} against {}", name(Path::new(&args.spec)), name(&args.trace))
}

fn table(v: &Validation, terminal: Terminal) -> String {
    let right = |title| (title, Alignment::Right);
    let mut table = Table::new(&[
        ("", Alignment::Left),
        right("requests"),
        right("measured ms"),
        right("model ms"),
        right("demerit ms"),
        right("demerit %"),
    ]);
    let all = PartValidation {
        requests: v.requests,
        mean_measured_ms: v.mean_measured_ms,
        mean_model_ms: v.mean_model_ms,
        demerit_ms: v.demerit_ms,
        demerit_percent: v.demerit_percent,
        histogram_demerit_ms: v.demerit_ms,
    };
    for (name, part) in [("all", Some(&all)), ("reads", v.reads.as_ref()), ("writes", v.writes.as_ref())] {
        let Some(part) = part else { continue };
        table.row(vec![
            name.to_owned(),
            part.requests.to_string(),
            format!("{:.3}", part.mean_measured_ms),
            format!("{:.3}", part.mean_model_ms),
            format!("{:.3}", part.demerit_ms),
            format!("{:.2}", part.demerit_percent),
        ]);
    }
    let mut out = table.render(terminal);
    let e = &v.errors;
    let text = format!(
        "request by request: half are off by no more than {:.3} ms, 95 % by no more than {:.3} ms; {} are within 0.5 ms, \
         {} off by over half a rotation",
        e.median_ms,
        e.p95_ms,
        number::percent(e.within_half_ms),
        number::percent(e.off_half_rotation)
    );
    let _ = write!(out, "\n{}", wrap(&text, terminal.width));
    out
}
