//! [`VdiskServer`]: a virtual disk that this process serves.

use super::checks::{is_rotational, open_image};
use super::engine::RealTimeModel;
use super::image::Image;
use super::parts::VdiskParts;
use super::request_log::VdiskRequestLog;
use super::stats::VdiskTally;
use super::{Attachment, VdiskOptions, VdiskStats};
use crate::LiveError;
use crate::block_server::{BlockDeviceSpec, EndSignal, Exposed, Server, StateFolder, check_name, check_system, depth};
use iopilot_block::InputError;
use iopilot_device::Device;
use std::path::Path;
use std::sync::{Arc, Mutex};

/// How many threads move data (and, with FUSE, read requests). While one waits for a flush, others go on.
const THREADS: usize = 4;

/// A virtual disk that this process serves until [`detach`](Self::detach), or until it is dropped.
///
/// Requests should come from other processes. A process that dies with pending writes to its own disk waits for itself.
pub struct VdiskServer {
    attachment: Attachment,
    server: Server<VdiskParts>,
}

impl VdiskServer {
    /// Makes the block device. It is ready on return.
    ///
    /// # Errors
    /// Where the options are wrong, the user is not root, or the kernel has no FUSE, loop devices or ublk; nothing is
    /// left behind then.
    pub fn start(options: VdiskOptions) -> Result<Self, LiveError> {
        check_system(options.via)?;
        let depth = depth(options.via, options.depth, options.device.as_ref().map(Device::queue_depth))?;
        if !(options.speed > 0.0 && options.speed.is_finite()) {
            let expected = "a number above 0";
            return Err(InputError::new("--time-scale", options.speed.to_string(), expected).into());
        }
        if let Some(name) = &options.name {
            check_name(name)?;
        }
        let state = StateFolder::open(&options.state)?;
        // A dead server's leftovers may hold the backing file.
        state.look()?;
        let image = Arc::new(open_image(&options)?);
        Self::start_on(&image, &state, depth, options).inspect_err(|_| image.abandon())
    }

    fn start_on(
        image: &Arc<Image>,
        state: &StateFolder<Attachment>,
        depth: u32,
        options: VdiskOptions,
    ) -> Result<Self, LiveError> {
        let log = options.log.as_deref().map(VdiskRequestLog::create).transpose()?;
        let (log, log_thread) = log.map_or((None, None), |(log, thread)| (Some(log), Some(thread)));
        let claim = state.claim(options.name.as_deref())?;
        let folder = claim.folder().to_owned();
        let exposed = Exposed::new(&claim);
        let mut parts = VdiskParts {
            claim,
            image: Arc::clone(image),
            tally: Arc::new(Mutex::new(VdiskTally::new(options.speed))),
            model: options.device.clone(),
            engine: None,
            threads: Vec::new(),
            log: log_thread,
            exposed,
            gone: false,
        };
        let ending = EndSignal::new()?;
        let rotational = options.device.as_ref().is_some_and(is_rotational);
        let mut real_time = false;
        if let Some(device) = options.device {
            // A model that panics ends the server.
            let started = RealTimeModel::start(device, options.speed, Arc::clone(&parts.tally), log, ending.teller()?);
            let (engine, thread, punctual) = started.map_err(|e| LiveError::io("a thread", e))?;
            parts.engine = Some(engine);
            parts.threads.push(thread);
            real_time = punctual;
        }
        let shape = BlockDeviceSpec {
            name: "vdisk",
            via: options.via,
            depth,
            rotational,
            logical_block: 512,
            discards: true,
            threads: THREADS,
        };
        let queue = parts.expose(&shape, ending.teller()?)?;
        if let Some(scheduler) = &options.scheduler {
            queue.set_scheduler(scheduler)?;
        }
        let attachment = Attachment {
            name: parts.claim.name(),
            device: Path::new("/dev").join(queue.name()),
            disk: options.disk,
            size: image.size(),
            depth,
            scheduler: queue.scheduler()?,
            backing: image.path().to_owned(),
            time_scale: options.speed,
            real_time,
            pid: std::process::id(),
            served: true,
            warnings: image.warn_of_room().map_err(|e| LiveError::io(image.path(), e))?.into_iter().collect(),
        };
        let server = Server::start(parts, &folder, ending, "vdisk")?;
        // Clients that find it can send commands from now on.
        server.parts().claim.served(attachment.clone())?;
        Ok(Self { attachment, server })
    }

    /// Its description.
    pub fn attachment(&self) -> &Attachment {
        &self.attachment
    }

    /// The block device, such as `/dev/loop0`.
    pub fn device(&self) -> &Path {
        &self.attachment.device
    }

    /// Its statistics so far.
    pub fn stats(&self) -> VdiskStats {
        self.server.parts().stats()
    }

    /// Writes dirty data, and takes everything down.
    ///
    /// # Errors
    /// Where somebody uses the device (unless `force`: they then get I/O errors), or a step failed; the others are
    /// taken nevertheless.
    pub fn detach(mut self, force: bool) -> Result<(), LiveError> {
        self.server.take_down(force)
    }

    /// Leaves the terminal and the folder that this process was started from; its messages go to a file in the disk's
    /// folder.
    ///
    /// # Errors
    /// Where that file cannot be made.
    pub fn leave_terminal(&self) -> Result<(), LiveError> {
        self.server.leave_terminal()
    }

    /// Serves until a signal (SIGINT, SIGTERM, SIGHUP) or [`vdisk::detach`](super::detach) ends it, and takes
    /// everything down.
    ///
    /// # Errors
    /// Where a step of that failed; the others are taken nevertheless.
    pub fn serve(self) -> Result<(), LiveError> {
        self.server.serve()
    }
}
