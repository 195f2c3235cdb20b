//! Processes that each have their own CPU.

use super::{Host, HostEnd, TaskSpec};
use crate::process::{Pending, ProcessState, WaitReason};
use crate::program::{Call, ProgramEvent};
use crate::settings::HostSettings;
use iopilot_block::{InputError, Nanos, SourceHandle, Step};

impl Host {
    /// Runs each task on its own CPU without costs, until `end`. This is for the generators of Ganger's open and closed models
    /// (A.2.3), and for machines without a description of their CPUs.
    ///
    /// Such a host has no report of its CPUs. The CPUs add the fixed costs of the block layer to a request, as for other
    /// sources. The block layer keeps a request as it was issued: it is not told when a process begins to wait for it. Children
    /// have no CPU: a program that starts one ends the run with a failure.
    ///
    /// # Errors
    /// If there are no tasks, or more than 65535.
    pub fn on_own_cpus(tasks: Vec<TaskSpec>, end: HostEnd) -> Result<Self, InputError> {
        let Ok(cpus) = u16::try_from(tasks.len()) else {
            return Err(InputError::new("processes", tasks.len().to_string(), "1 to 65535, each with a CPU"));
        };
        let mut host = Self::new(HostSettings::free(cpus), tasks, &[], end)?;
        host.own_cpus = true;
        host.requests.count_nothing();
        for (cpu, process) in host.processes.iter_mut().enumerate() {
            // A process goes to the CPU that it ran on last. Here that CPU is idle whenever the process can run.
            process.last_cpu = Some(cpu);
        }
        Ok(host)
    }

    /// Whether the host accounts for its CPUs.
    pub(super) fn reports(&self) -> bool {
        !self.own_cpus
    }

    /// Counts all CPUs, if the host accounts for them. O(CPUs).
    pub(super) fn count_all(&mut self, now: Nanos) {
        if !self.reports() {
            return;
        }
        for c in 0..self.cpus.len() {
            self.count(c, now);
            self.schedule(c, now);
        }
        self.count_idle(now);
    }

    /// A process starts a child, for which there is no CPU: the workload ends.
    pub(super) fn refuse_child(&mut self) {
        let expected = "none, because each process has its own CPU from the start";
        self.failure.get_or_insert_with(|| InputError::new("processes", "one that starts a child", expected));
        self.left = 0;
    }

    /// Runs process `p` on its CPU.
    pub(super) fn resume_alone(&mut self, p: usize, now: Nanos) {
        let process = &mut self.processes[p];
        let c = process.last_cpu.unwrap_or(p);
        process.enter(ProcessState::Running(c), now);
        self.cpus[c].process = Some(p);
        self.schedule(c, now);
    }

    /// Puts process `p` to sleep. Its CPU `c` becomes idle.
    pub(super) fn block_alone(&mut self, p: usize, c: usize, wait: WaitReason, now: Nanos) {
        self.count(c, now);
        self.processes[p].enter(ProcessState::Blocked(wait), now);
        self.cpus[c].process = None;
        self.schedule(c, now);
    }

    /// The next event of the program of process `p`. On its own CPU, a wait for a complete request is skipped.
    pub(super) fn next_event_of(&mut self, p: usize) -> ProgramEvent {
        let process = &mut self.processes[p];
        let mut event = process.program.next();
        while let (true, Call::Await(number)) = (self.own_cpus, &event.call) {
            if process.requests.iter().any(|(other, _)| other == number) {
                break;
            }
            let next = process.program.next();
            event = ProgramEvent { compute: event.compute.saturating_add(next.compute), ..next };
        }
        event
    }

    /// The request in `slot` of process `p` is complete. If the process was about to wait for it, it goes on to its next event
    /// instead. That event is scheduled again, so it comes last among the events of one time.
    pub(super) fn skip_wait(&mut self, p: usize, slot: usize, now: Nanos) {
        if self.reports() {
            return;
        }
        let running = match self.processes[p].state {
            ProcessState::Running(c) => Some(c),
            _ => None,
        };
        if let Some(c) = running {
            self.count(c, now);
        }
        let process = &self.processes[p];
        let number =
            self.requests.get(slot).place.and_then(|place| process.requests.get(place)).map(|&(number, _)| number);
        if let (Some(Pending::Event(Call::Await(next))), Some(number)) = (&process.call, number) {
            if *next == number {
                let left = process.left;
                self.fetch(p, left > Nanos::ZERO, now);
                let process = &mut self.processes[p];
                process.left = process.left.saturating_add(left);
            }
        }
        if let Some(c) = running {
            self.schedule(c, now);
        }
    }

    /// Tells the block layer that a process begins to wait for the request in `slot`.
    pub(super) fn announce_wait(&self, slot: usize, out: &mut Vec<Step>) {
        if self.reports() {
            out.push(Step::Waits(SourceHandle(slot as u64)));
        }
    }
}
