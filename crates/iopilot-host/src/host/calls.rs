//! The effects of a process' events.

use super::Host;
use crate::process::{Pending, ProcessState, WaitReason};
use crate::program::{Call, Child, ProgramEvent, RawIo, Script};
use iopilot_block::{Arrival, Criticality, IoPriority, Nanos, SourceHandle, Step};

/// The most events of a process that take no time in a row. A program cannot stop the clock.
const AT_ONCE: u32 = 1000;
/// Separate requests have distinct times, even without computation between them.
pub(super) const NEXT_CALL: Nanos = Nanos(1);

impl Host {
    /// Fetches the first event of process `p`.
    pub(super) fn begin(&mut self, p: usize, now: Nanos) {
        self.count_all(now);
        self.begun = now;
        self.processes[p].before = self.totals;
        self.fetch(p, false, now);
    }

    /// Fetches the next event of process `p`, with its computation and the kernel's work for it. `sleeps` says whether the
    /// process sleeps before it computes.
    pub(super) fn fetch(&mut self, p: usize, sleeps: bool, now: Nanos) {
        let ProgramEvent { compute, call } = self.next_event_of(p);
        let (left, kernel) = if self.own_cpus { (compute, Nanos::ZERO) } else { self.computes(compute, &call) };
        let process = &mut self.processes[p];
        if process.last_fetch != now {
            process.at_once = 0;
        }
        process.last_fetch = now;
        process.at_once = if left == Nanos::ZERO { process.at_once + 1 } else { 0 };
        let is_second =
            process.at_once > 0 && !sleeps && matches!(call, Call::Io(_)) && process.last_issue == Some(now);
        let needs_delay = is_second || process.at_once > AT_ONCE;
        process.left = if needs_delay { NEXT_CALL } else { left };
        (process.kernel, process.call) = (kernel, Some(Pending::Event(call)));
    }

    /// The computation until the event `call`: the program's with the kernel's work for it, and the kernel's work alone.
    fn computes(&self, compute: Nanos, call: &Call) -> (Nanos, Nanos) {
        let costs = &self.settings.costs;
        let us = match call {
            Call::Compute => 0.0,
            Call::Io(_) => costs.syscall_us + costs.submit_us,
            Call::Fork(_) => costs.syscall_us + costs.fork_us,
            Call::Exit => costs.syscall_us + costs.exit_us,
            Call::Wakeup { .. } | Call::Unlock(_) => costs.syscall_us + costs.wake_us,
            Call::Await(_)
            | Call::AwaitAll
            | Call::Nap(_)
            | Call::Sleep(_)
            | Call::Lock(_)
            | Call::Put { .. }
            | Call::Get { .. }
            | Call::Answer(_)
            | Call::File(_)
            | Call::Wait(_) => costs.syscall_us,
        };
        let computes = match self.settings.speed {
            1.0 => compute,
            speed => Nanos((compute.0 as f64 / speed).round() as u64),
        };
        let kernel = self.cost(us);
        (computes.saturating_add(kernel), kernel)
    }

    /// The event of process `p` on CPU `c` occurs.
    pub(super) fn occur(&mut self, p: usize, c: usize, now: Nanos, out: &mut Vec<Step>) {
        let Some(pending) = self.processes[p].call.take() else { return };
        let waits = match pending {
            Pending::Event(Call::Exit) => return self.exit(p, c, now),
            Pending::Event(Call::File(call)) => {
                self.file_call(p, call);
                self.continue_call(p, c, now, out)
            }
            Pending::Event(call) => {
                let waits = self.call(p, c, call, now, out);
                self.fetch(p, waits.is_some(), now);
                waits
            }
            Pending::Resume => self.continue_call(p, c, now, out),
            Pending::Sweep => {
                self.sweep(now);
                self.continue_call(p, c, now, out)
            }
        };
        if self.left == 0 {
            self.stop_all(now);
        }
        // The item counted down from here on ends at another time, even if a fork has just counted all CPUs.
        self.cpus[c].ends = None;
        if let Some(wait) = waits {
            self.block(p, wait, now);
        }
        self.wake_all(now);
    }

    /// Executes a call of process `p` that is not on files. Returns what the process waits for.
    fn call(&mut self, p: usize, c: usize, call: Call, now: Nanos, out: &mut Vec<Step>) -> Option<WaitReason> {
        if self.processes[p].is_daemon {
            self.count_turn(now);
        }
        match call {
            Call::Compute | Call::Exit | Call::File(_) => None,
            Call::Io(io) => {
                let waits = self.issue(p, &io, c, now, out);
                self.left -= 1;
                waits
            }
            Call::Await(number) => self.want(p, number, now, out),
            Call::AwaitAll => self.want_all(p, now, out),
            Call::Nap(time) => {
                self.agenda.set(self.appointment(p), Some(self.at_tick(now.saturating_add(time))));
                Some(WaitReason::Timer)
            }
            Call::Sleep(key) => {
                self.sync.sleep(key, p);
                Some(WaitReason::Key(key))
            }
            Call::Wakeup { key, all } => {
                self.sync.wake(key, all, &mut self.woken);
                None
            }
            Call::Lock(key) => (!self.sync.lock(key, p)).then_some(WaitReason::Lock(key)),
            Call::Unlock(key) => {
                if !self.sync.unlock(key, p, &mut self.woken) {
                    self.fail_unlock(p, key);
                }
                None
            }
            Call::Put { channel, bytes } => {
                let is_in = self.sync.put(channel, bytes, p, &mut self.woken);
                self.assign_interrupt_tasks();
                (!is_in).then_some(WaitReason::Channel(channel))
            }
            Call::Get { channel, bytes } => {
                let is_out = self.sync.get(channel, bytes, p, &mut self.woken);
                self.assign_interrupt_tasks();
                (!is_out).then_some(WaitReason::Channel(channel))
            }
            Call::Answer(channel) => {
                self.answer(p, channel, now);
                None
            }
            Call::Fork(_) if self.own_cpus => {
                self.refuse_child();
                None
            }
            Call::Fork(child) => self.fork(p, c, child, now, out),
            Call::Wait(which) => self.wait(p, which),
        }
    }

    /// Makes all processes exit when they next run. They issue nothing more.
    pub(super) fn stop_all(&mut self, now: Nanos) {
        self.externals.stop();
        (0..self.cpus.len()).for_each(|c| self.count(c, now));
        for process in self.processes.iter_mut().filter(|process| process.state != ProcessState::Exited) {
            (process.left, process.call) = (Nanos::ZERO, Some(Pending::Event(Call::Exit)));
            process.plan.clear();
            process.program = Script::new([]).into();
        }
        (0..self.cpus.len()).for_each(|c| self.schedule(c, now));
    }

    /// The time when a kernel timer expires: at the next clock interrupt.
    fn at_tick(&self, at: Nanos) -> Nanos {
        match self.settings.costs.hz {
            0 => at,
            hz => {
                let period = 1_000_000_000 / u64::from(hz);
                Nanos(at.0.div_ceil(period).saturating_mul(period))
            }
        }
    }

    fn issue(&mut self, p: usize, io: &RawIo, c: usize, now: Nanos, out: &mut Vec<Step>) -> Option<WaitReason> {
        let process = &mut self.processes[p];
        let slot = self.requests.issue(p, io, process.requests.len(), c, now);
        process.in_flight += 1;
        process.last_issue = Some(now);
        process.requests.push((io.number, slot));
        let &RawIo { op, lba, sectors, flags, class, .. } = io;
        let priority = IoPriority::default();
        let (cpu, handle) = (c as u16, SourceHandle(slot as u64));
        let criticality = class;
        out.push(Step::Request(Arrival {
            op,
            lba,
            sectors,
            flags,
            process: process.id,
            priority,
            criticality,
            cpu,
            handle,
        }));
        (class == Criticality::TimeCritical).then_some(WaitReason::Request(slot))
    }

    /// Process `p` wants its request `number`. Returns what it waits for.
    fn want(&mut self, p: usize, number: u64, now: Nanos, out: &mut Vec<Step>) -> Option<WaitReason> {
        let (_, slot) = self.processes[p].requests.iter().copied().find(|&(other, _)| other == number)?;
        self.requests.want(slot, now);
        if self.requests.get(slot).complete.is_some() {
            // Even if its interrupt has not been handled yet, the process has the data.
            self.forget_if_handled(slot);
            return None;
        }
        self.announce_wait(slot, out);
        Some(WaitReason::Request(slot))
    }

    fn want_all(&mut self, p: usize, now: Nanos, out: &mut Vec<Step>) -> Option<WaitReason> {
        let slots: Vec<usize> = self.processes[p].requests.iter().map(|&(_, slot)| slot).collect();
        for slot in slots {
            self.requests.want(slot, now);
            match self.requests.get(slot).complete {
                Some(_) => self.forget_if_handled(slot),
                None => self.announce_wait(slot, out),
            }
        }
        (self.processes[p].in_flight > 0).then_some(WaitReason::Requests)
    }

    /// Frees a complete request, unless its interrupt is still to be handled; then the handler frees it.
    fn forget_if_handled(&mut self, slot: usize) {
        if self.requests.get(slot).is_handled {
            self.forget_if_over(slot);
        }
    }

    fn fork(&mut self, p: usize, c: usize, child: Child, now: Nanos, out: &mut Vec<Step>) -> Option<WaitReason> {
        let Child { number, name, program, first, holds_parent, is_task } = child;
        let index = self.add(name, program, Some(p));
        self.live += 1;
        self.processes[p].children += 1;
        let parent = self.processes[p].id;
        let new = &mut self.processes[index];
        (new.parent, new.number, new.is_task) = (Some(p), number, is_task);
        (new.since, new.started) = (now, now);
        out.push(Step::Start { process: new.id, parent });
        self.begin(index, now);
        if holds_parent {
            self.woken.push(index);
            return Some(WaitReason::Child(Some(number)));
        }
        if first && !self.cpus.iter().any(crate::cpu::Cpu::is_idle) {
            // The child takes the parent's place.
            self.change_state(index, ProcessState::Runnable, now);
            self.run_queue.wake(index, false);
            self.run_queue.push_first(index);
            self.cpus[c].resched = true;
        } else {
            self.woken.push(index);
        }
        None
    }

    fn wait(&mut self, p: usize, which: Option<u64>) -> Option<WaitReason> {
        let process = &mut self.processes[p];
        let exited = &mut process.exited_children;
        match exited.iter().position(|&number| which.is_none_or(|wanted| wanted == number)) {
            Some(at) => {
                exited.remove(at);
                None
            }
            // Without a living child there is nothing to wait for.
            None => (process.children > 0).then_some(WaitReason::Child(which)),
        }
    }

    fn exit(&mut self, p: usize, c: usize, now: Nanos) {
        self.count_all(now);
        if self.reports() && self.processes[p].is_task {
            self.task_ended(p, now);
        }
        self.change_state(p, ProcessState::Exited, now);
        self.forget_process(p);
        debug_assert_eq!(
            self.processes[p].life.length(),
            now.since(self.processes[p].started),
            "all of its time is accounted for"
        );
        self.leave(c, false, now);
        if self.processes[p].in_flight == 0 {
            self.exited.push(p);
        }
        let slots: Vec<usize> = self.processes[p].requests.iter().map(|&(_, slot)| slot).collect();
        for slot in slots {
            if self.requests.get(slot).complete.is_some() {
                self.forget_if_handled(slot);
            }
        }
        let (number, computed) = (self.processes[p].number, self.processes[p].computed());
        let Some(parent) = self.processes[p].parent else { return };
        let waiting = &mut self.processes[parent];
        waiting.children -= 1;
        waiting.children_computed += computed;
        match waiting.state {
            ProcessState::Blocked(WaitReason::Child(which)) if which.is_none_or(|wanted| wanted == number) => {
                self.wake(parent, now);
            }
            ProcessState::Exited => {}
            _ => waiting.exited_children.push(number),
        }
    }
}
