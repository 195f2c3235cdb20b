//! `iopilot redcap`: disks under a cache in RAM that prefetches in disk order.

mod tui;

use super::session::load_disk;
use super::{CommandContext, background};
use crate::args::{RedcapAttachArgs, RedcapCommand};
use crate::render::{self, Alignment, Table};
use iopilot_block::InputError;
use iopilot_live::Signals;
use iopilot_live::redcap::{
    self, CheckNote, DryRunOptions, DryRunReport, RedcapAttachment, RedcapModel, RedcapOptions, RedcapServer,
    RedcapStatus,
};
use iopilot_redcap::RedcapSpec;
use iopilot_render::number::bytes;
use serde::Serialize;
use std::path::Path;

/// Decisions that `status` shows.
const SHOWN: usize = 5;

/// Runs the command and returns the text to print.
pub(crate) fn run(command: &RedcapCommand, context: &CommandContext) -> anyhow::Result<String> {
    match command {
        RedcapCommand::Attach(args) if args.dry_run => dry_run(args, context),
        RedcapCommand::Attach(args) if args.foreground => foreground(args, context),
        RedcapCommand::Attach(args) => {
            announce(&background::start(&["redcap", "serve"], &**args, context)?, args, context)
        }
        RedcapCommand::Serve => serve(context),
        RedcapCommand::List { state, json } => {
            let attached = redcap::list(&state.state_dir)?;
            if *json { render::json(&attached) } else { Ok(list(&attached, context)) }
        }
        RedcapCommand::Status { disk, state, json, tui } => {
            let disk = match disk {
                Some(disk) => disk.clone(),
                None => only(&state.state_dir)?,
            };
            if *tui {
                tui::show(&state.state_dir, &disk)?;
                return Ok(String::new());
            }
            let (attachment, status) = redcap::status(&state.state_dir, &disk)?;
            match json {
                true => render::json(&StatusReport { attachment: &attachment, status: &status }),
                false => Ok(status_text(&attachment, &status)),
            }
        }
        RedcapCommand::Detach { disks, all, force, state } => {
            let named = match all {
                true => redcap::list(&state.state_dir)?.into_iter().map(|attachment| attachment.name).collect(),
                false => disks.clone(),
            };
            for disk in named {
                let gone = redcap::detach(&state.state_dir, &disk, *force)?;
                context.note(format_args!("{} detached; its data are on {}", gone.name, gone.disk.display()));
            }
            Ok(String::new())
        }
    }
}

/// The name of the only cached disk there is.
fn only(state: &Path) -> anyhow::Result<String> {
    let mut attached = redcap::list(state)?;
    match (attached.pop(), attached.len()) {
        (Some(one), 0) => Ok(one.name),
        (None, _) => Err(InputError::new("cached disk", "", "one that is attached; there is none").into()),
        (Some(last), _) => {
            let names: Vec<_> = attached.iter().chain([&last]).map(|a| a.name.as_str()).collect();
            Err(InputError::new("cached disk", "", format!("one of {}", names.join(", "))).into())
        }
    }
}

/// Reports that a disk is ready: the device on standard output, the rest on standard error.
fn announce(
    attachment: &RedcapAttachment,
    args: &RedcapAttachArgs,
    context: &CommandContext,
) -> anyhow::Result<String> {
    attachment.warnings.iter().for_each(|warning| context.note(warning));
    if args.json {
        return render::json(attachment);
    }
    let RedcapAttachment { name, disk, size, settings, cache, .. } = attachment;
    context.note(format_args!(
        "{name}: {} of {}, under {} of cache ({settings})",
        bytes(*size),
        disk.display(),
        bytes(*cache)
    ));
    Ok(format!("{}\n", attachment.device.display()))
}

/// The server's side of `attach`.
fn serve(context: &CommandContext) -> anyhow::Result<String> {
    let server = RedcapServer::start(options(&background::wanted()?, context)?)?;
    background::ready(server.attachment(), || server.leave_terminal())?;
    server.serve()?;
    Ok(String::new())
}

/// Serves the disk in this process.
fn foreground(args: &RedcapAttachArgs, context: &CommandContext) -> anyhow::Result<String> {
    let server = RedcapServer::start(options(args, context)?)?;
    background::print(&announce(server.attachment(), args, context)?)?;
    server.serve()?;
    Ok(String::new())
}

fn options(args: &RedcapAttachArgs, context: &CommandContext) -> anyhow::Result<RedcapOptions> {
    let mut options = RedcapOptions::new(&args.device, spec(args)?);
    options.model = model(args, context)?;
    options.via = args.via.into();
    options.depth = args.depth;
    options.name.clone_from(&args.name);
    options.scheduler.clone_from(&args.scheduler);
    options.metrics.clone_from(&args.metrics);
    options.warm.clone_from(&args.warm);
    options.state.clone_from(&args.state.state_dir);
    Ok(options)
}

fn model(args: &RedcapAttachArgs, context: &CommandContext) -> anyhow::Result<RedcapModel> {
    Ok(match &args.model {
        Some(disk) => RedcapModel::Given { name: disk.clone(), device: load_disk(disk, context)?.build()? },
        None => RedcapModel::Learned { state: args.learned.clone() },
    })
}

/// Watches the disk, and says what a cache would have saved.
fn dry_run(args: &RedcapAttachArgs, context: &CommandContext) -> anyhow::Result<String> {
    let options = DryRunOptions {
        device: args.device.clone(),
        spec: spec(args)?,
        model: model(args, context)?,
        duration: args.duration,
    };
    let signals = Signals::catch()?;
    let tell = |check: &CheckNote| context.note(check_text(check));
    let report = redcap::dry_run(&options, &signals, tell)?;
    if args.json {
        return render::json(&report);
    }
    let DryRunReport {
        watched_s,
        reads,
        read_bytes,
        without_s,
        always_s,
        adaptive_s,
        active_percent,
        saved_percent,
        ..
    } = &report;
    let mut lines = vec![format!("watched  {watched_s:.0} s, {reads} reads of {}", bytes(*read_bytes))];
    match (&report.model_incomplete, report.checks.is_empty()) {
        (Some(why), _) => lines.push(format!("no decisions: {why}")),
        (None, true) => lines.push("no decisions: too few reads".to_owned()),
        (None, false) => lines.extend([
            format!("waiting  {without_s:.2} s without a cache, {always_s:.2} s with one that is always on"),
            format!("adaptive {adaptive_s:.2} s, {saved_percent:.1} % less; on for {active_percent:.0} % of the time"),
        ]),
    }
    Ok(lines.join("\n") + "\n")
}

fn check_text(check: &CheckNote) -> String {
    let name = |active: bool| if active { "on" } else { "off" };
    let CheckNote { at_s, with_cache_ms, without_cache_ms, active, off_percent, geometry, miss, .. } = check;
    let regions = if active[1] && *off_percent > 0.0 { format!(" but for {off_percent:.0} %") } else { String::new() };
    let miss = if active[1] { format!(" {miss}") } else { String::new() };
    format!(
        "check    at {at_s:.0} s: {with_cache_ms:.2} ms with the cache, {without_cache_ms:.2} ms without: {} to {}{regions}, {geometry}{miss}",
        name(active[0]),
        name(active[1])
    )
}

fn spec(args: &RedcapAttachArgs) -> anyhow::Result<RedcapSpec> {
    let &RedcapAttachArgs { size, segment, .. } = args;
    if ![32, 64, 128, 256].map(|kib| kib << 10).contains(&segment) {
        return Err(InputError::new("--segment", segment.to_string(), "32K, 64K, 128K or 256K").into());
    }
    if size == 0 || size % segment != 0 {
        let expected = format!("a multiple of the segment's {segment} bytes, above 0");
        return Err(InputError::new("--size", size.to_string(), expected).into());
    }
    let further = args.set.as_ref().map(|set| format!(",{set}")).unwrap_or_default();
    let text = format!("{}x{}k,algorithm={}{further}", size / segment, segment >> 10, args.algorithm);
    Ok(RedcapSpec::parse(&text)?)
}

fn list(attached: &[RedcapAttachment], context: &CommandContext) -> String {
    let left = |name| (name, Alignment::Left);
    let right = |name| (name, Alignment::Right);
    let columns = [left("name"), left("device"), left("state"), left("disk"), right("size"), left("cache")];
    let mut table = Table::new(&columns);
    for a in attached {
        table.row(vec![
            a.name.clone(),
            a.device.display().to_string(),
            if a.served { "served".to_owned() } else { "dead, in use".to_owned() },
            a.disk.display().to_string(),
            bytes(a.size),
            a.settings.clone(),
        ]);
    }
    table.render(context.terminal)
}

/// A cached disk and its status, as `status --json` prints them.
#[derive(Serialize)]
struct StatusReport<'a> {
    attachment: &'a RedcapAttachment,
    #[serde(flatten)]
    status: &'a RedcapStatus,
}

fn status_text(attachment: &RedcapAttachment, status: &RedcapStatus) -> String {
    let mut lines = status_lines(attachment, status);
    let from = status.checks.len().saturating_sub(SHOWN);
    lines.extend(status.checks[from..].iter().map(check_text));
    lines.join("\n") + "\n"
}

/// What a cache does, without its decisions.
fn status_lines(attachment: &RedcapAttachment, status: &RedcapStatus) -> Vec<String> {
    let RedcapStatus { application: a, disk: d, cache: c, memory: m, .. } = status;
    let share = |part: u64, whole: u64| if whole == 0 { 0.0 } else { 100.0 * part as f64 / whole as f64 };
    let mut lines = vec![
        format!("{} ({}) over {}", attachment.name, attachment.device.display(), attachment.disk.display()),
        format!(
            "cache        {}, now {}, {} for {:.0} s",
            attachment.settings, status.geometry, status.state, status.up_s
        ),
        format!(
            "memory       {} of {} used, in {} segments{}",
            bytes(m.used),
            bytes(m.limit),
            m.segments,
            if m.shrinks > 0 { format!("; halved {} times as memory was short", m.shrinks) } else { String::new() }
        ),
        format!(
            "application  {} reads of {}, mean {:.3} ms, p99 {:.3} ms; {} writes of {}; {} flushes; {} errors",
            a.requests.read,
            bytes(a.bytes.read),
            a.read_ms.mean,
            a.read_ms.p99,
            a.requests.write,
            bytes(a.bytes.write),
            a.requests.flush,
            a.errors.total()
        ),
        format!(
            "disk         {} reads of {}, {} of them prefetches; {} errors; {} prefetches given up",
            d.requests.read,
            bytes(d.bytes.read),
            d.prefetches,
            d.errors.total(),
            d.given_up
        ),
        format!(
            "blocks       {:.1} % of those asked for came from the cache; {:.1} % of those prefetched were used",
            share(c.hit_blocks, c.requested_blocks),
            share(c.used_blocks, c.prefetched_blocks)
        ),
        format!(
            "changes      {} times on, {} times off; {:.1} % of the disk is left alone",
            c.activations, c.deactivations, status.off_percent
        ),
    ];
    let warm =
        status.warm.map(|w| format!("warm         {} segments read again, {} left; {} kept", w.read, w.left, w.kept));
    lines.extend(warm);
    lines.extend(status.warnings.iter().map(|warning| format!("warning      {warning}")));
    lines.extend(status.model_incomplete.as_ref().map(|why| format!("no decisions: {why}")));
    lines
}
