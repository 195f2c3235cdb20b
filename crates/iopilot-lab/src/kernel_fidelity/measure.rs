//! Records the loads under the kernel's schedulers.

use super::predict::Figures;
use super::seen::{self, Seen};
use super::start::Start;
use super::{Cell, Effort, Plan, SCHEDULERS};
use crate::Setup;
use crate::virtual_disk::{Served, VirtualDisk};
use anyhow::{Context as _, bail};
use iopilot_block::{Lba, Nanos};
use iopilot_device::load_disk;
use iopilot_live::{Backend, Blktrace, BlockQueue, Capture, CaptureOptions, ReadLoad, Signals};
use iopilot_trace::TraceRecord;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

/// Between two looks at what was captured.
const PERIOD: Duration = Duration::from_millis(20);
/// How long the end of a recording waits for what is in flight.
const PATIENCE: Duration = Duration::from_secs(3);
/// How long a request may take: in the race for the tags of a shallow device some wait for seconds.
const LONGEST: Nanos = Nanos::from_secs(120);
/// How often a recording is made in which something is missing.
const TRIES: u32 = 3;
/// A machine that is held up from outside answers late. Where it does so by more than this share of what a request takes, on
/// average, the disk was not the model, and the recording is made again.
const HELD_UP: f64 = 0.02;
/// The kernel's mean is known where its standard error, by how much recordings differ, is at most so many percent: half of what a
/// simulation may be off by.
pub(super) const KNOWN: f64 = 2.5;
/// Of so many recordings one is made again at most.
const AGAIN: usize = 4;
/// What the part of a task is moved on by, in bytes, from one turn of the schedulers to the next: what most of them read in one.
const APART: u64 = 32 << 20;
/// In the turn after so many it is where it was in the first one; the angle of the medium is another each time.
const PLACES: usize = 96;

/// What reached the disk, from the first request of a load to the last.
pub(super) struct Recording {
    pub(super) records: Vec<TraceRecord>,
    /// When the first request arrived, on the monotonic clock.
    pub(super) origin: Nanos,
    /// What blktrace told of each of `records`, where the scheduler notes when it is asked; else nothing.
    pub(super) seen: Vec<Seen>,
    /// How far the virtual disk was.
    pub(super) path: Path,
}

/// What the way through the kernel's loop device and FUSE took, which the model does not know, request by request.
#[derive(Clone, Debug, Default)]
pub(super) struct Path {
    /// From the kernel's issue to the server.
    pub(super) there: Vec<Nanos>,
    /// From the time that the model gave to the kernel's completion.
    pub(super) back: Vec<Nanos>,
    /// What of that the server was late.
    pub(super) late: Vec<Nanos>,
    /// Of each request, the ways there and back; `None` for one that was merged into another.
    pub(super) of: Vec<Option<(Nanos, Nanos)>>,
    /// What the clock of the disk's model showed when the first request arrived at the block layer: it tells where the medium stood.
    pub(super) model: Option<Nanos>,
}

impl Path {
    /// Finds `records`, whose times count from `origin`, in the log of the disk, which may hold more.
    fn of(records: &[TraceRecord], origin: Nanos, served: &HashMap<u64, Vec<Served>>) -> Self {
        let found = |record: &TraceRecord| {
            let (issue, completion) = (origin + record.issue?, origin + record.completion?);
            let mut of_place = served.get(&record.lba.0)?.iter();
            let s = of_place.find(|s| s.arrived >= issue && s.left <= completion)?;
            Some((s, s.arrived.since(issue), completion.since(s.due)))
        };
        let all: Vec<_> = records.iter().map(found).collect();
        let way = |&(_, there, back): &(&Served, Nanos, Nanos)| (there, back);
        Self {
            there: all.iter().flatten().map(|(_, there, _)| *there).collect(),
            back: all.iter().flatten().map(|(_, _, back)| *back).collect(),
            late: all.iter().flatten().map(|(s, _, _)| s.left.since(s.due)).collect(),
            of: all.iter().map(|found| found.as_ref().map(way)).collect(),
            model: all.iter().flatten().next().map(|(s, _, _)| s.model.since(s.arrived.since(origin))),
        }
    }
}

/// The `ways` of `records`, by the sector that they begin at, in the order of issue.
pub(super) fn by_sector(records: &[TraceRecord], ways: &[Option<(Nanos, Nanos)>]) -> Vec<(Lba, (Nanos, Nanos))> {
    let known = records.iter().zip(ways).filter_map(|(r, way)| Some((r.issue, r.lba, (*way)?)));
    let mut known: Vec<_> = known.collect();
    known.sort_by_key(|(issue, ..)| *issue);
    known.into_iter().map(|(_, lba, way)| (lba, way)).collect()
}

/// A cell under a scheduler.
pub(super) struct Measured {
    pub(super) cell: Cell,
    /// Of [`SCHEDULERS`].
    pub(super) scheduler: usize,
    /// The same again and again.
    pub(super) recordings: Vec<Recording>,
}

impl Measured {
    /// What each recording shows.
    pub(super) fn figures(&self) -> Vec<Figures> {
        self.recordings.iter().map(|recording| Figures::of(&recording.records)).collect()
    }

    /// By how much the kernel differs from itself.
    pub(super) fn spread(&self) -> Spread {
        Spread::of(&self.figures().iter().map(|figures| figures.mean_ms).collect::<Vec<_>>())
    }
}

/// How far repetitions are apart, in percent of their mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Spread {
    /// Standard deviation of one.
    pub(super) deviation: f64,
    /// Standard error of the mean.
    pub(super) error: f64,
}

impl Spread {
    /// Of one alone nothing is known, and 0 is said.
    fn of(figures: &[f64]) -> Self {
        let (mean, deviation, error) = mean_and_errors(figures);
        Self { deviation: 100.0 * deviation / mean, error: 100.0 * error / mean }
    }
}

/// The mean, the standard deviation of one and the standard error of the mean; 0 where there is one alone.
pub(super) fn mean_and_errors(figures: &[f64]) -> (f64, f64, f64) {
    let n = figures.len() as f64;
    let mean = figures.iter().sum::<f64>() / n;
    let squares: f64 = figures.iter().map(|figure| (figure - mean).powi(2)).sum();
    let deviation = (squares / (n - 1.0).max(1.0)).sqrt();
    (mean, deviation, deviation / n.sqrt())
}

/// All cells under all schedulers, cell by cell.
pub(super) fn all(plan: &Plan, setup: &Setup<'_>) -> anyhow::Result<Vec<Measured>> {
    let signals = Signals::catch()?;
    let mut measured: Vec<Measured> = Vec::new();
    let cells = plan.depths.iter().flat_map(|&depth| plan.cells(depth));
    let least: usize = cells.map(|cell| (plan.effort)(cell).recordings.least).sum();
    let spec = load_disk(plan.disk)?;
    let mut spare = SCHEDULERS.len() * least / AGAIN;
    for &depth in &plan.depths {
        let disk = VirtualDisk::attach(plan.disk, plan.size, depth)?;
        for cell in plan.cells(depth) {
            let Effort { reads, recordings } = (plan.effort)(cell);
            let mut here: [Measured; SCHEDULERS.len()] =
                std::array::from_fn(|scheduler| Measured { cell, scheduler, recordings: Vec::new() });
            let mut load = ReadLoad {
                pattern: cell.pattern,
                processes: cell.processes,
                reads: reads / cell.processes,
                skip: 0,
                seed: setup.seed,
                begin: None,
            };
            // Each scheduler in turn, so that what drifts meets all of them, and what they read does not tell them apart. Who
            // differs from turn to turn more than the others goes on when these are known.
            for turn in 0..recordings.most {
                load.skip = skip(plan, cell, turn);
                let start = Start::of_turn(&spec, turn);
                let unknown = |m: &&mut Measured| turn == 0 || !recordings.are_enough(turn, m.spread().error);
                // One that is known is so for good: the turns of each are the first ones.
                for measured in here.iter_mut().filter(|m| m.recordings.len() == turn).filter(unknown) {
                    let scheduler = SCHEDULERS[measured.scheduler];
                    measured.recordings.push(on_time(&disk, scheduler, (&load, start), &signals, &mut spare)?);
                    setup.progress.add(u64::from(load.reads * load.processes));
                }
            }
            measured.extend(here);
        }
        let mut served: HashMap<u64, Vec<Served>> = HashMap::new();
        disk.requests()?.into_iter().for_each(|s| served.entry(s.lba).or_default().push(s));
        let here = measured.iter_mut().filter(|m| m.cell.depth == depth);
        here.flat_map(|m| &mut m.recordings).for_each(|r| r.path = Path::of(&r.records, r.origin, &served));
    }
    Ok(measured)
}

/// By how much the places of a task are further in its part in turn `turn` than in the first, in bytes: as many as there are have room in it.
pub(super) fn skip(plan: &Plan, cell: Cell, turn: usize) -> u64 {
    let places = (plan.effort)(cell).recordings.most.min(PLACES) as u64;
    let apart = APART.min(plan.size / u64::from(cell.processes) / (places + 1));
    (turn % PLACES) as u64 * apart
}

/// A recording of a disk that was on time; of several that were late the least so, once there are no `spare` ones.
fn on_time(
    disk: &VirtualDisk,
    scheduler: &str,
    load: (&ReadLoad, Start),
    signals: &Signals,
    spare: &mut usize,
) -> anyhow::Result<Recording> {
    let mut best: Option<(f64, Recording)> = None;
    loop {
        let before = disk.lateness()?;
        let recording = recorded(disk, scheduler, load, signals)?;
        let late_us = disk.lateness()?.since(&before).mean_us();
        let late = late_us / 1e3 / Figures::of(&recording.records).mean_ms;
        if best.as_ref().is_none_or(|(least, _)| late < *least) {
            best = Some((late, recording));
        }
        if late > HELD_UP && *spare > 0 {
            *spare -= 1;
            continue;
        }
        if let Some((_, recording)) = best {
            return Ok(recording);
        }
    }
}

/// A recording in which nothing is missing.
fn recorded(
    disk: &VirtualDisk,
    scheduler: &str,
    load: (&ReadLoad, Start),
    signals: &Signals,
) -> anyhow::Result<Recording> {
    let mut left = TRIES;
    loop {
        left -= 1;
        let recording = try_to_record(disk, scheduler, load, signals);
        if recording.is_ok() || left == 0 || signals.caught().is_some() {
            return recording;
        }
    }
}

/// Puts `scheduler` in place, runs `load`, and records it.
fn try_to_record(
    disk: &VirtualDisk,
    scheduler: &str,
    (load, start): (&ReadLoad, Start),
    signals: &Signals,
) -> anyhow::Result<Recording> {
    let queue = BlockQueue::open(disk.device())?;
    // A scheduler that is in place already would go on with what it has learnt; a simulation of it begins afresh.
    queue.set_scheduler("none")?;
    queue.set_scheduler(scheduler)?;
    // The kernel's own events: each one counts here, and a BPF program can miss one.
    // Of bfq it is not seen from outside when it is asked, where more tasks read than the device takes requests of at once.
    let notes = (scheduler == "bfq" && load.processes > 1).then(|| Blktrace::start(disk.device()));
    let mut notes = notes.transpose()?;
    let options = CaptureOptions { backend: Backend::Tracefs, ..CaptureOptions::new(disk.device()) };
    let mut capture = Capture::with_patience(&options, LONGEST)?;
    // A simulation, too, begins with an empty cache and the arm at rest; and the schedulers of a turn read the same places.
    let load = ReadLoad { begin: Some(start.begin(disk.reset()?)), ..*load };
    let stop = AtomicBool::new(false);
    let mut records = Vec::new();
    thread::scope(|scope| -> anyhow::Result<()> {
        let work = scope.spawn(|| load.run(disk.device(), &stop));
        while !work.is_finished() {
            sleep(PERIOD);
            stop.fetch_or(signals.caught().is_some(), Ordering::Relaxed);
            let notes = notes.as_mut().map_or(Ok(()), Blktrace::poll);
            notes.and_then(|()| capture.poll(&mut records)).inspect_err(|_| stop.store(true, Ordering::Relaxed))?;
        }
        work.join().unwrap_or_else(|e| std::panic::resume_unwind(e)).context("reading the virtual disk")
    })?;
    if let Some(signal) = signals.caught() {
        bail!("ended by signal {signal}");
    }
    let expected = u64::from(load.reads) * u64::from(load.processes);
    let over = Instant::now();
    while (records.len() as u64) < expected && over.elapsed() < PATIENCE {
        sleep(PERIOD);
        capture.poll(&mut records)?;
    }
    if capture.lost_events() > 0 || (records.len() as u64) < expected {
        let (seen, lost, late) = (records.len(), capture.lost_events(), capture.given_up());
        bail!("{scheduler}: {seen} of {expected} reads seen, {lost} events lost, {late} without an end");
    }
    let origin = capture.origin().unwrap_or_default();
    let notes = notes.map(Blktrace::finish).transpose()?;
    let seen = notes.map_or_else(Vec::new, |notes| seen::all(&records, origin, &notes));
    Ok(Recording { records, origin, seen, path: Path::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_of_a_mean_falls_with_the_root_of_their_number() {
        let spread = Spread::of(&[90.0, 110.0]);
        assert!((spread.deviation - 200f64.sqrt()).abs() < 1e-9 && (spread.error - 10.0).abs() < 1e-9, "{spread:?}");
        let spread = Spread::of(&[90.0, 110.0, 90.0, 110.0, 90.0, 110.0, 90.0, 110.0]);
        assert!((spread.error - 100.0 * (0.01f64 / 7.0).sqrt()).abs() < 1e-9, "{spread:?}");
        assert_eq!(Spread::of(&[7.0]), Spread { deviation: 0.0, error: 0.0 });
    }
}
