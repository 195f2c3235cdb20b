//! [`SystemLoad`]: the source of a run's requests.

use super::iomap::IoMap;
use super::processors::Processors;
use super::trace::{TraceInput, Traced};
use super::{IssuedOperation, RunError};
use iopilot_block::{Criticality, InputError, Nanos, Op};

/// The source of requests.
pub(super) enum SystemLoad {
    Synthetic(Box<Processors>),
    Trace(Box<TraceLoad>),
}

/// A request on its way to the driver.
#[derive(Clone, Copy, Debug)]
pub(super) struct Incoming {
    pub(super) device: u32,
    pub(super) lba: u64,
    pub(super) sectors: u32,
    pub(super) op: Op,
    pub(super) criticality: Criticality,
    /// The number by which a process waits for it.
    pub(super) operation: Option<u64>,
    /// Times in the queue and at the device, from the trace.
    pub(super) times: Option<(Nanos, Nanos)>,
}

impl From<IssuedOperation> for Incoming {
    fn from(issued: IssuedOperation) -> Self {
        let r = issued.request;
        Self {
            device: r.device,
            lba: r.lba,
            sectors: r.sectors,
            op: r.op,
            criticality: r.criticality,
            operation: Some(issued.operation),
            times: None,
        }
    }
}

/// A trace with the mapping of its addresses and times.
pub(super) struct TraceLoad {
    input: TraceInput,
    map: IoMap,
    time_scale: f64,
    /// The next request.
    next: Option<(Nanos, Incoming)>,
    /// In a validation trace: the think time after the request in flight.
    think: Nanos,
}

impl TraceLoad {
    pub(super) fn new(input: TraceInput, map: IoMap, time_scale: f64) -> Self {
        Self { input, map, time_scale, next: None, think: Nanos::ZERO }
    }

    pub(super) fn next_event(&self) -> Option<Nanos> {
        self.next.map(|(at, _)| at)
    }

    pub(super) fn take(&mut self) -> Option<Incoming> {
        self.next.take().map(|(_, incoming)| incoming)
    }

    /// Whether each request is issued only after the previous one has completed.
    pub(super) fn is_closed(&self) -> bool {
        self.input.is_closed()
    }

    pub(super) fn locate(&self, error: InputError) -> InputError {
        self.input.locate(error)
    }

    /// Reads the next request; false at the end. In a validation trace it is issued a think time after `now`.
    pub(super) fn fetch(&mut self, now: Nanos) -> Result<bool, RunError> {
        loop {
            let Some(traced) = self.input.next()? else { return Ok(false) };
            let Traced { device, lba, sectors, op, criticality, times, .. } = traced;
            let at = if self.input.is_closed() {
                let at = now + self.think;
                self.think = traced.think;
                at
            } else if self.time_scale == 1.0 {
                traced.at
            } else {
                Nanos::from_millis_f64(traced.at.as_millis_f64() * self.time_scale)
            };
            if op != Op::Read && op != Op::Write {
                continue;
            }
            let (device, lba, sectors) = self.map.map(device, lba, sectors).map_err(|expected| {
                let got = format!("device {device}, block {lba}, {sectors} blocks");
                self.input.locate(InputError::new("request", got, expected))
            })?;
            let incoming = Incoming { device, lba, sectors, op, criticality, operation: None, times };
            self.next = Some((at, incoming));
            return Ok(true);
        }
    }
}
