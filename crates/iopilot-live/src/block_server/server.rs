//! [`Server`]: a served block device with its control socket, until it is detached.

use super::{control, sys};
use crate::LiveError;
use rustix::event::{PollFd, PollFlags, poll};
use serde::de::DeserializeOwned;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level::{pipe, unregister};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

/// What a [`Server`] serves.
pub(crate) trait ServedDevice: Send + 'static {
    /// The commands that it accepts.
    type Command: DeserializeOwned;

    /// Carries out a command, and answers it. The server checks [`Self::is_gone`] afterwards.
    fn command(&mut self, command: Self::Command, client: &UnixStream) -> io::Result<()>;

    /// Takes everything down. If somebody uses the device, nothing is done, unless `force`.
    fn take_down(&mut self, force: bool) -> Result<(), LiveError>;

    /// Whether it was taken down.
    fn is_gone(&self) -> bool;
}

/// A served block device with its control socket.
pub(crate) struct Server<P: ServedDevice> {
    parts: Arc<Mutex<P>>,
    /// The thread that serves the control socket, and the stream whose closing ends it.
    control: Option<(JoinHandle<()>, UnixStream)>,
    folder: PathBuf,
    /// Receives a byte when the device was detached from outside, or has failed.
    ended: UnixStream,
}

/// The other end of [`Server`]'s stream: a byte there ends [`Server::serve`].
pub(crate) struct EndSignal {
    tell: UnixStream,
    ended: UnixStream,
}

impl EndSignal {
    pub(crate) fn new() -> Result<Self, LiveError> {
        let (ended, tell) = UnixStream::pair().map_err(|e| LiveError::io("a socket", e))?;
        Ok(Self { tell, ended })
    }

    /// A function that ends the server, to be called when the device has failed.
    pub(crate) fn teller(&self) -> Result<impl Fn() + Send + Sync + use<>, LiveError> {
        let tell = self.tell.try_clone().map_err(|e| LiveError::io("a socket", e))?;
        Ok(move || drop((&tell).write_all(&[0])))
    }
}

impl<P: ServedDevice> Server<P> {
    /// Listens in `folder` for commands to `parts`.
    pub(crate) fn start(parts: P, folder: &Path, ending: EndSignal, name: &str) -> Result<Self, LiveError> {
        let listener = control::listen(folder)?;
        let (stopped, stop) = UnixStream::pair().map_err(|e| LiveError::io("a socket", e))?;
        let parts = Arc::new(Mutex::new(parts));
        let EndSignal { tell, ended } = ending;
        let thread = {
            let parts = Arc::clone(&parts);
            let serve = move || serve_control(&listener, &stopped, tell, &parts);
            thread::Builder::new().name(format!("{name}-control")).spawn(serve)
        };
        let control = Some((thread.map_err(|e| LiveError::io("a thread", e))?, stop));
        Ok(Self { parts, control, folder: folder.to_owned(), ended })
    }

    /// What is served.
    pub(crate) fn parts(&self) -> MutexGuard<'_, P> {
        lock(&self.parts)
    }

    /// Leaves the terminal and the folder that this process was started from; its messages go to a file in the device's
    /// folder.
    pub(crate) fn leave_terminal(&self) -> Result<(), LiveError> {
        let path = self.folder.join("log");
        sys::leave_terminal(&path).map_err(|e| LiveError::io(path, e))
    }

    /// Serves until a signal (SIGINT, SIGTERM, SIGHUP) or a command ends it, and takes everything down.
    pub(crate) fn serve(mut self) -> Result<(), LiveError> {
        let failed = |e| LiveError::io("a signal handler", e);
        let (signalled, signal) = UnixStream::pair().map_err(failed)?;
        let mut handlers = Vec::new();
        for number in [SIGINT, SIGTERM, SIGHUP] {
            handlers.push(pipe::register(number, signal.try_clone().map_err(failed)?).map_err(failed)?);
        }
        let woken = wait_for_either(&self.ended, &signalled).map_err(failed);
        let result = self.take_down(true);
        handlers.into_iter().for_each(|handler| {
            unregister(handler);
        });
        woken.and(result)
    }

    /// As [`ServedDevice::take_down`]; then stops listening for commands.
    pub(crate) fn take_down(&mut self, force: bool) -> Result<(), LiveError> {
        let (result, gone) = {
            let mut parts = lock(&self.parts);
            (parts.take_down(force), parts.is_gone())
        };
        if let Some((thread, stop)) = self.control.take_if(|_| gone) {
            drop(stop);
            // A panic has been printed already.
            let _ = thread.join();
        }
        result
    }
}

impl<P: ServedDevice> Drop for Server<P> {
    fn drop(&mut self) {
        // Nobody is left to report to.
        let _ = self.take_down(true);
    }
}

/// Serves the control socket until `stopped` is closed or the device is detached; then `tell` gets a byte.
fn serve_control<P: ServedDevice>(
    listener: &UnixListener,
    stopped: &UnixStream,
    mut tell: UnixStream,
    parts: &Mutex<P>,
) {
    while matches!(wait_for_either(listener, stopped), Ok(Either::First)) {
        let Ok((stream, _)) = listener.accept() else { continue };
        // A client that sends nothing, or no valid command, gets no answer.
        let Ok(command) = control::receive(&stream) else { continue };
        let gone = {
            let mut parts = lock(parts);
            // A client that has gone misses its answer.
            let _ = parts.command(command, &stream);
            parts.is_gone()
        };
        if gone {
            // The byte is read, or no thread waits for it.
            let _ = tell.write_all(&[0]);
            return;
        }
    }
}

fn lock<P>(parts: &Mutex<P>) -> MutexGuard<'_, P> {
    parts.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Which of two descriptors is readable.
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
