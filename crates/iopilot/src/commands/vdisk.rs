//! `iopilot vdisk`: block devices with the timing of a model.

use super::session::load_disk;
use super::{CommandContext, background};
use crate::args::{VdiskAttachArgs, VdiskCommand};
use crate::render::{self, Alignment, Table};
use iopilot_live::vdisk::{self, Attachment, Backing, VdiskOptions, VdiskServer, VdiskStats};
use iopilot_render::number::bytes;
use serde::Serialize;

/// The name for a disk without delays.
const NO_MODEL: &str = "none";

/// Runs the command and returns the text to print.
pub(crate) fn run(command: &VdiskCommand, context: &CommandContext) -> anyhow::Result<String> {
    match command {
        VdiskCommand::Attach(args) if args.foreground => foreground(args, context),
        VdiskCommand::Attach(args) => attach(args, context),
        VdiskCommand::Serve => serve(context),
        VdiskCommand::List { state, json } => {
            let attached = vdisk::list(&state.state_dir)?;
            if *json { render::json(&attached) } else { Ok(list(&attached, context)) }
        }
        VdiskCommand::Detach { disks, all, force, state } => {
            let named = match all {
                true => vdisk::list(&state.state_dir)?.into_iter().map(|attachment| attachment.name).collect(),
                false => disks.clone(),
            };
            for disk in named {
                let gone = vdisk::detach(&state.state_dir, &disk, *force)?;
                context.note(format_args!("{} detached; its data are in {}", gone.name, gone.backing.display()));
            }
            Ok(String::new())
        }
        VdiskCommand::Reset { disk, state, json } => {
            let (attachment, clocks) = vdisk::reset(&state.state_dir, disk)?;
            if *json {
                return render::json(&clocks);
            }
            context.note(format_args!("{}: {} as new", attachment.name, attachment.disk));
            Ok(String::new())
        }
        VdiskCommand::Stats { disk, state, json } => {
            let (attachment, stats) = vdisk::stats(&state.state_dir, disk)?;
            if *json {
                render::json(&StatsReport { attachment: &attachment, stats: &stats })
            } else {
                Ok(stats_text(&attachment, &stats))
            }
        }
    }
}

/// Starts another process that serves the disk. Returns when the disk is ready.
fn attach(args: &VdiskAttachArgs, context: &CommandContext) -> anyhow::Result<String> {
    announce(&background::start(&["vdisk", "serve"], args, context)?, args, context)
}

/// Reports that a disk is ready: the device on standard output, the rest on standard error.
fn announce(attachment: &Attachment, args: &VdiskAttachArgs, context: &CommandContext) -> anyhow::Result<String> {
    if !attachment.real_time && args.disk != NO_MODEL {
        context.note("no real-time scheduling: answers may be late, which `vdisk stats` counts");
    }
    attachment.warnings.iter().for_each(|warning| context.note(warning));
    if args.json {
        return render::json(attachment);
    }
    let Attachment { name, disk, size, depth, backing, .. } = attachment;
    context.note(format_args!(
        "{name}: {} of {disk}, {depth} requests at once, data in {}",
        bytes(*size),
        backing.display()
    ));
    Ok(format!("{}\n", attachment.device.display()))
}

/// The server's side of [`attach`].
fn serve(context: &CommandContext) -> anyhow::Result<String> {
    let server = VdiskServer::start(options(&background::wanted()?, context)?)?;
    background::ready(server.attachment(), || server.leave_terminal())?;
    server.serve()?;
    Ok(String::new())
}

/// Serves the disk in this process.
fn foreground(args: &VdiskAttachArgs, context: &CommandContext) -> anyhow::Result<String> {
    let server = VdiskServer::start(options(args, context)?)?;
    background::print(&announce(server.attachment(), args, context)?)?;
    server.serve()?;
    Ok(String::new())
}

fn options(args: &VdiskAttachArgs, context: &CommandContext) -> anyhow::Result<VdiskOptions> {
    let device = match args.disk.as_str() {
        NO_MODEL => None,
        disk => Some(load_disk(disk, context)?.build()?),
    };
    let mut options = VdiskOptions::new(&args.disk, device);
    options.size = args.size;
    options.via = args.via.into();
    options.depth = args.depth;
    if let Some(path) = &args.backing {
        options.backing = Backing::File(path.clone());
    }
    options.name.clone_from(&args.name);
    options.scheduler.clone_from(&args.scheduler);
    options.speed = args.time_scale;
    options.log.clone_from(&args.requests_out);
    options.state.clone_from(&args.state.state_dir);
    Ok(options)
}

fn list(attached: &[Attachment], context: &CommandContext) -> String {
    let left = |name| (name, Alignment::Left);
    let right = |name| (name, Alignment::Right);
    let columns = [
        left("name"),
        left("device"),
        left("state"),
        left("disk"),
        right("size"),
        right("depth"),
        right("time scale"),
        left("backing"),
    ];
    let mut table = Table::new(&columns);
    for a in attached {
        table.row(vec![
            a.name.clone(),
            a.device.display().to_string(),
            if a.served { "served".to_owned() } else { "dead, in use".to_owned() },
            a.disk.clone(),
            bytes(a.size),
            a.depth.to_string(),
            a.time_scale.to_string(),
            a.backing.display().to_string(),
        ]);
    }
    table.render(context.terminal)
}

/// A disk and its statistics, as `stats --json` prints them.
#[derive(Serialize)]
struct StatsReport<'a> {
    #[serde(flatten)]
    attachment: &'a Attachment,
    #[serde(flatten)]
    stats: &'a VdiskStats,
}

fn stats_text(attachment: &Attachment, stats: &VdiskStats) -> String {
    let VdiskStats { requests: r, bytes: b, errors: e, stored, in_flight, late, lateness_us: l, modelled_ms, real_ms } =
        stats;
    let device = attachment.device.display();
    let mut lines = vec![
        format!("{} ({device}), {}", attachment.name, attachment.disk),
        format!(
            "requests   {} read, {} written, {} flushes, {} discards; {in_flight} under way",
            r.read, r.write, r.flush, r.discard
        ),
        format!("bytes      {} read, {} written, {} discarded", bytes(b.read), bytes(b.write), bytes(b.discard)),
        format!("stored     {} of {} in {}", bytes(*stored), bytes(attachment.size), attachment.backing.display()),
        format!("errors     {} read, {} written, {} flushes, {} discards", e.read, e.write, e.flush, e.discard),
    ];
    if attachment.disk != NO_MODEL {
        lines.push(format!(
            "modelled   mean {:.3} ms, p99 {:.3} ms, max {:.3} ms",
            modelled_ms.mean, modelled_ms.p99, modelled_ms.max
        ));
    }
    lines.push(format!("real       mean {:.3} ms, p99 {:.3} ms, max {:.3} ms", real_ms.mean, real_ms.p99, real_ms.max));
    if attachment.disk != NO_MODEL {
        lines.push(format!(
            "lateness   p50 {:.1} us, p99 {:.1} us, max {:.1} us; {late} answers over 100 us late",
            l.p50, l.p99, l.max
        ));
    }
    lines.join("\n") + "\n"
}
