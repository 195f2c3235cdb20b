//! [`DriveScore`]: the errors of a drive's predictions on the training requests.

use super::replay::{PhaseTracker, Predicted, replay_at_measured_times, replay_while};
use super::spectrum::{Vector, wrap};
use super::timeline::Timed;
use iopilot_block::Op;
use iopilot_catalogue::DriveSpec;

/// The errors of a drive in ns a request, on both halves of the training requests, for single requests and for
/// distributions. Single requests alone would mislead. If one request in ten loses a revolution by chance, the median
/// favours a drive without lost revolutions that is a tenth of a revolution too fast.
#[derive(Clone, Copy, Debug)]
pub(super) struct Score {
    halves: [f64; 2],
}

impl Score {
    /// The sum of both halves.
    pub(super) fn total(self) -> f64 {
        self.halves[0] + self.halves[1]
    }

    /// Whether this is better than `other` in total and not noticeably worse on either half. An improvement on one half
    /// only is chance.
    pub(super) fn beats(self, other: Self) -> bool {
        let no_worse = self.halves.iter().zip(other.halves).all(|(new, old)| *new <= old * 1.002);
        no_worse && self.total() < other.total() * 0.999
    }
}

/// The predictions of a drive and their score.
#[derive(Clone, Debug)]
pub(super) struct Assessment {
    pub(super) predicted: Vec<Predicted>,
    /// The cumulative error up to each request, ns.
    pub(super) lost: Vec<f64>,
    pub(super) score: Score,
}

/// The distance between the distributions of measured and predicted times, ns: the root mean square of the differences
/// of the sorted times, each capped at `most`. Reads and writes are compared separately, so that they cannot compensate
/// each other, and averaged over the requests.
fn distribution_distance(requests: &[Timed], predicted: &[Predicted], most: f64) -> f64 {
    let of = |op: Op| {
        let both = || requests.iter().zip(predicted).filter(|(r, _)| r.op == op);
        let mut measured: Vec<f64> = both().map(|(r, _)| r.service).collect();
        let mut modelled: Vec<f64> = both().map(|(_, p)| p.service).collect();
        measured.sort_by(f64::total_cmp);
        modelled.sort_by(f64::total_cmp);
        let squared = |(a, b): (&f64, &f64)| (a - b).abs().min(most).powi(2);
        let n = measured.len().max(1) as f64;
        let sum: f64 = measured.iter().zip(&modelled).map(squared).sum();
        n * (sum / n).sqrt()
    };
    (of(Op::Read) + of(Op::Write)) / requests.len().max(1) as f64
}

/// Scores drives on one set of requests.
#[derive(Clone, Copy)]
pub(super) struct DriveScore<'a> {
    pub(super) requests: &'a [Timed],
    pub(super) tracker: PhaseTracker,
}

impl DriveScore<'_> {
    /// The predictions of `drive`; `None` if its values contradict each other.
    pub(super) fn predict(&self, drive: &DriveSpec) -> Option<Vec<Predicted>> {
        let predicted = replay_at_measured_times(drive.model().ok()?, self.requests, self.tracker);
        (predicted.len() == self.requests.len()).then_some(predicted)
    }

    /// The predictions of `drive` and their score; `None` if its values contradict each other, or once its cumulative
    /// error clearly exceeds that of another drive, `against`.
    pub(super) fn assess(&self, drive: &DriveSpec, against: Option<&[f64]>) -> Option<Assessment> {
        let model = drive.model().ok()?;
        // Absolute errors, capped at a revolution. They favour the median of each kind of request and are robust
        // against outliers.
        let most = model.mechanics.period;
        let mut lost = Vec::with_capacity(self.requests.len());
        let mut sum = 0.0;
        let predicted = replay_while(model, self.requests, self.tracker, |r, p| {
            sum += (r.service - p.service).abs().min(most);
            lost.push(sum);
            against.is_none_or(|other| sum <= 1.03 * other[lost.len() - 1] + 5.0 * most)
        });
        if predicted.len() < self.requests.len() {
            return None;
        }
        let half = self.requests.len() / 2;
        let first = lost[half.max(1) - 1];
        let counts = [half.max(1), (self.requests.len() - half).max(1)].map(|n| 2.0 * n as f64);
        let apart =
            |from: usize, to: usize| 0.5 * distribution_distance(&self.requests[from..to], &predicted[from..to], most);
        let by_request = [first / counts[0], (sum - first) / counts[1]];
        let by_distribution = [apart(0, half), apart(half, self.requests.len())];
        let score = Score { halves: [0, 1].map(|i| by_request[i] + by_distribution[i]) };
        Some(Assessment { predicted, lost, score })
    }

    /// Sets the initial angle of `drive` so that the first reads from the medium end at their measured times.
    pub(super) fn lock(&self, drive: &mut DriveSpec) {
        const READS: usize = 150;
        let held = PhaseTracker { gain: 0.0, ..self.tracker };
        let period = 60e9 / drive.mechanics.rotation_rpm;
        for _ in 0..3 {
            let from_medium = |i: &usize| self.requests[*i].op == Op::Read && self.requests[*i].service > 0.5 * period;
            let last = (0..self.requests.len()).filter(from_medium).nth(READS).unwrap_or(self.requests.len());
            let first = DriveScore { requests: &self.requests[..last], tracker: held };
            let Some(predicted) = first.predict(drive) else { return };
            let mut sum = Vector::default();
            for i in (0..last).filter(from_medium).filter(|&i| !predicted[i].hit) {
                sum.add(Vector::at((self.requests[i].service - predicted[i].service) / period));
            }
            let angle = drive.mechanics.initial_angle_revolutions - sum.turns();
            drive.mechanics.initial_angle_revolutions = wrap(angle).rem_euclid(1.0);
        }
    }
}
