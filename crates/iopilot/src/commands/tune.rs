//! `iopilot tune`: which settings of a disk's queue serve a load best, and how to apply them.

use super::{CommandContext, session};
use crate::args::{TuneArgs, TuneClassArg};
use crate::progress::with_progress_bar;
use crate::render;
use anyhow::Context as _;
use iopilot_block::InputError;
use iopilot_compare::Measure;
use iopilot_sim::{Machine, SimError};
use iopilot_trace::Destination;
use iopilot_tune::{REQUESTS_PER_SECOND, TuneLoad, TuneOptions, TuneReport};
use iopilot_workload::Workload;
use std::io::{self, Write};
use std::path::Path;

/// A trace with fewer requests than this in each half is not divided.
const SHORTEST_HALF: u64 = 500;

/// Runs the command and returns the text to print.
pub(crate) fn run(args: &TuneArgs, context: &CommandContext) -> anyhow::Result<String> {
    session::check_writable("--udev", args.udev.as_ref())?;
    let objective = args.objective.as_deref().map(str::parse::<Measure>).transpose();
    let objective = objective.map_err(|e| InputError { field: "--objective".to_owned(), ..e })?;
    let mut loads = Vec::new();
    for machine in machines(args, context)? {
        for path in &args.workload {
            loads.push(load(path, args, machine.clone())?);
        }
    }
    let requests = args.requests.unwrap_or((args.budget.as_secs_f64() * REQUESTS_PER_SECOND as f64) as u64);
    let options = TuneOptions {
        objective,
        requests,
        seed: args.replay.seed,
        each_model: args.class == TuneClassArg::Model,
        redcap: !args.no_redcap,
    };
    let report = with_progress_bar(context.quiet, None, |progress| {
        iopilot_tune::tune(&loads, &options, iopilot_dads::simulate, progress)
    })?;
    if let Some(path) = &args.udev {
        write_rules(path, &report).with_context(|| format!("writing {}", path.display()))?;
        context.note(format_args!("udev rules written to {}", path.display()));
    }
    if args.json { render::json(&report) } else { Ok(render::tuned(&report, args.udev.as_deref(), context.terminal)) }
}

/// The machines that `--disk` and `--machine` name.
fn machines(args: &TuneArgs, context: &CommandContext) -> Result<Vec<Machine>, SimError> {
    let on_disk = |name: &String| Machine::with_disk(name, session::load_disk(name, context)?);
    let described = |path: &std::path::PathBuf| Machine::load_with(path, |disk| session::load_disk(disk, context));
    args.disk.iter().map(on_disk).chain(args.machine.iter().map(described)).collect()
}

/// The load in `path` for `machine`, with the settings of its recording, and its halves if it is a trace.
fn load(path: &Path, args: &TuneArgs, mut machine: Machine) -> Result<TuneLoad, SimError> {
    let options = session::options(&args.replay)?;
    let whole = Workload::load(path, &options, machine.capacity())?;
    session::take_settings(&mut machine, std::slice::from_ref(&whole), &args.replay);
    let halves = match &whole {
        // Standard input can be read once.
        Workload::Trace(trace) if trace.len() as u64 >= 2 * SHORTEST_HALF && path != Path::new("-") => {
            let middle = trace.len() as u64 / 2;
            let half = |skip: u64, limit: u64| {
                let mut options = options.clone();
                (options.trace.skip, options.trace.limit) = (skip, Some(limit));
                options.trace.mode = Some(trace.mode());
                Workload::load(path, &options, machine.capacity())
            };
            Some((half(0, middle)?, half(middle, trace.len() as u64 - middle)?))
        }
        _ => None,
    };
    Ok(TuneLoad { machine, workload: whole, halves })
}

/// Writes the rules of all classes, whole or not at all.
fn write_rules(path: &Path, report: &TuneReport) -> io::Result<()> {
    let (destination, mut file) = Destination::create(path)?;
    let rules: String = report.classes.iter().map(|class| class.udev_rule.as_str()).collect();
    file.write_all(rules.as_bytes())?;
    destination.commit(&file)
}
