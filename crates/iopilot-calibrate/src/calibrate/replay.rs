//! Replays requests on the drive's model at the measured times: each is issued at its measured time. The angle of the
//! spindle is corrected by the measured times of earlier requests.

use super::spectrum::wrap;
use super::timeline::Timed;
use iopilot_block::{Flags, Nanos, Op, RequestId};
use iopilot_device::{Completion, Device, DeviceRequest};
use iopilot_scsi::{DriveModel, SingleDrive};

/// Follows a spindle whose speed is not quite constant. It uses only what could be measured before the next request is
/// issued.
///
/// A read from the medium ends when its last sector has passed, in any revolution. The difference between its measured
/// and modelled end, modulo whole revolutions, is the error of the angle plus the noise of the measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PhaseTracker {
    /// The part of an error that is corrected, 0 (none) to 1.
    pub gain: f64,
    /// Larger errors, in revolutions, are clipped to this, so that one outlier does not turn the spindle.
    pub clip: f64,
}

impl PhaseTracker {
    /// Keeps the spindle of the model.
    pub const OFF: Self = Self { gain: 0.0, clip: 0.0 };
}

/// The model's prediction for one request.
#[derive(Clone, Copy, Debug)]
pub struct Predicted {
    /// Its service time, ns.
    pub service: f64,
    /// The wait for the first sector after the arm has settled, ns.
    pub rotation: f64,
    /// The distance of the arm, cylinders.
    pub cylinders: u32,
    /// Seek and head switch, ns.
    pub seek: f64,
    /// Whether the buffer served it.
    pub hit: bool,
}

/// Replays requests on the model, each at its measured time of issue. Needs O(1) memory besides the result.
pub fn replay_at_measured_times(model: DriveModel, requests: &[Timed], tracker: PhaseTracker) -> Vec<Predicted> {
    replay_while(model, requests, tracker, |_, _| true)
}

/// As [`replay_at_measured_times`], until `go_on` returns false for a request and its prediction.
pub(super) fn replay_while(
    model: DriveModel,
    requests: &[Timed],
    tracker: PhaseTracker,
    mut go_on: impl FnMut(&Timed, &Predicted) -> bool,
) -> Vec<Predicted> {
    let period = model.mechanics.period;
    // The offset lets the model's clock run behind the measured one.
    let base = 1000.0 * period;
    let mut drive = SingleDrive::new(model);
    let mut done: Vec<Completion> = Vec::with_capacity(1);
    // The model's clock minus the measured one.
    let mut warp = base;
    let mut free = Nanos::ZERO;
    let mut out = Vec::with_capacity(requests.len());
    for r in requests {
        let at = Nanos((r.issue + warp).max(0.0).round() as u64).max(free);
        let (lba, sectors) = (r.lba, r.sectors);
        drive.submit(
            DeviceRequest { id: RequestId::from_index(0), op: r.op, lba, sectors, flags: Flags::default() },
            at,
        );
        done.clear();
        while done.is_empty() {
            let Some(next) = drive.next_event() else { break };
            drive.advance(next, &mut done);
        }
        let Some(completion) = done.first() else { break };
        free = completion.at;
        let (service, breakdown) = ((completion.at.0 - at.0) as f64, completion.service);
        let hit = breakdown.cache_hit;
        if r.op == Op::Read && !hit && r.service > 0.5 * period {
            let late = wrap((r.service - service) / period).clamp(-tracker.clip, tracker.clip);
            warp -= tracker.gain * late * period;
        }
        let predicted = Predicted {
            service,
            rotation: breakdown.rotation.0 as f64,
            cylinders: breakdown.cylinders,
            seek: breakdown.seek.0 as f64,
            hit,
        };
        out.push(predicted);
        if !go_on(r, &predicted) {
            break;
        }
    }
    out
}
