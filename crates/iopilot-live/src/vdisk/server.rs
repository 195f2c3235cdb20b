//! [`VdiskServer`]: a virtual disk that this process serves.

#[cfg(feature = "ublk")]
use super::Via;
use super::checks::{check_name, check_system, depth, is_rotational, open_image};
use super::control::{self, Command};
use super::engine::Engine;
use super::image::Image;
use super::parts::Parts;
use super::request_log::RequestLog;
use super::state::StateFolder;
use super::stats::Tally;
use super::{Attachment, VdiskOptions, VdiskStats, sys};
use crate::LiveError;
use iopilot_block::InputError;
use rustix::event::{PollFd, PollFlags, poll};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level::{pipe, unregister};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

/// How many threads move data (and, with FUSE, read requests). While one waits for a flush, others go on.
const THREADS: usize = 4;

/// A virtual disk that this process serves until [`detach`](Self::detach), or until it is dropped.
///
/// Requests should come from other processes: one that dies with writes to its own disk pending waits for itself.
pub struct VdiskServer {
    attachment: Attachment,
    parts: Arc<Mutex<Parts>>,
    /// The thread that serves the control socket, and the stream whose closing ends it.
    control: Option<(JoinHandle<()>, UnixStream)>,
    /// Gets a byte when the disk was detached from outside, its model panicked, or its device is gone.
    detached: UnixStream,
}

impl VdiskServer {
    /// Makes the block device. It is ready on return.
    ///
    /// # Errors
    /// Where the options are wrong, the user is not root, or the kernel lacks FUSE, loop devices or ublk; nothing is left
    /// behind then.
    pub fn start(options: VdiskOptions) -> Result<Self, LiveError> {
        check_system(options.via)?;
        let depth = depth(&options)?;
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

    fn start_on(image: &Arc<Image>, state: &StateFolder, depth: u32, options: VdiskOptions) -> Result<Self, LiveError> {
        let log = options.log.as_deref().map(RequestLog::create).transpose()?;
        let (log, log_thread) = log.map_or((None, None), |(log, thread)| (Some(log), Some(thread)));
        let claim = state.claim(options.name.as_deref())?;
        let rotational = options.device.as_ref().is_some_and(is_rotational);
        let mut parts = Parts {
            claim,
            image: Arc::clone(image),
            tally: Arc::new(Mutex::new(Tally::new(options.speed))),
            model: options.device.clone(),
            engine: None,
            threads: Vec::new(),
            log: log_thread,
            fuse: None,
            device: None,
            gone: false,
        };
        let pair = || UnixStream::pair().map_err(|e| LiveError::io("a socket", e));
        let ((detached, tell), (stopped, stop)) = (pair()?, pair()?);
        // Whoever serves the disk ends it.
        let broken = || -> Result<_, LiveError> {
            let tell = tell.try_clone().map_err(|e| LiveError::io("a socket", e))?;
            Ok(move || drop((&tell).write_all(&[0])))
        };
        let mut real_time = false;
        if let Some(device) = options.device {
            let started = Engine::start(device, options.speed, Arc::clone(&parts.tally), log, broken()?);
            let (engine, thread, punctual) = started.map_err(|e| LiveError::io("a thread", e))?;
            parts.engine = Some(engine);
            parts.threads.push(thread);
            real_time = punctual;
        }
        let queue = match options.via {
            #[cfg(feature = "ublk")]
            Via::Ublk => parts.attach_ublk(depth, rotational, THREADS, broken()?)?,
            // Without the feature the other has been refused.
            _ => {
                parts.mount(THREADS)?;
                parts.attach(depth, rotational)?
            }
        };
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
        let listener = control::listen(parts.claim.folder())?;
        parts.claim.served(attachment.clone())?;
        let parts = Arc::new(Mutex::new(parts));
        let thread = {
            let parts = Arc::clone(&parts);
            let serve = move || serve_control(&listener, &stopped, tell, &parts);
            thread::Builder::new().name("vdisk-control".to_owned()).spawn(serve)
        };
        let control = Some((thread.map_err(|e| LiveError::io("a thread", e))?, stop));
        Ok(Self { attachment, parts, control, detached })
    }

    /// What there is to know of it.
    pub fn attachment(&self) -> &Attachment {
        &self.attachment
    }

    /// The block device, such as `/dev/loop0`.
    pub fn device(&self) -> &Path {
        &self.attachment.device
    }

    /// Its statistics so far.
    pub fn stats(&self) -> VdiskStats {
        stats(&self.parts)
    }

    /// Writes dirty data, and takes everything down.
    ///
    /// # Errors
    /// Where somebody uses the device (unless `force`: they then get I/O errors), or a step failed; the others are
    /// taken nevertheless.
    pub fn detach(mut self, force: bool) -> Result<(), LiveError> {
        self.take_down(force)
    }

    /// Leaves the terminal and the folder that this process was started from; what it has to tell goes to a file in the
    /// disk's folder.
    ///
    /// # Errors
    /// Where that file cannot be made.
    pub fn leave_terminal(&self) -> Result<(), LiveError> {
        let path = lock(&self.parts).claim.folder().join("log");
        sys::leave_terminal(&path).map_err(|e| LiveError::io(path, e))
    }

    /// Serves until a signal (SIGINT, SIGTERM, SIGHUP) or [`vdisk::detach`](super::detach) ends it, and takes everything
    /// down.
    ///
    /// # Errors
    /// Where a step of that failed; the others are taken nevertheless.
    pub fn serve(mut self) -> Result<(), LiveError> {
        let failed = |e| LiveError::io("a signal handler", e);
        let (signalled, signal) = UnixStream::pair().map_err(failed)?;
        let mut handlers = Vec::new();
        for number in [SIGINT, SIGTERM, SIGHUP] {
            handlers.push(pipe::register(number, signal.try_clone().map_err(failed)?).map_err(failed)?);
        }
        let woken = wait_for_either(&self.detached, &signalled).map_err(failed);
        let result = self.take_down(true);
        handlers.into_iter().for_each(|handler| {
            unregister(handler);
        });
        woken.and(result)
    }

    fn take_down(&mut self, force: bool) -> Result<(), LiveError> {
        let (result, gone) = {
            let mut parts = lock(&self.parts);
            (parts.take_down(force), parts.gone)
        };
        if let Some((thread, stop)) = self.control.take_if(|_| gone) {
            drop(stop);
            // A panic has been printed already.
            let _ = thread.join();
        }
        result
    }
}

impl Drop for VdiskServer {
    fn drop(&mut self) {
        // Nobody is left to report to.
        let _ = self.take_down(true);
    }
}

/// Serves the control socket until `stopped` is closed or the disk is detached; then `tell` gets a byte.
fn serve_control(listener: &UnixListener, stopped: &UnixStream, mut tell: UnixStream, parts: &Mutex<Parts>) {
    while matches!(wait_for_either(listener, stopped), Ok(Either::First)) {
        let Ok((stream, _)) = listener.accept() else { continue };
        // A client that sends nothing, or no valid command, gets no answer.
        let Ok(command) = control::receive(&stream) else { continue };
        // A client that has gone misses its answer.
        let _ = match command {
            Command::Stats => control::answer(&stream, Ok(stats(parts))),
            Command::Reset => control::answer(&stream, lock(parts).reset()),
            Command::Detach { force } => {
                let (result, gone) = {
                    let mut parts = lock(parts);
                    (parts.take_down(force), parts.gone)
                };
                let answered = control::answer(&stream, result);
                if gone {
                    // It is read, or nobody waits for it.
                    let _ = tell.write_all(&[0]);
                    return;
                }
                answered
            }
        };
    }
}

fn stats(parts: &Mutex<Parts>) -> VdiskStats {
    let (tally, in_flight, stored) = {
        let parts = lock(parts);
        // A file that cannot be asked takes nothing that could be told of.
        (parts.tally(), parts.in_flight(), parts.image.stored().unwrap_or(0))
    };
    tally.stats(in_flight, stored)
}

fn lock(parts: &Mutex<Parts>) -> MutexGuard<'_, Parts> {
    parts.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Which of two there is something to read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Either {
    First,
    Second,
}

/// Waits until one of them is readable or closed. If both are, the second wins.
fn wait_for_either(first: &impl AsFd, second: &impl AsFd) -> io::Result<Either> {
    let mut both = [PollFd::new(first, PollFlags::IN), PollFd::new(second, PollFlags::IN)];
    loop {
        match poll(&mut both, None) {
            Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(e.into()),
            Ok(_) => return Ok(if both[1].revents().is_empty() { Either::First } else { Either::Second }),
        }
    }
}
