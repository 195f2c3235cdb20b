//! [`AnySource`]: any source, as one concrete type.

use super::fio::FioSource;
use super::replay::{Closed, Dependent, Open, ReplayRecord};
use crate::{Source, SourceHandle, Step};
use iopilot_block::{HostReport, InputError, Nanos, ProcessId};
use iopilot_host::Host;
use iopilot_trace::Dependencies;

/// Any source, as one concrete type. So the engine is compiled once, and no request costs a virtual call.
#[derive(Clone)]
#[allow(clippy::large_enum_variant)]
pub enum AnySource<'a> {
    /// Requests at the times of a trace.
    Open(Open<&'a [ReplayRecord]>),
    /// A trace with a constant number of requests outstanding.
    Closed(Closed<&'a [ReplayRecord]>),
    /// A trace with its processes, think times and dependencies.
    Dependent(Dependent<&'a [ReplayRecord], &'a Dependencies>),
    /// The jobs of a fio job file.
    Fio(FioSource),
    /// Processes on the CPUs of a host: Ganger's generators, and programs.
    Host(Host),
}

macro_rules! each {
    ($any:expr, $source:ident => $body:expr) => {
        match $any {
            AnySource::Open($source) => $body,
            AnySource::Closed($source) => $body,
            AnySource::Dependent($source) => $body,
            AnySource::Fio($source) => $body,
            AnySource::Host($source) => $body,
        }
    };
}

impl Source for AnySource<'_> {
    #[inline]
    fn next_event(&self) -> Option<Nanos> {
        each!(self, s => s.next_event())
    }

    #[inline]
    fn advance(&mut self, now: Nanos, out: &mut Vec<Step>) {
        each!(self, s => s.advance(now, out));
    }

    #[inline]
    fn served(&mut self, handle: SourceHandle, cache_hit: bool) {
        each!(self, s => s.served(handle, cache_hit));
    }

    fn completed(&mut self, handle: SourceHandle, now: Nanos) {
        each!(self, s => s.completed(handle, now));
    }

    fn blocked(&mut self, process: ProcessId, now: Nanos) {
        each!(self, s => s.blocked(process, now));
    }

    fn unblocked(&mut self, process: ProcessId, now: Nanos) {
        each!(self, s => s.unblocked(process, now));
    }

    fn goes_on(&self, handle: SourceHandle, by: Nanos) -> Option<Nanos> {
        each!(self, s => s.goes_on(handle, by))
    }

    fn is_serial(&self) -> bool {
        each!(self, s => s.is_serial())
    }

    fn thinks_from_block_layer(&self) -> bool {
        each!(self, s => s.thinks_from_block_layer())
    }

    fn lateness(&self) -> Option<f64> {
        each!(self, s => s.lateness())
    }

    fn waiting(&self) -> Option<Vec<(ProcessId, Nanos)>> {
        each!(self, s => s.waiting())
    }

    fn pins_buffers(&self) -> bool {
        each!(self, s => s.pins_buffers())
    }

    fn has_host(&self) -> bool {
        each!(self, s => s.has_host())
    }

    fn restart_report(&mut self, now: Nanos) {
        each!(self, s => s.restart_report(now));
    }

    fn host_report(&mut self) -> Option<HostReport> {
        each!(self, s => s.host_report())
    }

    fn failure(&self) -> Option<InputError> {
        each!(self, s => s.failure())
    }
}
