//! [`Validation`]: the agreement between a model and the drive.

use super::demerit::{demerit, demerit_of_quantiles};
use super::replay::Replayed;
use iopilot_block::Op;
use serde::Serialize;

/// The comparison. Times are in milliseconds; percentages are of the measured mean.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Validation {
    /// Requests compared.
    pub requests: usize,
    /// The mean of the measured service times.
    pub mean_measured_ms: f64,
    /// The mean of the modelled service times.
    pub mean_model_ms: f64,
    /// The distance between the two distributions, as DiskSim 4.0 computes it; see [`demerit`].
    pub demerit_ms: f64,
    /// The same in percent of the measured mean.
    pub demerit_percent: f64,
    /// The reads alone; `None` if there are none.
    pub reads: Option<PartValidation>,
    /// The writes alone.
    pub writes: Option<PartValidation>,
    /// Request by request.
    pub errors: Errors,
}

/// The comparison of the reads or the writes. As in [`Validation`], except for the demerit figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PartValidation {
    /// Requests compared.
    pub requests: usize,
    /// The mean of the measured service times.
    pub mean_measured_ms: f64,
    /// The mean of the modelled service times.
    pub mean_model_ms: f64,
    /// The distance between the two distributions, by interpolated quantiles.
    pub demerit_ms: f64,
    /// The same in percent of the measured mean.
    pub demerit_percent: f64,
    /// The distance by DiskSim's histograms; see [`demerit`].
    pub histogram_demerit_ms: f64,
}

/// The absolute differences between model and drive, request by request.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Errors {
    /// The median.
    pub median_ms: f64,
    /// The 95th percentile.
    pub p95_ms: f64,
    /// The root mean square.
    pub rmse_ms: f64,
    /// The share of requests with an error of at most 0.5 ms.
    pub within_half_ms: f64,
    /// The share with an error of over half a revolution: the model and the drive differ by a revolution, or about
    /// whether the request was a cache hit.
    pub off_half_rotation: f64,
}

/// Compares; `rotation_ms` is one revolution. `None` if there is nothing to compare.
pub fn compare(replayed: &[Replayed], rotation_ms: f64) -> Option<Validation> {
    let of = |op: Op| {
        let some: Vec<Replayed> = replayed.iter().copied().filter(|r| r.op == op).collect();
        part(&some)
    };
    let all = part(replayed)?;
    Some(Validation {
        requests: all.requests,
        mean_measured_ms: all.mean_measured_ms,
        mean_model_ms: all.mean_model_ms,
        demerit_ms: all.histogram_demerit_ms,
        demerit_percent: percent(all.histogram_demerit_ms, all.mean_measured_ms),
        reads: of(Op::Read),
        writes: of(Op::Write),
        errors: errors(replayed, rotation_ms),
    })
}

fn part(replayed: &[Replayed]) -> Option<PartValidation> {
    if replayed.is_empty() {
        return None;
    }
    let measured: Vec<f64> = replayed.iter().map(|r| r.measured_ms).collect();
    let model: Vec<f64> = replayed.iter().map(|r| r.model_ms).collect();
    let mean = |times: &[f64]| times.iter().sum::<f64>() / times.len() as f64;
    let (mean_measured_ms, mean_model_ms) = (mean(&measured), mean(&model));
    let demerit_ms = demerit_of_quantiles(&measured, &model);
    Some(PartValidation {
        requests: replayed.len(),
        mean_measured_ms,
        mean_model_ms,
        demerit_ms,
        demerit_percent: percent(demerit_ms, mean_measured_ms),
        histogram_demerit_ms: demerit(&measured, &model),
    })
}

fn percent(of: f64, mean: f64) -> f64 {
    if mean > 0.0 { 100.0 * of / mean } else { 0.0 }
}

fn errors(replayed: &[Replayed], rotation_ms: f64) -> Errors {
    let mut off: Vec<f64> = replayed.iter().map(|r| (r.model_ms - r.measured_ms).abs()).collect();
    off.sort_by(f64::total_cmp);
    let n = off.len();
    let quantile = |q: f64| off[((n as f64 * q).ceil() as usize).clamp(1, n) - 1];
    let share = |count: usize| count as f64 / n as f64;
    Errors {
        median_ms: quantile(0.5),
        p95_ms: quantile(0.95),
        rmse_ms: (off.iter().map(|e| e * e).sum::<f64>() / n as f64).sqrt(),
        // Times are whole nanoseconds: 0.5 ms may be a little more as a float.
        within_half_ms: share(off.partition_point(|&e| e <= 0.5 + 1e-9)),
        off_half_rotation: share(n - off.partition_point(|&e| e <= rotation_ms / 2.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_counted_request_by_request() {
        let r = |op, measured_ms, model_ms| Replayed { op, measured_ms, model_ms };
        let replayed =
            [r(Op::Read, 10.0, 10.5), r(Op::Read, 10.0, 9.9), r(Op::Read, 20.0, 26.0), r(Op::Write, 5.0, 5.0)];
        let v = compare(&replayed, 10.0).expect("not empty");
        assert_eq!((v.requests, v.errors.within_half_ms, v.errors.off_half_rotation), (4, 0.75, 0.25));
        assert!((v.errors.median_ms - 0.1).abs() < 1e-9 && v.errors.p95_ms == 6.0, "{:?}", v.errors);
        assert_eq!(v.reads.map(|p| p.requests), Some(3));
        assert_eq!(v.writes.map(|p| p.demerit_ms), Some(0.0));
        assert_eq!(compare(&[], 10.0), None);
    }
}
