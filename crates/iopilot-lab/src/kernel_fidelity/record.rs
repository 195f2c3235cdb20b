//! Records the loads under the kernel's schedulers.

use super::figures::{FidelityFigures, spread_percent};
use super::load::ReadLoad;
use super::service_path::ServicePath;
use super::start::StartAngle;
use super::{Cell, Plan, SCHEDULERS};
use crate::Setup;
use crate::virtual_disk::{ServerLogEntry, VirtualDisk};
use anyhow::{Context as _, bail};
use iopilot_block::Nanos;
use iopilot_catalogue::load_disk;
use iopilot_live::{Backend, BlockQueue, Capture, CaptureOptions, Signals};
use iopilot_trace::TraceRecord;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

/// The time between two readings of the captured events.
const PERIOD: Duration = Duration::from_millis(20);
/// How long the end of a recording waits for requests in flight.
const PATIENCE: Duration = Duration::from_secs(3);
/// The longest time of a request: requests that wait for a tag of a shallow device can wait for seconds.
const LONGEST: Nanos = Nanos::from_secs(120);
/// How often a recording is tried that has gaps.
const TRIES: u32 = 3;
/// From one turn of the schedulers to the next, each process' part begins this many bytes further on. Most processes
/// read that much in one turn.
const APART: u64 = 32 << 20;

/// The requests that reached the disk, from the first request of a load to the last.
#[derive(Clone, Debug)]
pub(super) struct LoadRecording {
    /// In order of arrival.
    pub(super) records: Vec<TraceRecord>,
    /// When the first request arrived, on the monotonic clock.
    pub(super) origin: Nanos,
    /// The path to the disk and back.
    pub(super) path: ServicePath,
}

/// The recordings of a cell under a scheduler.
#[derive(Clone, Debug)]
pub(super) struct CellRecordings {
    pub(super) cell: Cell,
    /// The index in [`SCHEDULERS`].
    pub(super) scheduler: usize,
    /// Repetitions, from other places and angles of the medium.
    pub(super) recordings: Vec<LoadRecording>,
}

impl CellRecordings {
    /// The kernel's figures: the mean of the recordings, and the spread of their mean I/O times in percent.
    pub(super) fn kernel(&self) -> (FidelityFigures, f64) {
        let all: Vec<FidelityFigures> = self.recordings.iter().map(|r| FidelityFigures::of(&r.records)).collect();
        (FidelityFigures::mean(&all), spread_percent(&all.iter().map(|f| f.mean_ms).collect::<Vec<_>>()))
    }
}

/// All cells under all schedulers: for each cell, one entry for each scheduler, in their order.
pub(super) fn all(plan: &Plan, setup: &Setup<'_>) -> anyhow::Result<Vec<CellRecordings>> {
    let signals = Signals::catch()?;
    let spec = load_disk(plan.disk)?;
    let mut recorded = Vec::new();
    for &depth in &plan.depths {
        let disk = VirtualDisk::attach(plan.disk, plan.size, depth)?;
        let from = recorded.len();
        for cell in plan.cells(depth) {
            let of = |scheduler| CellRecordings { cell, scheduler, recordings: Vec::new() };
            let mut here: Vec<CellRecordings> = (0..SCHEDULERS.len()).map(of).collect();
            // Schedulers take turns, so that a change of the machine over time affects all of them. All read the same
            // places in a turn.
            for turn in 0..plan.recordings {
                let load = load(plan, cell, turn, setup.seed);
                let recorder =
                    Recorder { disk: &disk, load, start: StartAngle::of_turn(&spec, turn), signals: &signals };
                for recorded in &mut here {
                    recorded.recordings.push(recorder.complete(SCHEDULERS[recorded.scheduler])?);
                    setup.progress.add(u64::from(load.reads * load.processes));
                }
            }
            recorded.extend(here);
        }
        let mut log: HashMap<u64, Vec<ServerLogEntry>> = HashMap::new();
        disk.requests()?.into_iter().for_each(|s| log.entry(s.lba).or_default().push(s));
        let here = recorded[from..].iter_mut().flat_map(|m: &mut CellRecordings| &mut m.recordings);
        here.for_each(|r| r.path = ServicePath::find(&r.records, r.origin, &log));
    }
    Ok(recorded)
}

/// The load in turn `turn` of `cell`. Each turn reads other places.
pub(super) fn load(plan: &Plan, cell: Cell, turn: usize, seed: u64) -> ReadLoad {
    let apart = APART.min(plan.size / u64::from(cell.processes) / (plan.recordings as u64 + 1));
    ReadLoad {
        pattern: cell.pattern,
        processes: cell.processes,
        reads: plan.reads(cell),
        skip: turn as u64 * apart,
        seed,
    }
}

/// Records a load.
struct Recorder<'a> {
    disk: &'a VirtualDisk,
    load: ReadLoad,
    start: StartAngle,
    signals: &'a Signals,
}

impl Recorder<'_> {
    /// A recording under `scheduler` without gaps.
    fn complete(&self, scheduler: &str) -> anyhow::Result<LoadRecording> {
        let mut left = TRIES;
        loop {
            left -= 1;
            let recording = self.record(scheduler);
            if recording.is_ok() || left == 0 || self.signals.caught().is_some() {
                return recording;
            }
        }
    }

    /// Sets `scheduler`, runs the load and records it.
    fn record(&self, scheduler: &str) -> anyhow::Result<LoadRecording> {
        let device = self.disk.device();
        let queue = BlockQueue::open(device)?;
        // A scheduler that is already set would keep what it has learnt. A simulation begins with nothing learnt.
        queue.set_scheduler("none")?;
        queue.set_scheduler(scheduler)?;
        // The kernel's own events, because the recording needs every one, and a BPF program can miss one.
        let options = CaptureOptions { backend: Backend::Tracefs, ..CaptureOptions::new(device) };
        let mut capture = Capture::with_patience(&options, LONGEST)?;
        // A simulation also begins with an empty disk cache and the arm at rest.
        let begin = self.start.begin(self.disk.reset()?);
        let stop = AtomicBool::new(false);
        let mut records = Vec::new();
        thread::scope(|scope| -> anyhow::Result<()> {
            let work = scope.spawn(|| self.load.run(device, begin, &stop));
            while !work.is_finished() {
                sleep(PERIOD);
                stop.fetch_or(self.signals.caught().is_some(), Ordering::Relaxed);
                capture.poll(&mut records).inspect_err(|_| stop.store(true, Ordering::Relaxed))?;
            }
            work.join().unwrap_or_else(|e| std::panic::resume_unwind(e)).context("reading the virtual disk")
        })?;
        if let Some(signal) = self.signals.caught() {
            bail!("ended by signal {signal}");
        }
        let expected = u64::from(self.load.reads) * u64::from(self.load.processes);
        let over = Instant::now();
        while (records.len() as u64) < expected && over.elapsed() < PATIENCE {
            sleep(PERIOD);
            capture.poll(&mut records)?;
        }
        if capture.lost_events() > 0 || records.len() as u64 != expected {
            let (seen, lost, late) = (records.len(), capture.lost_events(), capture.given_up());
            bail!("{scheduler}: {seen} of {expected} reads seen, {lost} events lost, {late} without an end");
        }
        Ok(LoadRecording { records, origin: capture.origin().unwrap_or_default(), path: ServicePath::default() })
    }
}
