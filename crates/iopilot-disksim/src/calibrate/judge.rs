//! [`Judge`]: how well a drive predicts the training requests.

use super::replay::{PhaseTracker, Predicted, replay};
use super::spectrum::{Vector, wrap};
use super::timeline::Timed;
use iopilot_block::Op;
use iopilot_device::DriveSpec;

/// How far off a drive is, in ns a request, on both parts of the training requests.
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

/// Scores drives on one set of requests.
#[derive(Clone, Copy)]
pub(super) struct Judge<'a> {
    pub(super) requests: &'a [Timed],
    pub(super) tracker: PhaseTracker,
}

impl Judge<'_> {
    /// What `drive` predicts; `None` where it contradicts itself.
    pub(super) fn predict(&self, drive: &DriveSpec) -> Option<Vec<Predicted>> {
        let predicted = replay(drive.model().ok()?, self.requests, self.tracker);
        (predicted.len() == self.requests.len()).then_some(predicted)
    }

    /// How far it is off.
    pub(super) fn score(&self, drive: &DriveSpec) -> Option<Score> {
        Some(self.score_of(drive, &self.predict(drive)?))
    }

    /// How far these predictions are off: absolute errors, of which more than a revolution counts as one. It asks for
    /// the median of each kind of request and is not carried away by few.
    pub(super) fn score_of(&self, drive: &DriveSpec, predicted: &[Predicted]) -> Score {
        let most = 60e9 / drive.mechanics.rotation_rpm;
        let half = self.requests.len() / 2;
        let mut halves = [0.0; 2];
        for (i, (r, p)) in self.requests.iter().zip(predicted).enumerate() {
            halves[usize::from(i >= half)] += (r.service - p.service).abs().min(most);
        }
        let counts = [half.max(1), (self.requests.len() - half).max(1)];
        Score { halves: [halves[0] / (2 * counts[0]) as f64, halves[1] / (2 * counts[1]) as f64] }
    }

    /// Turns the spindle of `drive` so that the first reads from the medium end when they did.
    pub(super) fn lock(&self, drive: &mut DriveSpec) {
        const READS: usize = 150;
        let held = PhaseTracker { gain: 0.0, ..self.tracker };
        let period = 60e9 / drive.mechanics.rotation_rpm;
        for _ in 0..3 {
            let from_medium = |i: &usize| self.requests[*i].op == Op::Read && self.requests[*i].service > 0.5 * period;
            let last = (0..self.requests.len()).filter(from_medium).nth(READS).unwrap_or(self.requests.len());
            let first = Judge { requests: &self.requests[..last], tracker: held };
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
