//! [`Positions`]: what a queue may ask of a device that knows where its data and its arm are.

use crate::{Lba, Nanos, Op, Sectors};

/// How much of a request the device's cache takes or gives without the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cached {
    /// Nothing: the arm has to go there.
    None,
    /// The beginning, or data that are just coming in.
    Partial,
    /// All: a read hit, a write there is room for, a write that continues the one before.
    Full,
}

/// What is known of where blocks lie, from least to most (Ganger A.1.2.1, group 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Knowledge {
    /// Zones and the sectors of their tracks; nothing of slipped, spare or remapped sectors.
    Zones,
    /// Zones and slips.
    Slips,
    /// The whole map, as the device itself uses it.
    Exact,
}

/// What a queue may ask of a device that knows positions, so as to order by them (SPTF and its kin, LOOK by cylinder).
///
/// A moment `at` is a [`Nanos`], a length of time an `f64` of nanoseconds. Nothing here changes the device. Requests
/// lie within the device; what is asked about operations that do not transfer is answered as for a write.
///
/// All answers to one `at` agree: with `d` cylinders between `arm(at)` and `cylinder(lba)`,
/// `seek_at_least(d) <= positioning(lba, .., at) <= access(lba, .., at)`.
pub trait Positions {
    /// How many cylinders there are.
    fn cylinders(&self) -> u32;

    /// The cylinder of block `lba`, remapping included.
    fn cylinder(&self, lba: Lba) -> u32;

    /// The cylinder of block `lba` as somebody with less knowledge works it out. The default knows all.
    fn cylinder_known(&self, lba: Lba, knowledge: Knowledge) -> u32 {
        let _ = knowledge;
        self.cylinder(lba)
    }

    /// The cylinder of the arm when it next can be sent somewhere, `at` or later: behind what it is doing now.
    fn arm(&self, at: Nanos) -> u32;

    /// No movement over `distance` cylinders or more takes less, ns. Never falls with growing distance; 0 for 0.
    fn seek_at_least(&self, distance: u32) -> f64;

    /// From the arrival of a command to the moment the arm begins to move for it, ns: the delay to add to `at` where
    /// nothing better is known.
    fn initiation(&self, op: Op) -> f64;

    /// Seek, settling and the wait for the first sector, ns, if the arm is sent to the request at `at`, or as soon
    /// after as it is free (that wait is not counted: it is the same for all requests).
    fn positioning(&self, lba: Lba, sectors: Sectors, op: Op, at: Nanos) -> f64;

    /// As [`Positions::positioning`], up to the end of the last sector.
    fn access(&self, lba: Lba, sectors: Sectors, op: Op, at: Nanos) -> f64;

    /// As [`Positions::access`], with the arm where an access that ends just before block `after` leaves it at `at`.
    fn access_after(&self, after: Lba, lba: Lba, sectors: Sectors, op: Op, at: Nanos) -> f64;

    /// How much of it the cache takes or gives.
    fn cached(&self, lba: Lba, sectors: Sectors, op: Op) -> Cached;
}
