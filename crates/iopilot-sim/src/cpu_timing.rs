//! [`CpuTiming`]: the delays that the CPUs add to a request.

use crate::cpu_overheads::{CpuCosts, CpuOverheads};
use iopilot_block::{Nanos, ProcessId, Sectors};
use iopilot_workload::SourceHandle;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// A page of memory, in sectors.
const PAGE_SECTORS: u32 = 8;

/// Why the hardware queue is run (`blk_mq_run_hw_queue`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueRun {
    /// A task has submitted a batch; this request was inserted last, if any was.
    Inserted(Option<SourceHandle>),
    /// A request is complete.
    Completed {
        /// The request.
        handle: SourceHandle,
        /// Whether another request has left the scheduler and waited for this slot in the device: a worker of the kernel
        /// sends it (Linux 6 with a scheduler).
        waiting: bool,
    },
    /// A request has just been sent to the device.
    Issued(SourceHandle),
    /// A timer has expired, or a task has exited.
    Other,
}

/// The delays that the CPUs add to a request: the time from each cause to its effect, and which of two tasks is faster.
///
/// The block layer decides *what* happens; an implementation of this trait decides *when*. Simulations use the fixed costs of [`CpuOverheads`]; a
/// model of CPUs, or recorded times, can replace it. An implementation must be deterministic: its randomness comes from its own
/// seed.
pub trait CpuTiming {
    /// The time from the run of the queue at `now` on `cpu` until the first request that the scheduler chose reaches the device.
    fn issue(&mut self, cpu: u16, run: QueueRun, now: Nanos) -> Nanos;

    /// The time from the driver, which has a request at `now`, to the device. The default is no time.
    fn transport(&mut self, now: Nanos) -> Nanos {
        let _ = now;
        Nanos::ZERO
    }

    /// A request that `cpu` submitted is complete at `now`, and `cpu` handles the interrupt. The default takes no time.
    fn completed(&mut self, cpu: u16, now: Nanos) {
        let _ = (cpu, now);
    }

    /// The time from the completion of the request `handle` until its task's next instruction. Not called if a source's think
    /// times count from the block layer's completion.
    fn resume(&mut self, handle: SourceHandle, process: ProcessId, now: Nanos) -> Nanos;

    /// The time in which a task pins the pages of a buffer of `sectors`, before its request reaches the block layer. Asked
    /// only for a source that [pins buffers](iopilot_workload::Source::pins_buffers). The default is no time.
    fn pin(&mut self, sectors: Sectors) -> Nanos {
        let _ = sectors;
        Nanos::ZERO
    }

    /// The time from the freeing of a tag until the task that is woken for it looks for one.
    fn wake(&mut self, process: ProcessId, now: Nanos) -> Nanos;

    /// Whether the task of `completed`, whose tag is freed, takes that tag for its next request before a sleeper does.
    fn completer_keeps_tag(&mut self, completed: SourceHandle) -> bool;

    /// The longest time that a sleeper that loses against the completing task waits for that task to submit, before it looks
    /// for a tag.
    fn lost_wake(&mut self, process: ProcessId, now: Nanos) -> Nanos;

    /// The time of a change of the scheduler, after the queue is drained.
    fn switch(&mut self) -> Nanos;
}

/// Fixed costs from [`CpuOverheads`], and a fixed probability that the completing task keeps its tag.
///
/// Each CPU does one thing at a time: it sends a request after all earlier requests and completions. A completion goes first,
/// as an interrupt does, and delays the requests that the CPU sends after it.
#[derive(Clone, Debug)]
pub(crate) struct FixedCosts {
    costs: CpuCosts,
    switch: Nanos,
    keeps_tag: f64,
    random: Pcg64Mcg,
    /// The time until which each CPU is busy. Empty if completions cost nothing: then the hardware queue, which sends one
    /// request at a time, serialises the requests.
    busy: Vec<Nanos>,
    /// The time until which the transport between driver and device is busy.
    transport_busy: Nanos,
}

impl FixedCosts {
    /// The costs of `overheads` for a device with `hardware_queues` hardware queues. `seed` is for the contention for freed
    /// tags.
    pub(crate) fn new(overheads: &CpuOverheads, hardware_queues: u16, seed: u64) -> Self {
        let costs = overheads.costs(hardware_queues > 1);
        let busy = if costs.complete == Nanos::ZERO { 0 } else { usize::from(overheads.cpus) };
        Self {
            costs,
            busy: vec![Nanos::ZERO; busy],
            transport_busy: Nanos::ZERO,
            switch: overheads.switch(),
            keeps_tag: overheads.tag_steal_probability,
            random: Pcg64Mcg::seed_from_u64(seed),
        }
    }
}

impl CpuTiming for FixedCosts {
    #[inline]
    fn issue(&mut self, cpu: u16, run: QueueRun, now: Nanos) -> Nanos {
        let takes = match run {
            QueueRun::Completed { waiting: true, .. } => self.costs.restart,
            QueueRun::Completed { waiting: false, .. } => self.costs.issue_next,
            _ => self.costs.issue,
        };
        match self.busy.get_mut(usize::from(cpu)) {
            Some(busy) => {
                // A request that a worker restarts arrives later, and the CPU is free meanwhile.
                *busy = now.max(*busy) + self.costs.issue;
                (*busy).max(now + takes).since(now)
            }
            None => takes,
        }
    }

    #[inline]
    fn transport(&mut self, now: Nanos) -> Nanos {
        if self.costs.transport == Nanos::ZERO {
            return Nanos::ZERO;
        }
        self.transport_busy = now.max(self.transport_busy) + self.costs.transport;
        self.transport_busy.since(now)
    }

    #[inline]
    fn completed(&mut self, cpu: u16, now: Nanos) {
        if let Some(busy) = self.busy.get_mut(usize::from(cpu)) {
            *busy = now.max(*busy) + self.costs.complete;
        }
    }

    #[inline]
    fn resume(&mut self, _: SourceHandle, _: ProcessId, _: Nanos) -> Nanos {
        self.costs.resume
    }

    #[inline]
    fn pin(&mut self, sectors: Sectors) -> Nanos {
        // The first page is part of the time from a completion to the next request.
        let others = u64::from(sectors.0.saturating_sub(PAGE_SECTORS));
        Nanos(others * self.costs.pin_kib.0 / 2)
    }

    fn wake(&mut self, _: ProcessId, _: Nanos) -> Nanos {
        self.costs.wake
    }

    fn completer_keeps_tag(&mut self, _: SourceHandle) -> bool {
        self.random.random_bool(self.keeps_tag)
    }

    fn lost_wake(&mut self, _: ProcessId, _: Nanos) -> Nanos {
        self.costs.lost_wake
    }

    fn switch(&mut self) -> Nanos {
        self.switch
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_does_one_thing_at_a_time_and_two_cpus_two() {
        let us = Nanos::from_micros;
        let overheads = CpuOverheads { issue_us: Some(3.0), complete_us: Some(2.0), ..CpuOverheads::default() };
        let mut cpus = FixedCosts::new(&overheads, 1, 1);
        let sent = QueueRun::Inserted(None);
        assert_eq!([0, 0, 1].map(|cpu| cpus.issue(cpu, sent, us(10))), [us(3), us(6), us(3)]);
        cpus.completed(1, us(11));
        assert_eq!(cpus.issue(1, sent, us(12)), us(6), "until 13 it sends, until 15 it completes");
        assert_eq!(cpus.issue(0, sent, us(100)), us(3));
    }

    #[test]
    fn a_task_pins_256_pages_for_a_mebibyte_and_the_first_is_free() {
        let mut cpus = FixedCosts::new(&CpuOverheads { pin_us_per_kib: Some(0.05), ..CpuOverheads::default() }, 1, 1);
        let kib = |kib: u32| Sectors(2 * kib);
        assert_eq!([1, 4, 8, 1024].map(|n| cpus.pin(kib(n)).0), [0, 0, 200, 51_000]);
    }

    #[test]
    fn a_core_drives_600_000_requests_a_second_through_queues_of_its_own() {
        let costs = CpuOverheads::default().costs(true);
        let each = (costs.issue + costs.complete).as_secs_f64();
        assert!((600e3..620e3).contains(&(1.0 / each)), "{each}");
    }
}
