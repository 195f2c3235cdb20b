//! [`RedcapServer`]: a cached disk that this process serves.

use super::body::CacheBody;
use super::cached_disk::CachedDisk;
use super::decider::{Decider, RedcapModel, scheduler_of};
use super::frames::Frames;
use super::lower_disk::LowerDisk;
use super::metrics;
use super::monitor::Monitor;
use super::parts::CacheParts;
use super::pilot::run_pilot;
use super::pressure;
use super::ring::Ring;
use super::warm_file::WarmFile;
use super::warmer::Warmer;
use super::{RedcapAttachment, RedcapOptions};
use crate::LiveError;
use crate::block_server::{
    BlockDeviceSpec, Buffers, EndSignal, Exposed, Server, StateFolder, become_io_flusher, check_name, check_system,
    depth,
};
use crate::metrics_server::MetricsServer;
use iopilot_block::SECTOR_BYTES;
use iopilot_device::Device;
use iopilot_redcap::{Algorithm, Redcap, RedcapSpec};
use iopilot_sim::{RedcapReferenceDisk, RunConfig, train_two_tables};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::mpsc::{TryRecvError, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The bounds of the number of threads that receive requests and copy what the cache holds: one for each CPU. They do
/// not wait for the disk.
const THREADS: std::ops::RangeInclusive<usize> = 2..=8;
const NAME: &str = "redcap";
/// How often the thread that serves metrics looks whether to end.
const METRICS: Duration = Duration::from_millis(250);

/// A cached disk that this process serves until [`detach`](Self::detach), or until it is dropped.
///
/// Requests should come from other processes. A process that dies with pending writes to its own device waits for
/// itself.
pub struct RedcapServer {
    attachment: RedcapAttachment,
    server: Server<CacheParts>,
}

impl RedcapServer {
    /// Makes the block device. It is ready on return.
    ///
    /// # Errors
    /// Where the options are wrong, the user is not root, the disk is in use, or the kernel has no FUSE, loop devices,
    /// ublk or io_uring; nothing is left behind then.
    pub fn start(options: RedcapOptions) -> Result<Self, LiveError> {
        check_system(options.via)?;
        let depth = depth(options.via, options.depth, None)?;
        if let Some(name) = &options.name {
            check_name(name)?;
        }
        options.spec.check()?;
        let state = StateFolder::open(&options.state)?;
        // A dead server's leftovers may hold the disk.
        state.look()?;
        let disk = LowerDisk::open(&options.lower)?;
        check_fit(&disk, &options)?;
        let sectors = disk.start..disk.start + disk.size / SECTOR_BYTES;
        let decider = Decider::new(&options.spec, &options.model, disk.queue.as_ref(), sectors)?;
        Self::start_on(disk, decider, &state, depth, options)
    }

    fn start_on(
        lower: LowerDisk,
        decider: Decider,
        state: &StateFolder<RedcapAttachment>,
        depth: u32,
        options: RedcapOptions,
    ) -> Result<Self, LiveError> {
        let spec = options.spec;
        let metrics = options.metrics.as_deref().map(MetricsServer::listen).transpose()?;
        let simulated_disk = simulated_disk(&spec, &lower, &options.model)?;
        let cache = Redcap::with_reference_disk(&spec, lower.size / SECTOR_BYTES, simulated_disk)?;
        let segment = u64::from(spec.geometry.segment_sectors().0) * SECTOR_BYTES;
        let mut warnings = Vec::new();
        let warmer = match &options.warm {
            Some(path) => {
                let file = WarmFile::new(path, lower.size, segment)?;
                let (warmer, useless) = Warmer::new(file, spec.geometry.segments as usize)?;
                warnings.extend(useless);
                Some(warmer)
            }
            None => None,
        };
        let frames = Frames::new(spec.geometry.segments, segment as usize, spec.most_bytes() as usize);
        let frames = frames.map_err(|e| LiveError::io("the cache's memory", e))?;
        let locked = frames.is_locked();
        let ring = lower.descriptor().and_then(Ring::new).map_err(|e| {
            let reason = format!("the kernel gives none ({e}); is it allowed, in /proc/sys/kernel/io_uring_disabled?");
            LiveError::Device { path: "io_uring".into(), reason }
        })?;
        let ring = Arc::new(ring);
        let body = CacheBody::new(cache, &spec, frames, Arc::clone(&ring), lower.requests);
        let claim = state.claim(options.name.as_deref())?;
        let folder = claim.folder().to_owned();
        let ending = EndSignal::new()?;
        let shape = BlockDeviceSpec {
            name: NAME,
            via: options.via,
            depth,
            rotational: lower.rotational,
            logical_block: lower.logical_block,
            discards: lower.discards,
            threads: thread::available_parallelism().map_or(2, usize::from).clamp(*THREADS.start(), *THREADS.end()),
        };
        let (size, lower_queue) = (lower.size, lower.queue.clone());
        let disk = Arc::new(CachedDisk::new(body, ring, lower, ending.teller()?));
        let exposed = Exposed::new(&claim);
        let told = pressure::watch();
        let warmth = warmer.as_ref().map(|warmer| Arc::new(Mutex::new(warmer.status())));
        let monitor = Arc::new(Monitor::new(&spec, &disk, told.is_ok(), warmth));
        let mut parts = CacheParts {
            claim,
            monitor: Arc::clone(&monitor),
            exposed,
            completions: None,
            pilot: None,
            pressure: None,
            metrics: None,
            warmer: None,
            gone: false,
        };
        let thread_failed = |e| LiveError::io("a thread", e);
        parts.completions = Some({
            let disk = Arc::clone(&disk);
            let take = move || {
                become_io_flusher();
                disk.take_completions();
            };
            spawn("disk", take).map_err(thread_failed)?
        });
        let buffers = Arc::new(Buffers::default());
        let prepare = || {
            become_io_flusher();
        };
        let CacheParts { claim, exposed, .. } = &mut parts;
        let queue = exposed.make(&disk, claim, &buffers, &shape, prepare, ending.teller()?)?;
        // These settings of the disk below also suit the device above.
        if let Some(below) = &lower_queue {
            for name in ["read_ahead_kb", "max_sectors_kb"] {
                if let Ok(value) = below.read(name) {
                    // A limit that the driver refuses keeps its default.
                    let _ = queue.write(name, &value);
                }
            }
        }
        queue.set_scheduler(options.scheduler.as_deref().unwrap_or("none"))?;
        if !locked {
            warnings.push("the cache's memory could not be locked, and may be paged out".to_owned());
        }
        match told {
            Ok(told) => {
                let (stopped, stop) = UnixStream::pair().map_err(|e| LiveError::io("a socket", e))?;
                let monitor = Arc::clone(&monitor);
                let shrink =
                    move || pressure::shrink_under_pressure(&told, &stopped, &monitor.disk, &monitor.limit, &buffers);
                parts.pressure = Some((spawn("memory", shrink).map_err(thread_failed)?, stop));
            }
            Err(e) => {
                warnings.push(format!("the cache does not shrink when memory is short: /proc/pressure/memory: {e}"));
            }
        }
        if spec.algorithm == Algorithm::Adaptive {
            let (stop, stopped) = channel();
            let monitor = Arc::clone(&monitor);
            let run = move || run_pilot(decider, &monitor.disk, &monitor.notes, &stopped);
            parts.pilot = Some((spawn("adaptive", run).map_err(thread_failed)?, stop));
        }
        if let (Some(warmer), Some(warmth)) = (warmer, monitor.warmth.clone()) {
            let (stop, stopped) = channel();
            let monitor = Arc::clone(&monitor);
            let run = move || warmer.run(&monitor.disk, &warmth, &stopped);
            parts.warmer = Some((spawn("warm", run).map_err(thread_failed)?, stop));
        }
        if let Some(server) = metrics {
            let (stop, stopped) = channel::<()>();
            let lower = options.lower.clone();
            let serve = move || {
                let text = || metrics::text(monitor.status(), &lower);
                while stopped.try_recv() == Err(TryRecvError::Empty) {
                    server.serve_next(METRICS, &text);
                }
            };
            parts.metrics = Some((spawn("metrics", serve).map_err(thread_failed)?, stop));
        }
        let attachment = RedcapAttachment {
            name: parts.claim.name(),
            device: Path::new("/dev").join(queue.name()),
            disk: options.lower,
            size,
            settings: spec.to_string(),
            algorithm: spec.algorithm.to_string(),
            cache: spec.most_bytes(),
            depth,
            scheduler: queue.scheduler()?,
            pid: std::process::id(),
            served: true,
            warnings,
        };
        let server = Server::start(parts, &folder, ending, NAME)?;
        // Clients that find it can send commands from now on.
        server.parts().claim.served(attachment.clone())?;
        Ok(Self { attachment, server })
    }

    /// Its description.
    pub fn attachment(&self) -> &RedcapAttachment {
        &self.attachment
    }

    /// Writes dirty data, and takes everything down.
    ///
    /// # Errors
    /// Where somebody uses the device (unless `force`: they then get I/O errors), or a step failed; the others are
    /// taken nevertheless.
    pub fn detach(mut self, force: bool) -> Result<(), LiveError> {
        self.server.take_down(force)
    }

    /// Leaves the terminal and the folder that this process was started from; its messages go to a file in the device's
    /// folder.
    ///
    /// # Errors
    /// Where that file cannot be made.
    pub fn leave_terminal(&self) -> Result<(), LiveError> {
        self.server.leave_terminal()
    }

    /// Serves until a signal (SIGINT, SIGTERM, SIGHUP) or [`redcap::detach`](super::detach) ends it, and takes
    /// everything down.
    ///
    /// # Errors
    /// Where a step of that failed; the others are taken nevertheless.
    pub fn serve(self) -> Result<(), LiveError> {
        self.server.serve()
    }
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> std::io::Result<JoinHandle<()>> {
    thread::Builder::new().name(format!("{NAME}-{name}")).spawn(work)
}

/// Checks that the disk is large enough for the cache.
fn check_fit(disk: &LowerDisk, options: &RedcapOptions) -> Result<(), LiveError> {
    let segment = u64::from(options.spec.geometry.segment_sectors().0) * SECTOR_BYTES;
    if disk.size < segment {
        let reason = format!("{} bytes, expected a disk of at least one segment of {segment}", disk.size);
        return Err(LiveError::Device { path: disk.path.clone(), reason });
    }
    Ok(())
}

/// The simulated disk that the algorithm needs. It is trained on a given model; without one, it learns from the disk.
fn simulated_disk(
    spec: &RedcapSpec,
    disk: &LowerDisk,
    model: &RedcapModel,
) -> Result<Option<RedcapReferenceDisk>, LiveError> {
    if !spec.algorithm.needs_reference_disk() {
        return Ok(None);
    }
    let (capacity, tables) = match model {
        RedcapModel::Given { device, .. } => (device.capacity(), Some(Arc::new(train_two_tables(device.clone())))),
        RedcapModel::Learned { .. } => (disk.size / SECTOR_BYTES, None),
    };
    let config = RunConfig { tables, rotational: disk.rotational, ..RunConfig::default() };
    let made = RedcapReferenceDisk::new(&scheduler_of(disk.queue.as_ref())?, capacity, &config);
    made.map(Some).map_err(|e| LiveError::Device { path: disk.path.clone(), reason: e.to_string() })
}

#[cfg(test)]
mod faults;
