//! [`Host`]: processes on CPUs.
//!
//! A CPU counts down one item at a time. A process computes; then its event occurs, and the next event is fetched. The
//! interrupt of a completed request suspends what the CPU does. When the handler ends, it wakes the waiters (Ganger A.1.3).
//! Clock interrupts are not events: they stretch all work of a CPU by a constant factor.

mod calls;
mod dispatch;
#[cfg(test)]
mod dispatch_tests;
mod external;
mod external_sources;
#[cfg(test)]
mod external_tests;
#[cfg(test)]
mod file_properties;
#[cfg(test)]
mod file_testing;
#[cfg(test)]
mod file_tests;
mod files;
mod own_cpus;
mod placement;
mod process_groups;
mod removal;
mod report;
#[cfg(test)]
mod report_tests;
mod source;
mod stuck;
mod task_end;
#[cfg(test)]
mod tests;

pub use placement::{InitialState, Placement};

use crate::costs::time;
use crate::cpu::{Cpu, KernelWork, KernelWorkKind, Stretch};
use crate::files::{CachedFileSystem, FileSetup};
use crate::names::WorkloadNames;
use crate::process::{HostProcess, Pending, ProcessState, WaitReason};
use crate::program::{AnyProgram, Key, Script};
use crate::requests::HostRequests;
use crate::run_queue::RunQueue;
use crate::settings::HostSettings;
use crate::sync_primitives::SyncPrimitives;
use crate::time_line::TimeLine;
use crate::totals::{CpuTotals, CpuUse};
use external_sources::ExternalSources;
use iopilot_block::{Agenda, InputError, Nanos, ProcessId, ProcessMap, Step, TaskReport};
use std::sync::Arc;
use task_end::TaskEnd;

/// The first process; others are numbered from here in the order of their start.
const FIRST_PROCESS: u32 = 1000;

/// A user's process that exists from the start of a workload.
#[derive(Clone, Debug)]
pub struct TaskSpec {
    /// Its name.
    pub name: Arc<str>,
    /// What it does.
    pub program: AnyProgram,
    /// Its start time.
    pub start: Nanos,
    /// Whether the user waits for it. If so, the report lists it by itself.
    pub is_task: bool,
}

/// When the processes of a workload stop early: each exits when it next runs.
#[derive(Clone, Copy, Debug)]
pub struct HostEnd {
    /// After this many requests of all processes.
    pub requests: u64,
    /// At this time.
    pub at: Nanos,
}

impl HostEnd {
    /// Processes stop only when their programs end.
    pub const NEVER: Self = Self { requests: u64::MAX, at: Nanos::MAX };
}

/// Slots of the agenda: the end, each CPU, and each process that waits for a time.
const END: usize = 0;
const FIRST_CPU: usize = 1;

/// Processes on CPUs, a source of requests.
///
/// A runnable process goes to the CPU it ran on last if that is idle, else to any idle CPU, else to the run queue.
#[derive(Clone, Debug)]
pub struct Host {
    settings: HostSettings,
    stretch: Stretch,
    /// See [`Host::on_own_cpus`].
    own_cpus: bool,
    now: Nanos,
    cpus: Vec<Cpu>,
    processes: Vec<HostProcess>,
    by_id: ProcessMap<usize>,
    /// See [`FIRST_CPU`].
    agenda: Agenda,
    /// Requests that all processes together may still issue.
    left: u64,
    run_queue: RunQueue,
    requests: HostRequests,
    sync: SyncPrimitives,
    files: Option<CachedFileSystem>,
    externals: ExternalSources,
    names: WorkloadNames,
    /// User processes that have not exited, without daemons; and the number of daemons.
    live: u64,
    daemons: u64,
    /// Why a process could not continue.
    failure: Option<InputError>,
    totals: CpuTotals,
    time_line: TimeLine,
    /// For the idle time: the number of idle CPUs, the number of processes that wait for requests, and when the idle time was
    /// last counted.
    idle_cpus: u64,
    io_waiters: u64,
    idle_since: Nanos,
    interrupts: u64,
    /// The CPU that handles the next interrupt under round robin.
    next_interrupt: usize,
    /// Whether the device's cache served the request that completes next.
    cache_hit: bool,
    /// When a process last started.
    begun: Nanos,
    context_switches: u64,
    tasks: Vec<TaskReport>,
    last_task: Option<TaskEnd>,
    /// The start of the report, and the totals at that time.
    reported_from: Nanos,
    unreported: CpuTotals,
    /// Empty between calls.
    woken: Vec<usize>,
    exited: Vec<usize>,
}

impl Host {
    /// Runs `tasks` on the CPUs of `settings` until `end`. `channels` lists channels whose capacity is not a pipe's.
    ///
    /// # Errors
    /// Names the invalid setting.
    pub fn new(
        settings: HostSettings,
        tasks: Vec<TaskSpec>,
        channels: &[(Key, u64)],
        end: HostEnd,
    ) -> Result<Self, InputError> {
        settings.check()?;
        let cpus = usize::from(settings.cpus);
        let mut host = Self {
            stretch: Stretch::new(settings.costs.ticking(settings.speed)),
            own_cpus: false,
            now: Nanos::ZERO,
            cpus: vec![Cpu::default(); cpus],
            processes: Vec::new(),
            by_id: ProcessMap::default(),
            agenda: Agenda::new(FIRST_CPU + cpus + tasks.len()),
            left: end.requests,
            run_queue: RunQueue::new(&settings),
            requests: HostRequests::default(),
            sync: SyncPrimitives::default(),
            files: None,
            externals: ExternalSources::default(),
            names: WorkloadNames::default(),
            live: tasks.len() as u64,
            daemons: 0,
            failure: None,
            totals: CpuTotals::default(),
            time_line: TimeLine::new(Nanos::ZERO),
            idle_cpus: u64::from(settings.cpus),
            io_waiters: 0,
            idle_since: Nanos::ZERO,
            interrupts: 0,
            next_interrupt: 0,
            cache_hit: false,
            begun: Nanos::ZERO,
            context_switches: 0,
            tasks: Vec::new(),
            last_task: None,
            reported_from: Nanos::ZERO,
            unreported: CpuTotals::default(),
            woken: Vec::new(),
            exited: Vec::new(),
            settings,
        };
        for &(channel, capacity) in channels {
            host.sync.set_capacity(channel, capacity);
        }
        for TaskSpec { name, program, start, is_task } in tasks {
            let index = host.add(name, program, None);
            host.processes[index].is_task = is_task;
            host.agenda.set(host.appointment(index), Some(start));
        }
        host.agenda.set(END, (end.at < Nanos::MAX).then_some(end.at));
        Ok(host)
    }

    /// Adds files. The kernel's syncer becomes one more process.
    ///
    /// # Errors
    /// Names the invalid setting.
    pub fn with_files(mut self, setup: FileSetup) -> Result<Self, InputError> {
        let syncer = self.add("syncer".into(), Script::new([]).into(), None);
        let process = &mut self.processes[syncer];
        (process.state, process.call) = (ProcessState::Blocked(WaitReason::Timer), Some(Pending::Sweep));
        self.files = Some(CachedFileSystem::new(setup, syncer)?);
        Ok(self)
    }

    fn add(&mut self, name: Arc<str>, program: AnyProgram, parent: Option<usize>) -> usize {
        let index = self.processes.len();
        let id = ProcessId(FIRST_PROCESS + index as u32);
        self.processes.push(HostProcess::new(id, name, program));
        self.by_id.insert(id, index);
        self.run_queue.add(parent);
        index
    }

    /// The slot of process `p` in the agenda.
    fn appointment(&self, p: usize) -> usize {
        FIRST_CPU + self.cpus.len() + p
    }

    /// A cost in microseconds as time on these CPUs.
    fn cost(&self, us: f64) -> Nanos {
        time(us, self.settings.speed)
    }

    /// Counts the idle time so far. Call it before the number of idle CPUs, or of processes that wait for requests, changes.
    fn count_idle(&mut self, now: Nanos) {
        if self.own_cpus {
            return;
        }
        let passed = now.since(self.idle_since);
        let false_idle = self.idle_cpus.min(self.io_waiters);
        self.totals.false_idle += Nanos(false_idle * passed.0);
        self.totals.idle += Nanos((self.idle_cpus - false_idle) * passed.0);
        self.time_line.add_idle(self.idle_since, now, false_idle, self.idle_cpus - false_idle);
        self.idle_since = now;
    }

    /// Counts what CPU `c` has done since the last count.
    fn count(&mut self, c: usize, now: Nanos) {
        let cpu = &mut self.cpus[c];
        let since = cpu.since;
        let passed = now.since(since);
        // The item now on top ends at another time.
        let over = cpu.ends.take_if(|ends| *ends <= now).is_some();
        cpu.since = now;
        let (left, counts) = match (cpu.work.last_mut(), cpu.process) {
            (Some(work), _) => (&mut work.left, work.counts),
            (None, Some(p)) => (&mut self.processes[p].left, CpuUse::Process),
            (None, None) => return,
        };
        let done = if over { *left } else { self.stretch.work(passed).min(*left) };
        *left = left.since(done);
        if self.own_cpus {
            return;
        }
        let done = done.min(passed);
        self.totals.add(counts, done);
        // The clock's interrupts took the rest.
        self.totals.add(CpuUse::Kernel, passed.since(done));
        self.time_line.add(since, now, counts, done);
        if let (CpuUse::Process, Some(p)) = (counts, cpu.process) {
            self.processes[p].life.computed += done;
        }
    }

    /// Schedules the next check of CPU `c`, which was counted at `now`.
    fn schedule(&mut self, c: usize, now: Nanos) {
        let cpu = &mut self.cpus[c];
        cpu.since = now;
        let left = cpu.work.last().map(|work| work.left).or(cpu.process.map(|p| self.processes[p].left));
        cpu.ends = left.map(|left| now.saturating_add(self.stretch.wall(left)));
        let at = cpu.ends.map(|ends| self.turn_ends(c).map_or(ends, |turn| turn.max(now).min(ends)));
        self.agenda.set(FIRST_CPU + c, at);
    }

    /// Handles on CPU `c` the `count` interrupts of a request that precede its completion interrupt. They came while the device
    /// served it. So they are booked to the CPU's past idle time as far as it goes, and the rest is done now.
    fn interrupts_before(&mut self, c: usize, count: u32, now: Nanos) {
        if count == 0 {
            return;
        }
        self.interrupts += u64::from(count);
        let mut work = self.cost(f64::from(count) * self.settings.costs.irq_us);
        if self.cpus[c].is_idle() {
            self.count_idle(now);
            let idle = now.since(self.cpus[c].since.max(self.begun));
            let from = if self.io_waiters > 0 { &mut self.totals.false_idle } else { &mut self.totals.idle };
            let taken = work.min(idle).min(*from);
            *from = from.since(taken);
            self.totals.kernel += taken;
            self.time_line.idle_was_kernel(taken, self.io_waiters > 0, now);
            work = work.since(taken);
        }
        if work > Nanos::ZERO {
            self.push_work(c, work, KernelWorkKind::Interrupt, CpuUse::Kernel, now);
        }
    }

    /// Puts kernel work on CPU `c`, above its current work.
    fn push_work(&mut self, c: usize, left: Nanos, what: KernelWorkKind, counts: CpuUse, now: Nanos) {
        self.count(c, now);
        if self.cpus[c].is_idle() {
            self.count_idle(now);
            self.idle_cpus -= 1;
        }
        self.cpus[c].work.push(KernelWork { left, what, counts });
        self.schedule(c, now);
    }

    /// Finishes the item of CPU `c` that is over.
    fn finish_item(&mut self, c: usize, now: Nanos, out: &mut Vec<Step>) {
        self.count(c, now);
        match (self.cpus[c].work.last().copied(), self.cpus[c].process) {
            (Some(KernelWork { left: Nanos::ZERO, what, .. }), _) => {
                self.cpus[c].work.pop();
                if self.cpus[c].is_idle() {
                    self.count_idle(now);
                    self.idle_cpus += 1;
                }
                self.work_is_over(c, what, now);
            }
            (None, Some(p)) if self.processes[p].left == Nanos::ZERO => self.occur(p, c, now, out),
            (None, Some(_)) if self.turn_ends(c).is_some_and(|at| at <= now) => self.preempt(c, now),
            _ => {}
        }
        self.schedule(c, now);
    }

    /// The interrupt of a request has been handled: its waiters continue.
    fn completion_handled(&mut self, slot: usize, now: Nanos) {
        let crate::requests::HostRequest { process: p, page, .. } = *self.requests.get(slot);
        self.requests.handled(slot);
        self.skip_wait(p, slot, now);
        self.processes[p].in_flight -= 1;
        if let Some(page) = page {
            self.page_completed(slot, page, now);
        }
        let in_flight = self.processes[p].in_flight;
        match self.processes[p].state {
            ProcessState::Blocked(WaitReason::Request(waited)) if waited == slot => self.wake(p, now),
            ProcessState::Blocked(WaitReason::Requests) if in_flight == 0 => self.wake(p, now),
            ProcessState::Exited if in_flight == 0 => self.exited.push(p),
            _ => {}
        }
        if page.is_none() {
            self.forget_if_over(slot);
        }
    }

    /// The same for an interrupt that takes no time. If it was the last one of an exited process, an event at `now` reports the
    /// exit.
    fn handled_at_once(&mut self, slot: usize, now: Nanos) {
        self.completion_handled(slot, now);
        if let Some(&p) = self.exited.first() {
            self.agenda.set(self.appointment(p), Some(now));
        }
    }

    /// Frees a complete request, unless its process may still want it.
    fn forget_if_over(&mut self, slot: usize) {
        let request = *self.requests.get(slot);
        let cares = self.reports() && self.processes[request.process].state != ProcessState::Exited;
        if !self.requests.forget_if_over(slot, cares) {
            return;
        }
        let own = &mut self.processes[request.process].requests;
        if let Some(place) = request.place {
            own.swap_remove(place);
            if let Some(&(_, moved)) = own.get(place) {
                self.requests.moved(moved, place);
            }
        }
    }
}
