//! [`StartAngle`]: the time at which processes begin, and the angle of the medium at that time.

use super::load::StartTimes;
use iopilot_block::Nanos;
use iopilot_catalogue::{DeviceSpec, DiskSpec};
use iopilot_live::vdisk::VdiskReset;

/// The first process begins this long after the disk was reset, or up to a revolution later. By then all processes wait
/// for it.
const LEAD: Nanos = Nanos::from_millis(30);
/// The time between two processes' beginnings. It is not a whole number of milliseconds: bfq rounds its charges to
/// those, and the result would be random.
const STAGGER: Nanos = Nanos::from_micros(700);
/// From one turn of the schedulers to the next the angle advances by this share of a revolution.
const TURNED: f64 = 0.381_966;

/// The angle of the medium at which the first process begins. It is the same for each scheduler of a turn, and another
/// one in the next turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct StartAngle {
    /// In ns.
    revolution: f64,
    /// A share of a revolution.
    angle: f64,
}

impl StartAngle {
    /// The start for turn `turn` on `disk`.
    pub(super) fn of_turn(disk: &DiskSpec, turn: usize) -> Self {
        let revolution = match &disk.device {
            DeviceSpec::Mechanical(spec) => 60e9 / spec.mechanics.rotation_rpm,
            // Any value does for a disk that does not rotate.
            _ => 1e6,
        };
        Self { revolution, angle: (turn as f64 * TURNED).fract() }
    }

    /// When the processes begin on a disk that was reset.
    pub(super) fn begin(&self, reset: VdiskReset) -> StartTimes {
        let earliest = reset.model_ns as f64 + LEAD.0 as f64;
        let turns = (earliest / self.revolution - self.angle).ceil() + self.angle;
        let model = (turns * self.revolution).round() as u64;
        StartTimes { at: Nanos(reset.monotonic_ns + model - reset.model_ns), apart: STAGGER }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iopilot_catalogue::Catalogue;

    #[test]
    fn a_turn_has_an_angle_of_its_own() {
        let disk = Catalogue::get("hd-500-16").unwrap();
        let angle = |turn: usize, model_ns: u64| {
            let reset = VdiskReset { monotonic_ns: 5_000_000_000_000 + model_ns, model_ns };
            let StartTimes { at, .. } = StartAngle::of_turn(&disk, turn).begin(reset);
            let after = at.0 - reset.monotonic_ns;
            assert!((LEAD.0..LEAD.0 + 8_333_335).contains(&after), "{after}");
            // On the model's clock.
            ((at.0 - 5_000_000_000_000) as f64 / (1e9 / 120.0)).fract()
        };
        for model_ns in [0, 123_456_789, 999_999_999_999] {
            assert!((angle(1, model_ns) - 0.381_966).abs() < 1e-6);
            assert!((angle(3, model_ns) - 0.145_898).abs() < 1e-6);
        }
    }
}
