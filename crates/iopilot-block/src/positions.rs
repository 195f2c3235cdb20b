//! [`Positions`]: what a device tells a queue about the position of its data and of its arm.

use crate::{Lba, Nanos, Op, Sectors};

/// How much of a request the device's cache can serve without the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cached {
    /// Nothing: the request needs a seek.
    None,
    /// The beginning of a read, or data that the device is just reading.
    Partial,
    /// All: a read hit, a write that fits the buffer, a write that continues the one before.
    Full,
}

/// How much is known about the position of blocks, from least to most (Ganger A.1.2.1, group 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Knowledge {
    /// Zones and the sectors of their tracks, but not slipped, spare or remapped sectors.
    Zones,
    /// Zones and slips.
    Slips,
    /// The whole map, as the device itself uses it.
    Exact,
}

/// A device that knows positions, as seen by a queue that orders by them (SPTF and its variants, LOOK by cylinder).
///
/// A moment `at` is a [`Nanos`], a length of time is an `f64` of nanoseconds. No method changes the device. Requests
/// must lie within the device. Operations that do not transfer data are answered as writes.
///
/// All answers for one `at` agree: with `d` cylinders between `arm(at)` and `cylinder(lba)`,
/// `seek_at_least(d) <= positioning(lba, .., at) <= access(lba, .., at)`.
pub trait Positions {
    /// How many cylinders there are.
    fn cylinders(&self) -> u32;

    /// The cylinder of block `lba`, remapping included.
    fn cylinder(&self, lba: Lba) -> u32;

    /// The cylinder of block `lba` as computed with less `knowledge`. The default knows all.
    fn cylinder_known(&self, lba: Lba, knowledge: Knowledge) -> u32 {
        let _ = knowledge;
        self.cylinder(lba)
    }

    /// The cylinder of the arm at the earliest time, `at` or later, when it can begin another seek: after its present
    /// work.
    fn arm(&self, at: Nanos) -> u32;

    /// A lower bound for all seeks over `distance` cylinders or more, ns. It never falls with growing distance; 0 for
    /// 0.
    fn seek_at_least(&self, distance: u32) -> f64;

    /// From the arrival of a command to the moment the arm begins to move for it, ns: the delay to add to `at` if no
    /// better one is known.
    fn initiation(&self, op: Op) -> f64;

    /// Seek, settling and rotational latency, ns, if the seek begins at `at`, or as soon after as the arm is free. The
    /// wait for the arm is not counted: it is the same for all requests.
    fn positioning(&self, lba: Lba, sectors: Sectors, op: Op, at: Nanos) -> f64;

    /// As [`Positions::positioning`], up to the end of the last sector.
    fn access(&self, lba: Lba, sectors: Sectors, op: Op, at: Nanos) -> f64;

    /// As [`Positions::access`], if at `at` the arm is where an access that ends just before block `after` leaves it.
    fn access_after(&self, after: Lba, lba: Lba, sectors: Sectors, op: Op, at: Nanos) -> f64;

    /// How much of the request the cache can serve.
    fn cached(&self, lba: Lba, sectors: Sectors, op: Op) -> Cached;
}
