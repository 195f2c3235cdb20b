//! `iopilot dads run`: the autopilot on live disks.

use super::settings::{DiskSettings, Settings, decisions};
use super::{CommandContext, session, tui};
use crate::args::{DadsRunArgs, FitArg, MachineArgs};
use iopilot_dads::{AutopilotSettings, DecisionReason, parse_candidates};
use iopilot_live::dads::{Daemon, DaemonOptions, DiskStatus, FlightOptions, Model, Phase};
use iopilot_live::{BlockQueue, DiskIdentity};
use iopilot_sched::{NO_SCHEDULER, SchedulerSpec};
use iopilot_sim::{BlockConfig, RunConfig, RunOptions};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The polling period of the status. It is long, so that an idle daemon costs nothing.
const PERIOD: Duration = Duration::from_secs(1);

/// Runs the autopilot until a signal arrives. Prints events on standard error.
pub(super) fn run(args: &DadsRunArgs, context: &CommandContext) -> anyhow::Result<String> {
    let settings = Settings::of(args)?;
    session::check_writable_log("--audit", settings.audit.as_ref())?;
    let runtime = &args.runtime.runtime_dir;
    let flights = settings.disks.iter().map(|(device, flown)| flight(device, flown, runtime, context));
    let flights: Vec<FlightOptions> = flights.collect::<anyhow::Result<_>>()?;
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    let options = DaemonOptions { flights, runtime: runtime.clone(), audit: settings.audit, metrics: settings.metrics };
    let daemon = Daemon::start(options)?;
    for recovery in daemon.recovered() {
        context.note(super::status::recovered(recovery));
    }
    if args.tui {
        tui::show(&daemon, &stop)?;
    } else {
        let mut log = FlightLog::default();
        let mut flying = true;
        while flying && !stop.load(Ordering::Relaxed) {
            flying = daemon.tick(PERIOD);
            daemon.status().disks.iter().for_each(|disk| log.update(disk, context));
        }
    }
    daemon.stop()?;
    Ok(String::new())
}

fn flight(
    device: &Path,
    flown: &DiskSettings,
    runtime: &Path,
    context: &CommandContext,
) -> anyhow::Result<FlightOptions> {
    let queue = BlockQueue::open(device)?;
    let default = flown.default.as_deref().map(SchedulerSpec::parse).transpose()?;
    let candidates = match &flown.candidates {
        Some(lists) => parse_candidates(lists)?,
        None => Vec::new(),
    };
    // The candidates are those of the disk.
    let settings = decisions(Vec::new(), &flown.decisions())?;
    let (model, run) = model(&queue, flown, context)?;
    Ok(FlightOptions {
        device: device.to_owned(),
        model,
        run,
        wrap: flown.fit == Some(FitArg::Wrap),
        candidates,
        default,
        decisions: AutopilotSettings {
            objective: flown.objective.as_deref().unwrap_or("service-time").parse()?,
            policy: flown.limited(settings.policy),
            ..settings
        },
        memory: memory(&queue, flown, context),
        dry_run: flown.dry_run.unwrap_or(false),
        backend: flown.backend.as_deref().unwrap_or("auto").parse()?,
        runtime: runtime.to_owned(),
    })
}

/// Where it is remembered what candidates did: as told, else beside the learned model. `None`, with a note, for a disk
/// that cannot be told from others.
fn memory(queue: &BlockQueue, flown: &DiskSettings, context: &CommandContext) -> Option<PathBuf> {
    if flown.memory.is_some() {
        return flown.memory.clone();
    }
    let state = match &flown.learned {
        Some(path) => Ok(path.clone()),
        None => DiskIdentity::of(queue).map(|identity| identity.state_file()),
    };
    match state {
        Ok(state) => Some(state.with_extension("experience.json")),
        Err(e) => {
            context.note(format_args!("what is learned of loads is not kept: {e}"));
            None
        }
    }
}

/// The model of the disk behind `queue`, and the kernel's settings of its block layer.
fn model(queue: &BlockQueue, flown: &DiskSettings, context: &CommandContext) -> anyhow::Result<(Model, RunConfig)> {
    let (model, mut run) = match (&flown.model, &flown.machine) {
        (None, None) => {
            let own = || DiskIdentity::of(queue).map(|identity| identity.state_file());
            let state = flown.learned.clone().map_or_else(own, Ok)?;
            (Model::Learned { state }, RunConfig::default())
        }
        (disk, machine) => {
            let named = MachineArgs { disk: disk.clone(), machine: machine.clone() };
            let name = disk.clone().or_else(|| machine.as_ref().map(|p| p.display().to_string())).unwrap_or_default();
            let machine = session::machine(&named, context)?;
            (Model::Given { name, device: machine.device() }, machine.run_config(&RunOptions::default()))
        }
    };
    settings_of_kernel(queue, &mut run.block, flown.depth)?;
    run.rotational = queue.read("rotational").map_or(run.rotational, |text| text == "1");
    Ok((model, run))
}

/// Completes `block` with the kernel's settings for the disk of `queue`; `depth` is the queue depth that the user gave.
fn settings_of_kernel(queue: &BlockQueue, block: &mut BlockConfig, depth: Option<u32>) -> anyhow::Result<()> {
    let kernel = |attribute: &str| queue.read(attribute).ok().and_then(|text| text.parse::<u32>().ok());
    block.max_sectors_kb = block.max_sectors_kb.or_else(|| kernel("max_sectors_kb"));
    let requests = kernel("nr_requests");
    let set_tags = kernel("../mq/0/nr_tags");
    // Under `none` the queue has the driver's tags. They may be fewer than the tags of the tag set, whose number does
    // not change.
    let tags = match queue.scheduler()? == NO_SCHEDULER {
        true => requests,
        false => None,
    };
    // A scheduler gets twice the tags of the set, up to a limit (`blk_mq_init_sched`).
    let by_scheduler = if tags.is_some() { set_tags.map(|set| 2 * set.min(KERNEL_TAGS)) } else { requests };
    block.nr_requests = block.nr_requests.or(by_scheduler);
    block.queue_depth = depth.or(block.queue_depth).or_else(|| kernel("../device/queue_depth")).or(tags);
    // A SCSI adapter may have more tags than the disk takes requests. With other drivers both are equal.
    let adapter = kernel("../device/queue_depth").is_some();
    block.host_tags = block.host_tags.or(tags).or_else(|| block.queue_depth.filter(|_| !adapter)).or(set_tags);
    Ok(())
}

/// `BLKDEV_DEFAULT_RQ`
const KERNEL_TAGS: u32 = 128;

/// The user is told after this many checks in a row at which the model's error kept the autopilot from acting.
const MODEL_OFF: u32 = 3;

/// Prints what has changed on each disk.
#[derive(Default)]
struct FlightLog {
    disks: BTreeMap<String, Printed>,
}

/// What was printed of a disk.
#[derive(Default)]
struct Printed {
    checks: u64,
    acted: u64,
    skips: u64,
    phase: Phase,
    /// Whether the last interval had no check, and its reason was printed.
    skipping: bool,
    /// Checks in a row at which the model's error was too large.
    model_off: u32,
}

impl FlightLog {
    /// Prints the disk's start, each decision that did something, why the autopilot cannot act, and the phase changes that matter
    /// to a user.
    fn update(&mut self, disk: &DiskStatus, context: &CommandContext) {
        let name = &disk.device;
        let known = self.disks.entry(name.clone()).or_insert_with(|| {
            let mode = if disk.dry_run { "dry run: nothing will be changed" } else { "flying" };
            let checks = match disk.interval_s {
                seconds if seconds > 0.0 => format!(", a check every {seconds} s"),
                _ => String::new(),
            };
            context.note(format_args!(
                "{name}: {mode}; {} in use, {} candidates{checks}, capture by {}",
                disk.scheduler,
                disk.candidates.len(),
                disk.capture
            ));
            disk.notes.iter().for_each(|note| context.note(format_args!("{name}: {note}")));
            Printed::default()
        });
        if let Some(why) = disk.skipped.as_ref().filter(|_| disk.skips > known.skips && !known.skipping) {
            context.note(format_args!("{name}: no check is made: {why}"));
        }
        known.skipping = disk.skipped.is_some();
        known.skips = disk.skips;
        let fresh = usize::try_from(disk.acted - known.acted).unwrap_or(usize::MAX).min(disk.actions.len());
        for check in &disk.actions[disk.actions.len() - fresh..] {
            let would = if disk.dry_run { "(dry run) " } else { "" };
            context.note(format_args!("{name}: {would}{}", check.why));
        }
        known.acted = disk.acted;
        if let Some(check) = disk.last.as_ref().filter(|_| disk.checks > known.checks) {
            known.model_off =
                if matches!(check.reason, DecisionReason::ModelOff { .. }) { known.model_off + 1 } else { 0 };
            if known.model_off == MODEL_OFF {
                context.note(format_args!(
                    "{name}: nothing is changed, as the model is not like the disk ({} %): name another with --model, \
                     leave --model out so that one is learned, or allow more with --max-error",
                    check.model_error_percent.map_or("?".to_owned(), |off| format!("{off:.0}"))
                ));
            }
        }
        if disk.phase != known.phase {
            match disk.phase {
                Phase::StandingBy => context.note(format_args!(
                    "{name}: another program set {}, which is no candidate: standing by until a candidate is set again",
                    disk.scheduler
                )),
                Phase::Ended => match &disk.error {
                    Some(error) => context.note(format_args!("{name}: ended: {error}")),
                    None => context.note(format_args!("{name}: ended; {} in use", disk.scheduler)),
                },
                _ => {}
            }
        }
        (known.checks, known.phase) = (disk.checks, disk.phase);
    }
}
