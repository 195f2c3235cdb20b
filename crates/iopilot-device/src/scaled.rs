//! [`Scaled`]: a device whose times are all divided by a factor (Ganger 6, Fig. 6.5).
//!
//! The device inside has its own clock, which runs `speed` times as fast. This covers rotation, seeks, transfers,
//! command processing, timers and rebuilds. The wrapper translates times in both directions. Queues inside scale by
//! themselves.

use crate::{CacheControl, Completion, Device, DeviceReport, DeviceRequest, ServiceBreakdown};
use iopilot_block::{Cached, InputError, Knowledge, Lba, Nanos, Op, Positions, Sectors};

/// The resolution of a factor: parts of 1.
const PARTS: u64 = 1_000_000_000;

/// How many times as fast the clock of a device runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpeedFactor {
    /// In parts of [`PARTS`].
    parts: u64,
}

impl SpeedFactor {
    /// The factor of an unscaled device.
    pub const ONE: Self = Self { parts: PARTS };

    /// `factor` times as fast: from 0.001 to 1000, to nine decimals.
    ///
    /// # Errors
    /// If it is not in that range.
    pub fn new(factor: f64) -> Result<Self, InputError> {
        if !(0.001..=1000.0).contains(&factor) {
            return Err(InputError::new("speed", factor.to_string(), "0.001 to 1000"));
        }
        Ok(Self { parts: (factor * PARTS as f64).round() as u64 })
    }

    /// The factor as a number.
    pub fn get(self) -> f64 {
        self.parts as f64 / PARTS as f64
    }

    /// The last moment of the device's time that is not after the host's moment `at`.
    fn inside(self, at: Nanos) -> Nanos {
        let at = u128::from(at.0) * u128::from(self.parts) / u128::from(PARTS);
        Nanos(u64::try_from(at).unwrap_or(u64::MAX))
    }

    /// The first moment of the host's time that is not before the device's moment `at`.
    fn outside(self, at: Nanos) -> Nanos {
        let at = (u128::from(at.0) * u128::from(PARTS)).div_ceil(u128::from(self.parts));
        Nanos(u64::try_from(at).unwrap_or(u64::MAX))
    }

    /// The duration on the host's clock of a duration `length` on the device's clock.
    fn length(self, length: Nanos) -> Nanos {
        Nanos((length.0 as f64 / self.get()).round() as u64)
    }
}

/// A device with its own clock.
#[derive(Clone, Debug)]
pub struct Scaled<D> {
    device: D,
    speed: SpeedFactor,
    /// When the last request was submitted.
    submitted: Nanos,
}

impl<D> Scaled<D> {
    /// `device`, `speed` times as fast.
    pub fn new(device: D, speed: SpeedFactor) -> Self {
        Self { device, speed, submitted: Nanos::ZERO }
    }

    /// The device inside.
    pub fn device(&self) -> &D {
        &self.device
    }

    /// The device inside.
    pub fn device_mut(&mut self) -> &mut D {
        &mut self.device
    }

    /// The factor.
    pub fn speed(&self) -> SpeedFactor {
        self.speed
    }

    fn completed(&self, done: &Completion) -> Completion {
        let length = |length| self.speed.length(length);
        let ServiceBreakdown { seek, rotation, transfer, overhead, cylinders, cache_hit } = done.service;
        let service = ServiceBreakdown {
            seek: length(seek),
            rotation: length(rotation),
            transfer: length(transfer),
            overhead: length(overhead),
            cylinders,
            cache_hit,
        };
        // Rounding must not let a request complete before it was submitted.
        Completion { id: done.id, at: self.speed.outside(done.at).max(self.submitted), service }
    }
}

impl<D: Device> Device for Scaled<D> {
    fn submit(&mut self, request: DeviceRequest, now: Nanos) {
        self.submitted = now;
        self.device.submit(request, self.speed.inside(now));
    }

    fn next_event(&self) -> Option<Nanos> {
        self.device.next_event().map(|at| self.speed.outside(at))
    }

    fn advance(&mut self, now: Nanos, out: &mut Vec<Completion>) {
        let first = out.len();
        self.device.advance(self.speed.inside(now), out);
        for done in &mut out[first..] {
            *done = self.completed(done);
        }
    }

    fn capacity(&self) -> u64 {
        self.device.capacity()
    }

    fn queue_depth(&self) -> u32 {
        self.device.queue_depth()
    }

    fn hardware_queues(&self) -> u16 {
        self.device.hardware_queues()
    }

    fn cache_control(&self) -> CacheControl {
        self.device.cache_control()
    }

    fn positions(&self) -> Option<&dyn Positions> {
        self.device.positions().map(|_| self as &dyn Positions)
    }

    fn report(&self) -> Option<DeviceReport> {
        self.device.report().map(|report| report.in_time_of(self.speed.get()))
    }

    fn respin(&mut self, revolutions: f64) {
        self.device.respin(revolutions);
    }
}

impl<D: Device> Scaled<D> {
    /// A duration that the positions inside give, on the host's clock; 0 if there are none, which no caller asks for.
    fn time(&self, of: impl Fn(&dyn Positions) -> f64) -> f64 {
        self.device.positions().map_or(0.0, |positions| of(positions) / self.speed.get())
    }
}

/// The positions of the device inside, with scaled times. Only called if it has positions.
impl<D: Device> Positions for Scaled<D> {
    fn cylinders(&self) -> u32 {
        self.device.positions().map_or(0, Positions::cylinders)
    }

    fn cylinder(&self, lba: Lba) -> u32 {
        self.device.positions().map_or(0, |p| p.cylinder(lba))
    }

    fn cylinder_known(&self, lba: Lba, knowledge: Knowledge) -> u32 {
        self.device.positions().map_or(0, |p| p.cylinder_known(lba, knowledge))
    }

    fn arm(&self, at: Nanos) -> u32 {
        self.device.positions().map_or(0, |p| p.arm(self.speed.inside(at)))
    }

    fn seek_at_least(&self, distance: u32) -> f64 {
        self.time(|p| p.seek_at_least(distance))
    }

    fn initiation(&self, op: Op) -> f64 {
        self.time(|p| p.initiation(op))
    }

    fn positioning(&self, lba: Lba, sectors: Sectors, op: Op, at: Nanos) -> f64 {
        self.time(|p| p.positioning(lba, sectors, op, self.speed.inside(at)))
    }

    fn access(&self, lba: Lba, sectors: Sectors, op: Op, at: Nanos) -> f64 {
        self.time(|p| p.access(lba, sectors, op, self.speed.inside(at)))
    }

    fn access_after(&self, after: Lba, lba: Lba, sectors: Sectors, op: Op, at: Nanos) -> f64 {
        self.time(|p| p.access_after(after, lba, sectors, op, self.speed.inside(at)))
    }

    fn cached(&self, lba: Lba, sectors: Sectors, op: Op) -> Cached {
        self.device.positions().map_or(Cached::None, |p| p.cached(lba, sectors, op))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_never_missed() {
        for factor in [0.001, 0.3, 1.0, 1.000_000_001, 2.0, 999.999] {
            let speed = SpeedFactor::new(factor).expect("in range");
            for at in [0, 1, 2, 3, 999, 1_000_000_007, u64::from(u32::MAX), 1 << 52] {
                let outside = speed.outside(Nanos(at));
                assert!(speed.inside(outside) >= Nanos(at), "{factor}, {at}: it has come");
                assert!(
                    outside.0 == 0 || speed.inside(Nanos(outside.0 - 1)) < Nanos(at.max(1)),
                    "{factor}, {at}: just"
                );
            }
        }
        assert_eq!(SpeedFactor::ONE.outside(Nanos::MAX), Nanos::MAX);
    }

    #[test]
    fn a_factor_has_bounds() {
        for wrong in [0.0, -1.0, 1001.0, f64::NAN, f64::INFINITY] {
            assert!(SpeedFactor::new(wrong).is_err(), "{wrong}");
        }
    }
}
