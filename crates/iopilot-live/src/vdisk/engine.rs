//! [`RealTimeModel`]: runs a [`ModelQueue`] in real time.

use super::clock::ModelClock;
use super::model_queue::{DiskRequest, DueAnswer, ModelQueue};
use super::request_log::{LoggedRequest, VdiskRequestLog};
use super::stats::{Counted, VdiskTally};
use super::wake_margin::WakeMargin;
use crate::block_server::{become_real_time, monotonic};
use iopilot_block::{Nanos, RequestId};
use iopilot_device::Device;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The priority of the thread that keeps time: above those that move data.
const PRIORITY: i32 = 20;

/// The answer to a request.
pub(super) trait TimedAnswer: Send + 'static {
    /// Sends it.
    fn send(self);

    /// Whether it tells of an error.
    fn is_error(&self) -> bool {
        false
    }
}

/// A [`ModelQueue`] with a thread that sends each answer when it is due.
pub(super) struct RealTimeModel<D, A> {
    guarded: Mutex<Guarded<D, A>>,
    /// Wakes the thread that keeps time.
    wake: Condvar,
    /// The real time of the model's next event; 0 for at once. For the thread that spins.
    alarm: AtomicU64,
    clock: ModelClock,
    tally: Arc<Mutex<VdiskTally>>,
    log: Option<VdiskRequestLog>,
}

struct Guarded<D, A> {
    queue: ModelQueue<D, A>,
    /// The real time until which the thread sleeps; 0 while it does not.
    asleep_until: u64,
    /// How long before an event the thread wakes; it spins for the rest.
    margin: WakeMargin,
    stop: bool,
}

impl<D: Device + Send + 'static, A: TimedAnswer> RealTimeModel<D, A> {
    /// Starts the thread; `tally` counts its answers and `log` records them. If the model panics, `broken` is called,
    /// and all requests are answered at once. The returned flag says whether the thread has real-time priority.
    pub(super) fn start(
        device: D,
        speed: f64,
        tally: Arc<Mutex<VdiskTally>>,
        log: Option<VdiskRequestLog>,
        broken: impl Fn() + Send + 'static,
    ) -> io::Result<(Arc<Self>, JoinHandle<()>, bool)> {
        let engine = Arc::new(Self {
            guarded: Mutex::new(Guarded {
                queue: ModelQueue::new(device),
                asleep_until: 0,
                margin: WakeMargin::new(),
                stop: false,
            }),
            wake: Condvar::new(),
            alarm: AtomicU64::new(u64::MAX),
            clock: ModelClock::new(monotonic(), speed),
            tally,
            log,
        });
        let (tell, told) = std::sync::mpsc::sync_channel(1);
        let thread = {
            let engine = Arc::clone(&engine);
            thread::Builder::new().name("vdisk-time".to_owned()).spawn(move || {
                // The receiver waits for it.
                let _ = tell.send(become_real_time(PRIORITY));
                // A panic poisons the lock, and the next holder retires the queue: the second run does not use the
                // model.
                while catch_unwind(AssertUnwindSafe(|| engine.keep_time())).is_err() {
                    broken();
                }
            })?
        };
        let real_time = told.recv().unwrap_or(false);
        Ok((engine, thread, real_time))
    }

    /// Takes a request that arrived at the real time `stamp`.
    pub(super) fn enter(&self, request: DiskRequest, stamp: u64) -> RequestId {
        let mut guarded = self.lock();
        let id = guarded.queue.enter(request, self.clock.model(stamp));
        self.changed(guarded);
        id
    }

    /// Takes the answer of `id`, whose data have been moved; it is sent when it is due.
    pub(super) fn deliver(&self, id: RequestId, answer: A) {
        let departure = self.lock().queue.deliver(id, answer);
        if let Some(departure) = departure {
            let counted = self.send(departure);
            lock(&self.tally).count(&counted);
        }
    }

    /// Replaces the model if no request is in flight. Returns the real time and the model's time of the replacement.
    pub(super) fn replace(&self, device: D) -> Option<(u64, Nanos)> {
        let mut guarded = self.lock();
        let real = monotonic();
        let model = self.clock.model(real);
        guarded.queue.run(model);
        let replaced = guarded.queue.replace(device);
        self.changed(guarded);
        replaced.then_some((real, model))
    }

    /// Requests in flight.
    pub(super) fn in_flight(&self) -> usize {
        self.lock().queue.in_flight()
    }

    /// Stops the model: from now on all requests are answered at once.
    pub(super) fn answer_at_once(&self) {
        let mut guarded = self.lock();
        guarded.queue.retire();
        self.changed(guarded);
    }

    /// Ends the thread once all ready answers are sent.
    pub(super) fn stop(&self) {
        let mut guarded = self.lock();
        guarded.stop = true;
        guarded.queue.retire();
        self.changed(guarded);
    }

    /// Wakes the thread if the model's next event is now earlier.
    fn changed(&self, mut guarded: MutexGuard<'_, Guarded<D, A>>) {
        let alarm = self.next(&mut guarded);
        self.alarm.store(alarm, Ordering::Release);
        let wake = guarded.stop || alarm.saturating_sub(guarded.margin.ns()) < guarded.asleep_until;
        // The lock is released first, or the thread would wake only to wait for it.
        drop(guarded);
        if wake {
            self.wake.notify_one();
        }
    }

    fn next(&self, guarded: &mut Guarded<D, A>) -> u64 {
        if !guarded.queue.ready().is_empty() {
            return 0;
        }
        guarded.queue.next_event().map_or(u64::MAX, |at| self.clock.real(at))
    }

    fn keep_time(&self) {
        let mut ready: Vec<DueAnswer<A>> = Vec::new();
        let mut counted: Vec<Counted> = Vec::new();
        while self.await_ready(&mut ready) {
            counted.extend(ready.drain(..).map(|departure| self.send(departure)));
            // A reader of the statistics must not delay answers.
            if let Ok(mut tally) = self.tally.try_lock() {
                counted.drain(..).for_each(|one| tally.count(&one));
            }
        }
        counted.drain(..).for_each(|one| lock(&self.tally).count(&one));
    }

    /// Waits until answers are due and takes them; returns false at the end.
    fn await_ready(&self, ready: &mut Vec<DueAnswer<A>>) -> bool {
        let mut guarded = self.lock();
        loop {
            let now = monotonic();
            guarded.queue.run(self.clock.model(now));
            if !guarded.queue.ready().is_empty() {
                std::mem::swap(ready, guarded.queue.ready());
                return true;
            }
            if guarded.stop {
                return false;
            }
            let alarm = self.next(&mut guarded);
            self.alarm.store(alarm, Ordering::Release);
            let rest = alarm.saturating_sub(now);
            let margin = guarded.margin.ns();
            if rest > margin {
                let until = alarm.saturating_sub(margin);
                guarded.asleep_until = until;
                let sleep = Duration::from_nanos(rest - margin);
                let woken = self.wake.wait_timeout(guarded, sleep);
                let by_itself;
                (guarded, by_itself) = match woken {
                    Ok((guarded, timeout)) => (guarded, timeout.timed_out()),
                    Err(poisoned) => (retired(poisoned.into_inner().0), false),
                };
                guarded.asleep_until = 0;
                if by_itself {
                    guarded.margin.overslept(monotonic().saturating_sub(until));
                }
            } else {
                drop(guarded);
                while monotonic() < self.alarm.load(Ordering::Acquire) {
                    std::hint::spin_loop();
                }
                guarded = self.lock();
            }
        }
    }

    /// Sends an answer. Returns it as it is counted.
    fn send(&self, DueAnswer { answer, request, arrived, due }: DueAnswer<A>) -> Counted {
        let left = monotonic();
        let failed = answer.is_error();
        answer.send();
        let (arrived_real, due_real) = (self.clock.real(arrived), self.clock.real(due));
        if let Some(log) = &self.log {
            log.record(LoggedRequest { request, arrived: arrived_real, due: due_real, left, model: arrived });
        }
        Counted {
            op: request.op,
            sectors: request.sectors,
            late: left.saturating_sub(due_real),
            took: left.saturating_sub(arrived_real),
            modelled: due.since(arrived),
            failed,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Guarded<D, A>> {
        self.guarded.lock().unwrap_or_else(|poisoned| retired(poisoned.into_inner()))
    }
}

/// The queue after a thread panicked while it held the lock: its model is not used any more.
fn retired<D: Device, A>(mut guarded: MutexGuard<'_, Guarded<D, A>>) -> MutexGuard<'_, Guarded<D, A>> {
    guarded.queue.retire();
    guarded
}

fn lock(tally: &Mutex<VdiskTally>) -> MutexGuard<'_, VdiskTally> {
    tally.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_block::{Lba, Op, Sectors};
    use iopilot_device::{Completion, ConstantDevice, DeviceRequest};
    use std::sync::mpsc::{Receiver, Sender, channel};

    /// Reports that it was sent.
    struct SentAnswer(Sender<u32>, u32);

    impl TimedAnswer for SentAnswer {
        fn send(self) {
            self.0.send(self.1).unwrap();
        }
    }

    const READ: DiskRequest = DiskRequest { op: Op::Read, lba: Lba(0), sectors: Sectors(8) };

    type Started<D> = (Arc<RealTimeModel<D, SentAnswer>>, JoinHandle<()>, Receiver<()>);

    fn start<D: Device + Send + 'static>(device: D) -> (Started<D>, Arc<Mutex<VdiskTally>>) {
        let tally = Arc::new(Mutex::new(VdiskTally::new(1.0)));
        let (tell, broken) = channel();
        let broke = move || tell.send(()).unwrap();
        let (engine, thread, _) = RealTimeModel::start(device, 1.0, Arc::clone(&tally), None, broke).unwrap();
        ((engine, thread, broken), tally)
    }

    #[test]
    fn answers_leave_in_order_and_not_before_their_time() {
        let device = ConstantDevice::simple(1 << 20, 2, Nanos::from_micros(300), 0.0);
        let ((engine, thread, _broken), tally) = start(device);
        let (tell, told) = channel();
        for n in 0..20 {
            let id = engine.enter(READ, monotonic());
            engine.deliver(id, SentAnswer(tell.clone(), n));
        }
        assert_eq!(told.iter().take(20).collect::<Vec<_>>(), (0..20).collect::<Vec<_>>());
        engine.stop();
        thread.join().unwrap();
        let stats = tally.lock().unwrap().stats(engine.in_flight() as u64, 0);
        assert_eq!((stats.requests.read, stats.in_flight), (20, 0));
        // One after another, whatever became of the thread in between.
        assert!(stats.modelled_ms.mean >= 0.3 && stats.real_ms.mean >= stats.modelled_ms.mean, "{stats:?}");
    }

    #[test]
    fn answering_at_once_waits_for_nothing() {
        let hour = Nanos::from_secs(3600);
        let ((engine, thread, _broken), _tally) = start(ConstantDevice::simple(1 << 20, 2, hour, 0.0));
        let (tell, told) = channel();
        for n in 0..3 {
            let id = engine.enter(READ, monotonic());
            engine.deliver(id, SentAnswer(tell.clone(), n));
        }
        engine.answer_at_once();
        assert_eq!(told.iter().take(3).count(), 3);
        engine.stop();
        thread.join().unwrap();
    }

    #[test]
    fn a_model_is_replaced_only_while_nobody_waits_for_it() {
        let disk = |service: Nanos| ConstantDevice::simple(1 << 20, 2, service, 0.0);
        let ((engine, thread, _broken), _tally) = start(disk(Nanos::from_secs(3600)));
        let (tell, told) = channel();
        let before = monotonic();
        let (real, model) = engine.replace(disk(Nanos::from_secs(7200))).unwrap();
        assert!((before..=monotonic()).contains(&real) && engine.clock.model(real) == model);
        let id = engine.enter(READ, monotonic());
        assert_eq!(engine.replace(disk(Nanos::ZERO)), None);
        engine.deliver(id, SentAnswer(tell, 1));
        assert!(told.try_recv().is_err(), "the slow one still has it");
        engine.stop();
        assert_eq!(told.recv(), Ok(1));
        thread.join().unwrap();
    }

    /// A model with a fault.
    struct Faulty;

    impl Device for Faulty {
        fn submit(&mut self, _: DeviceRequest, _: Nanos) {}

        fn next_event(&self) -> Option<Nanos> {
            Some(Nanos::ZERO)
        }

        fn advance(&mut self, _: Nanos, _: &mut Vec<Completion>) {
            panic!("a fault");
        }

        fn capacity(&self) -> u64 {
            1 << 20
        }

        fn queue_depth(&self) -> u32 {
            1
        }
    }

    #[test]
    fn a_model_that_panics_holds_nothing_back() {
        let ((engine, thread, broken), _tally) = start(Faulty);
        broken.recv().unwrap();
        let (tell, told) = channel();
        let id = engine.enter(READ, monotonic());
        engine.deliver(id, SentAnswer(tell, 7));
        assert_eq!(told.recv().unwrap(), 7);
        engine.stop();
        thread.join().unwrap();
    }
}
