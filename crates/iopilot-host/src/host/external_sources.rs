//! [`ExternalSources`]: the sources of external interrupts, and the tasks that their interrupts began.

use crate::external::{ExternalInterrupts, InterruptEffect};
use crate::process_times::ProcessTimes;
use crate::totals::CpuTotals;
use iopilot_block::{Agenda, Nanos, Slab};
use std::collections::VecDeque;

/// A source, with what is pending for its handler.
#[derive(Clone, Debug)]
pub(super) struct ExternalSource {
    pub(super) external: ExternalInterrupts,
    /// The tasks of interrupts that have come and are not handled.
    pub(super) begun: VecDeque<usize>,
}

/// A task that an interrupt has begun.
#[derive(Clone, Debug)]
pub(super) struct InterruptTask {
    pub(super) stream: usize,
    pub(super) begun: Nanos,
    /// The host's totals when it began.
    pub(super) before: CpuTotals,
    /// The process that got its bytes, and what that process had done by then.
    pub(super) holder: Option<usize>,
    pub(super) life: ProcessTimes,
    pub(super) computed: Nanos,
}

/// All sources of interrupts.
#[derive(Clone, Debug)]
pub(super) struct ExternalSources {
    pub(super) streams: Vec<ExternalSource>,
    agenda: Agenda,
    /// For each CPU, the sources whose interrupts wait until the one before has been handled.
    pub(super) pending: Vec<VecDeque<usize>>,
    /// Sources that end by themselves and have not ended yet.
    pub(super) ending: usize,
    /// Whether the endless sources have been stopped.
    pub(super) are_over: bool,
    /// Events of daemons plus interrupts of endless sources; and when progress was last checked.
    pub(super) turns: u64,
    pub(super) asked: Nanos,
    pub(super) interrupts: u64,
    pub(super) lost: u64,
    pub(super) jobs: Slab<InterruptTask, usize>,
    /// Tasks whose bytes a process has got and not yet answered.
    pub(super) held: Vec<usize>,
}

impl Default for ExternalSources {
    fn default() -> Self {
        Self {
            streams: Vec::new(),
            agenda: Agenda::new(0),
            pending: Vec::new(),
            ending: 0,
            are_over: false,
            turns: 0,
            asked: Nanos::ZERO,
            interrupts: 0,
            lost: 0,
            jobs: Slab::new(),
            held: Vec::new(),
        }
    }
}

impl ExternalSources {
    pub(super) fn next(&self) -> Option<Nanos> {
        self.agenda.next()
    }

    pub(super) fn take(&mut self, now: Nanos) -> Option<usize> {
        self.agenda.take(now)
    }

    /// Stops all sources.
    pub(super) fn stop(&mut self) {
        (0..self.streams.len()).for_each(|stream| self.agenda.set(stream, None));
        (self.ending, self.are_over) = (0, true);
    }

    /// How many interrupts have come; `None` where there are no sources.
    pub(super) fn interrupts(&self) -> Option<u64> {
        (!self.streams.is_empty()).then_some(self.interrupts)
    }

    /// How many interrupts lost their bytes; `None` where no source puts bytes.
    pub(super) fn lost(&self) -> Option<u64> {
        let puts = |stream: &ExternalSource| matches!(stream.external.effect, InterruptEffect::Put { .. });
        self.streams.iter().any(puts).then_some(self.lost)
    }

    /// Resets the counters of the report.
    pub(super) fn restart(&mut self) {
        (self.interrupts, self.lost) = (0, 0);
    }

    /// Asks source `stream` for its next interrupt.
    pub(super) fn set_next(&mut self, stream: usize, now: Nanos) {
        let external = &mut self.streams[stream].external;
        let next = external.arrivals.next();
        if next.is_none() && !external.is_endless {
            self.ending -= 1;
        }
        self.agenda.set(stream, next.map(|at| at.max(now)));
    }
}
