//! [`Measures`]: the statistics of a run.

use iopilot_block::{Histogram, Nanos, Op};

/// Times of one device's accesses.
#[derive(Clone, Debug, Default)]
pub(super) struct DeviceMeasures {
    pub(super) reads: u64,
    pub(super) writes: u64,
    pub(super) blocks: u64,
    pub(super) queue: Histogram,
    pub(super) access: Histogram,
    pub(super) response: Histogram,
}

/// Times of one organisation's requests.
#[derive(Clone, Debug, Default)]
pub(super) struct OrganisationMeasures {
    pub(super) reads: u64,
    pub(super) writes: u64,
    pub(super) response: Histogram,
    pub(super) outstanding: u64,
}

/// The statistics of a run. They are reset at the end of the warm-up.
#[derive(Clone, Debug)]
pub(super) struct Measures {
    pub(super) since: Nanos,
    pub(super) response: Histogram,
    pub(super) reads: Histogram,
    pub(super) writes: Histogram,
    pub(super) devices: Vec<DeviceMeasures>,
    pub(super) organisations: Vec<OrganisationMeasures>,
}

impl Measures {
    pub(super) fn new(devices: usize, organisations: usize) -> Self {
        Self {
            since: Nanos::ZERO,
            response: Histogram::new(),
            reads: Histogram::new(),
            writes: Histogram::new(),
            devices: vec![DeviceMeasures::default(); devices],
            organisations: vec![OrganisationMeasures::default(); organisations],
        }
    }

    /// Resets everything except the outstanding requests.
    pub(super) fn reset(&mut self, now: Nanos) {
        let outstanding: Vec<u64> = self.organisations.iter().map(|o| o.outstanding).collect();
        *self = Self::new(self.devices.len(), self.organisations.len());
        self.since = now;
        for (organisation, outstanding) in self.organisations.iter_mut().zip(outstanding) {
            organisation.outstanding = outstanding;
        }
    }

    pub(super) fn request(&mut self, organisation: usize, op: Op, response: Nanos) {
        self.response.record(response);
        let o = &mut self.organisations[organisation];
        o.response.record(response);
        if op == Op::Read {
            o.reads += 1;
            self.reads.record(response);
        } else {
            o.writes += 1;
            self.writes.record(response);
        }
    }

    pub(super) fn access(&mut self, device: usize, op: Op, sectors: u32, queue: Nanos, access: Nanos) {
        let d = &mut self.devices[device];
        if op == Op::Read {
            d.reads += 1;
        } else {
            d.writes += 1;
        }
        d.blocks += u64::from(sectors);
        d.queue.record(queue);
        d.access.record(access);
        d.response.record(queue + access);
    }
}
