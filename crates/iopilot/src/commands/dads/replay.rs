//! `iopilot dads replay`: the autopilot on a simulated disk.

use super::settings::decisions;
use super::{CommandContext, session};
use crate::args::DadsReplayArgs;
use crate::progress::with_progress_bar;
use crate::render::{self, Alignment, Table, wrap};
use crate::report;
use iopilot_block::InputError;
use iopilot_compare::{Comparison, comparison};
use iopilot_dads::{
    AutopilotSettings, FlightPlan, FlightResult, Objective, SchedulerCheck, fly, oracle, parse_candidates,
};
use iopilot_render::Terminal;
use iopilot_sched::SchedulerSpec;
use iopilot_sim::{Machine, RunOptions, RunReport, SimError};
use iopilot_trace::{Destination, TraceError};
use serde::Serialize;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

/// A flight, as `iopilot dads replay --json` prints it: a comparison, and the autopilot's decisions.
#[derive(Serialize)]
struct Report<'a> {
    interval_s: f64,
    objective: Objective,
    changes: usize,
    /// How many checks restarted the scheduler in use.
    renewals: usize,
    /// Seconds that changes and restarts took in all.
    changing_s: f64,
    checks: &'a [SchedulerCheck],
    /// The scheduler that the oracle chose for each interval.
    oracle_choices: &'a [String],
    #[serde(flatten)]
    comparison: &'a Comparison,
}

/// Runs the command and returns the text to print.
pub(super) fn run(args: &DadsReplayArgs, context: &CommandContext) -> anyhow::Result<String> {
    session::check_writable("--report", args.output.report.as_ref())?;
    session::check_writable("--audit", args.audit.as_ref())?;
    let mut machine = session::machine(&args.machine, context)?;
    session::take_redcap(&mut machine, args.redcap.as_deref())?;
    let plan = plan(args, &machine)?;
    let workload = session::workload(&args.workload, &args.replay, &machine)?;
    let candidates = &plan.settings.candidates;
    let total = workload.requests().map(|n| n * candidates.len() as u64);
    let options = RunOptions { seed: plan.seed, log: false, ..RunOptions::default() };
    let (flight, alone, oracle) = with_progress_bar(context.quiet, total, |progress| -> anyhow::Result<_> {
        let flight = fly(&machine, &workload, &plan, |_| Ok::<(), SimError>(()))?;
        let alone = session::runs(&machine, &workload, candidates, &options, progress)?;
        let oracle = match args.no_oracle {
            true => None,
            false => Some(oracle(&machine, &workload, candidates, plan.settings.interval, plan.seed)?),
        };
        Ok((flight, alone, oracle))
    })?;
    if let Some(path) = &args.audit {
        write_audit(path, &flight.checks)?;
    }
    let mut runs = vec![flight.report.clone()];
    runs.extend(alone);
    let (oracle, choices) = oracle.unzip();
    runs.extend(oracle);
    let all = comparison(&machine, &workload, &options, runs);
    if let Some(path) = &args.output.report {
        report::write_flight(path, &all, &flight.checks, &context.command_line)?;
        context.note(format_args!("report written to {}", path.display()));
    }
    if args.output.json {
        return render::json(&Report {
            interval_s: plan.settings.interval.as_secs_f64(),
            objective: plan.settings.objective,
            changes: flight.checks.iter().filter(|c| c.changes()).count(),
            renewals: flight.checks.iter().filter(|c| c.renews()).count(),
            changing_s: flight.changing.as_secs_f64(),
            checks: &flight.checks,
            oracle_choices: choices.as_deref().unwrap_or_default(),
            comparison: &all,
        });
    }
    Ok(text(&flight, &all, context.terminal))
}

fn plan(args: &DadsReplayArgs, machine: &Machine) -> Result<FlightPlan, InputError> {
    let candidates = parse_candidates(&args.candidates)?;
    let place = |option: &str, name: &Option<String>| -> Result<Option<usize>, InputError> {
        let Some(name) = name else { return Ok(None) };
        let spec = SchedulerSpec::parse(name)?;
        let names = || candidates.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let found = candidates.iter().position(|c| *c == spec);
        found.map(Some).ok_or_else(|| InputError::new(option, name, format!("one of the candidates: {}", names())))
    };
    let initial = place("--initial", &args.initial)?.unwrap_or(0);
    let default = place("--default", &args.default)?.unwrap_or(initial);
    let settings = AutopilotSettings {
        initial,
        default,
        objective: args.objective.parse()?,
        ..decisions(candidates, &args.decisions)?
    };
    Ok(FlightPlan::new(settings, machine, args.replay.seed))
}

fn write_audit(path: &Path, checks: &[SchedulerCheck]) -> Result<(), TraceError> {
    let whole_or_nothing = || {
        let (destination, mut file) = Destination::create(path)?;
        for check in checks {
            serde_json::to_writer(&mut file, check)?;
            file.write_all(b"\n")?;
        }
        destination.commit(&file)
    };
    whole_or_nothing().map_err(|e| TraceError::io(path, e))
}

fn text(flight: &FlightResult, all: &Comparison, terminal: Terminal) -> String {
    let mut out = checks(&flight.checks, terminal);
    out.push('\n');
    out += &render::comparison(all, true, terminal);
    let _ = write!(out, "\n{}", wrap(&summary(flight, all), terminal.width));
    out
}

/// Every change, and how many checks changed nothing in between.
fn checks(checks: &[SchedulerCheck], terminal: Terminal) -> String {
    let right = |title| (title, Alignment::Right);
    let mut table = Table::new(&[
        right("at s"),
        right("requests"),
        right("model off"),
        right("saved before"),
        ("decision", Alignment::Left),
    ]);
    let mut quiet = 0;
    let percent = |value: Option<f64>| value.map_or("-".to_owned(), |v| format!("{v:.1} %"));
    let row = |check: &SchedulerCheck, why: String| {
        let saved = match (check.predicted_gain_percent, check.measured_gain_percent) {
            (Some(predicted), Some(measured)) => format!("{measured:.1} of {predicted:.1} %"),
            _ => "-".to_owned(),
        };
        let requests = check.requests.to_string();
        vec![format!("{:.1}", check.at_s), requests, percent(check.model_error_percent), saved, why]
    };
    let last = checks.len().saturating_sub(1);
    for (i, check) in checks.iter().enumerate() {
        if check.acts() || i == last || check.measured_gain_percent.is_some() {
            let passed = match std::mem::take(&mut quiet) {
                0 => String::new(),
                1 => "(one check changed nothing) ".to_owned(),
                n => format!("({n} checks changed nothing) "),
            };
            table.row(row(check, format!("{passed}{}", check.why)));
        } else {
            quiet += 1;
        }
    }
    if checks.is_empty() {
        return "The workload ended before the first check.\n".to_owned();
    }
    table.render(terminal)
}

/// The autopilot against each scheduler alone, and against the oracle.
fn summary(flight: &FlightResult, all: &Comparison) -> String {
    let named = |name: &str| all.runs.iter().find(|r| r.scheduler == name);
    let alone: Vec<&RunReport> = all.runs.iter().filter(|r| r.scheduler != "dads" && r.scheduler != "oracle").collect();
    let by_time = |a: &&&RunReport, b: &&&RunReport| a.elapsed_s.total_cmp(&b.elapsed_s);
    let (Some(dads), Some(best), Some(worst)) =
        (named("dads"), alone.iter().min_by(by_time), alone.iter().max_by(by_time))
    else {
        return String::new();
    };
    let against = |other: &RunReport| {
        let share = 100.0 * (dads.elapsed_s / other.elapsed_s - 1.0);
        let than = if share > 0.0 { "more" } else { "less" };
        format!("{:.1} % {than} than {}", share.abs(), other.scheduler)
    };
    let changes = flight.checks.iter().filter(|c| c.changes()).count();
    let renewals = flight.checks.iter().filter(|c| c.renews()).count();
    let mut text = format!("dads took {:.2} s: {}, the fastest alone", dads.elapsed_s, against(best));
    if worst.scheduler != best.scheduler {
        let _ = write!(text, ", {}, the slowest", against(worst));
    }
    if let Some(oracle) = named("oracle") {
        let _ = write!(text, ", {} with foresight of each interval", against(oracle));
    }
    let _ = write!(
        text,
        ". {changes} change{}{} in {} checks took {:.2} s.",
        if changes == 1 { "" } else { "s" },
        match renewals {
            0 => String::new(),
            1 => " and a renewal".to_owned(),
            n => format!(" and {n} renewals"),
        },
        flight.checks.len(),
        flight.changing.as_secs_f64()
    );
    text
}
