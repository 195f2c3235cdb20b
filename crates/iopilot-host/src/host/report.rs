//! The report of [`Host`].

use super::Host;
use super::task_end::TaskEnd;
use crate::process::HostProcess;
use crate::time_line::TimeLine;
use iopilot_block::{AfterTasks, HostReport, Nanos, PageCacheReport, TaskReport};

impl Host {
    pub(super) fn report(&mut self) -> HostReport {
        let now = self.now;
        self.count_idle(now);
        (0..self.cpus.len()).for_each(|c| self.count(c, now));
        let totals = self.totals - self.unreported;
        let issued = self.requests.issued();
        let after = |end: TaskEnd| AfterTasks { dirty_pages: end.dirty.into(), requests: issued - end.issued };
        let ticks = |at: Nanos| (at.as_secs_f64() * f64::from(self.settings.costs.hz)) as u64;
        HostReport {
            cpus: self.settings.cpus,
            elapsed_s: now.since(self.reported_from).as_secs_f64(),
            tasks_end_s: self.last_task.map(|end| end.at.since(self.reported_from).as_secs_f64()),
            after_tasks: self.last_task.map(after),
            times: totals.times(totals.process),
            over_time: self.time_line.report(now, self.settings.cpus, self.files.as_ref().map(|_| self.unsaved())),
            interrupts: self.interrupts,
            external_interrupts: self.externals.interrupts(),
            external_lost: self.externals.lost(),
            ticks: ticks(now).saturating_sub(ticks(self.reported_from)),
            context_switches: self.context_switches,
            tasks: self.tasks.clone(),
            processes: self.process_groups(now),
            classes: self.requests.classes(),
            limits: self.requests.limits(),
            cache: self.files.as_ref().map(|files| self.cache_report(files.cache.report())),
        }
    }

    /// Moves the clock to `now`.
    pub(super) fn go_to(&mut self, now: Nanos) {
        self.now = now;
        self.time_line.go_to(now, self.unsaved());
    }

    /// Pages of the cache that differ from the disk.
    fn unsaved(&self) -> u32 {
        self.files.as_ref().map_or(0, |files| files.cache.unsaved())
    }

    /// The report of the page cache, with the waits for room in it.
    fn cache_report(&self, report: &PageCacheReport) -> PageCacheReport {
        let life = self.all_lives(self.now);
        PageCacheReport { throttled: life.throttles, throttled_s: life.throttled.as_secs_f64(), ..report.clone() }
    }

    /// Restarts the report at `now`. It leaves out tasks and requests that began earlier.
    pub(super) fn restart(&mut self, now: Nanos) {
        self.count_idle(now);
        for c in 0..self.cpus.len() {
            if self.cpus[c].is_idle() {
                self.count(c, now);
            }
        }
        // A CPU's work is not counted in two parts here: rounding would move its end. So a copy is counted.
        let mut copy = self.clone();
        (0..copy.cpus.len()).for_each(|c| copy.count(c, now));
        (self.reported_from, self.unreported) = (now, copy.totals);
        for (process, copy) in self.processes.iter_mut().zip(&copy.processes) {
            process.unreported = copy.life_until(now);
        }
        (self.time_line, self.last_task) = (TimeLine::new(now), None);
        (self.interrupts, self.context_switches) = (0, 0);
        self.externals.restart();
        self.tasks.clear();
        self.requests.restart(now);
        if let Some(files) = &mut self.files {
            files.cache.restart_report();
        }
    }

    /// A task ends.
    pub(super) fn note_end_of_task(&mut self, now: Nanos) {
        self.last_task = Some(TaskEnd { at: now, dirty: self.unsaved(), issued: self.requests.issued() });
    }

    /// Task `p` exits at `now`. All CPUs have been counted, and the idle time.
    pub(super) fn task_ended(&mut self, p: usize, now: Nanos) {
        self.note_end_of_task(now);
        if self.processes[p].started >= self.reported_from {
            let report = self.task_report(&self.processes[p], now);
            self.tasks.push(report);
        }
    }

    /// The report of a task that exits at `now`.
    fn task_report(&self, process: &HostProcess, now: Nanos) -> TaskReport {
        let passed = self.totals - process.before;
        debug_assert_eq!(
            passed.sum().0,
            self.cpus.len() as u64 * now.since(process.started).0,
            "all time is accounted for: {passed:?}"
        );
        TaskReport {
            name: process.name.to_string(),
            process: process.id.0,
            elapsed_s: now.since(process.started).as_secs_f64(),
            times: passed.times(process.computed()),
            io_waits: process.life.io_waits,
            io_wait_s: process.life.io_wait.as_secs_f64(),
            runnable_s: process.life.runnable.as_secs_f64(),
        }
    }
}
