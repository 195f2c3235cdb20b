//! [`Start`]: how processes and medium stand to each other when a recording begins.

use super::load::Begin;
use iopilot_block::Nanos;
use iopilot_catalogue::{DeviceSpec, DiskSpec};
use iopilot_live::vdisk::VdiskReset;

/// The first process begins so long after the disk was reset, or up to a revolution later: by then all wait for it.
const LEAD: Nanos = Nanos::from_millis(30);
/// Each process begins so long after the one before. (Not a whole number of milliseconds, to which bfq rounds what it
/// charges: then chance would decide that.)
const STAGGER: Nanos = Nanos::from_micros(700);
/// From one turn of the schedulers to the next the medium is this share of a revolution further on.
const TURNED: f64 = 0.381_966;

/// At which angle of the medium the first process begins: the same for each scheduler of a turn, and another in the next
/// turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Start {
    /// ns.
    revolution: f64,
    /// Share of a revolution.
    angle: f64,
}

impl Start {
    /// That of turn `turn` on `disk`.
    pub(super) fn of_turn(disk: &DiskSpec, turn: usize) -> Self {
        let revolution = match &disk.device {
            DeviceSpec::Mechanical(spec) => 60e9 / spec.mechanics.rotation_rpm,
            // Where nothing turns, any.
            _ => 1e6,
        };
        Self { revolution, angle: (turn as f64 * TURNED).fract() }
    }

    /// When processes begin on a disk that was reset.
    pub(super) fn begin(&self, reset: VdiskReset) -> Begin {
        let earliest = reset.model_ns as f64 + LEAD.0 as f64;
        let turns = (earliest / self.revolution - self.angle).ceil() + self.angle;
        let model = (turns * self.revolution).round() as u64;
        Begin { at: Nanos(reset.monotonic_ns + model - reset.model_ns), apart: STAGGER }
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
            let Begin { at, .. } = Start::of_turn(&disk, turn).begin(reset);
            let after = at.0 - reset.monotonic_ns;
            assert!((LEAD.0..LEAD.0 + 8_333_335).contains(&after), "{after}");
            // By the model's clock.
            ((at.0 - 5_000_000_000_000) as f64 / (1e9 / 120.0)).fract()
        };
        for model_ns in [0, 123_456_789, 999_999_999_999] {
            assert!((angle(1, model_ns) - 0.381_966).abs() < 1e-6);
            assert!((angle(3, model_ns) - 0.145_898).abs() < 1e-6);
        }
    }
}
