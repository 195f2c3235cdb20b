//! [`ShiftedClock`]: a device whose clock is ahead of the caller's.

use iopilot_block::Nanos;
use iopilot_device::{Completion, Device, DeviceRequest};

/// A device whose clock is ahead of the caller's by a constant. The angle of a medium follows from the device's clock:
/// two disks serve the same requests alike only if their clocks agree.
#[derive(Clone, Debug)]
pub(super) struct ShiftedClock<D> {
    device: D,
    ahead: Nanos,
}

impl<D: Device> ShiftedClock<D> {
    /// `device`, with a clock that is `ahead`.
    pub(super) fn new(device: D, ahead: Nanos) -> Self {
        Self { device, ahead }
    }
}

impl<D: Device> Device for ShiftedClock<D> {
    fn submit(&mut self, request: DeviceRequest, now: Nanos) {
        self.device.submit(request, now + self.ahead);
    }

    fn next_event(&self) -> Option<Nanos> {
        self.device.next_event().map(|at| at.since(self.ahead))
    }

    fn advance(&mut self, now: Nanos, out: &mut Vec<Completion>) {
        let before = out.len();
        self.device.advance(now + self.ahead, out);
        out[before..].iter_mut().for_each(|completion| completion.at = completion.at.since(self.ahead));
    }

    as_wrapped!(device);
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_block::{Flags, Lba, Op, RequestId, Sectors};
    use iopilot_catalogue::Catalogue;

    /// The time of a random read that comes at `at`.
    fn service<D: Device>(mut disk: D, at: Nanos) -> Nanos {
        let (id, lba) = (RequestId::from_index(0), Lba(1 << 28));
        disk.submit(DeviceRequest { id, op: Op::Read, lba, sectors: Sectors(8), flags: Flags::empty() }, at);
        let mut done = Vec::new();
        while done.is_empty() {
            let next = disk.next_event().unwrap();
            disk.advance(next, &mut done);
            assert!(done.iter().all(|c| c.at == next), "at the time that was announced");
        }
        done[0].at - at
    }

    #[test]
    fn the_medium_is_where_the_devices_clock_has_it() {
        let disk = || Catalogue::get("hd-500-16").unwrap().build().unwrap();
        let (now, ahead) = (Nanos::from_millis(40), Nanos::from_micros(3333));
        assert_eq!(service(ShiftedClock::new(disk(), ahead), now), service(disk(), now + ahead));
        assert_ne!(service(disk(), now + ahead), service(disk(), now), "it turns meanwhile");
    }
}
