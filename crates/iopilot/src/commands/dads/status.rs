//! `iopilot dads status`, `explain` and `restore`.

use super::CommandContext;
use crate::args::{DadsExplainArgs, DadsRestoreArgs, DadsStatusArgs};
use crate::render::{self, wrap};
use iopilot_block::InputError;
use iopilot_live::dads::{CheckSummary, DiskStatus, Phase, Recovery, ask, recover};
use iopilot_render::number::plain;
use iopilot_render::{Terminal, fit};
use std::fmt::Write as _;
use std::path::Path;

/// Shows what a running daemon does.
pub(super) fn run(args: &DadsStatusArgs, context: &CommandContext) -> anyhow::Result<String> {
    let status = ask(&args.runtime.runtime_dir)?;
    if args.json {
        return render::json(&status);
    }
    Ok(status.disks.iter().map(|disk| text(disk, context.terminal)).collect::<Vec<_>>().join("\n"))
}

/// The status of one disk: what it does, the last checks over time, and the last decision.
fn text(disk: &DiskStatus, terminal: Terminal) -> String {
    let off = disk.last.as_ref().and_then(|check| check.model_error_percent);
    let mut facts = vec![
        format!("{:.0} IOPS", disk.iops),
        format!("{} ms each", plain(disk.latency_ms)),
        format!("{} inside", disk.pending),
        format!("{} requests", disk.requests),
        format!("{} checks", disk.checks),
        format!("{} changes", disk.changes),
        format!("{} taken back", disk.taken_back),
        off.map_or("model not compared yet".to_owned(), |percent| format!("model {percent:.1} % off")),
    ];
    if disk.lost_events > 0 {
        facts.push(format!("{} events lost", disk.lost_events));
    }
    let head = format!("{}: {}, {}", disk.device, disk.scheduler, doing(disk));
    let mut out = format!("{}\n", terminal.bold(&fit(&head, terminal.width)));
    let _ = writeln!(out, "{}", wrap(&facts.join(", "), terminal.width).trim_end());
    out += &over_time(&disk.history, terminal.width);
    let _ = writeln!(out, "{}", wrap(&format!("Last decision: {}", last_decision(disk)), terminal.width).trim_end());
    out
}

/// Requests per second and their time at the last checks, above an axis of time.
fn over_time(history: &[CheckSummary], width: usize) -> String {
    const LABEL: usize = 6;
    let room = width.saturating_sub(LABEL).min(120);
    let shown = &history[history.len().saturating_sub(room)..];
    let (Some(first), Some(last)) = (shown.first(), shown.last()) else { return String::new() };
    if shown.len() < 2 {
        return String::new();
    }
    let bars = |value: &dyn Fn(&CheckSummary) -> f64| -> (String, f64) {
        let most = shown.iter().map(value).fold(0.0, f64::max);
        let bar = |check: &CheckSummary| {
            let height = if most > 0.0 { (value(check) / most * 7.0).round() as usize } else { 0 };
            ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'][height.min(7)]
        };
        (shown.iter().map(bar).collect(), most)
    };
    let (iops, most) = bars(&|check| check.iops);
    let (latency, longest) = bars(&|check| check.latency_ms);
    let began = format!("-{:.0} s", last.at_s - first.at_s);
    let gap = shown.len().saturating_sub(began.chars().count() + "now".len());
    // The axis of a short history has no room for both labels.
    let axis = if gap > 0 { format!("{began}{}now", " ".repeat(gap)) } else { format!("{began} to now") };
    let line = |label: &str, text: &str| fit(format!("{label:<LABEL$}{text}").trim_end(), width) + "\n";
    let scale = format!("{:.0} IOPS and {} ms at most", most, plain(longest));
    line("IOPS", &iops) + &line("ms", &latency) + &line("", &axis) + &line("", &scale)
}

/// The result of the last check.
pub(super) fn last_decision(disk: &DiskStatus) -> String {
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
pub(super) fn explain(args: &DadsExplainArgs, context: &CommandContext) -> anyhow::Result<String> {
    let status = ask(&args.runtime.runtime_dir)?;
    let name = |path: &Path| path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let wanted = args.device.as_deref().map(name);
    let disks: Vec<&DiskStatus> =
        status.disks.iter().filter(|d| wanted.as_ref().is_none_or(|w| *w == d.device)).collect();
    if disks.is_empty() {
        let flown = status.disks.iter().map(|d| d.device.as_str()).collect::<Vec<_>>().join(", ");
        let got = wanted.unwrap_or_default();
        return Err(InputError::new("DEVICE", got, format!("a disk under the autopilot: {flown}")).into());
    }
    let mut out = String::new();
    for disk in disks {
        out += &words(disk, context.terminal.width);
    }
    Ok(out)
}

fn words(disk: &DiskStatus, width: usize) -> String {
    let mut text = format!("{}: {} is in use. ", disk.device, disk.scheduler);
    // Without an interval, checks are made as the load demands.
    let interval = Some(disk.interval_s).filter(|seconds| *seconds > 0.0);
    if let Some(why) = &disk.skipped {
        let after = interval.map_or_else(String::new, |seconds| format!(" after the last {seconds} s"));
        let _ = write!(text, "No check was made{after}: {why}. ");
    }
    let Some(check) = &disk.last else {
        let each = interval.map_or_else(String::new, |seconds| format!("; one is made every {seconds} s"));
        let _ = write!(text, "No check has been made yet{each}.");
        return wrap(&text, width);
    };
    let before = interval.map_or_else(String::new, |seconds| format!(" of the {seconds} s before"));
    let _ = write!(text, "The last check, at {:.0} s, saw {} requests{before}. ", check.at_s, check.requests);
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
            let _ = write!(text, "The prediction for {} is {percent:+.1} % off the measurement. ", check.scheduler);
        }
        None => text.push_str("The error of the prediction could not be measured. "),
    }
    let _ = write!(text, "A change was estimated to take {:.0} ms. ", 1e3 * check.change_estimate_s);
    if let Some(change) = &disk.last_change {
        let _ = write!(text, "The last change was to {} at {:.0} s", change.decision, change.at_s);
        let _ = match (change.predicted_gain_percent, change.measured_gain_percent) {
            (Some(promised), Some(saved)) => {
                write!(text, ": it promised to save {promised:.1} % and saved {saved:.1} %. ")
            }
            (Some(promised), None) => {
                write!(text, ": it promised to save {promised:.1} %; the saving is not measured yet. ")
            }
            (None, _) => {
                write!(text, ", without a promise: it reverted a change, or returned to the default. ")
            }
        };
    }
    if disk.dry_run && check.acts() {
        text.push_str("This is a dry run: nothing was changed.");
    }
    wrap(text.trim_end(), width)
}

/// Restores what a killed daemon changed.
pub(super) fn restore(args: &DadsRestoreArgs, context: &CommandContext) -> anyhow::Result<String> {
    let done = recover(&args.runtime.runtime_dir)?;
    if done.is_empty() {
        context.note("nothing to restore");
    }
    Ok(done.iter().map(|recovery| recovered(recovery) + "\n").collect())
}

/// The line that reports what was restored.
pub(super) fn recovered(recovery: &Recovery) -> String {
    let device = recovery.device.display();
    match &recovery.scheduler {
        Some(scheduler) => {
            format!("{device}: a daemon that was killed had left its scheduler; {scheduler} is restored")
        }
        None => format!("{device}: a daemon that was killed had left its scheduler; the disk is gone"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_fits_narrow_terminals() {
        let check = |n: u32| CheckSummary {
            at_s: f64::from(5 * n),
            scheduler: "bfq".to_owned(),
            measured: None,
            predicted: None,
            best: None,
            requests: 100,
            iops: f64::from(n),
            latency_ms: 7.25,
        };
        let disk = DiskStatus {
            device: "loop0".into(),
            scheduler: "bfq:low_latency=0".into(),
            history: (0..60).map(check).collect(),
            skipped: Some(
                "the model has learned from 17 requests, and needs more than that, which takes a while".into(),
            ),
            iops: 158.4,
            latency_ms: 405.12,
            ..DiskStatus::default()
        };
        for width in [80, 50, 20] {
            let told = text(&disk, Terminal { width, ..Terminal::detect(true) });
            assert!(told.lines().all(|line| line.chars().count() <= width), "{width}: {told}");
            if width >= 50 {
                for part in ["158 IOPS", "405 ms each", "-", "now", "▃", "█", "59 IOPS and 7.25 ms at most"] {
                    assert!(told.contains(part), "{part} is not in {told}");
                }
            }
        }
    }
}
