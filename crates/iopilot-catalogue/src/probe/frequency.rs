//! The spindle's frequency, refined from lags that should be whole numbers of revolutions.

use super::angle::{median, wrap};

/// The frequency near a given one at which the lags are whole revolutions, by least squares, and its standard error.
/// Outliers are left out: those reads were late for another reason.
pub(super) fn refined(lags: &[f64], frequency: f64) -> (f64, f64) {
    const FURTHER: f64 = 6.0;
    let off = |lag: f64| wrap(lag * frequency);
    let usual = median(lags.iter().map(|&lag| off(lag).abs()).collect()).unwrap_or(0.0);
    let most = (FURTHER * usual).clamp(1e-7, 0.25);
    let off: Vec<(f64, f64)> = lags.iter().map(|&lag| (lag, off(lag))).filter(|o| o.1.abs() < most).collect();
    let squares: f64 = off.iter().map(|(lag, _)| lag * lag).sum();
    if off.is_empty() || squares == 0.0 {
        return (frequency, f64::INFINITY);
    }
    let change = off.iter().map(|(lag, off)| lag * off).sum::<f64>() / squares;
    let left: f64 = off.iter().map(|(lag, off)| (off - lag * change).powi(2)).sum();
    (frequency - change, (left / off.len() as f64 / squares).sqrt())
}
