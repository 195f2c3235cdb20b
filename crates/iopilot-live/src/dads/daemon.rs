//! [`Daemon`]: the autopilots of several disks, and what they tell.

use super::audit::Audit;
use super::autopilot::{Flight, FlightOptions};
use super::control::Control;
use super::journal::{Recovery, recover};
use super::metrics::Metrics;
use super::status::{Shared, Status};
use crate::LiveError;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Between two looks at who reads metrics.
const METRICS: Duration = Duration::from_millis(250);

/// The thread of an autopilot.
type Autopilot = JoinHandle<Result<(), LiveError>>;

/// What a daemon is told once.
#[derive(Clone, Debug)]
pub struct DaemonOptions {
    /// The disks, and how each is flown.
    pub flights: Vec<FlightOptions>,
    /// Where journals and the control socket are.
    pub runtime: PathBuf,
    /// The file to which events are added.
    pub audit: Option<PathBuf>,
    /// Where metrics are served.
    pub metrics: Option<String>,
}

/// The autopilots of several disks.
pub struct Daemon {
    began: Instant,
    stop: Arc<AtomicBool>,
    disks: Vec<(Arc<Shared>, Autopilot)>,
    control: Control,
    metrics: Option<Metrics>,
    recovered: Vec<Recovery>,
}

impl Daemon {
    /// Puts back what a killed daemon changed, looks at everything that was asked for, and takes off. Where something is
    /// wrong, nothing has been changed.
    ///
    /// # Errors
    /// What is wrong.
    pub fn start(options: DaemonOptions) -> Result<Self, LiveError> {
        let recovered = recover(&options.runtime)?;
        let control = Control::listen(&options.runtime)?;
        let metrics = options.metrics.as_deref().map(Metrics::listen).transpose()?;
        let audit = Audit::open(options.audit.as_deref())
            .map_err(|e| LiveError::io(options.audit.clone().unwrap_or_default(), e))?;
        let flights: Vec<Flight> = options.flights.into_iter().map(Flight::prepare).collect::<Result<_, _>>()?;
        let (stop, audit) = (Arc::new(AtomicBool::new(false)), Arc::new(audit));
        let mut disks = Vec::new();
        for flight in flights {
            let shared = Arc::new(Shared::new(flight.status()));
            let (told, audit, stop) = (Arc::clone(&shared), Arc::clone(&audit), Arc::clone(&stop));
            disks.push((shared, thread::spawn(move || flight.fly(&told, &audit, &stop))));
        }
        Ok(Self { began: Instant::now(), stop, disks, control, metrics, recovered })
    }

    /// What a killed daemon had left, and was put back at the start.
    pub fn recovered(&self) -> &[Recovery] {
        &self.recovered
    }

    /// How it goes.
    pub fn status(&self) -> Status {
        Status {
            pid: std::process::id(),
            up_s: self.began.elapsed().as_secs_f64(),
            disks: self.disks.iter().map(|(shared, _)| shared.with(|s| s.clone())).collect(),
        }
    }

    /// Answers whoever asks, at once, or waits for somebody for `period` or until a signal: an idle daemon is to cost nothing
    /// that is seen. Whether any disk is still flown.
    pub fn tick(&self, period: Duration) -> bool {
        let status = || self.status();
        let period = if self.metrics.is_some() { period.min(METRICS) } else { period };
        self.control.serve(period, &status);
        if let Some(metrics) = &self.metrics {
            metrics.serve(&status);
        }
        self.disks.iter().any(|(_, thread)| !thread.is_finished())
    }

    /// Lands: every disk is put back as it was. That a disk was unplugged is its user's business and no failure; the status and
    /// the audit tell.
    ///
    /// # Errors
    /// The first thing that went wrong during the flight of a disk or at its end; all are landed.
    pub fn stop(self) -> Result<(), LiveError> {
        self.stop.store(true, Ordering::Relaxed);
        let mut first = Ok(());
        for (_, thread) in self.disks {
            let ended = thread.join().unwrap_or_else(|_| {
                // Unwinding has put everything back.
                Err(LiveError::Failed("an autopilot ended unexpectedly; its disk was put back".to_owned()))
            });
            first = first.and(match ended {
                Err(LiveError::Unplugged(_)) => Ok(()),
                other => other,
            });
        }
        first
    }
}
