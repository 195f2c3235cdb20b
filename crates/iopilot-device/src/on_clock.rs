//! [`OnClock`]: a device with a clock of its own.

use crate::{Completion, Device, DeviceReport, DeviceRequest};
use iopilot_block::{Nanos, Positions};

/// A device whose clock shows another time than that of its user. What turns is elsewhere at another time: two disks that are asked the
/// same at the same time serve alike only where their clocks agree.
#[derive(Clone, Debug)]
pub struct OnClock<D> {
    device: D,
    /// Device's clock less the user's, ns: either may be ahead.
    ahead: i64,
}

impl<D: Device> OnClock<D> {
    /// `device`, whose clock shows `its` when the user's shows `now`. It is not used before its own zero.
    pub fn new(device: D, its: Nanos, now: Nanos) -> Self {
        Self { device, ahead: its.0 as i64 - now.0 as i64 }
    }

    fn its(&self, now: Nanos) -> Nanos {
        Nanos(now.0.saturating_add_signed(self.ahead))
    }

    fn users(&self, its: Nanos) -> Nanos {
        Nanos(its.0.saturating_add_signed(-self.ahead))
    }
}

impl<D: Device> Device for OnClock<D> {
    fn submit(&mut self, request: DeviceRequest, now: Nanos) {
        self.device.submit(request, self.its(now));
    }

    fn next_event(&self) -> Option<Nanos> {
        self.device.next_event().map(|at| self.users(at))
    }

    fn advance(&mut self, now: Nanos, out: &mut Vec<Completion>) {
        let before = out.len();
        self.device.advance(self.its(now), out);
        out[before..].iter_mut().for_each(|completion| completion.at = self.users(completion.at));
    }

    fn capacity(&self) -> u64 {
        self.device.capacity()
    }

    fn queue_depth(&self) -> u32 {
        self.device.queue_depth()
    }

    fn positions(&self) -> Option<&dyn Positions> {
        self.device.positions()
    }

    fn report(&self) -> Option<DeviceReport> {
        self.device.report()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Catalogue;
    use iopilot_block::{Flags, Lba, Op, RequestId, Sectors};

    /// How long a disk takes for a random read that comes at `at`.
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
    fn the_medium_stands_where_the_devices_clock_has_it() {
        let disk = || Catalogue::get("hd-500-16").unwrap().build().unwrap();
        let (now, ahead) = (Nanos::from_millis(40), Nanos::from_micros(3333));
        let there = service(OnClock::new(disk(), ahead, Nanos::ZERO), now);
        assert_eq!(there, service(disk(), now + ahead));
        assert_ne!(there, service(disk(), now), "it turns meanwhile");
        assert_eq!(service(OnClock::new(disk(), Nanos::ZERO, ahead), now), service(disk(), now.since(ahead)));
    }
}
