//! [`Engine`]: real time for a [`Desk`].

use super::clock::{Clock, monotonic};
use super::desk::{Departure, Desk, Order};
use super::request_log::{LoggedRequest, RequestLog};
use super::stats::{Counted, Tally};
use super::sys;
use iopilot_block::RequestId;
use iopilot_device::AnyDevice;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Sleep ends so long before an event, ns; the rest is spent looking at the clock. A `SCHED_FIFO` thread wakes within
/// that nearly always.
const SPIN: u64 = 60_000;
/// The priority of the thread that keeps time: above those that move data.
const PRIORITY: i32 = 20;

/// What is sent when a request is done.
pub(super) trait Answer: Send + 'static {
    /// Sends it.
    fn send(self);
}

/// A [`Desk`] with a thread that sends each answer at its time.
pub(super) struct Engine<A> {
    guarded: Mutex<Guarded<A>>,
    /// Wakes the thread that keeps time.
    wake: Condvar,
    /// The real time of the model's next event; 0 for at once. For the thread that spins.
    alarm: AtomicU64,
    clock: Clock,
    tally: Arc<Mutex<Tally>>,
    log: Option<RequestLog>,
}

struct Guarded<A> {
    desk: Desk<AnyDevice, A>,
    /// The real time until which the thread sleeps; 0 while it does not.
    asleep_until: u64,
    stop: bool,
}

impl<A: Answer> Engine<A> {
    /// Starts the thread; `tally` counts what it sends and `log` records it. The flag tells whether the kernel lets the
    /// thread be in time.
    pub(super) fn start(
        device: AnyDevice,
        speed: f64,
        tally: Arc<Mutex<Tally>>,
        log: Option<RequestLog>,
    ) -> io::Result<(Arc<Self>, JoinHandle<()>, bool)> {
        let engine = Arc::new(Self {
            guarded: Mutex::new(Guarded { desk: Desk::new(device), asleep_until: 0, stop: false }),
            wake: Condvar::new(),
            alarm: AtomicU64::new(u64::MAX),
            clock: Clock::new(monotonic(), speed),
            tally,
            log,
        });
        let (tell, told) = std::sync::mpsc::sync_channel(1);
        let thread = {
            let engine = Arc::clone(&engine);
            thread::Builder::new().name("vdisk-time".to_owned()).spawn(move || {
                // The receiver waits for it.
                let _ = tell.send(sys::become_real_time(PRIORITY));
                engine.keep_time();
            })?
        };
        let real_time = told.recv().unwrap_or(false);
        Ok((engine, thread, real_time))
    }

    /// Takes an order that came at the real time `stamp`.
    pub(super) fn enter(&self, order: Order, stamp: u64) -> RequestId {
        let mut guarded = self.lock();
        let id = guarded.desk.enter(order, self.clock.model(stamp));
        self.changed(guarded);
        id
    }

    /// The data of `id` have been moved: `answer` is sent when it is due.
    pub(super) fn deliver(&self, id: RequestId, answer: A) {
        let departure = self.lock().desk.deliver(id, answer);
        if let Some(departure) = departure {
            let counted = self.send(departure);
            lock(&self.tally).count(&counted);
        }
    }

    /// Requests on their way.
    pub(super) fn in_flight(&self) -> usize {
        self.lock().desk.in_flight()
    }

    /// From now on everything is answered at once.
    pub(super) fn hurry(&self) {
        let mut guarded = self.lock();
        guarded.desk.retire();
        self.changed(guarded);
    }

    /// Ends the thread, once everything that is ready is sent.
    pub(super) fn stop(&self) {
        let mut guarded = self.lock();
        guarded.stop = true;
        guarded.desk.retire();
        self.changed(guarded);
    }

    /// The model may have something to do earlier than it had.
    fn changed(&self, mut guarded: MutexGuard<'_, Guarded<A>>) {
        let alarm = self.next(&mut guarded);
        self.alarm.store(alarm, Ordering::Release);
        let wake = guarded.stop || alarm.saturating_sub(SPIN) < guarded.asleep_until;
        // Not while it is locked: the thread would wake to wait for the lock.
        drop(guarded);
        if wake {
            self.wake.notify_one();
        }
    }

    fn next(&self, guarded: &mut Guarded<A>) -> u64 {
        if !guarded.desk.ready().is_empty() {
            return 0;
        }
        guarded.desk.next_event().map_or(u64::MAX, |at| self.clock.real(at))
    }

    fn keep_time(&self) {
        let mut ready: Vec<Departure<A>> = Vec::new();
        let mut counted: Vec<Counted> = Vec::new();
        while self.await_ready(&mut ready) {
            counted.extend(ready.drain(..).map(|departure| self.send(departure)));
            // Whoever reads the statistics does not hold up time.
            if let Ok(mut tally) = self.tally.try_lock() {
                counted.drain(..).for_each(|one| tally.count(&one));
            }
        }
        counted.drain(..).for_each(|one| lock(&self.tally).count(&one));
    }

    /// Waits until answers are to leave and takes them; false when it is over.
    fn await_ready(&self, ready: &mut Vec<Departure<A>>) -> bool {
        let mut guarded = self.lock();
        loop {
            let now = monotonic();
            guarded.desk.run(self.clock.model(now));
            if !guarded.desk.ready().is_empty() {
                std::mem::swap(ready, guarded.desk.ready());
                return true;
            }
            if guarded.stop {
                return false;
            }
            let alarm = self.next(&mut guarded);
            self.alarm.store(alarm, Ordering::Release);
            let rest = alarm.saturating_sub(now);
            if rest > SPIN {
                guarded.asleep_until = alarm.saturating_sub(SPIN);
                let sleep = Duration::from_nanos(rest - SPIN);
                let woken = self.wake.wait_timeout(guarded, sleep);
                guarded = match woken {
                    Ok((guarded, _)) => guarded,
                    Err(poisoned) => retired(poisoned.into_inner().0),
                };
                guarded.asleep_until = 0;
            } else {
                drop(guarded);
                while monotonic() < self.alarm.load(Ordering::Acquire) {
                    std::hint::spin_loop();
                }
                guarded = self.lock();
            }
        }
    }

    /// Sends an answer; what to count of it.
    fn send(&self, Departure { answer, order, arrived, due }: Departure<A>) -> Counted {
        let left = monotonic();
        answer.send();
        let (arrived_real, due_real) = (self.clock.real(arrived), self.clock.real(due));
        if let Some(log) = &self.log {
            log.record(LoggedRequest { order, arrived: arrived_real, due: due_real, left });
        }
        Counted {
            op: order.op,
            sectors: order.sectors,
            late: left.saturating_sub(due_real),
            took: left.saturating_sub(arrived_real),
            modelled: due.since(arrived),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Guarded<A>> {
        self.guarded.lock().unwrap_or_else(|poisoned| retired(poisoned.into_inner()))
    }
}

/// A thread that panicked while it held the lock leaves a model that cannot be asked any more.
fn retired<A>(mut guarded: MutexGuard<'_, Guarded<A>>) -> MutexGuard<'_, Guarded<A>> {
    guarded.desk.retire();
    guarded
}

fn lock(tally: &Mutex<Tally>) -> MutexGuard<'_, Tally> {
    tally.lock().unwrap_or_else(PoisonError::into_inner)
}
