//! `iopilot experiment`: the literature, reproduced.

use super::CommandContext;
use crate::args::{ExperimentCommand, ExperimentRunArgs};
use crate::progress::with_progress_bar;
use crate::render::{self, Alignment, Table};
use anyhow::Context as _;
use iopilot_lab::Setup;
use serde::Serialize;

/// An experiment, as `list --json` prints it.
#[derive(Serialize)]
struct Entry {
    name: &'static str,
    source: &'static str,
    title: &'static str,
}

/// Runs the command and returns the text to print.
pub(super) fn run(command: &ExperimentCommand, context: &CommandContext) -> anyhow::Result<String> {
    match command {
        ExperimentCommand::List { json } => {
            let entries: Vec<Entry> = iopilot_lab::ALL
                .iter()
                .map(|&iopilot_lab::Experiment { name, source, title, .. }| Entry { name, source, title })
                .collect();
            if *json { render::json(&entries) } else { Ok(list(&entries, context)) }
        }
        ExperimentCommand::Run(args) => run_one(args, context),
    }
}

fn list(entries: &[Entry], context: &CommandContext) -> String {
    let left = |title| (title, Alignment::Left);
    let mut table = Table::new(&[left("name"), left("source"), left("title")]);
    for e in entries {
        table.row([e.name, e.source, e.title].map(str::to_owned).to_vec());
    }
    table.render(context.terminal)
}

fn run_one(args: &ExperimentRunArgs, context: &CommandContext) -> anyhow::Result<String> {
    let experiment = iopilot_lab::find(&args.name)?;
    if let Some(folder) = &args.out {
        std::fs::create_dir_all(folder).with_context(|| format!("making the folder {}", folder.display()))?;
    }
    let outcome = with_progress_bar(context.quiet, None, |progress| {
        (experiment.run)(&Setup { quick: args.quick, seed: args.seed, progress })
    })?;
    let result = iopilot_lab::ExperimentReport::new(experiment, args.quick, args.seed, &outcome);
    let json = render::json(&result)?;
    if let Some(folder) = &args.out {
        for path in iopilot_lab::write(folder, experiment.name, &json, &outcome)? {
            context.note(format_args!("{} written", path.display()));
        }
    }
    Ok(if args.json { json } else { iopilot_lab::text(experiment, &outcome, context.terminal) })
}
