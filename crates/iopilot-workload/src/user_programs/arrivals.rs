//! [`InterruptArrivals`]: when the interrupts of a source come.

use super::spec::InterruptTimes;
use crate::ganger::Variable;
use iopilot_block::Nanos;
use iopilot_host::Arrivals;
use rand_pcg::Pcg64Mcg;
use std::sync::Arc;

/// The remaining interrupts of a source.
#[derive(Clone, Debug)]
pub(super) enum InterruptArrivals {
    /// Interrupts with a period.
    Every { last: Nanos, period_ms: Arc<Variable>, left: Option<u64>, random: Pcg64Mcg },
    /// Interrupts at these times, from index `next` on.
    At { times: Arc<[Nanos]>, next: usize },
}

impl InterruptArrivals {
    /// All interrupts of `times`. Random periods are drawn from `random`.
    pub(super) fn new(times: &InterruptTimes, random: Pcg64Mcg) -> Self {
        match times {
            InterruptTimes::Every { start, period_ms, count } => {
                Self::Every { last: *start, period_ms: Arc::new(period_ms.clone()), left: *count, random }
            }
            InterruptTimes::At(times) => Self::At { times: times.as_slice().into(), next: 0 },
        }
    }
}

impl Arrivals for InterruptArrivals {
    fn next(&mut self) -> Option<Nanos> {
        match self {
            Self::Every { last, period_ms, left, random } => {
                if let Some(left) = left {
                    *left = left.checked_sub(1)?;
                }
                let ms = period_ms.draw_until(random, |ms| (ms >= 0.0).then_some(ms)).unwrap_or(0.0);
                // Interrupts have distinct times.
                *last = last.saturating_add(Nanos::from_millis_f64(ms).max(Nanos(1)));
                Some(*last)
            }
            Self::At { times, next } => {
                *next += 1;
                times.get(*next - 1).copied()
            }
        }
    }

    fn boxed(&self) -> Box<dyn Arrivals> {
        Box::new(self.clone())
    }
}
