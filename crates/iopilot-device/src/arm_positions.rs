//! [`ArmModel`]: the basis for the [`Positions`](iopilot_block::Positions) of a disk with one arm.

use crate::disk::SeekFloor;
use crate::{Arm, Mechanics};
use iopilot_block::{Cached, Lba, Nanos, Op, Sectors};

/// An arm and its mechanics. `arm_positions!` implements [`Positions`](iopilot_block::Positions) for it.
pub trait ArmModel {
    /// The moving parts.
    fn mechanics(&self) -> &Mechanics;

    /// The lower bound of seek times.
    fn seek_floor(&self) -> &SeekFloor;

    /// The position from which the arm can start at `at` or later, and from when on, ns.
    fn free_arm(&self, at: Nanos) -> (Arm, f64);

    /// Like [`Positions::initiation`](iopilot_block::Positions::initiation).
    fn initiation_delay(&self, op: Op) -> f64;

    /// Seek, settling and the wait for the first sector, ns, for an arm that starts from `from`.
    fn positioning_from(&self, from: (Arm, f64), lba: Lba, sectors: Sectors, op: Op) -> f64;

    /// Like [`ArmModel::positioning_from`], up to the end of the last sector.
    fn access_from(&self, from: (Arm, f64), lba: Lba, sectors: Sectors, op: Op) -> f64;

    /// Like [`Positions::cached`](iopilot_block::Positions::cached).
    fn in_cache(&self, lba: Lba, sectors: Sectors, op: Op) -> Cached;
}

/// Implements [`Positions`](iopilot_block::Positions) for an [`ArmModel`]; the language allows no blanket
/// implementation.
#[macro_export]
macro_rules! arm_positions {
    ($type:ty) => {
        impl iopilot_block::Positions for $type {
            fn cylinders(&self) -> u32 {
                self.mechanics().geometry.cylinders()
            }

            fn cylinder(&self, lba: iopilot_block::Lba) -> u32 {
                self.mechanics().geometry.track_of(lba.0).cylinder
            }

            fn arm(&self, at: iopilot_block::Nanos) -> u32 {
                self.free_arm(at).0.cylinder
            }

            fn seek_at_least(&self, distance: u32) -> f64 {
                self.seek_floor().at_least(distance)
            }

            fn initiation(&self, op: iopilot_block::Op) -> f64 {
                self.initiation_delay(op)
            }

            fn positioning(
                &self,
                lba: iopilot_block::Lba,
                sectors: iopilot_block::Sectors,
                op: iopilot_block::Op,
                at: iopilot_block::Nanos,
            ) -> f64 {
                self.positioning_from(self.free_arm(at), lba, sectors, op)
            }

            fn access(
                &self,
                lba: iopilot_block::Lba,
                sectors: iopilot_block::Sectors,
                op: iopilot_block::Op,
                at: iopilot_block::Nanos,
            ) -> f64 {
                self.access_from(self.free_arm(at), lba, sectors, op)
            }

            fn access_after(
                &self,
                after: iopilot_block::Lba,
                lba: iopilot_block::Lba,
                sectors: iopilot_block::Sectors,
                op: iopilot_block::Op,
                at: iopilot_block::Nanos,
            ) -> f64 {
                let track = self.mechanics().geometry.track_of(after.0.saturating_sub(1));
                let arm = $crate::Arm { cylinder: track.cylinder, head: track.head };
                self.access_from((arm, at.0 as f64), lba, sectors, op)
            }

            fn cached(
                &self,
                lba: iopilot_block::Lba,
                sectors: iopilot_block::Sectors,
                op: iopilot_block::Op,
            ) -> iopilot_block::Cached {
                self.in_cache(lba, sectors, op)
            }
        }
    };
}
