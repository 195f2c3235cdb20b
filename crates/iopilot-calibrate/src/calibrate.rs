//! `calibrate`: corrects a drive's file by times that were measured on the drive.
//!
//! The trace is cut in two. The first part is used to fit: the side of its request on which a think time lies, the
//! rotation period, the start angles of zones and tracks (`skews`, `sync`), the times of the arm (`arm`), and the rules
//! and times of the firmware (`search`). The second part is predicted request by request, and is never used before.
//!
//! This module knows no particular drive. The fit starts from the drive's file, and keeps a change only if it improves
//! the prediction on both halves of the training requests.

mod apply;
mod arm;
mod fast;
mod judge;
mod media;
mod replay;
mod search;
mod skews;
mod spectrum;
mod sync;
mod timeline;

pub use replay::{PhaseTracker, Predicted, replay_at_measured_times};
pub use timeline::{Timed, timeline};

use crate::validate::{Replayed, Validation, compare};
use iopilot_block::InputError;
use iopilot_catalogue::{DriveSpec, MeasuredClock, ThinkSide};
use iopilot_scsi::DriveModel;
use iopilot_trace::{ThinkTime, ValidateRecord};
use judge::DriveScore;
use media::BareLayout;
use search::DriveCandidate;
use serde::Serialize;
use skews::{SkewFit, SkewOrigin};

/// A calibrated drive and its errors.
#[derive(Clone, Debug)]
pub struct Calibration {
    /// The drive.
    pub drive: DriveSpec,
    /// Requests used to fit.
    pub train_requests: usize,
    /// Requests predicted.
    pub test_requests: usize,
    /// The fit to the reads from the medium; `None` if they show no phase.
    pub phase: Option<PhaseFit>,
    /// The changed rules of the drive, in words.
    pub rules: Vec<String>,
    /// The test requests, predicted with the drive of the file at the measured times.
    pub before: Validation,
    /// The test requests, predicted with the calibrated drive.
    pub test: Validation,
}

/// The rotation of the spindle, fitted to the reads from the medium.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PhaseFit {
    /// The reads used to fit.
    pub reads: usize,
    /// One revolution, ms.
    pub period_ms: f64,
    /// The period in the file, ms.
    pub file_period_ms: f64,
    /// How well consecutive reads of one zone agree on the angle of the spindle: 0 (chance) to 1.
    pub coherence: f64,
    /// The same with the skews of the file.
    pub file_coherence: f64,
    /// Half of the reads end within this time of the fitted angle, ms.
    pub spread_ms: f64,
    /// The number of zones with the skews of the file, with angles common to all zones, and with angles of their own.
    pub zones: [usize; 3],
}

/// The fewest requests from which anything is concluded.
const FEWEST: usize = 200;

/// Larger errors of the angle, in revolutions, are not drift of the spindle.
const CLIP: f64 = 0.1;

/// Fits `drive` to the first part, `train` (0 to 1), of `records`, and predicts the rest.
///
/// # Errors
/// If one part has too few requests, or a request lies beyond the end of the drive.
pub fn calibrate(drive: &DriveSpec, records: &[ValidateRecord], train: f64) -> Result<Calibration, InputError> {
    let train_requests = (records.len() as f64 * train).round() as usize;
    check(drive, records, train_requests)?;
    let file_model = drive.model()?;
    let (think, fit) = spindle(drive, &records[..train_requests])?;
    let requests = timeline(records, think);
    let before = judged(&file_model, &requests, PhaseTracker::OFF, train_requests)?;

    let mut calibrated = drive.clone();
    if let Some(fit) = &fit {
        apply::angles(&mut calibrated, fit);
    }
    let mut judge =
        DriveScore { requests: &requests[..train_requests], tracker: PhaseTracker { gain: 0.2, clip: CLIP } };
    judge.lock(&mut calibrated);
    let unfit = || InputError::new("drive", "a model that does not serve all requests", "one that does");
    let mut best = DriveCandidate::new(&judge, calibrated).ok_or_else(unfit)?;
    let rules = search::improve(&judge, &mut best, fit.as_ref().map(|f| f.per_sector / 1e6));
    judge.tracker.gain = gain(&judge, &best);

    let mut drive = best.drive;
    let side = match think {
        ThinkTime::Before => ThinkSide::Before,
        ThinkTime::After => ThinkSide::After,
    };
    let PhaseTracker { gain, clip } = judge.tracker;
    drive.measured = Some(MeasuredClock { think: side, phase_gain: gain, phase_clip_revolutions: clip });
    let test = judged(&drive.model()?, &requests, judge.tracker, train_requests)?;
    let phase = fit.map(|f| f.summary(60e3 / drive.mechanics.rotation_rpm, 1e-6 * file_model.mechanics.period));
    let test_requests = records.len() - train_requests;
    Ok(Calibration { drive, train_requests, test_requests, phase, rules, before, test })
}

/// The predictions of a whole trace at the measured times, with the calibrated clock of `drive`; `None` if it was not
/// calibrated. Requests beyond the end of the drive are left out.
///
/// # Errors
/// If values of the drive contradict each other.
pub fn predict(drive: &DriveSpec, records: &[ValidateRecord]) -> Result<Option<Vec<Replayed>>, InputError> {
    let Some(measured) = drive.measured else { return Ok(None) };
    let think = match measured.think {
        ThinkSide::Before => ThinkTime::Before,
        ThinkSide::After => ThinkTime::After,
    };
    let model = drive.model()?;
    let capacity = model.mechanics.geometry.capacity();
    let mut requests = timeline(records, think);
    requests.retain(|r| r.behind() <= capacity);
    let tracker = PhaseTracker { gain: measured.phase_gain, clip: measured.phase_clip_revolutions };
    let predicted = replay_at_measured_times(model, &requests, tracker);
    Ok(Some(replayed(&requests, &predicted)))
}

fn check(drive: &DriveSpec, records: &[ValidateRecord], train: usize) -> Result<(), InputError> {
    let test = records.len() - train.min(records.len());
    if train < FEWEST || test == 0 {
        let got = format!("{train} requests to fit to and {test} to predict");
        return Err(InputError::new("trace", got, format!("at least {FEWEST} and 1")));
    }
    let capacity = drive.model()?.mechanics.geometry.capacity();
    let beyond = |r: &&ValidateRecord| r.lba.0 + u64::from(r.sectors.0) > capacity;
    if let Some(record) = records.iter().find(beyond) {
        let got = format!("{} sectors at {}", record.sectors.0, record.lba.0);
        return Err(InputError::new("block", got, format!("a request within the {capacity} sectors of the drive")));
    }
    Ok(())
}

/// The side of the think times for which reads agree better, and the fit for it. If reads agree for neither side, it is
/// DiskSim's.
fn spindle(drive: &DriveSpec, train: &[ValidateRecord]) -> Result<(ThinkTime, Option<SkewFit>), InputError> {
    let Some(layout) = &drive.layout_g1 else {
        return Ok((ThinkTime::After, None));
    };
    let bare = BareLayout::new(drive, layout)?;
    let nominal = 60e9 / drive.mechanics.rotation_rpm;
    let mut best: (ThinkTime, Option<SkewFit>) = (ThinkTime::After, None);
    for think in [ThinkTime::After, ThinkTime::Before] {
        let reads = bare.media_reads(&timeline(train, think), nominal);
        let fit = skews::fit(&bare, layout, &reads, nominal, drive.bus.read_sector_ms * 1e6);
        let coherence = |fit: &Option<SkewFit>| fit.as_ref().map_or(0.0, |f| f.coherence);
        if coherence(&fit) > coherence(&best.1) {
            best = (think, fit);
        }
    }
    Ok(best)
}

/// The gain of the phase tracker with the best score.
fn gain(judge: &DriveScore, best: &DriveCandidate) -> f64 {
    let score = |gain: f64| {
        let judge = DriveScore { tracker: PhaseTracker { gain, ..judge.tracker }, ..*judge };
        (judge.assess(&best.drive, None).map_or(f64::INFINITY, |a| a.score.total()), gain)
    };
    let scores = [0.02, 0.05, 0.1, 0.2, 0.3, 0.5].map(score);
    scores.into_iter().min_by(|a, b| a.0.total_cmp(&b.0)).map_or(judge.tracker.gain, |best| best.1)
}

fn replayed(requests: &[Timed], predicted: &[Predicted]) -> Vec<Replayed> {
    let one =
        |(r, p): (&Timed, &Predicted)| Replayed { op: r.op, measured_ms: r.service / 1e6, model_ms: p.service / 1e6 };
    requests.iter().zip(predicted).map(one).collect()
}

/// Predicts all requests and compares those from `from` on.
fn judged(
    model: &DriveModel,
    requests: &[Timed],
    tracker: PhaseTracker,
    from: usize,
) -> Result<Validation, InputError> {
    let predicted = replay_at_measured_times(model.clone(), requests, tracker);
    let replayed = replayed(requests, &predicted);
    let test = replayed.get(from..).unwrap_or_default();
    compare(test, model.mechanics.period / 1e6)
        .ok_or_else(|| InputError::new("drive", "a model that serves no request", "one that does"))
}

impl SkewFit {
    fn summary(&self, period_ms: f64, file_period_ms: f64) -> PhaseFit {
        let count = |is: fn(SkewOrigin) -> bool| self.zones.iter().filter(|z| is(z.origin)).count();
        PhaseFit {
            reads: self.reads,
            period_ms,
            file_period_ms,
            coherence: self.coherence,
            file_coherence: self.file_coherence,
            spread_ms: self.spread * self.period / 1e6,
            zones: [
                count(|o| o == SkewOrigin::File),
                count(|o| matches!(o, SkewOrigin::Common | SkewOrigin::CommonTrack)),
                count(|o| o == SkewOrigin::Own),
            ],
        }
    }
}
