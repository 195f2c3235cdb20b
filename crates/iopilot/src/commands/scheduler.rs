//! `iopilot scheduler`: the schedulers and their tunables.

use super::CommandContext;
use crate::args::SchedulerCommand;
use crate::render::{self, Alignment, Table, number};
use iopilot_block::InputError;
use iopilot_sched::{Lineage, Prio, PrioTunables, SCHEDULERS, SchedulerInfo, SchedulerSpec, Tunable};
use serde::Serialize;
use std::fmt::Write;

/// A scheduler, as `--json` prints it.
#[derive(Serialize)]
struct Description {
    name: String,
    lineage: &'static str,
    summary: String,
    tunables: Vec<TunableDescription>,
}

/// A tunable, as `--json` prints it.
#[derive(Serialize)]
struct TunableDescription {
    name: &'static str,
    unit: String,
    default: f64,
    min: f64,
    max: f64,
    integer: bool,
    description: String,
}

/// Runs the command and returns the text to print.
pub(crate) fn run(command: &SchedulerCommand, context: &CommandContext) -> anyhow::Result<String> {
    match command {
        SchedulerCommand::List { json: true } => {
            render::json(&SCHEDULERS.iter().map(|info| describe(&Subject::of(info))).collect::<Vec<_>>())
        }
        SchedulerCommand::List { json: false } => Ok(list(context)),
        SchedulerCommand::Show { name, json } => {
            let subject = Subject::named(name)?;
            if *json { render::json(&describe(&subject)) } else { Ok(show(&subject, context)) }
        }
    }
}

/// The subject of `show`: a scheduler, `prio`, or `prio` around a scheduler.
struct Subject {
    name: String,
    lineage: &'static str,
    summary: String,
    tunables: Vec<&'static Tunable>,
}

impl Subject {
    fn of(info: &'static SchedulerInfo) -> Self {
        Self {
            name: info.name.to_owned(),
            lineage: lineage(info.lineage),
            summary: info.summary.to_owned(),
            tunables: info.tunables.iter().collect(),
        }
    }

    fn named(name: &str) -> Result<Self, InputError> {
        let own = PrioTunables::SPECS.iter();
        if name.trim() == "prio" {
            let (name, summary) = ("prio(SCHEDULER)".to_owned(), Prio::SUMMARY.to_owned());
            return Ok(Self { name, lineage: "any", summary, tunables: own.collect() });
        }
        let spec = SchedulerSpec::parse(name)?;
        let subject = Self::of(spec.info());
        if spec.prio.is_none() {
            return Ok(subject);
        }
        Ok(Self {
            name: format!("prio({})", subject.name),
            summary: format!("{}; inside: {}", Prio::SUMMARY, subject.summary),
            tunables: own.chain(subject.tunables).collect(),
            ..subject
        })
    }
}

fn list(context: &CommandContext) -> String {
    let left = |title| (title, Alignment::Left);
    let mut table = Table::new(&[left("name"), left("lineage"), left("tunables"), left("what it does")]);
    for s in SCHEDULERS {
        let tunables = match s.tunables.len() {
            0 => "-".to_owned(),
            n => n.to_string(),
        };
        table.row(vec![s.name.to_owned(), lineage(s.lineage).to_owned(), tunables, s.summary.to_owned()]);
    }
    let prio = format!("prio(SCHEDULER), {}: see `iopilot scheduler show prio`.", Prio::SUMMARY);
    format!("{}\n{}\n", table.render(context.terminal), render::wrap(&prio, context.terminal.width))
}

fn show(subject: &Subject, context: &CommandContext) -> String {
    let terminal = context.terminal;
    let mut out = format!("{} ({})\n", terminal.bold(&subject.name), subject.lineage);
    let _ = writeln!(out, "  {}", subject.summary);
    for t in &subject.tunables {
        let default = format!("{} = {}", t.name, number::tick(t.default));
        let _ = writeln!(out, "\n  {}  {}", terminal.bold(&default), range(t));
        for line in render::wrap(&prose(t.doc), terminal.width.saturating_sub(6).max(20)).lines() {
            let _ = writeln!(out, "      {line}");
        }
    }
    if subject.tunables.is_empty() {
        out.push_str("  It has no tunables.\n");
    }
    out
}

fn range(t: &Tunable) -> String {
    let whole = if t.integer { "whole, " } else { "" };
    // Above this, a double cannot represent every whole number. Such a maximum means no limit.
    if t.max >= 9e15 {
        format!("({}, {whole}{} or more)", t.unit, number::tick(t.min))
    } else {
        format!("({}, {whole}{} to {})", t.unit, number::tick(t.min), number::tick(t.max))
    }
}

fn describe(subject: &Subject) -> Description {
    let tunable = |t: &&Tunable| TunableDescription {
        name: t.name,
        unit: t.unit.to_string(),
        default: t.default,
        min: t.min,
        max: t.max,
        integer: t.integer,
        description: prose(t.doc),
    };
    Description {
        name: subject.name.clone(),
        lineage: subject.lineage,
        summary: subject.summary.clone(),
        tunables: subject.tunables.iter().map(tunable).collect(),
    }
}

/// Documentation without its markup.
fn prose(doc: &str) -> String {
    doc.replace(['`', '[', ']'], "").split_whitespace().collect::<Vec<_>>().join(" ")
}

fn lineage(lineage: Lineage) -> &'static str {
    match lineage {
        Lineage::Classic => "classic",
        Lineage::Linux2_6 => "Linux 2.6.24",
        Lineage::Linux6 => "Linux 6.x",
        Lineage::Positional => "positional",
    }
}
