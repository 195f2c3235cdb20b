//! [`Daemon`]: the autopilots of several disks, their status and metrics.

use super::audit::Audit;
use super::autopilot::{DiskFlight, FlightOptions};
use super::control::ControlSocket;
use super::journal::{Recovery, recover};
use super::metrics;
use super::status::{Shared, Status};
use crate::LiveError;
use crate::metrics_server::MetricsServer;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The time between two polls for readers of metrics.
const METRICS: Duration = Duration::from_millis(250);

/// The thread of an autopilot.
type Autopilot = JoinHandle<Result<(), LiveError>>;

/// The settings of a daemon.
#[derive(Clone, Debug)]
pub struct DaemonOptions {
    /// The disks with their settings.
    pub flights: Vec<FlightOptions>,
    /// Where journals and the control socket are.
    pub runtime: PathBuf,
    /// The audit file.
    pub audit: Option<PathBuf>,
    /// The address of the metrics.
    pub metrics: Option<String>,
}

/// The autopilots of several disks.
pub struct Daemon {
    began: Instant,
    stop: Arc<AtomicBool>,
    disks: Vec<(Arc<Shared>, Autopilot)>,
    control: ControlSocket,
    metrics: Option<MetricsServer>,
    recovered: Vec<Recovery>,
}

impl Daemon {
    /// Restores what a killed daemon changed, checks all options, and starts the autopilots. On an error nothing has
    /// been changed.
    ///
    /// # Errors
    /// If an option is wrong, or a disk cannot be captured.
    pub fn start(options: DaemonOptions) -> Result<Self, LiveError> {
        let recovered = recover(&options.runtime)?;
        let control = ControlSocket::listen(&options.runtime)?;
        let metrics = options.metrics.as_deref().map(MetricsServer::listen).transpose()?;
        let audit = Audit::open(options.audit.as_deref())
            .map_err(|e| LiveError::io(options.audit.clone().unwrap_or_default(), e))?;
        let flights: Vec<DiskFlight> =
            options.flights.into_iter().map(DiskFlight::prepare).collect::<Result<_, _>>()?;
        let (stop, audit) = (Arc::new(AtomicBool::new(false)), Arc::new(audit));
        let mut disks = Vec::new();
        for flight in flights {
            let shared = Arc::new(Shared::new(flight.status()));
            let (status, audit, stop) = (Arc::clone(&shared), Arc::clone(&audit), Arc::clone(&stop));
            disks.push((shared, thread::spawn(move || flight.fly(&status, &audit, &stop))));
        }
        Ok(Self { began: Instant::now(), stop, disks, control, metrics, recovered })
    }

    /// What was restored at the start, after a killed daemon.
    pub fn recovered(&self) -> &[Recovery] {
        &self.recovered
    }

    /// The status.
    pub fn status(&self) -> Status {
        Status {
            pid: std::process::id(),
            up_s: self.began.elapsed().as_secs_f64(),
            disks: self.disks.iter().map(|(shared, _)| shared.with(|s| s.clone())).collect(),
        }
    }

    /// Answers waiting clients, or waits for one for `period` or until a signal. Returns whether any disk is still
    /// flown.
    pub fn tick(&self, period: Duration) -> bool {
        let status = || self.status();
        let period = if self.metrics.is_some() { period.min(METRICS) } else { period };
        self.control.serve(period, &status);
        if let Some(metrics) = &self.metrics {
            metrics.serve(&|| metrics::text(self.status()));
        }
        self.disks.iter().any(|(_, thread)| !thread.is_finished())
    }

    /// Ends all autopilots and restores every disk. An unplugged disk is no failure; status and audit file report it.
    ///
    /// # Errors
    /// The first failure during the flight of a disk or at its end; all flights are ended nevertheless.
    pub fn stop(self) -> Result<(), LiveError> {
        self.stop.store(true, Ordering::Relaxed);
        let mut first = Ok(());
        for (_, thread) in self.disks {
            let ended = thread.join().unwrap_or_else(|_| {
                // Unwinding has restored the disk.
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
