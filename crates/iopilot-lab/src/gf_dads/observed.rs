//! [`ObservedDisk`]: a disk that records each service, so that tables can learn from it.

use iopilot_block::{Lba, Nanos};
use iopilot_device::{Completion, Device, DeviceRequest};

/// A request as the disk served it; requests that were merged are one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ObservedService {
    pub(super) request: DeviceRequest,
    /// Where the previous request ended.
    pub(super) previous_end: Lba,
    pub(super) time: Nanos,
}

/// A disk that takes one request at a time and records its services.
#[derive(Clone, Debug)]
pub(super) struct ObservedDisk<D> {
    disk: D,
    current: Option<(DeviceRequest, Nanos)>,
    previous_end: Lba,
    services: Vec<ObservedService>,
}

impl<D: Device> ObservedDisk<D> {
    pub(super) fn new(disk: D) -> Self {
        Self { disk, current: None, previous_end: Lba(0), services: Vec::new() }
    }

    /// Takes the services recorded since the last call.
    pub(super) fn take(&mut self) -> impl Iterator<Item = ObservedService> + '_ {
        self.services.drain(..)
    }
}

impl<D: Device> Device for ObservedDisk<D> {
    fn submit(&mut self, request: DeviceRequest, now: Nanos) {
        self.current = Some((request, now));
        self.disk.submit(request, now);
    }

    fn next_event(&self) -> Option<Nanos> {
        self.disk.next_event()
    }

    fn advance(&mut self, now: Nanos, out: &mut Vec<Completion>) {
        let before = out.len();
        self.disk.advance(now, out);
        for completion in &out[before..] {
            if let Some((request, issued)) = self.current.take_if(|(request, _)| request.id == completion.id) {
                let service =
                    ObservedService { request, previous_end: self.previous_end, time: completion.at - issued };
                self.services.push(service);
                self.previous_end = Lba(request.lba.0 + u64::from(request.sectors.0));
            }
        }
    }

    fn capacity(&self) -> u64 {
        self.disk.capacity()
    }

    /// One, because the times of overlapping services cannot be separated.
    fn queue_depth(&self) -> u32 {
        1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_block::{Flags, Op, RequestId, Sectors};
    use iopilot_device::ConstantDevice;

    #[test]
    fn each_service_records_where_the_one_before_ended() {
        let mut disk = ObservedDisk::new(ConstantDevice::simple(1 << 20, 1, Nanos(700), 0.0));
        let mut serve = |lba, now| {
            let id = RequestId::from_index(0);
            let request = DeviceRequest { id, op: Op::Read, lba: Lba(lba), sectors: Sectors(8), flags: Flags::empty() };
            disk.submit(request, Nanos(now));
            let mut out = Vec::new();
            while let Some(at) = disk.next_event() {
                disk.advance(at, &mut out);
            }
            out.len()
        };
        assert_eq!((serve(16, 0), serve(100, 5000)), (1, 1));
        let noted: Vec<(u64, u64, u64)> =
            disk.take().map(|s| (s.request.lba.0, s.previous_end.0, s.time.0 / 100)).collect();
        assert_eq!(noted, [(16, 0, 7), (100, 24, 7)]);
        assert_eq!(disk.take().count(), 0);
    }
}
