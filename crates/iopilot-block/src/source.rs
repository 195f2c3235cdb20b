//! The [`Source`] trait: a workload that issues requests.

use crate::{Criticality, Flags, HostReport, InputError, IoPriority, Lba, Nanos, Op, ProcessId, Sectors};

/// A source's own number of a request. Others pass it back and do not interpret it. A source may reuse it once the
/// request is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceHandle(pub u64);

/// A request as a workload issues it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// What to do.
    pub op: Op,
    /// First sector on the device.
    pub lba: Lba,
    /// Length; zero only for a flush.
    pub sectors: Sectors,
    /// Hints.
    pub flags: Flags,
    /// The issuing task.
    pub process: ProcessId,
    /// Its I/O priority.
    pub priority: IoPriority,
    /// How the task depends on the completion.
    pub criticality: Criticality,
    /// The CPU that submits it; the engine takes it modulo the machine's number of CPUs.
    pub cpu: u16,
    /// The source's handle; passed back at completion.
    pub handle: SourceHandle,
}

/// One action of a source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// A task issues a request.
    Request(Arrival),
    /// A task started another one. This only adds to the log of the run. Tasks that exist from the beginning need no
    /// such step.
    Start {
        /// The new task.
        process: ProcessId,
        /// The task that started it.
        parent: ProcessId,
    },
    /// A task has exited: it issues nothing more.
    Exit(ProcessId),
    /// A task begins to wait for this request, for which no task has waited so far (Ganger 3.1). The request is not
    /// complete.
    Waits(SourceHandle),
}

/// A workload: processes that issue requests, wait for them and think.
///
/// A pure state machine in virtual time. The engine reads [`Source::next_event`] after every call, calls
/// [`Source::advance`] at that time, and reports every completion. Requests that one task issues in one `advance` are
/// one batch: they are plugged together.
pub trait Source {
    /// When the source next does something by itself; `None` if it only waits for completions, or is done.
    fn next_event(&self) -> Option<Nanos>;

    /// Appends to `out`, in order, all steps due at or before `now`.
    fn advance(&mut self, now: Nanos, out: &mut Vec<Step>);

    /// Tells the source whether the device's cache served the request `handle`. The completion follows right after. A
    /// host needs this to count interrupts.
    fn served(&mut self, handle: SourceHandle, cache_hit: bool) {
        let _ = (handle, cache_hit);
    }

    /// The request `handle` is complete, and its task runs again.
    fn completed(&mut self, handle: SourceHandle, now: Nanos);

    /// The queue is full: `process` sleeps within a submission until [`Source::unblocked`], and issues nothing
    /// meanwhile. The rest of its batch waits in the engine.
    fn blocked(&mut self, process: ProcessId, now: Nanos);

    /// `process` has woken up and continues.
    fn unblocked(&mut self, process: ProcessId, now: Nanos);

    /// When the task of the request `handle` issues its next request, if it does so by `by` at the latest and waits for
    /// nothing before: then both share a plug. `None` if the source does not know.
    fn goes_on(&self, handle: SourceHandle, by: Nanos) -> Option<Nanos> {
        let _ = (handle, by);
        None
    }

    /// Whether a task submits one request after the other, so that a submission that sleeps delays the next ones. False
    /// if the source does not know the tasks of its requests.
    fn is_serial(&self) -> bool {
        true
    }

    /// Whether think times count from the block layer's completion, as those inferred from a trace do. If not, the host
    /// adds the time until the task runs again.
    fn thinks_from_block_layer(&self) -> bool {
        false
    }

    /// Whether its tasks do direct I/O, so that the pages of a buffer are pinned before the request reaches the block
    /// layer. The times of a trace are those of the block layer, and a host counts its own costs.
    fn pins_buffers(&self) -> bool {
        false
    }

    /// Whether there will be a [`Source::host_report`].
    fn has_host(&self) -> bool {
        false
    }

    /// The warm-up of the run ended at `now`. [`Source::host_report`] leaves out the time before. Nothing else changes.
    fn restart_report(&mut self, now: Nanos) {
        let _ = now;
    }

    /// How the time of the source's host was spent, after a run; `None` if it has no host.
    fn host_report(&mut self) -> Option<HostReport> {
        None
    }

    /// Why processes could not finish, once nothing is in flight: some sleep and no other can wake them, or a call was
    /// refused. `None` if there was no failure.
    fn failure(&self) -> Option<InputError> {
        None
    }

    /// The share of the response times of time-limited requests so far during which a process waited. `None` if there
    /// were none, or if the source does not know when its processes wait.
    fn lateness(&self) -> Option<f64> {
        None
    }

    /// How long each process has waited, for its own requests or within a submission. `None` if the source does not
    /// know when its processes wait.
    fn waiting(&self) -> Option<Vec<(ProcessId, Nanos)>> {
        None
    }
}

/// Lets a caller keep a source, and inspect it after its run.
impl<S: Source> Source for &mut S {
    fn next_event(&self) -> Option<Nanos> {
        (**self).next_event()
    }

    fn advance(&mut self, now: Nanos, out: &mut Vec<Step>) {
        (**self).advance(now, out);
    }

    fn served(&mut self, handle: SourceHandle, cache_hit: bool) {
        (**self).served(handle, cache_hit);
    }

    fn completed(&mut self, handle: SourceHandle, now: Nanos) {
        (**self).completed(handle, now);
    }

    fn blocked(&mut self, process: ProcessId, now: Nanos) {
        (**self).blocked(process, now);
    }

    fn unblocked(&mut self, process: ProcessId, now: Nanos) {
        (**self).unblocked(process, now);
    }

    fn goes_on(&self, handle: SourceHandle, by: Nanos) -> Option<Nanos> {
        (**self).goes_on(handle, by)
    }

    fn is_serial(&self) -> bool {
        (**self).is_serial()
    }

    fn thinks_from_block_layer(&self) -> bool {
        (**self).thinks_from_block_layer()
    }

    fn lateness(&self) -> Option<f64> {
        (**self).lateness()
    }

    fn waiting(&self) -> Option<Vec<(ProcessId, Nanos)>> {
        (**self).waiting()
    }

    fn pins_buffers(&self) -> bool {
        (**self).pins_buffers()
    }

    fn has_host(&self) -> bool {
        (**self).has_host()
    }

    fn restart_report(&mut self, now: Nanos) {
        (**self).restart_report(now);
    }

    fn host_report(&mut self) -> Option<HostReport> {
        (**self).host_report()
    }

    fn failure(&self) -> Option<InputError> {
        (**self).failure()
    }
}
