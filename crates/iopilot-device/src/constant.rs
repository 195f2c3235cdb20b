//! [`ConstantDevice`]: only a latency and a bandwidth.

use crate::{Completion, Device, DeviceRequest, ServiceBreakdown};
use iopilot_block::{Flags, Nanos, Op};

/// The parameters of a [`ConstantDevice`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConstantModel {
    /// Size in sectors.
    pub capacity: u64,
    /// Requests it accepts at once.
    pub queue_depth: u32,
    /// Requests whose latencies may overlap, at least 1.
    pub parallelism: u32,
    /// The latency before the data of a read move.
    pub read_latency: Nanos,
    /// The latency before the data of a write move; also the time of a flush and of a discard.
    pub write_latency: Nanos,
    /// Nanoseconds per byte read.
    pub read_ns_per_byte: f64,
    /// Nanoseconds per byte written.
    pub write_ns_per_byte: f64,
}

/// A device whose service time is a latency plus a time per byte, in order of arrival, for any address. It serves
/// tests, and as a baseline for flash. Up to `parallelism` latencies overlap; data move one request at a time.
#[derive(Clone, Debug)]
pub struct ConstantDevice {
    model: ConstantModel,
    /// When each of the parallel units is free.
    units: Vec<f64>,
    /// When the data path is free.
    path_free: f64,
    /// The latest completion so far; a flush waits for it.
    last: f64,
    /// Completions not handed out yet, the latest first.
    done: Vec<Completion>,
}

impl ConstantDevice {
    /// An idle device.
    pub fn new(model: ConstantModel) -> Self {
        let units = vec![0.0; model.parallelism.max(1) as usize];
        Self { model, units, path_free: 0.0, last: 0.0, done: Vec::with_capacity(model.queue_depth as usize) }
    }

    /// One request at a time, each taking `latency` and `ns_per_byte`, in either direction.
    pub fn simple(capacity: u64, queue_depth: u32, latency: Nanos, ns_per_byte: f64) -> Self {
        Self::new(ConstantModel {
            capacity,
            queue_depth,
            parallelism: 1,
            read_latency: latency,
            write_latency: latency,
            read_ns_per_byte: ns_per_byte,
            write_ns_per_byte: ns_per_byte,
        })
    }

    /// The parameters of the device.
    pub fn model(&self) -> &ConstantModel {
        &self.model
    }
}

impl Device for ConstantDevice {
    fn submit(&mut self, request: DeviceRequest, now: Nanos) {
        let m = &self.model;
        let (latency, per_byte) = match request.op {
            Op::Read => (m.read_latency, m.read_ns_per_byte),
            Op::Write => (m.write_latency, m.write_ns_per_byte),
            Op::Flush | Op::Discard => (m.write_latency, 0.0),
        };
        let mut start = now.0 as f64;
        if request.op == Op::Flush || request.flags.contains(Flags::PREFLUSH) {
            start = start.max(self.last);
        }
        let mut way = 0;
        for (i, free) in self.units.iter().enumerate() {
            if *free < self.units[way] {
                way = i;
            }
        }
        let ready = start.max(self.units[way]) + latency.0 as f64;
        let transfer = request.sectors.bytes() as f64 * per_byte;
        let end = if transfer > 0.0 { ready.max(self.path_free) + transfer } else { ready };
        if transfer > 0.0 {
            self.path_free = end;
        }
        self.units[way] = end;
        self.last = self.last.max(end);
        let service = ServiceBreakdown {
            transfer: Nanos(transfer.round() as u64),
            overhead: latency,
            ..ServiceBreakdown::default()
        };
        let completion = Completion { id: request.id, at: Nanos(end.ceil() as u64), service };
        let place = self.done.partition_point(|other| other.at > completion.at);
        self.done.insert(place, completion);
    }

    fn next_event(&self) -> Option<Nanos> {
        self.done.last().map(|completion| completion.at)
    }

    fn advance(&mut self, now: Nanos, out: &mut Vec<Completion>) {
        let due = self.done.partition_point(|completion| completion.at > now);
        out.extend(self.done.drain(due..).rev());
    }

    fn capacity(&self) -> u64 {
        self.model.capacity
    }

    fn queue_depth(&self) -> u32 {
        self.model.queue_depth
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_block::{Lba, RequestId, Sectors};

    fn read(id: usize, sectors: u32) -> DeviceRequest {
        DeviceRequest {
            id: RequestId::from_index(id),
            op: Op::Read,
            lba: Lba(0),
            sectors: Sectors(sectors),
            flags: Flags::empty(),
        }
    }

    fn times(device: &mut ConstantDevice) -> Vec<u64> {
        let mut out = Vec::new();
        device.advance(Nanos::MAX, &mut out);
        out.iter().map(|c| c.at.0).collect()
    }

    #[test]
    fn one_unit_serves_requests_one_by_one() {
        let mut d = ConstantDevice::simple(1000, 4, Nanos(100), 1.0);
        d.submit(read(0, 1), Nanos(0));
        d.submit(read(1, 1), Nanos(0));
        assert_eq!(d.next_event(), Some(Nanos(612)));
        assert_eq!(times(&mut d), [612, 1224]);
        assert_eq!(d.next_event(), None);
    }

    #[test]
    fn latencies_overlap_on_parallel_units_and_data_do_not() {
        let mut d = ConstantDevice::new(ConstantModel {
            parallelism: 2,
            ..*ConstantDevice::simple(1000, 4, Nanos(100), 1.0).model()
        });
        for id in 0..3 {
            d.submit(read(id, 1), Nanos(0));
        }
        assert_eq!(times(&mut d), [612, 1124, 1636]);
    }

    #[test]
    fn a_flush_waits_for_all_earlier_requests() {
        let mut d = ConstantDevice::new(ConstantModel {
            parallelism: 4,
            ..*ConstantDevice::simple(1000, 4, Nanos(100), 1.0).model()
        });
        d.submit(read(0, 2), Nanos(0));
        d.submit(DeviceRequest { op: Op::Flush, ..read(1, 0) }, Nanos(10));
        assert_eq!(times(&mut d), [1124, 1224]);
    }
}
