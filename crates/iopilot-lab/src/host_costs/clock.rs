//! The clock's interrupts, as seen by a loop that only reads the time.

use std::time::{Duration, Instant};

/// The tick rates of kernels, the highest first.
const RATES: [u32; 4] = [1000, 300, 250, 100];
/// A shorter time between two readings is the loop's own, us.
const GAP_US: f64 = 0.5;
/// The share of the interrupts at a rate that must have been seen.
const SEEN: f64 = 0.7;
/// How far from the beat an interrupt may come, in periods.
const OFF_BEAT: f64 = 0.05;

/// The clock's interrupts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ticks {
    /// Interrupts per second.
    pub(super) hz: u32,
    /// The time of one, us.
    pub(super) us: f64,
}

/// Watches the clock for `seconds`. `None` if no rate stands out, as on a CPU that others use, or whose clock stops.
pub(super) fn watch(seconds: f64) -> Option<Ticks> {
    let began = Instant::now();
    let mut gaps: Vec<(f64, f64)> = Vec::new();
    let mut last = began;
    let end = began + Duration::from_secs_f64(seconds);
    while last < end {
        let now = Instant::now();
        let us = (now - last).as_secs_f64() * 1e6;
        if us > GAP_US {
            gaps.push(((last - began).as_secs_f64(), us));
        }
        last = now;
    }
    ticks(&gaps, seconds)
}

/// The rate and the length of `gaps`. Each gap has a time in seconds, and a length in microseconds.
fn ticks(gaps: &[(f64, f64)], seconds: f64) -> Option<Ticks> {
    RATES.into_iter().find_map(|hz| {
        let phase = |at: f64| (at * f64::from(hz)).fract();
        let off = |a: f64, b: f64| {
            let apart = (a - b).abs();
            apart.min(1.0 - apart)
        };
        // The beat is where most gaps are.
        let on = |beat: f64| gaps.iter().filter(move |(at, _)| off(phase(*at), beat) <= OFF_BEAT);
        let beats = (0..40).map(|n| f64::from(n) / 40.0);
        let beat = beats.max_by_key(|&beat| on(beat).count())?;
        let expected = seconds * f64::from(hz);
        if (on(beat).count() as f64) < SEEN * expected {
            return None;
        }
        let mut lengths: Vec<f64> = on(beat).map(|(_, us)| *us).collect();
        lengths.sort_by(f64::total_cmp);
        Some(Ticks { hz, us: lengths[lengths.len() / 2] })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gaps of 2 us at this rate, a second long, and others of 30 us now and then.
    fn beat(hz: u32) -> Vec<(f64, f64)> {
        let ticks = (0..hz).map(|n| ((f64::from(n) + 0.31) / f64::from(hz), 2.0));
        ticks.chain((0..20).map(|n| (f64::from(n) * 0.0499, 30.0))).collect()
    }

    #[test]
    fn the_rate_is_that_at_which_gaps_come() {
        for hz in RATES {
            assert_eq!(ticks(&beat(hz), 1.0), Some(Ticks { hz, us: 2.0 }));
        }
    }

    #[test]
    fn without_a_beat_there_is_no_rate() {
        let noise: Vec<(f64, f64)> = (0..400).map(|n| ((f64::from(n) * 0.618_034).fract(), 3.0)).collect();
        assert_eq!(ticks(&noise, 1.0), None);
        assert_eq!(ticks(&[], 1.0), None);
    }
}
