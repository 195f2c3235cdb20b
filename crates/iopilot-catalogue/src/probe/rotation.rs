//! The time of a revolution: reads of one block end whole revolutions apart.

use super::angle::{median, wrap};
use super::frequency::refined;
use super::measurement::Measurement;
use super::watch::ProbedDevice;
use iopilot_device::TimedDevice;
use std::f64::consts::TAU;

/// How often each block is read.
const ROUNDS: usize = 6;
/// The revolutions that are tried, ns: 20,000 to 2,400 rpm.
const PERIODS: (f64, f64) = (3e6, 25e6);
/// Below this coherence the ends agree by chance.
const COHERENT: f64 = 0.7;

/// Measures the time of a revolution, ns, and the noise of times. On failure returns the best coherence found (0 to 1),
/// which was too low.
///
/// Blocks at random places are read in a new order in each round. So the numbers of revolutions between two reads of a
/// block have no common divisor. Among the frequencies at which the reads agree, the lowest is the spindle's.
pub(super) fn period<D: TimedDevice>(w: &mut ProbedDevice<D>) -> Result<Result<Measurement, f64>, D::Error> {
    let mut places: Vec<(u64, Vec<f64>)> = (0..w.evicting.max(100)).map(|_| (w.random_block(), Vec::new())).collect();
    for _ in 0..ROUNDS {
        w.shuffle(&mut places);
        for (lba, ends) in &mut places {
            if w.miss(*lba)?.is_some() {
                ends.push(w.now);
            }
        }
    }
    let lags = |apart: usize| -> Vec<f64> {
        let of_place = |(_, ends): &(u64, Vec<f64>)| -> Vec<f64> {
            ends.iter().zip(ends.iter().skip(apart)).map(|(a, b)| b - a).collect()
        };
        places.iter().flat_map(of_place).collect()
    };
    let near = lags(1);
    if near.len() < 50 {
        return Ok(Err(0.0));
    }
    let longest = near.iter().copied().fold(0.0, f64::max);
    let (first, step) = (1.0 / PERIODS.1, 0.125 / longest);
    let steps = ((1.0 / PERIODS.0 - first) / step) as usize;
    let spectrum: Vec<f64> = (0..steps).map(|i| coherence(&near, first + i as f64 * step)).collect();
    let highest = spectrum.iter().copied().fold(0.0, f64::max);
    if highest < COHERENT {
        return Ok(Err(highest));
    }
    let Some(rise) = spectrum.iter().position(|&c| c > 0.85 * highest) else { return Ok(Err(highest)) };
    let peak = (rise..steps.min(rise + 16)).max_by(|&a, &b| spectrum[a].total_cmp(&spectrum[b])).unwrap_or(rise);
    let mut frequency = first + peak as f64 * step;
    let mut error = 0.0;
    for apart in [1, 1, 1, 2, ROUNDS - 1, ROUNDS - 1] {
        (frequency, error) = refined(&lags(apart), frequency);
    }
    let period = 1.0 / frequency;
    let found = Measurement { value: period, uncertainty: error * period * period };
    let off = near.iter().map(|lag| wrap(lag * frequency).abs()).collect();
    // Half of a normal distribution lies within 0.67 standard deviations; a lag is the difference of two ends.
    let noise = median(off).unwrap_or(0.0) / 0.6745 / 2f64.sqrt() * period;
    let places: Vec<u64> = places.into_iter().map(|place| place.0).collect();
    w.set_rotation(found, noise, &places);
    Ok(Ok(found))
}

/// How close all lags are to whole revolutions at a frequency, 0 to 1.
fn coherence(lags: &[f64], frequency: f64) -> f64 {
    let (mut x, mut y) = (0.0, 0.0);
    for lag in lags {
        let (sin, cos) = (TAU * (lag * frequency).fract()).sin_cos();
        x += cos;
        y += sin;
    }
    x.hypot(y) / lags.len() as f64
}
