//! [`Limited`]: a device with a limit on the time that its requests take.

use super::error::ProbeError;
use iopilot_block::{Lba, Nanos, Op, Sectors};
use iopilot_device::TimedDevice;

/// Serves requests until the time limit is reached, then fails each of them.
pub(super) struct Limited<'a, D> {
    device: &'a mut D,
    limit: Option<Nanos>,
    /// Time used, by the device's clock.
    pub(super) spent: Nanos,
}

impl<'a, D: TimedDevice> Limited<'a, D> {
    pub(super) fn new(device: &'a mut D, limit: Option<Nanos>) -> Self {
        Self { device, limit, spent: Nanos::ZERO }
    }

    /// Adds the time since `before`, when the last call ended; nothing if a restart has set the clock back.
    fn count(&mut self, before: Nanos) {
        self.spent += self.device.now().since(before);
    }
}

impl<D: TimedDevice> TimedDevice for Limited<'_, D> {
    type Error = ProbeError<D::Error>;

    fn capacity(&self) -> u64 {
        self.device.capacity()
    }

    fn serve(&mut self, op: Op, lba: Lba, sectors: Sectors) -> Result<Nanos, Self::Error> {
        if let Some(limit) = self.limit.filter(|&limit| self.spent >= limit) {
            return Err(ProbeError::TimeLimit(limit.as_secs_f64()));
        }
        let before = self.device.now();
        let time = self.device.serve(op, lba, sectors)?;
        self.count(before);
        Ok(time)
    }

    fn serve_together(
        &mut self,
        reads: &[Lba],
        sectors: Sectors,
        in_flight: usize,
        ended: &mut Vec<Nanos>,
    ) -> Result<(), Self::Error> {
        if let Some(limit) = self.limit.filter(|&limit| self.spent >= limit) {
            return Err(ProbeError::TimeLimit(limit.as_secs_f64()));
        }
        let before = self.device.now();
        self.device.serve_together(reads, sectors, in_flight, ended)?;
        self.count(before);
        Ok(())
    }

    fn restart(&mut self) -> Result<(), Self::Error> {
        let before = self.device.now();
        self.device.restart()?;
        self.count(before);
        Ok(())
    }

    fn pause(&mut self, time: Nanos) -> Result<(), Self::Error> {
        let before = self.device.now();
        self.device.pause(time)?;
        self.count(before);
        Ok(())
    }

    fn now(&self) -> Nanos {
        self.device.now()
    }
}
