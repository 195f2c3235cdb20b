//! [`IntervalPilot`]: a check after each interval, as in the thesis.

use crate::autopilot_job::{AutopilotJob, AutopilotJobKind, AutopilotOutput, CheckJob};
use crate::check::SchedulerCheck;
use crate::pilot::Pilot;
use crate::request_window::RequestWindow;
use iopilot_block::Nanos;
use iopilot_device::Device;
use iopilot_sched::SchedulerSpec;

/// A [`Pilot`] that makes a check after each interval.
#[derive(Clone, Debug)]
pub(crate) struct IntervalPilot<M> {
    /// `None` while it simulates.
    pub(crate) pilot: Option<Pilot<M>>,
    pub(crate) window: RequestWindow,
    pub(crate) interval: Nanos,
    pub(crate) next: Nanos,
    pub(crate) pending: usize,
    pub(crate) current: SchedulerSpec,
    /// Whether the last check asked for another scheduler, rather than a reinstallation.
    pub(crate) changes: bool,
}

impl<M: Device + Clone + Send + Sync> IntervalPilot<M> {
    pub(crate) fn tick(&mut self, now: Nanos, pending: usize, is_changing: bool) -> Option<AutopilotOutput<M>> {
        if now < self.next {
            return None;
        }
        while self.next <= now {
            self.next += self.interval;
        }
        // Requests that complete during a change say nothing about either scheduler.
        let pilot = if is_changing { None } else { self.pilot.take() }?;
        self.pending = pending;
        let job = CheckJob { pilot, window: self.window.take(), pending, at: now };
        Some(AutopilotOutput::Job(AutopilotJob(AutopilotJobKind::Check(Box::new(job)))))
    }

    pub(crate) fn checked(&mut self, pilot: Pilot<M>, window: RequestWindow, check: SchedulerCheck) -> SchedulerCheck {
        self.changes = check.changes();
        self.back(pilot, window);
        check
    }

    pub(crate) fn back(&mut self, pilot: Pilot<M>, mut window: RequestWindow) {
        self.current = pilot.current().clone();
        self.pilot = Some(pilot);
        if self.window.is_empty() {
            // Its memory is used again.
            window.clear();
            self.window = window;
        }
    }

    pub(crate) fn installed(&mut self, took: Nanos) {
        let (pending, changes) = (self.pending, self.changes);
        if let Some(pilot) = self.pilot.as_mut().filter(|_| changes) {
            pilot.changed(pending, took);
        }
    }

    pub(crate) fn refused(&mut self) {
        self.told(Pilot::declined);
    }

    pub(crate) fn told(&mut self, tell: impl FnOnce(&mut Pilot<M>)) {
        if let Some(pilot) = &mut self.pilot {
            tell(pilot);
            self.current = pilot.current().clone();
        }
    }
}
