//! [`record`]: a recording from start to end.

use super::RecordError;
use super::command::Running;
use super::correlate::Correlator;
use super::device::Device;
use super::event::Event;
use super::instance::Instance;
use super::layout::{Kind, Layouts};
use super::ring::{Reader, open_readers};
use super::signals::Signals;
use super::tasks::Tasks;
use crate::TraceRecord;
use iopilot_block::Nanos;
use rustix::time::{ClockId, clock_gettime};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Between two looks at the ring buffers.
const PERIOD: Duration = Duration::from_millis(10);
/// An event is in its buffer at most this long after its time stamp was taken.
const SLACK: Nanos = Nanos::from_millis(1);
/// How long the end of a recording waits for what is in flight.
const SETTLE: Duration = Duration::from_secs(2);

/// What to record.
#[derive(Clone, Debug)]
pub struct RecordOptions {
    /// The block device or partition.
    pub device: PathBuf,
    /// A program with its arguments: the recording begins before it starts and ends when it exits. It inherits standard
    /// input, output and error. What it leaves in the page cache is written back later, and not recorded; let the command
    /// end with `sync` where that matters.
    pub command: Option<Vec<OsString>>,
    /// The recording ends after this at the latest; the command is then sent SIGTERM. Without command and duration it
    /// ends at SIGINT or SIGTERM.
    pub duration: Option<Duration>,
    /// The size of the ring buffer of each CPU, in KiB (`buffer_size_kb`). 8192 lost nothing at 650,000 events a second.
    pub buffer_kb: u32,
}

impl RecordOptions {
    /// All of what happens on `device`, until a signal.
    pub fn new(device: impl Into<PathBuf>) -> Self {
        Self { device: device.into(), command: None, duration: None, buffer_kb: 8192 }
    }
}

/// How a recording went.
#[derive(Clone, Debug)]
pub struct RecordSummary {
    /// Requests recorded.
    pub requests: u64,
    /// Those of them whose completion was not seen.
    pub incomplete: u64,
    /// The names of the tasks that issued them, as the kernel knew them at each one's last request.
    pub process_names: BTreeMap<u32, String>,
    /// Trace events that were lost because the ring buffers were full.
    pub lost_events: u64,
    /// How long the recording took.
    pub elapsed: Duration,
    /// How the command ended.
    pub exit_status: Option<ExitStatus>,
    /// The signal that ended the recording, if one did.
    pub signal: Option<i32>,
}

/// Records the requests of a device and hands each to `sink`, in order of arrival, once it and all before it have
/// completed. `sink` may end the recording with [`ControlFlow::Break`].
///
/// # Errors
/// Without root or tracefs, for what is no block device, and where the command cannot be started: each one line. Nothing
/// of the recording remains in the kernel in any case.
pub fn record(
    options: &RecordOptions,
    sink: &mut dyn FnMut(TraceRecord) -> ControlFlow<()>,
) -> Result<RecordSummary, RecordError> {
    let device = Device::of(&options.device)?;
    let signals = Signals::catch()?;
    let instance = Instance::create()?;
    let layouts = set_up(&instance, &device, options.buffer_kb)?;
    let mut recorder = Recorder {
        readers: open_readers(&instance)?,
        layouts,
        events: Vec::new(),
        correlator: Correlator::new(Tasks::snapshot(), device.flushes_after_fua),
        sink,
        refused: false,
    };
    instance.write("tracing_on", "1")?;
    let began = Instant::now();
    let mut command = options.command.as_deref().map(Running::start).transpose()?;
    let exit_status = loop {
        sleep(PERIOD);
        recorder.poll()?;
        let exited = command.as_mut().map(Running::exited).transpose()?.flatten();
        let over =
            recorder.refused || signals.caught().is_some() || options.duration.is_some_and(|d| began.elapsed() >= d);
        if exited.is_some() || over {
            break exited;
        }
    };
    recorder.correlator.close(now());
    let exit_status = match command {
        Some(command) if exit_status.is_none() => Some(command.end(signals.caught())?),
        _ => exit_status,
    };
    let closed = Instant::now();
    while !recorder.refused && closed.elapsed() < SETTLE {
        recorder.poll()?;
        if recorder.correlator.is_idle() && closed.elapsed() > PERIOD {
            break;
        }
        sleep(PERIOD);
    }
    instance.write("tracing_on", "0")?;
    recorder.finish()?;
    let lost_events = instance.lost_events()?;
    let process_names = recorder.correlator.names();
    let Correlator { emitted: requests, incomplete, .. } = recorder.correlator;
    // The instance cannot be removed while its files are open.
    drop(recorder.readers);
    Ok(RecordSummary {
        requests,
        incomplete,
        process_names,
        lost_events,
        elapsed: began.elapsed(),
        exit_status,
        signal: signals.caught(),
    })
}

/// Selects clock, buffers, events and filters; tracing stays off.
fn set_up(instance: &Instance, device: &Device, buffer_kb: u32) -> Result<Layouts, RecordError> {
    instance.write("tracing_on", "0")?;
    instance.write("trace_clock", "mono")?;
    instance.write("buffer_size_kb", &buffer_kb.to_string())?;
    let (bios, requests) = (device.bio_filter(), device.request_filter());
    let mut events: Vec<(&str, Kind, &str)> = vec![
        ("sched/sched_process_fork", Kind::Fork, ""),
        ("sched/sched_process_exit", Kind::Exit, ""),
        ("block/block_bio_queue", Kind::Queue, &bios),
        ("block/block_split", Kind::Split, &bios),
    ];
    if device.has_requests {
        events.push(("block/block_rq_issue", Kind::Issue, &requests));
        events.push(("block/block_rq_complete", Kind::Complete, &requests));
    } else {
        events.push(("block/block_bio_complete", Kind::Complete, &bios));
    }
    let mut layouts = Layouts::default();
    for (event, kind, filter) in events {
        layouts.add(instance, event, kind)?;
        if !filter.is_empty() {
            instance.write(&format!("events/{event}/filter"), filter)?;
        }
        instance.write(&format!("events/{event}/enable"), "1")?;
    }
    Ok(layouts)
}

/// From ring buffers to the sink.
struct Recorder<'a> {
    readers: Vec<Reader>,
    layouts: Layouts,
    /// Read, but perhaps not yet preceded by all that was earlier on other CPUs.
    events: Vec<Event>,
    correlator: Correlator,
    sink: &'a mut dyn FnMut(TraceRecord) -> ControlFlow<()>,
    refused: bool,
}

impl Recorder<'_> {
    fn poll(&mut self) -> Result<(), RecordError> {
        // All that happened before now is read below, from whatever CPU.
        self.read_until(Nanos(now().0.saturating_sub(SLACK.0)))
    }

    fn read_until(&mut self, horizon: Nanos) -> Result<(), RecordError> {
        for reader in &mut self.readers {
            reader.drain(&self.layouts, &mut self.events)?;
        }
        self.events.sort_by_key(|e| e.time);
        let ready = self.events.partition_point(|e| e.time < horizon);
        for event in self.events.drain(..ready) {
            self.correlator.take(&event);
        }
        let (sink, refused) = (&mut self.sink, &mut self.refused);
        self.correlator.emit(horizon, |r| *refused = *refused || sink(r).is_break());
        Ok(())
    }

    fn finish(&mut self) -> Result<(), RecordError> {
        self.read_until(Nanos::MAX)?;
        let (sink, refused) = (&mut self.sink, &mut self.refused);
        self.correlator.finish(|r| *refused = *refused || sink(r).is_break());
        Ok(())
    }
}

/// The clock that events are stamped with.
fn now() -> Nanos {
    let t = clock_gettime(ClockId::Monotonic);
    Nanos(t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64)
}
