//! Direct I/O: a task pins the pages of its buffers before its requests reach the block layer.
//!
//! A system call submits a batch. The task is busy until the buffers of the whole batch are pinned, and issues nothing
//! meanwhile. So of two tasks that begin at the same time, the one with the smaller requests is first in the queue.

use super::{Delayed, SimulationEngine};
use crate::cpu_timing::CpuTiming;
use crate::learning_disk::LearningDisk;
use iopilot_block::{Nanos, ProcessId};
use iopilot_device::Device;
use iopilot_workload::{Arrival, Source, Step};

/// The batches whose tasks pin buffers at the moment.
#[derive(Clone, Debug, Default)]
pub(super) struct PinnedBatches {
    batches: Vec<(ProcessId, Vec<Arrival>)>,
    /// Empty; kept for their memory.
    spare: Vec<Vec<Arrival>>,
}

impl PinnedBatches {
    fn hold(&mut self, process: ProcessId, requests: impl Iterator<Item = Arrival>) {
        let mut batch = self.spare.pop().unwrap_or_default();
        batch.extend(requests);
        self.batches.push((process, batch));
    }

    fn take(&mut self, process: ProcessId) -> Option<Vec<Arrival>> {
        let at = self.batches.iter().position(|(of, _)| *of == process)?;
        Some(self.batches.swap_remove(at).1)
    }

    fn recycle(&mut self, mut batch: Vec<Arrival>) {
        batch.clear();
        self.spare.push(batch);
    }
}

/// The request that `step` issues.
fn request(step: &Step) -> Option<&Arrival> {
    match step {
        Step::Request(arrival) => Some(arrival),
        Step::Start { .. } | Step::Exit(_) | Step::Waits(_) => None,
    }
}

impl<S: Source, D: Device, C: CpuTiming, V: LearningDisk> SimulationEngine<S, D, C, V> {
    /// Takes the batches out of `steps` whose buffers take time to pin.
    pub(super) fn pin(&mut self, steps: &mut Vec<Step>) {
        let mut from = 0;
        while let Some(step) = steps.get(from) {
            let Some(process) = request(step).map(|arrival| arrival.process) else {
                from += 1;
                continue;
            };
            let of_task = |step: &&Step| request(step).is_some_and(|arrival| arrival.process == process);
            let to = from + steps[from..].iter().take_while(of_task).count();
            let takes = self.pin_time(&steps[from..to]);
            if takes == Nanos::ZERO {
                from = to;
                continue;
            }
            self.pinning.hold(process, steps.drain(from..to).filter_map(|step| request(&step).copied()));
            self.source.blocked(process, self.now);
            self.delays.push(self.now + takes, Delayed::Pinned(process));
        }
    }

    /// How long it takes to pin the buffers of `batch`. A discard and a flush have none.
    fn pin_time(&mut self, batch: &[Step]) -> Nanos {
        let with_buffer = batch.iter().filter_map(request).filter(|arrival| arrival.op.transfers());
        with_buffer.fold(Nanos::ZERO, |sum, arrival| sum + self.cpus.pin(arrival.sectors))
    }

    /// `process` has pinned the buffers of its batch, and submits it.
    pub(super) fn pinned(&mut self, process: ProcessId) {
        let Some(batch) = self.pinning.take(process) else { return };
        self.source.unblocked(process, self.now);
        for arrival in &batch {
            self.submit(arrival);
        }
        if let Some(last) = batch.last() {
            self.end_batch((process, last.handle));
        }
        self.pinning.recycle(batch);
    }
}
