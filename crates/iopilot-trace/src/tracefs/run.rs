//! [`record`]: a recording from start to end.

use super::RecordError;
use super::correlate::Correlator;
use super::device::Device;
use super::event::Event;
use super::instance::Instance;
use super::layout::{Kind, Layouts};
use super::page::each_event;
use super::tasks::Tasks;
use crate::TraceRecord;
use iopilot_block::Nanos;
use rustix::process::{Pid, Signal, kill_process};
use rustix::time::{ClockId, clock_gettime};
use signal_hook::consts::{SIGINT, SIGTERM};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
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
    let Correlator { emitted: requests, incomplete, .. } = recorder.correlator;
    // The instance cannot be removed while its files are open.
    drop(recorder.readers);
    Ok(RecordSummary {
        requests,
        incomplete,
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

/// The ring buffer of one CPU.
struct Reader {
    cpu: u16,
    file: File,
    path: PathBuf,
    page: Vec<u8>,
    data_offset: usize,
}

fn open_readers(instance: &Instance) -> Result<Vec<Reader>, RecordError> {
    // Older kernels describe their pages only outside of instances.
    let header = instance.read("events/header_page").or_else(|_| instance.read("../../events/header_page"))?;
    let (data_offset, size) = page_size(&header).ok_or_else(|| RecordError::Event {
        event: "header_page".to_owned(),
        reason: "expected a field named data".to_owned(),
    })?;
    let mut readers = Vec::new();
    for cpu in instance.cpus()? {
        let path = instance.path(&format!("per_cpu/cpu{cpu}/trace_pipe_raw"));
        let nonblocking = rustix::fs::OFlags::NONBLOCK.bits() as i32;
        let file = File::options().read(true).custom_flags(nonblocking).open(&path);
        let file = file.map_err(|e| RecordError::io(&path, e))?;
        readers.push(Reader { cpu, file, path, page: vec![0; data_offset + size], data_offset });
    }
    Ok(readers)
}

/// Where on a page the data begin, and how many bytes there are.
fn page_size(header: &str) -> Option<(usize, usize)> {
    let line = header.lines().find(|l| l.contains(" data;"))?;
    let value = |key: &str| line.split(';').find_map(|part| part.trim().strip_prefix(key)?.parse().ok());
    Some((value("offset:")?, value("size:")?))
}

impl Reader {
    fn drain(&mut self, layouts: &Layouts, out: &mut Vec<Event>) -> Result<(), RecordError> {
        loop {
            match self.file.read(&mut self.page) {
                Ok(0) => return Ok(()),
                Ok(n) => each_event(&self.page[..n], self.data_offset, |time, data| {
                    out.extend(layouts.decode(data, time, self.cpu));
                })
                .map_err(|reason| RecordError::Page { cpu: self.cpu, reason })?,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(RecordError::io(&self.path, e)),
            }
        }
    }
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

/// SIGINT and SIGTERM, noted instead of deadly while a recording runs.
struct Signals {
    caught: Arc<AtomicUsize>,
    over: Arc<AtomicBool>,
}

impl Signals {
    fn catch() -> Result<Self, RecordError> {
        let signals = Self { caught: Arc::default(), over: Arc::default() };
        for signal in [SIGINT, SIGTERM] {
            // The first makes a signal deadly again once this recording is over.
            signal_hook::flag::register_conditional_default(signal, Arc::clone(&signals.over))
                .and_then(|_| signal_hook::flag::register_usize(signal, Arc::clone(&signals.caught), signal as usize))
                .map_err(|e| RecordError::io("signal handlers", e))?;
        }
        Ok(signals)
    }

    fn caught(&self) -> Option<i32> {
        match self.caught.load(Ordering::Relaxed) {
            0 => None,
            signal => Some(signal as i32),
        }
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

/// The command; ended when dropped.
struct Running {
    name: String,
    child: Child,
    reaped: bool,
}

impl Running {
    fn start(command: &[OsString]) -> Result<Self, RecordError> {
        let failed = |name: &str, source| RecordError::Command { command: name.to_owned(), source };
        let Some((program, arguments)) = command.split_first() else {
            return Err(failed("command", io::Error::new(io::ErrorKind::InvalidInput, "is empty, expected a program")));
        };
        let name = program.to_string_lossy().into_owned();
        let child = Command::new(program).args(arguments).spawn().map_err(|e| failed(&name, e))?;
        Ok(Self { name, child, reaped: false })
    }

    fn exited(&mut self) -> Result<Option<ExitStatus>, RecordError> {
        let status = self.child.try_wait();
        let status = status.map_err(|source| RecordError::Command { command: self.name.clone(), source })?;
        self.reaped |= status.is_some();
        Ok(status)
    }

    /// Passes `signal` on, or ends the command kindly, and waits for it.
    fn end(mut self, signal: Option<i32>) -> Result<ExitStatus, RecordError> {
        self.signal(if signal == Some(SIGINT) { Signal::INT } else { Signal::TERM });
        let status = self.child.wait();
        self.reaped = true;
        status.map_err(|source| RecordError::Command { command: self.name.clone(), source })
    }

    fn signal(&self, signal: Signal) {
        if let Some(pid) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            // It may just have exited.
            let _ = kill_process(pid, signal);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.reaped {
            self.signal(Signal::TERM);
            let _ = self.child.wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_page_header_description() {
        let header = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
            \tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\
            \tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\
            \tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n";
        assert_eq!(page_size(header), Some((16, 4080)));
        assert_eq!(page_size("nothing"), None);
    }
}
