//! [`Capture`]: the requests that reach a live block device.
//!
//! There are two backends. The *BPF* one counts in the kernel and reports one record for each request. The *tracefs*
//! one reads the kernel's own trace events from a private instance, and works where BPF programs may not be loaded.
//! Both need root, neither needs anything installed, and both report the same: a request is a bio, as it was before
//! merging. It arrives with `block_bio_queue`, which exists under every scheduler.

mod clock;
mod correlate;
mod device;
mod ebpf;
mod event;
mod options;
mod tasks;
mod tracefs;

pub use options::{Backend, CaptureOptions, Delivery};
pub use tracefs::mount::TracefsMount;

use crate::LiveError;
use clock::now;
use device::CapturedDevice;
use ebpf::Ebpf;
use iopilot_block::Nanos;
use iopilot_trace::TraceRecord;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};
use tracefs::Tracefs;

/// How long later requests wait for an earlier one that has not completed.
const PATIENCE: Nanos = Nanos::from_secs(2);
/// How long a pausing capture waits for requests in flight.
const PAUSE_TIMEOUT: Duration = Duration::from_millis(200);

/// Captures the requests to a block device as they happen.
///
/// Dropping it, also by a panic, removes everything from the kernel. A tracefs instance that a killed process left is
/// removed by the next capture; BPF programs end with their process.
#[derive(Debug)]
pub struct Capture {
    source: Source,
    device: CapturedDevice,
    note: Option<String>,
    /// Requests without a completion that [`Capture::poll`] left out.
    given_up: u64,
    intake: Intake,
}

/// Which requests a capture takes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Intake {
    /// All.
    Open,
    /// Requests that had arrived by then.
    Closing(Instant),
    /// None: it costs nothing in the kernel.
    Closed,
}

#[derive(Debug)]
enum Source {
    Ebpf(Box<Ebpf>),
    Tracefs(Box<Tracefs>),
}

impl Capture {
    /// Starts to capture.
    ///
    /// # Errors
    /// Without root, for a path that is no block device, or if the kernel does not support the backend.
    pub fn start(options: &CaptureOptions) -> Result<Self, LiveError> {
        Self::with_patience(options, PATIENCE)
    }

    /// As [`Capture::start`], but gives up a request without completion after `patience`.
    ///
    /// # Errors
    /// As [`Capture::start`].
    pub fn with_patience(options: &CaptureOptions, patience: Nanos) -> Result<Self, LiveError> {
        let device = CapturedDevice::of(&options.device)?;
        tracefs::tidy();
        let (kb, delivery) = (options.buffer_kb, options.delivery);
        let tracefs =
            || Tracefs::start(&device, kb, patience, delivery).map(|tracefs| Source::Tracefs(Box::new(tracefs)));
        let (source, note) = match options.backend {
            Backend::Tracefs => (tracefs()?, None),
            asked => match Ebpf::start(&device, kb, patience, delivery) {
                Ok(ebpf) => (Source::Ebpf(Box::new(ebpf)), None),
                Err(e) if asked == Backend::Ebpf => return Err(e),
                Err(e @ (LiveError::Bpf(_) | LiveError::NotPermitted(_))) => match tracefs() {
                    Ok(source) => (source, Some(format!("no {e}; tracefs is used"))),
                    Err(other) => return Err(neither(e, other, &options.device)),
                },
                Err(e) => return Err(e),
            },
        };
        Ok(Self { source, device, note, given_up: 0, intake: Intake::Open })
    }

    /// The backend in use: never [`Backend::Auto`].
    pub fn backend(&self) -> Backend {
        match &self.source {
            Source::Ebpf(_) => Backend::Ebpf,
            Source::Tracefs(_) => Backend::Tracefs,
        }
    }

    /// Why the BPF backend could not be used.
    pub(crate) fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// Appends the requests that have completed to `out`, in the order of [`Delivery`]. In order of arrival, a request
    /// follows once all before it have completed or been given up, by default after 2 s. Times count from the first
    /// request ever, or from the start. Does not wait. Call it every 10 to 100 ms, or the kernel's buffers overflow.
    ///
    /// # Errors
    /// [`LiveError::Unplugged`] where the device is gone; others where the kernel's buffers cannot be read.
    pub fn poll(&mut self, out: &mut Vec<TraceRecord>) -> Result<(), LiveError> {
        let (from, mut kept) = (out.len(), out.len());
        self.poll_all(out)?;
        let closes = match self.intake {
            Intake::Closing(since) => self.pending() == 0 || since.elapsed() >= PAUSE_TIMEOUT,
            _ => false,
        };
        if closes {
            match &mut self.source {
                Source::Ebpf(ebpf) => ebpf.rest(out)?,
                Source::Tracefs(tracefs) => tracefs.rest(out)?,
            }
            self.intake = Intake::Closed;
        }
        for n in from..out.len() {
            if out[n].completion.is_some() {
                out.swap(kept, n);
                kept += 1;
            }
        }
        self.given_up += (out.len() - kept) as u64;
        out.truncate(kept);
        if self.device.is_present() { Ok(()) } else { Err(LiveError::Unplugged(self.device.name.clone())) }
    }

    /// As [`Capture::poll`], with the requests given up; they have no completion.
    pub(crate) fn poll_all(&mut self, out: &mut Vec<TraceRecord>) -> Result<(), LiveError> {
        match &mut self.source {
            Source::Ebpf(ebpf) => {
                ebpf.poll(out);
                Ok(())
            }
            Source::Tracefs(tracefs) => tracefs.poll(out),
        }
    }

    /// Ignores requests that arrive from now on until [`Capture::resume`]. Polling still returns those that had
    /// arrived, for up to 200 ms. After that it [is paused](Capture::is_paused), and costs the users of the device
    /// nothing.
    ///
    /// # Errors
    /// If the kernel does not detach a program.
    pub fn pause(&mut self) -> Result<(), LiveError> {
        if self.intake == Intake::Open {
            self.close()?;
            self.intake = Intake::Closing(Instant::now());
        }
        Ok(())
    }

    /// Whether it is paused, and has returned all requests from before.
    pub fn is_paused(&self) -> bool {
        self.intake == Intake::Closed
    }

    /// Ends a pause: takes in requests that arrive from now on.
    ///
    /// # Errors
    /// If the kernel does not attach the programs or events again.
    pub fn resume(&mut self) -> Result<(), LiveError> {
        match &mut self.source {
            Source::Ebpf(ebpf) => ebpf.reopen()?,
            Source::Tracefs(tracefs) => tracefs.reopen()?,
        }
        self.intake = Intake::Open;
        Ok(())
    }

    /// Ignores requests that arrive from now on.
    pub(crate) fn close(&mut self) -> Result<(), LiveError> {
        match &mut self.source {
            Source::Ebpf(ebpf) => ebpf.close(),
            Source::Tracefs(tracefs) => {
                tracefs.close(now());
                Ok(())
            }
        }
    }

    /// Appends all remaining requests, complete or not, and ends the capture.
    pub(crate) fn finish(&mut self, out: &mut Vec<TraceRecord>) -> Result<(), LiveError> {
        match &mut self.source {
            Source::Ebpf(ebpf) => ebpf.finish(out),
            Source::Tracefs(tracefs) => tracefs.finish(out),
        }
    }

    /// Requests that have arrived and not completed, as far as is known.
    pub fn pending(&self) -> usize {
        match &self.source {
            Source::Ebpf(ebpf) => ebpf.pending(),
            Source::Tracefs(tracefs) => tracefs.pending(),
        }
    }

    /// Requests that [`Capture::poll`] no longer waited for, so far.
    pub fn given_up(&self) -> u64 {
        let skipped = match &self.source {
            Source::Ebpf(ebpf) => ebpf.given_up(),
            Source::Tracefs(_) => 0,
        };
        self.given_up + skipped
    }

    /// Events so far for which the kernel's buffers had no room. Do not trust what was captured around them: requests
    /// or completions are missing.
    pub fn lost_events(&self) -> u64 {
        match &self.source {
            Source::Ebpf(ebpf) => ebpf.lost_events(),
            Source::Tracefs(tracefs) => tracefs.lost_events(),
        }
    }

    /// The names of the tasks that issued requests, by pid, as of each one's last request.
    pub fn process_names(&self) -> BTreeMap<u32, String> {
        match &self.source {
            Source::Ebpf(ebpf) => ebpf.process_names(),
            Source::Tracefs(tracefs) => tracefs.process_names(),
        }
    }

    /// When the first request arrived, on the monotonic clock; all times are relative to it.
    pub fn origin(&self) -> Option<Nanos> {
        match &self.source {
            Source::Ebpf(ebpf) => ebpf.origin(),
            Source::Tracefs(tracefs) => tracefs.origin(),
        }
    }
}

/// Why neither BPF nor tracefs can be used for `device`. Missing rights are reported alone.
fn neither(bpf: LiveError, tracefs: LiveError, device: &Path) -> LiveError {
    match (bpf, tracefs) {
        (LiveError::NotPermitted(_), LiveError::NotPermitted(_) | LiveError::NoTracefs(_))
        | (_, LiveError::NotPermitted(_)) => LiveError::NotPermitted(device.to_owned()),
        (LiveError::NotPermitted(_), tracefs) => tracefs,
        (bpf, tracefs) => LiveError::Bpf(format!("{}; and {tracefs}", bpf.to_string().trim_start_matches("BPF: "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_right_is_one_line() {
        let denied = || LiveError::NotPermitted("BPF".into());
        let line = |bpf, tracefs| neither(bpf, tracefs, Path::new("/dev/sdx")).to_string();
        let needs_root = "/dev/sdx: permission denied; this needs root";
        assert_eq!(line(denied(), LiveError::NoTracefs("mounting it needs root".to_owned())), needs_root);
        assert_eq!(line(LiveError::Bpf("no BTF".to_owned()), denied()), needs_root);
        let both = line(LiveError::Bpf("no BTF".to_owned()), LiveError::NoTracefs("why".to_owned()));
        assert_eq!(both, "BPF: no BTF; and tracefs is not mounted: why");
    }
}
