//! What [`Host`] says after a run.

use super::Host;
use crate::process::Process;
use iopilot_block::{HostReport, Nanos, TaskReport};

impl Host {
    pub(super) fn report(&mut self) -> HostReport {
        let now = self.now;
        self.count_idle(now);
        (0..self.cpus.len()).for_each(|c| self.count(c, now));
        let totals = self.totals - self.unreported;
        let ticks = |at: Nanos| (at.as_secs_f64() * f64::from(self.settings.costs.hz)) as u64;
        HostReport {
            cpus: self.settings.cpus,
            elapsed_s: now.since(self.reported_from).as_secs_f64(),
            times: totals.times(totals.process),
            interrupts: self.interrupts,
            external_interrupts: self.externals.interrupts(),
            external_lost: self.externals.lost(),
            ticks: ticks(now).saturating_sub(ticks(self.reported_from)),
            context_switches: self.context_switches,
            tasks: self.tasks.clone(),
            classes: self.requests.classes(),
            limits: self.requests.limits(),
            cache: self.files.as_ref().map(|files| files.cache.report().clone()),
        }
    }

    /// Begins the report anew at `now`. Tasks and requests that began before it are left out.
    pub(super) fn restart(&mut self, now: Nanos) {
        self.count_idle(now);
        for c in 0..self.cpus.len() {
            if self.cpus[c].is_idle() {
                self.count(c, now);
            }
        }
        // What a CPU does is not to be counted in two pieces: rounding would move its end.
        let mut copy = self.clone();
        (0..copy.cpus.len()).for_each(|c| copy.count(c, now));
        (self.reported_from, self.unreported) = (now, copy.totals);
        (self.interrupts, self.context_switches) = (0, 0);
        self.externals.restart();
        self.tasks.clear();
        self.requests.restart(now);
        if let Some(files) = &mut self.files {
            files.cache.restart_report();
        }
    }

    /// The report of a task that exits at `now`. All CPUs have been counted, and the idle time.
    pub(super) fn task_report(&self, process: &Process, now: Nanos) -> TaskReport {
        let passed = self.totals - process.before;
        debug_assert_eq!(
            passed.sum().0,
            self.cpus.len() as u64 * now.since(process.started).0,
            "all time is something: {passed:?}"
        );
        TaskReport {
            name: process.name.to_string(),
            process: process.id.0,
            elapsed_s: now.since(process.started).as_secs_f64(),
            times: passed.times(process.computed),
            io_waits: process.io_waits,
            io_wait_s: process.io_wait.as_secs_f64(),
            runnable_s: process.runnable.as_secs_f64(),
        }
    }
}
