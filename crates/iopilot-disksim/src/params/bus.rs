//! `disksim_bus`.

use super::choice::{choice, choices};
use super::fields::{ModuleCheck, flag, ms};
use super::module::module;

choices! {
    /// How a bus is shared.
    BusType {
        /// One unit at a time, which keeps it until it releases it.
        Owned = "1", "owned by one unit at a time";
        /// All units at once, each at full speed (DiskSim 4.0 does not divide the bandwidth).
        Shared = "2", "shared";
    }
}

choices! {
    /// Which waiting unit gets an owned bus.
    ArbitrationType {
        /// The unit with the highest slot number.
        SlotPriority = "1", "slot priority";
        /// The unit that has waited longest.
        Fcfs = "2", "first come first served";
    }
}

module! {
    /// A bus.
    Bus = "disksim_bus" {
        /// How the bus is shared.
        kind: BusType = "type", choice;
        /// Which waiting unit gets it.
        arbitration_type: ArbitrationType = "Arbitration type", choice;
        /// Added to every acquisition of an owned bus, ms.
        arbitration_time: f64 = "Arbitration time", ms;
        /// Time of each block toward the host, ms.
        read_block_transfer_time: f64 = "Read block transfer time", ms;
        /// Time of each block toward the disks, ms.
        write_block_transfer_time: f64 = "Write block transfer time", ms;
        /// Output only.
        print_stats: bool = "Print stats", flag;
    }
}

impl ModuleCheck for Bus {}
