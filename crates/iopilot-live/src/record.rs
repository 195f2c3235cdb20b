//! [`record`]: a recording of a live device from start to end.
//!
//! Its programs and trace instances are removed at the end, also after an error, a panic, SIGINT or SIGTERM.

mod command;

use crate::{Backend, Capture, CaptureOptions, LiveError, Signals};
use command::RecordedCommand;
use iopilot_block::Nanos;
use iopilot_trace::{RecordedSystem, TraceRecord};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The shortest and the longest time between two polls of the capture; it doubles while no request comes.
const PERIOD: Duration = Duration::from_millis(10);
const IDLE_PERIOD: Duration = Duration::from_millis(80);
/// How long the end of a recording waits for requests in flight.
const SETTLE: Duration = Duration::from_secs(2);
/// A request without completion after this time is given up: its completion was lost.
const PATIENCE: Nanos = Nanos::from_secs(120);

/// What to record.
#[derive(Clone, Debug)]
pub struct RecordOptions {
    /// The device, and how it is captured.
    pub capture: CaptureOptions,
    /// A program with its arguments: the recording begins before it starts and ends when it exits. It inherits standard
    /// input, output and error. Dirty pages that it leaves are written back later, and not recorded; let the command
    /// end with `sync` if that matters.
    pub command: Option<Vec<OsString>>,
    /// The recording ends after this at the latest; the command is then sent SIGTERM. Without command and duration it
    /// ends at SIGINT or SIGTERM.
    pub duration: Option<Duration>,
}

impl RecordOptions {
    /// Records all requests of `device`, until a signal.
    pub fn new(device: impl Into<PathBuf>) -> Self {
        Self { capture: CaptureOptions::new(device), command: None, duration: None }
    }
}

/// The summary of a recording.
#[derive(Clone, Debug)]
pub struct RecordSummary {
    /// The backend that was used: never [`Backend::Auto`].
    pub backend: Backend,
    /// Why the tracefs backend was not used, where no backend was asked for.
    pub note: Option<String>,
    /// Requests recorded.
    pub requests: u64,
    /// Recorded requests whose completion was not seen.
    pub incomplete: u64,
    /// The names of the tasks that issued them, as the kernel knew them at each one's last request.
    pub process_names: BTreeMap<u32, String>,
    /// Events that were lost: the kernel's buffers were full, or a program of the capture was not run.
    pub lost_events: u64,
    /// The system and the disk's settings when the recording began.
    pub system: RecordedSystem,
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
/// Without root, where the device is no block device, where the kernel cannot be asked, and where the command cannot be
/// started: each one line. Nothing of the recording remains in the kernel in any case.
pub fn record(
    options: &RecordOptions,
    sink: &mut dyn FnMut(TraceRecord) -> ControlFlow<()>,
) -> Result<RecordSummary, LiveError> {
    let signals = Signals::catch()?;
    let mut system = crate::describe(&options.capture.device)?;
    let (mut capture, note) = start(&options.capture)?;
    let mut drain = Drain { records: Vec::new(), sink, refused: false, requests: 0, incomplete: 0 };
    let began = Instant::now();
    let mut command = options.command.as_deref().map(RecordedCommand::start).transpose()?;
    let mut period = PERIOD;
    let exit_status = loop {
        sleep(period);
        capture.poll_all(&mut drain.records)?;
        period = if drain.records.is_empty() { (2 * period).min(IDLE_PERIOD) } else { PERIOD };
        drain.deliver();
        let exited = command.as_mut().map(RecordedCommand::exited).transpose()?.flatten();
        let over =
            drain.refused || signals.caught().is_some() || options.duration.is_some_and(|d| began.elapsed() >= d);
        if exited.is_some() || over {
            break exited;
        }
    };
    capture.close()?;
    let exit_status = match command {
        Some(command) if exit_status.is_none() => Some(command.end(signals.caught())?),
        _ => exit_status,
    };
    let closed = Instant::now();
    while !drain.refused && closed.elapsed() < SETTLE {
        capture.poll_all(&mut drain.records)?;
        drain.deliver();
        if capture.pending() == 0 && closed.elapsed() > PERIOD {
            break;
        }
        sleep(PERIOD);
    }
    capture.finish(&mut drain.records)?;
    drain.deliver();
    (system.lost_events, system.incomplete) = (capture.lost_events(), drain.incomplete);
    Ok(RecordSummary {
        system,
        backend: capture.backend(),
        note,
        requests: drain.requests,
        incomplete: drain.incomplete,
        process_names: capture.process_names(),
        lost_events: capture.lost_events(),
        elapsed: began.elapsed(),
        exit_status,
        signal: signals.caught(),
    })
}

/// Starts the capture. Where no backend is asked for it is tracefs, which misses nothing: the kernel does not run every
/// BPF program at every completion (seen on Linux 6.18: one in a thousand to ten thousand completions, in bursts,
/// uncounted). Returns also why another backend is used.
fn start(options: &CaptureOptions) -> Result<(Capture, Option<String>), LiveError> {
    let with = |backend| Capture::with_patience(&CaptureOptions { backend, ..options.clone() }, PATIENCE);
    match options.backend {
        Backend::Auto => match with(Backend::Tracefs) {
            Ok(capture) => Ok((capture, None)),
            Err(e @ (LiveError::NotPermitted(_) | LiveError::Device { .. })) => Err(e),
            Err(e) => {
                let capture = with(Backend::Ebpf).map_err(|bpf| LiveError::Bpf(format!("{bpf}; and {e}")))?;
                Ok((capture, Some(format!("no tracefs: {e}; BPF is used"))))
            }
        },
        asked => with(asked).map(|capture| (capture, None)),
    }
}

/// Passes records from the capture to the sink.
struct Drain<'a> {
    records: Vec<TraceRecord>,
    sink: &'a mut dyn FnMut(TraceRecord) -> ControlFlow<()>,
    refused: bool,
    requests: u64,
    incomplete: u64,
}

impl Drain<'_> {
    fn deliver(&mut self) {
        for record in self.records.drain(..) {
            self.requests += 1;
            self.incomplete += u64::from(record.completion.is_none());
            self.refused = self.refused || (self.sink)(record).is_break();
        }
    }
}
