//! `iopilot dads status`, `explain` and `restore`.

use super::Context;
use crate::args::{DadsExplain, DadsRestore, DadsStatus};
use crate::render::{self, Alignment, Table, wrap};
use iopilot_block::InputError;
use iopilot_live::dads::{DiskStatus, Phase, Recovery, ask, recover};
use std::fmt::Write as _;
use std::path::Path;

/// Shows what a running daemon does.
pub(super) fn run(args: &DadsStatus, context: &Context) -> anyhow::Result<String> {
    let status = ask(&args.runtime.runtime_dir)?;
    if args.json {
        return render::json(&status);
    }
    let right = |title| (title, Alignment::Right);
    let mut table = Table::new(&[
        ("disk", Alignment::Left),
        ("scheduler", Alignment::Left),
        ("doing", Alignment::Left),
        right("requests"),
        right("checks"),
        right("changes"),
        right("taken back"),
        right("model off"),
        right("lost"),
        ("last decision", Alignment::Left),
    ]);
    for disk in &status.disks {
        let last = disk.last.as_ref();
        let off = last.and_then(|check| check.model_error_percent);
        table.row(vec![
            disk.device.clone(),
            disk.scheduler.clone(),
            doing(disk).to_owned(),
            disk.requests.to_string(),
            disk.checks.to_string(),
            disk.changes.to_string(),
            disk.taken_back.to_string(),
            off.map_or("-".to_owned(), |percent| format!("{percent:.1} %")),
            disk.lost_events.to_string(),
            last_decision(disk),
        ]);
    }
    Ok(table.render(context.terminal))
}

/// The result of the last check.
fn last_decision(disk: &DiskStatus) -> String {
    let skipped = || disk.skipped.as_ref().map(|why| format!("none: {why}"));
    let decided = || disk.last.as_ref().map(|check| check.why.clone());
    disk.error.clone().or_else(skipped).or_else(decided).unwrap_or_else(|| "none yet".to_owned())
}

pub(super) fn doing(disk: &DiskStatus) -> &'static str {
    match (disk.phase, disk.dry_run) {
        (Phase::Ended, _) => "ended",
        (Phase::StandingBy, _) => "standing by",
        (Phase::Changing, _) => "changing",
        (Phase::Simulating, _) => "simulating",
        (Phase::Collecting, true) => "dry run",
        (Phase::Collecting, false) => "flying",
    }
}

/// The last decision on each disk.
pub(super) fn explain(args: &DadsExplain, context: &Context) -> anyhow::Result<String> {
    let status = ask(&args.runtime.runtime_dir)?;
    let name = |path: &Path| path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let wanted = args.device.as_deref().map(name);
    let disks: Vec<&DiskStatus> =
        status.disks.iter().filter(|d| wanted.as_ref().is_none_or(|w| *w == d.device)).collect();
    if disks.is_empty() {
        let flown = status.disks.iter().map(|d| d.device.as_str()).collect::<Vec<_>>().join(", ");
        let got = wanted.unwrap_or_default();
        return Err(InputError::new("DEVICE", got, format!("a disk that is flown: {flown}")).into());
    }
    let mut out = String::new();
    for disk in disks {
        out += &words(disk, context.terminal.width);
    }
    Ok(out)
}

fn words(disk: &DiskStatus, width: usize) -> String {
    let mut text = format!("{}: {} is in use. ", disk.device, disk.scheduler);
    if let Some(why) = &disk.skipped {
        let _ = write!(text, "No check was made after the last {} s: {why}. ", disk.interval_s);
    }
    let Some(check) = &disk.last else {
        let _ = write!(text, "No check has been made yet; one is made every {} s.", disk.interval_s);
        return wrap(&text, width);
    };
    let seconds = disk.interval_s;
    let _ = write!(
        text,
        "At the last check, {:.0} s into the flight, {} requests had come in the {seconds} s before. ",
        check.at_s, check.requests
    );
    if check.tried < check.requests {
        let _ = write!(
            text,
            "The candidates were tried on the last {} of them, as more would have taken too long. ",
            check.tried
        );
    }
    let _ = write!(text, "{} ", check.why);
    let mut order: Vec<_> = check.candidates.iter().collect();
    order.sort_by(|a, b| a.judged.total_cmp(&b.judged));
    if let Some(best) = order.first().filter(|c| c.judged > 0.0) {
        let each = order.iter().map(|c| format!("{} {:+.1} %", c.scheduler, 100.0 * (c.judged / best.judged - 1.0)));
        let _ = write!(text, "By {}, against the best: {}. ", disk.objective, each.collect::<Vec<_>>().join(", "));
    }
    match check.model_error_percent {
        Some(percent) => {
            let _ =
                write!(text, "What the model says of {} is {percent:+.1} % off what was measured. ", check.scheduler);
        }
        None => text.push_str("What was measured does not tell how far the model is off. "),
    }
    let _ = write!(text, "A change was estimated to take {:.0} ms. ", 1e3 * check.change_estimate_s);
    if let Some(change) = &disk.last_change {
        let _ = write!(text, "The last change was to {} at {:.0} s", change.decision, change.at_s);
        let _ = match (change.predicted_gain_percent, change.measured_gain_percent) {
            (Some(promised), Some(saved)) => write!(text, ": it was to save {promised:.1} % and saved {saved:.1} %. "),
            (Some(promised), None) => {
                write!(text, ": it was to save {promised:.1} %; what it saved is not known yet. ")
            }
            (None, _) => {
                write!(text, ", which promised nothing: a change was taken back, or the default put in place. ")
            }
        };
    }
    if disk.dry_run && check.acts() {
        text.push_str("This is a dry run: nothing was changed.");
    }
    wrap(text.trim_end(), width)
}

/// Puts back what a killed daemon changed.
pub(super) fn restore(args: &DadsRestore, context: &Context) -> anyhow::Result<String> {
    let done = recover(&args.runtime.runtime_dir)?;
    if done.is_empty() {
        context.note("nothing is left to be put back");
    }
    Ok(done.iter().map(|recovery| recovered(recovery) + "\n").collect())
}

/// The line that says what was put back.
pub(super) fn recovered(recovery: &Recovery) -> String {
    let device = recovery.device.display();
    match &recovery.scheduler {
        Some(scheduler) => format!("{device}: a daemon that was killed had left its scheduler; {scheduler} is back"),
        None => format!("{device}: a daemon that was killed had left its scheduler; the disk is gone"),
    }
}
