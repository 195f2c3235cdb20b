//! [`ModelClock`]: the clock of the model.

use iopilot_block::Nanos;

/// Converts between real time, in nanoseconds of `CLOCK_MONOTONIC`, and the model's time.
#[derive(Clone, Copy, Debug)]
pub(super) struct ModelClock {
    origin: u64,
    /// Seconds of the model per real second.
    speed: f64,
}

impl ModelClock {
    /// A clock whose model time is zero at the real time `origin`.
    pub(super) fn new(origin: u64, speed: f64) -> Self {
        Self { origin, speed }
    }

    /// The model's time at the real time `real`.
    pub(super) fn model(&self, real: u64) -> Nanos {
        let passed = real.saturating_sub(self.origin);
        Nanos(if self.speed == 1.0 { passed } else { (passed as f64 * self.speed) as u64 })
    }

    /// The first real time at which the model's time is `model`.
    pub(super) fn real(&self, model: Nanos) -> u64 {
        if self.speed == 1.0 {
            return self.origin.saturating_add(model.0);
        }
        // Rounded up and one more, for the rounding of the way back.
        self.origin.saturating_add((model.0 as f64 / self.speed).ceil() as u64).saturating_add(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ten_times_faster_than_life() {
        let clock = ModelClock::new(1_000, 10.0);
        assert_eq!(clock.model(2_000), Nanos(10_000));
        assert_eq!(clock.model(900), Nanos(0));
    }

    proptest! {
        #[test]
        fn what_is_due_is_due_when_its_real_time_has_come(
            origin in 0..1u64 << 50, model in 0..1u64 << 50, speed in 0.01..1000.0f64,
        ) {
            let clock = ModelClock::new(origin, speed);
            prop_assert!(clock.model(clock.real(Nanos(model))) >= Nanos(model));
            let exact = ModelClock::new(origin, 1.0);
            prop_assert_eq!(exact.model(exact.real(Nanos(model))), Nanos(model));
        }
    }
}
