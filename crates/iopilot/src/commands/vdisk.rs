//! `iopilot vdisk`: block devices that take the time of a model.

use super::Context;
use super::session::load_disk;
use crate::args::{Vdisk, VdiskAttach};
use crate::failure::CommandFailed;
use crate::render::{self, Alignment, Table};
use anyhow::Context as _;
use iopilot_live::vdisk::{self, Attachment, Backing, VdiskOptions, VdiskServer, VdiskStats};
use iopilot_render::number::bytes;
use serde::Serialize;
use std::io::{Read, Write};
use std::process::{Command, Stdio};

/// The name for a disk without delays.
const NO_MODEL: &str = "none";

/// Runs the command; the text to print.
pub(crate) fn run(command: &Vdisk, context: &Context) -> anyhow::Result<String> {
    match command {
        Vdisk::Attach(args) if args.foreground => foreground(args, context),
        Vdisk::Attach(args) => attach(args, context),
        Vdisk::Serve => serve(context),
        Vdisk::List { state, json } => {
            let attached = vdisk::list(&state.state_dir)?;
            if *json { render::json(&attached) } else { Ok(list(&attached, context)) }
        }
        Vdisk::Detach { disks, all, force, state } => {
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
        Vdisk::Reset { disk, state, json } => {
            let (attachment, clocks) = vdisk::reset(&state.state_dir, disk)?;
            if *json {
                return render::json(&clocks);
            }
            context.note(format_args!("{}: {} as new", attachment.name, attachment.disk));
            Ok(String::new())
        }
        Vdisk::Stats { disk, state, json } => {
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
fn attach(args: &VdiskAttach, context: &Context) -> anyhow::Result<String> {
    let program = std::env::current_exe().context("finding this program")?;
    let mut server = Command::new(program);
    server.args(["vdisk", "serve"]).args(context.quiet.then_some("--quiet"));
    let mut server = server.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().context("starting the server")?;
    if let Some(mut stdin) = server.stdin.take() {
        // A server that does not read has printed why.
        let _ = stdin.write_all(&serde_json::to_vec(args)?);
    }
    let mut line = String::new();
    if let Some(mut stdout) = server.stdout.take() {
        stdout.read_to_string(&mut line).context("listening to the server")?;
    }
    if line.is_empty() {
        return Err(CommandFailed::with(server.wait().context("waiting for the server")?).into());
    }
    announce(&serde_json::from_str(&line)?, args, context)
}

/// Reports that a disk is ready: the device on standard output, the rest on standard error.
fn announce(attachment: &Attachment, args: &VdiskAttach, context: &Context) -> anyhow::Result<String> {
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
fn serve(context: &Context) -> anyhow::Result<String> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).context("reading what to serve")?;
    let args: VdiskAttach = serde_json::from_str(&text).context("reading what to serve")?;
    let server = VdiskServer::start(options(&args, context)?)?;
    let mut line = serde_json::to_string(server.attachment())?;
    line.push('\n');
    let mut out = std::io::stdout().lock();
    out.write_all(line.as_bytes()).and_then(|()| out.flush()).context("telling that it is ready")?;
    drop(out);
    server.leave_terminal()?;
    server.serve()?;
    Ok(String::new())
}

/// Serves the disk in this process.
fn foreground(args: &VdiskAttach, context: &Context) -> anyhow::Result<String> {
    let server = VdiskServer::start(options(args, context)?)?;
    let text = announce(server.attachment(), args, context)?;
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).context("writing to standard output")?;
    drop(out);
    server.serve()?;
    Ok(String::new())
}

fn options(args: &VdiskAttach, context: &Context) -> anyhow::Result<VdiskOptions> {
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

fn list(attached: &[Attachment], context: &Context) -> String {
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
