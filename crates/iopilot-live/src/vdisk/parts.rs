//! [`VdiskParts`]: the parts of a running virtual disk, and how they are taken down.

use super::image::Image;
use super::image_store::{ImageStore, ModelEngine, Timing};
use super::stats::VdiskTally;
use super::{Attachment, Command, VdiskReset, VdiskStats};
use crate::block_server::{
    BlockDeviceSpec, Buffers, DeviceClaim, Exposed, ServedDevice, answer, become_io_flusher, become_real_time,
};
use crate::{BlockQueue, LiveError};
use iopilot_catalogue::AnyDevice;
use std::io;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// The priority of the threads that move data: below the one that keeps time.
const PRIORITY: i32 = 10;

/// The parts of a running virtual disk. Dropping it takes down those that exist, in order.
pub(super) struct VdiskParts {
    pub(super) claim: DeviceClaim<Attachment>,
    pub(super) image: Arc<Image>,
    pub(super) tally: Arc<Mutex<VdiskTally>>,
    /// The model as it was at the beginning.
    pub(super) model: Option<AnyDevice>,
    pub(super) engine: Option<Arc<ModelEngine>>,
    pub(super) threads: Vec<JoinHandle<()>>,
    pub(super) log: Option<JoinHandle<io::Result<()>>>,
    pub(super) exposed: Exposed,
    pub(super) gone: bool,
}

impl VdiskParts {
    /// Makes the block device. If its driver drops it, `broken` is called.
    pub(super) fn expose(
        &mut self,
        shape: &BlockDeviceSpec,
        broken: impl FnOnce() + Send + 'static,
    ) -> Result<BlockQueue, LiveError> {
        let timing = match &self.engine {
            Some(engine) => Timing::Model(Arc::clone(engine)),
            None => Timing::None(Arc::clone(&self.tally)),
        };
        // Without a model, real-time threads could occupy a CPU for ever.
        let punctual = self.engine.is_some();
        let prepare = move || {
            if punctual {
                become_real_time(PRIORITY);
            }
            become_io_flusher();
        };
        let store = Arc::new(ImageStore { image: Arc::clone(&self.image), timing });
        self.exposed.make(&store, &self.claim, &Arc::new(Buffers::default()), shape, prepare, broken)
    }

    /// Replaces the model by a freshly reset one.
    fn reset(&self) -> Result<VdiskReset, LiveError> {
        let refused = |reason: &str| {
            let path = self.exposed.path().map_or_else(|| self.claim.mount_point(), std::path::Path::to_owned);
            LiveError::Device { path, reason: reason.to_owned() }
        };
        let (Some(engine), Some(model)) = (&self.engine, &self.model) else {
            return Err(refused("a disk without a model, expected one that has one to be reset"));
        };
        let clocks = engine.replace(model.clone());
        let (real, model) = clocks.ok_or_else(|| refused("requests under way, expected an idle disk"))?;
        Ok(VdiskReset { monotonic_ns: real, model_ns: model.0 })
    }

    /// The statistics so far.
    pub(super) fn stats(&self) -> VdiskStats {
        let in_flight = self.engine.as_ref().map_or(0, |engine| engine.in_flight() as u64);
        // A file whose size cannot be read counts as empty.
        let stored = self.image.stored().unwrap_or(0);
        // The counters are copied, because answers are counted meanwhile.
        let tally = self.tally.lock().unwrap_or_else(PoisonError::into_inner).clone();
        tally.stats(in_flight, stored)
    }
}

impl ServedDevice for VdiskParts {
    type Command = Command;

    fn command(&mut self, command: Command, client: &UnixStream) -> io::Result<()> {
        match command {
            Command::Stats => answer(client, Ok(self.stats())),
            Command::Reset => answer(client, self.reset()),
            Command::Detach { force } => {
                let result = self.take_down(force);
                answer(client, result)
            }
        }
    }

    fn is_gone(&self) -> bool {
        self.gone
    }

    fn take_down(&mut self, force: bool) -> Result<(), LiveError> {
        if self.gone {
            return Ok(());
        }
        if !force {
            self.exposed.check_unused()?;
        }
        self.gone = true;
        // Remaining writes need not take the model's time.
        if let Some(engine) = &self.engine {
            engine.answer_at_once();
        }
        self.exposed.sync_file_systems();
        // Each step is tried, even if one before it failed.
        let mut results = self.exposed.take_down();
        if let Some(engine) = self.engine.take() {
            engine.stop();
        }
        for thread in self.threads.drain(..) {
            // A panic has been printed already.
            let _ = thread.join();
        }
        if let Some(Ok(result)) = self.log.take().map(JoinHandle::join) {
            results.push(result.map_err(|e| LiveError::io("the log of requests", e)));
        }
        results.push(self.image.sync().map_err(|e| LiveError::io(self.image.path(), e)));
        self.image.unlock();
        results.push(self.claim.release());
        results.into_iter().collect()
    }
}

impl Drop for VdiskParts {
    fn drop(&mut self) {
        // Nobody is left to report to.
        let _ = self.take_down(true);
    }
}
