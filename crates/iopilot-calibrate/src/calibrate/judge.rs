//! [`DriveScore`]: how well a drive predicts the training requests.

use super::replay::{PhaseTracker, Predicted, replay_at_measured_times, replay_while};
use super::spectrum::{Vector, wrap};
use super::timeline::Timed;
use iopilot_block::Op;
use iopilot_catalogue::DriveSpec;

/// How far off a drive is, in ns a request, on both parts of the training requests: single requests and distributions. By
/// the first alone a drive of which one request in ten loses a revolution by chance would be one of which none does, as the
/// median says, and a tenth of a revolution too fast.
#[derive(Clone, Copy, Debug)]
pub(super) struct Score {
    halves: [f64; 2],
}

impl Score {
    /// Over both.
    pub(super) fn total(self) -> f64 {
        self.halves[0] + self.halves[1]
    }

    /// Whether this is better than `other` as a whole and, but for a little, on each half: what helps on one half only
    /// is chance.
    pub(super) fn beats(self, other: Self) -> bool {
        let no_worse = self.halves.iter().zip(other.halves).all(|(new, old)| *new <= old * 1.002);
        no_worse && self.total() < other.total() * 0.999
    }
}

/// What a drive predicts, and how good that is.
#[derive(Clone, Debug)]
pub(super) struct Assessment {
    pub(super) predicted: Vec<Predicted>,
    /// The sum of all errors up to each request, ns.
    pub(super) lost: Vec<f64>,
    pub(super) score: Score,
}

/// How far the distributions of measured and predicted times are apart, ns: the root mean square of the differences of the
/// sorted times, of which more than `most` counts as that; for reads and for writes, which must not make up for each
/// other, in the mean over the requests.
fn apart(requests: &[Timed], predicted: &[Predicted], most: f64) -> f64 {
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
    /// What `drive` predicts; `None` where it contradicts itself.
    pub(super) fn predict(&self, drive: &DriveSpec) -> Option<Vec<Predicted>> {
        let predicted = replay_at_measured_times(drive.model().ok()?, self.requests, self.tracker);
        (predicted.len() == self.requests.len()).then_some(predicted)
    }

    /// What `drive` predicts and how far that is off; `None` where it contradicts itself, or is clearly no better than
    /// one that has lost `against` after each request: that shows long before the last.
    pub(super) fn assess(&self, drive: &DriveSpec, against: Option<&[f64]>) -> Option<Assessment> {
        let model = drive.model().ok()?;
        // Absolute errors, of which more than a revolution counts as one: they ask for the median of each kind of
        // request, and are not carried away by few.
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
        let apart = |from: usize, to: usize| 0.5 * apart(&self.requests[from..to], &predicted[from..to], most);
        let by_request = [first / counts[0], (sum - first) / counts[1]];
        let by_distribution = [apart(0, half), apart(half, self.requests.len())];
        let score = Score { halves: [0, 1].map(|i| by_request[i] + by_distribution[i]) };
        Some(Assessment { predicted, lost, score })
    }

    /// Turns the spindle of `drive` so that the first reads from the medium end when they did.
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
