//! [`Signals`]: catches signals, so that a program can restore what it changed.

use crate::LiveError;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// The shared state of the handlers, which are installed once.
#[derive(Debug)]
struct Handlers {
    /// The signal that came.
    caught: Arc<AtomicUsize>,
    /// Whether no [`Signals`] exists: then signals have their default effect.
    idle: Arc<AtomicBool>,
    watchers: AtomicUsize,
}

/// While one of these exists, SIGINT and SIGTERM are noted instead of ending the process.
#[derive(Debug)]
pub struct Signals(&'static Handlers);

impl Signals {
    /// Catches signals from now on.
    ///
    /// # Errors
    /// Where the handlers cannot be installed.
    pub fn catch() -> Result<Self, LiveError> {
        static HANDLERS: OnceLock<Result<Handlers, io::ErrorKind>> = OnceLock::new();
        let handlers = HANDLERS.get_or_init(|| install().map_err(|e| e.kind())).as_ref();
        let handlers = handlers.map_err(|&kind| LiveError::io("signal handlers", kind.into()))?;
        if handlers.watchers.fetch_add(1, Ordering::SeqCst) == 0 {
            handlers.caught.store(0, Ordering::SeqCst);
        }
        handlers.idle.store(false, Ordering::SeqCst);
        Ok(Self(handlers))
    }

    /// The signal that came, if one did.
    pub fn caught(&self) -> Option<i32> {
        match self.0.caught.load(Ordering::SeqCst) {
            0 => None,
            signal => Some(signal as i32),
        }
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        if self.0.watchers.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.0.idle.store(true, Ordering::SeqCst);
        }
    }
}

fn install() -> io::Result<Handlers> {
    let handlers =
        Handlers { caught: Arc::default(), idle: Arc::new(AtomicBool::new(true)), watchers: AtomicUsize::new(0) };
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register_conditional_default(signal, Arc::clone(&handlers.idle))?;
        signal_hook::flag::register_usize(signal, Arc::clone(&handlers.caught), signal as usize)?;
    }
    Ok(handlers)
}
