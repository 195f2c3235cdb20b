//! `disksim_bus`.

use super::choice::{choice, choices};
use super::fields::{ModuleCheck, flag, ms};
use super::module::module;

choices! {
    /// Who may use a bus.
    BusType {
        /// One unit at a time, which keeps it until it lets go.
        Owned = "1", "owned by one unit at a time";
        /// Everybody at once, each at full speed (DiskSim 4.0 divides no bandwidth).
        Shared = "2", "shared";
    }
}

choices! {
    /// Which of the waiting units gets an owned bus.
    ArbitrationType {
        /// The one with the highest slot number.
        SlotPriority = "1", "slot priority";
        /// The one that waits longest.
        Fcfs = "2", "first come first served";
    }
}

module! {
    /// A bus.
    Bus = "disksim_bus" {
        /// Who may use it.
        kind: BusType = "type", choice;
        /// Who gets it.
        arbitration_type: ArbitrationType = "Arbitration type", choice;
        /// Added to every acquisition of an owned bus, ms.
        arbitration_time: f64 = "Arbitration time", ms;
        /// For each block toward the host, ms.
        read_block_transfer_time: f64 = "Read block transfer time", ms;
        /// For each block toward the disks, ms.
        write_block_transfer_time: f64 = "Write block transfer time", ms;
        /// Output only.
        print_stats: bool = "Print stats", flag;
    }
}

impl ModuleCheck for Bus {}
