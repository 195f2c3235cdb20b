//! The steps that `compare`, `simulate` and `demo` share: loading inputs, running, and writing the page.

use super::CommandContext;
use crate::args::{self, MachineArgs, ReplayArgs, ReplayModeArg};
use crate::progress::with_progress_bar;
use crate::report;
use iopilot_block::InputError;
use iopilot_catalogue::{DeviceError, DiskSpec};
use iopilot_compare::{Candidates, Comparison, comparison, replays_of};
use iopilot_redcap::RedcapSpec;
use iopilot_sched::SchedulerSpec;
use iopilot_sim::{LogSink, Machine, Progress, RunOptions, RunReport, SimError};
use iopilot_trace::Destination;
use iopilot_workload::replay::ReplayMode;
use iopilot_workload::{AddressFit, TraceOptions, Workload, WorkloadOptions};
use rayon::prelude::*;
use std::path::{Path, PathBuf};

/// The machine that `--disk` or `--machine` names.
pub(super) fn machine(args: &MachineArgs, context: &CommandContext) -> Result<Machine, SimError> {
    let machine = match (&args.machine, &args.disk) {
        (Some(path), _) => Machine::load_with(path, |disk| load_disk(disk, context)),
        (None, Some(disk)) => Machine::with_disk(disk, load_disk(disk, context)?),
        (None, None) => unreachable!("the argument parser asks for one of them"),
    }?;
    if let Some((asked, accepted)) = machine.capped_queue_depth() {
        context.note(format_args!(
            "block.queue_depth: {asked} asked for, {accepted} used, as the disk accepts no more; its own queue_depth is \
             in the disk's file (`iopilot disk show NAME --toml`)"
        ));
    }
    Ok(machine)
}

/// The disk called `name`: one of the catalogue, a TOML file, or one of DiskSim's files. Warnings about the
/// latter go to standard error.
pub(super) fn load_disk(name: &str, context: &CommandContext) -> Result<DiskSpec, DeviceError> {
    let path = Path::new(name);
    if !iopilot_disksim::is_disksim_file(path) {
        return iopilot_catalogue::load_disk(name);
    }
    let drive = iopilot_disksim::load_drive(path)?;
    drive.warnings.iter().for_each(|warning| context.note(warning));
    Ok(drive.spec)
}

/// The schedulers that the lists name.
pub(super) fn schedulers(lists: &[String]) -> Result<Vec<SchedulerSpec>, InputError> {
    let mut specs: Vec<SchedulerSpec> = Vec::new();
    for list in lists {
        for spec in SchedulerSpec::parse_list(list)? {
            if specs.contains(&spec) {
                return Err(InputError::new("--scheduler", format!("{spec} twice"), "each scheduler once"));
            }
            specs.push(spec);
        }
    }
    Ok(specs)
}

/// Sets the machine's cache as `--redcap` says, if given; `off` means no cache.
pub(super) fn take_redcap(machine: &mut Machine, text: Option<&str>) -> Result<(), InputError> {
    if let Some(text) = text {
        machine.redcap = (text != "off").then(|| RedcapSpec::parse(text)).transpose()?;
    }
    Ok(())
}

/// The caches that `list` names; `None` means no cache. A setting with `=` belongs to the cache before it.
pub(super) fn redcaps(list: Option<&str>) -> Result<Vec<Option<RedcapSpec>>, InputError> {
    let mut texts: Vec<String> = Vec::new();
    for item in list.into_iter().flat_map(|list| list.split(',')) {
        match texts.last_mut().filter(|last| item.contains('=') && last.as_str() != "off") {
            Some(last) => *last += &format!(",{item}"),
            None => texts.push(item.trim().to_owned()),
        }
    }
    let parse = |text: &String| (text != "off").then(|| RedcapSpec::parse(text)).transpose();
    let caches = texts.iter().map(parse).collect::<Result<Vec<_>, _>>()?;
    match caches.iter().enumerate().find(|(n, cache)| caches[..*n].contains(cache)) {
        Some((n, _)) => Err(InputError::new("--redcap", format!("{} twice", texts[n]), "each cache once")),
        None => Ok(caches),
    }
}

/// The workload in `path`, read as the options say, for the machine's disk.
pub(super) fn workload(path: &Path, args: &ReplayArgs, machine: &Machine) -> Result<Workload, SimError> {
    Ok(Workload::load(path, &options(args)?, machine.capacity())?)
}

/// Takes the block layer's settings from the first of `workloads`, unless the options say otherwise. Returns a note of
/// what was taken.
pub(super) fn take_settings(machine: &mut Machine, workloads: &[Workload], args: &ReplayArgs) -> Option<String> {
    let recording = workloads.first()?.recording().filter(|_| args.settings == args::SettingsArg::Recorded)?;
    machine.take_settings(recording)
}

/// How a workload is read.
pub(super) fn options(args: &ReplayArgs) -> Result<WorkloadOptions, InputError> {
    let mode = args.mode.map(|m| match m {
        ReplayModeArg::Open => ReplayMode::Open,
        ReplayModeArg::Closed => ReplayMode::Closed,
        ReplayModeArg::Dependent => ReplayMode::Dependent,
    });
    let fit = match args.fit {
        args::FitArg::Error => AddressFit::Error,
        args::FitArg::Wrap => AddressFit::Wrap,
    };
    let trace = TraceOptions {
        mode,
        population: args.population,
        device: args.device,
        columns: args.columns.layout()?,
        reorder: args.order.window(),
        skip: 0,
        limit: args.limit,
        fit,
        window: args.window,
        time_scale: args.time_scale,
    };
    Ok(WorkloadOptions { format: args.format.clone(), trace })
}

/// Runs the workloads, recordings of one load, under each scheduler, each `replays` times, with a progress bar.
pub(super) fn predict(
    machine: &Machine,
    workloads: &[Workload],
    candidates: &Candidates<'_>,
    options: &RunOptions,
    context: &CommandContext,
) -> Result<Comparison, SimError> {
    let &Candidates { schedulers, redcaps, replays, .. } = candidates;
    let requests = workloads.iter().map(Workload::requests).sum::<Option<u64>>();
    let runs = replays_of(workloads, replays) / workloads.len() as u64 * schedulers.len() as u64;
    let total = requests.map(|n| n * (runs * redcaps.len().max(1) as u64 + 1));
    with_progress_bar(context.quiet, total, |progress| {
        iopilot_compare::predict(machine, workloads, candidates, options, progress)
    })
}

/// Runs the workload under each scheduler, with a progress bar.
pub(super) fn run(
    machine: &Machine,
    workload: &Workload,
    schedulers: &[SchedulerSpec],
    options: &RunOptions,
    context: &CommandContext,
) -> Result<Comparison, SimError> {
    let total = workload.requests().map(|n| n * schedulers.len() as u64);
    with_progress_bar(context.quiet, total, |progress| {
        Ok(comparison(machine, workload, options, runs(machine, workload, schedulers, options, progress)?))
    })
}

/// Runs the workload under each scheduler.
pub(super) fn runs(
    machine: &Machine,
    workload: &Workload,
    schedulers: &[SchedulerSpec],
    options: &RunOptions,
    progress: &Progress,
) -> Result<Vec<RunReport>, SimError> {
    let run = |scheduler| iopilot_dads::simulate(machine, workload, scheduler, options, progress);
    // All results are collected, so that the error reported is the first in order.
    let runs: Vec<Result<_, SimError>> = schedulers.par_iter().map(run).collect();
    runs.into_iter().collect()
}

/// Runs the workload under one scheduler, with a progress bar; every request goes to `log`.
pub(super) fn run_logged(
    machine: &Machine,
    workload: &Workload,
    scheduler: &SchedulerSpec,
    options: &RunOptions,
    context: &CommandContext,
    log: LogSink<'_>,
) -> Result<Comparison, SimError> {
    let run = |progress: &Progress| iopilot_dads::simulate_logged(machine, workload, scheduler, options, progress, log);
    let report = with_progress_bar(context.quiet, workload.requests(), run)?;
    Ok(comparison(machine, workload, options, vec![report]))
}

/// Rejects an output file that cannot be written, before a long run begins.
pub(super) fn check_writable(option: &str, path: Option<&PathBuf>) -> Result<(), InputError> {
    let Some(path) = path else { return Ok(()) };
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let expected = match (folder.is_dir(), path.is_dir()) {
        (false, _) => "a file in a folder that exists".to_owned(),
        (_, true) => "a file, not a folder".to_owned(),
        _ => match Destination::create(path) {
            Ok(_) => return Ok(()),
            Err(e) => format!("a file that can be written ({e})"),
        },
    };
    Err(InputError::new(option, path.display().to_string(), expected))
}

/// Rejects a file that cannot be appended to.
pub(super) fn check_writable_log(option: &str, path: Option<&PathBuf>) -> Result<(), InputError> {
    let Some(path) = path.filter(|p| p.exists()) else { return check_writable(option, path) };
    match std::fs::File::options().append(true).open(path) {
        Ok(_) => Ok(()),
        Err(e) => {
            Err(InputError::new(option, path.display().to_string(), format!("a file that can be added to ({e})")))
        }
    }
}

/// Writes the page, if one was asked for.
pub(super) fn write_report(
    path: Option<&PathBuf>,
    comparison: &Comparison,
    context: &CommandContext,
) -> anyhow::Result<()> {
    if let Some(path) = path {
        report::write(path, comparison, &context.command_line)?;
        context.note(format_args!("report written to {}", path.display()));
    }
    Ok(())
}
