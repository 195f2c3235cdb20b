//! [`CachedDisk`]: a disk under a cache, as a block device's store.

use super::body::{CacheBody, TrafficWindow, now};
use super::lower_disk::LowerDisk;
use super::ring::Ring;
use crate::block_server::{Answer, BlockRequest, Store};
use std::cell::RefCell;
use std::convert::Infallible;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A disk under a cache. The thread that brings a request also copies what the cache holds, and sends the rest to the
/// disk. One thread takes the disk's completions.
pub(super) struct CachedDisk {
    body: Mutex<CacheBody>,
    ring: Arc<Ring>,
    disk: LowerDisk,
    stopping: AtomicBool,
    /// Called when the disk has failed.
    broken: Box<dyn Fn() + Send + Sync>,
}

thread_local! {
    /// Answers to be sent. The room is reused, so that no call allocates it.
    static DONE: RefCell<Vec<Answer>> = const { RefCell::new(Vec::new()) };
}

impl CachedDisk {
    pub(super) fn new(
        body: CacheBody,
        ring: Arc<Ring>,
        disk: LowerDisk,
        broken: impl Fn() + Send + Sync + 'static,
    ) -> Self {
        Self { body: Mutex::new(body), ring, disk, stopping: AtomicBool::new(false), broken: Box::new(broken) }
    }

    /// The disk below.
    pub(super) fn disk(&self) -> &LowerDisk {
        &self.disk
    }

    /// The policy and its body.
    pub(super) fn lock(&self) -> MutexGuard<'_, CacheBody> {
        self.body.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `act` with the body, and then sends the resulting requests and answers.
    pub(super) fn with<T>(&self, act: impl FnOnce(&mut CacheBody) -> T) -> T {
        DONE.with_borrow_mut(|done| {
            let (result, submit) = {
                let mut body = self.lock();
                (act(&mut body), body.take_done(done))
            };
            if submit {
                if let Err(e) = self.ring.submit() {
                    self.fail(&e);
                }
            }
            done.drain(..).for_each(Answer::send);
            result
        })
    }

    /// The requests that completed since the last call; `spare` is filled from now on.
    pub(super) fn take_window(&self, spare: TrafficWindow) -> TrafficWindow {
        self.lock().take_window(spare)
    }

    /// Takes the disk's completions, until [`Self::stop`] is called and nothing is in flight.
    pub(super) fn take_completions(&self) {
        let mut completions = Vec::new();
        loop {
            if let Err(e) = self.ring.wait() {
                return self.fail(&e);
            }
            // SAFETY: one thread runs this.
            unsafe { self.ring.take(|name, result| completions.push((name, result))) };
            // `stopping` is read under the lock. Otherwise a request that comes between a look at an idle disk and the
            // stop would be left behind.
            let ended = self.with(|body| {
                let at = now();
                completions.drain(..).for_each(|(name, result)| body.completed(name, result, at));
                body.in_flight() == 0 && self.stopping.load(Ordering::Acquire)
            });
            if ended {
                return;
            }
        }
    }

    /// Ends [`Self::take_completions`] once nothing is in flight. Later requests fail: no thread would take their
    /// completions, and a write must not reach a disk that has another owner by then.
    pub(super) fn stop(&self) {
        let mut body = self.lock();
        body.close();
        self.stopping.store(true, Ordering::Release);
        // SAFETY: the body is locked.
        if let Err(e) = unsafe { self.ring.wake() } {
            self.fail(&e);
        }
    }

    /// Releases the disk below, after [`Self::take_completions`] has ended.
    pub(super) fn close(&self) -> io::Result<()> {
        self.lock().close();
        self.disk.give_up()
    }

    fn fail(&self, error: &io::Error) {
        eprintln!("{}: io_uring: {error}", self.disk.path.display());
        (self.broken)();
    }
}

impl Store for CachedDisk {
    type Taken = Infallible;

    fn size(&self) -> u64 {
        self.disk.size
    }

    fn take(&self, request: BlockRequest, answer: Answer) -> Option<Infallible> {
        if let Some(hit) = self.with(|body| body.submit(request, answer, now())) {
            let copy = hit.answer();
            self.with(|body| body.copied(copy, now()));
        }
        None
    }

    fn carry_out(&self, taken: Infallible) {
        match taken {}
    }
}

#[cfg(test)]
mod tests;
