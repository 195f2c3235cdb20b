//! Records the loads under the kernel's schedulers.

use super::figures::{Figures, spread_percent};
use super::load::ReadLoad;
use super::service_path::ServicePath;
use super::start::Start;
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

/// Between two looks at what was captured.
const PERIOD: Duration = Duration::from_millis(20);
/// How long the end of a recording waits for what is in flight.
const PATIENCE: Duration = Duration::from_secs(3);
/// How long a request may take: some that wait for a tag of a shallow device wait for seconds.
const LONGEST: Nanos = Nanos::from_secs(120);
/// How often a recording is made in which something is missing.
const TRIES: u32 = 3;
/// What the part of a process is moved on by, in bytes, from one turn of the schedulers to the next: what most of them read in
/// one.
const APART: u64 = 32 << 20;

/// What reached the disk, from the first request of a load to the last.
#[derive(Clone, Debug)]
pub(super) struct LoadRecording {
    /// In order of arrival.
    pub(super) records: Vec<TraceRecord>,
    /// When the first request arrived, on the monotonic clock.
    pub(super) origin: Nanos,
    /// The way to the disk and back.
    pub(super) path: ServicePath,
}

/// A cell under a scheduler.
#[derive(Clone, Debug)]
pub(super) struct Recorded {
    pub(super) cell: Cell,
    /// Of [`SCHEDULERS`].
    pub(super) scheduler: usize,
    /// The same again and again, from other places and angles of the medium.
    pub(super) recordings: Vec<LoadRecording>,
}

impl Recorded {
    /// What the kernel did: the mean of the recordings, and by how many percent their mean I/O times differ.
    pub(super) fn kernel(&self) -> (Figures, f64) {
        let all: Vec<Figures> = self.recordings.iter().map(|r| Figures::of(&r.records)).collect();
        (Figures::mean(&all), spread_percent(&all.iter().map(|f| f.mean_ms).collect::<Vec<_>>()))
    }
}

/// All cells under all schedulers: for each cell one of each scheduler, in their order.
pub(super) fn all(plan: &Plan, setup: &Setup<'_>) -> anyhow::Result<Vec<Recorded>> {
    let signals = Signals::catch()?;
    let spec = load_disk(plan.disk)?;
    let mut recorded = Vec::new();
    for &depth in &plan.depths {
        let disk = VirtualDisk::attach(plan.disk, plan.size, depth)?;
        let from = recorded.len();
        for cell in plan.cells(depth) {
            let of = |scheduler| Recorded { cell, scheduler, recordings: Vec::new() };
            let mut here: Vec<Recorded> = (0..SCHEDULERS.len()).map(of).collect();
            // Each scheduler in turn: a change of the machine over time meets all, and all read the same places.
            for turn in 0..plan.recordings {
                let load = load(plan, cell, turn, setup.seed);
                let recorder = Recorder { disk: &disk, load, start: Start::of_turn(&spec, turn), signals: &signals };
                for recorded in &mut here {
                    recorded.recordings.push(recorder.complete(SCHEDULERS[recorded.scheduler])?);
                    setup.progress.add(u64::from(load.reads * load.processes));
                }
            }
            recorded.extend(here);
        }
        let mut log: HashMap<u64, Vec<ServerLogEntry>> = HashMap::new();
        disk.requests()?.into_iter().for_each(|s| log.entry(s.lba).or_default().push(s));
        let here = recorded[from..].iter_mut().flat_map(|m: &mut Recorded| &mut m.recordings);
        here.for_each(|r| r.path = ServicePath::find(&r.records, r.origin, &log));
    }
    Ok(recorded)
}

/// What is read in turn `turn` of `cell`: other places in each turn.
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
    start: Start,
    signals: &'a Signals,
}

impl Recorder<'_> {
    /// A recording under `scheduler` in which nothing is missing.
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

    /// Puts `scheduler` in place, runs the load, and records it.
    fn record(&self, scheduler: &str) -> anyhow::Result<LoadRecording> {
        let device = self.disk.device();
        let queue = BlockQueue::open(device)?;
        // A scheduler that is in place already would go on with what it has learnt; a simulation begins with nothing learnt.
        queue.set_scheduler("none")?;
        queue.set_scheduler(scheduler)?;
        // The kernel's own events: each one counts here, and a BPF program can miss one.
        let options = CaptureOptions { backend: Backend::Tracefs, ..CaptureOptions::new(device) };
        let mut capture = Capture::with_patience(&options, LONGEST)?;
        // A simulation begins with an empty disk cache and the arm at rest, too.
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
