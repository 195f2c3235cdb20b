//! The end of the warm-up, at which the statistics are reset.

use super::SimulationEngine;
use crate::cpu_timing::CpuTiming;
use crate::learning_disk::LearningDisk;
use crate::warm_up::WarmUp;
use iopilot_block::Nanos;
use iopilot_device::Device;
use iopilot_workload::Source;

impl<S: Source, D: Device, C: CpuTiming, V: LearningDisk> SimulationEngine<S, D, C, V> {
    /// Leaves the warm-up out of the report.
    pub(crate) fn with_warm_up(self, warm_up: Option<WarmUp>) -> Self {
        Self { warm_up, ..self }
    }

    /// The next event is at `next`. Ends the warm-up if it is over by then.
    #[cold]
    pub(super) fn warm(&mut self, warm_up: WarmUp, next: Nanos) {
        let end = match warm_up {
            WarmUp::Time(end) => end,
            WarmUp::Requests(count) if self.recorder().arrivals() >= count => self.now + Nanos(1),
            WarmUp::Requests(_) => return,
        };
        if next < end {
            // From now on the end is known as a time.
            self.warm_up = Some(WarmUp::Time(end));
            return;
        }
        self.end_warm_up(end);
    }

    /// Resets the statistics.
    pub(super) fn end_warm_up(&mut self, end: Nanos) {
        self.warm_up = None;
        let waited = self.source.waiting();
        self.source.restart_report(end);
        match &mut self.redcap {
            None => self.block.recorder.restart(end, waited),
            Some(layer) => {
                layer.restart_report(end, waited);
                self.block.recorder.restart(end, None);
            }
        }
    }
}
