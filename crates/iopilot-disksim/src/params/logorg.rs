//! `disksim_logorg`, the distribution of requests over devices, and `disksim_syncset`.

use super::choice::{choice, choices};
use super::fields::{BlockFields, ModuleCheck, flag, fraction, names, positive, real, some, whole, word};
use super::module::module;
use iopilot_block::InputError;

choices! {
    /// The address that requests give.
    AddressingMode {
        /// The organisation.
        Array = "Array", "";
        /// A device of it.
        Parts = "Parts", "";
    }
}

choices! {
    /// The placement of data.
    DistributionScheme {
        /// At the requested address.
        Asis = "Asis", "";
        /// Striped over all devices.
        Striped = "Striped", "";
        /// On a random device.
        Random = "Random", "";
        /// On each device in turn, regardless of the address.
        Ideal = "Ideal", "";
    }
}

choices! {
    /// The redundancy stored besides the data.
    RedundancyScheme {
        /// Nothing.
        Noredun = "Noredun", "";
        /// Copies.
        Shadowed = "Shadowed", "";
        /// Parity on the last device.
        ParityDisk = "Parity_disk", "";
        /// Parity on each device in turn.
        ParityRotated = "Parity_rotated", "";
    }
}

choices! {
    /// Which copy a read goes to.
    CopyChoiceParam {
        /// The first copy.
        Primary = "1", "the first copy";
        /// A random copy.
        Random = "2", "a random copy";
        /// Each copy in turn.
        RoundRobin = "3", "round robin";
        /// The copy at the least distance.
        ShortestDistance = "4", "least distance";
        /// The copy with the shortest queue.
        ShortestQueue = "5", "shortest queue";
        /// The copy with the shortest queue; ties by the least distance.
        ShortestQueueDistance = "6", "shortest queue, then least distance";
    }
}

choices! {
    /// How parity moves from row to row (Lee and Katz).
    ParityRotationType {
        /// The parity device descends; data follow it.
        LeftSymmetric = "1", "left symmetric";
        /// The parity device descends; data are in ascending order.
        LeftAsymmetric = "2", "left asymmetric";
        /// The parity device ascends; data are in ascending order.
        RightAsymmetric = "3", "right asymmetric";
        /// The parity device ascends; data follow it.
        RightSymmetric = "4", "right symmetric";
    }
}

module! {
    /// A logical organisation.
    Logorg = "disksim_logorg" {
        /// The address that requests give.
        addressing_mode: AddressingMode = "Addressing mode", choice;
        /// The placement of data.
        distribution_scheme: DistributionScheme = "Distribution scheme", choice;
        /// The redundancy.
        redundancy_scheme: RedundancyScheme = "Redundancy scheme", choice;
        /// Unused.
        components: Option<String> = "Components", some(word), or None;
        /// Its devices, by name.
        devices: Vec<String> = "devices", names;
        /// Consecutive blocks on one device.
        stripe_unit: u64 = "Stripe unit", positive;
        /// Whether all writes of a request wait for all its reads.
        synch_writes_for_safety: bool = "Synch writes for safety", flag;
        /// Copies; redundancy `Shadowed`.
        number_of_copies: u32 = "Number of copies", whole(1..=65_536);
        /// Which copy a read goes to.
        copy_choice_on_read: CopyChoiceParam = "Copy choice on read", choice;
        /// The share of devices from which on a write reconstructs the parity.
        rmw_vs_reconstruct: f64 = "RMW vs. reconstruct", fraction;
        /// Consecutive parity blocks on one device; redundancy `Parity_rotated`.
        parity_stripe_unit: u64 = "Parity stripe unit", positive;
        /// How parity rotates.
        parity_rotation_type: ParityRotationType = "Parity rotation type", choice;
        /// The interval between time stamps, ms; 0 for none.
        time_stamp_interval: f64 = "Time stamp interval", real(0.0..=1e15), or 0.0;
        /// The time of the first time stamp, ms.
        time_stamp_start_time: f64 = "Time stamp start time", real(0.0..=1e15), or 0.0;
        /// The time of the last time stamp, ms.
        time_stamp_stop_time: f64 = "Time stamp stop time", real(0.0..=1e15), or 0.0;
        /// The file for time stamps.
        time_stamp_file_name: Option<String> = "Time stamp file name", some(word), or None;
    }
}

impl ModuleCheck for Logorg {
    fn check(&self, fields: &BlockFields<'_>) -> Result<(), InputError> {
        let count = self.devices.len();
        let parity = matches!(self.redundancy_scheme, RedundancyScheme::ParityDisk | RedundancyScheme::ParityRotated);
        if let Some(at) = (1..count).find(|&at| self.devices[..at].contains(&self.devices[at])) {
            return Err(fields.refuse("devices", format!("each device once, but {} is there twice", self.devices[at])));
        }
        if self.distribution_scheme == DistributionScheme::Asis && self.addressing_mode == AddressingMode::Array {
            return Err(fields.refuse("Addressing mode", "Parts for distribution scheme Asis"));
        }
        if parity && self.distribution_scheme != DistributionScheme::Striped {
            return Err(fields.refuse("Distribution scheme", "Striped for a redundancy scheme with parity"));
        }
        if parity && count < 2 {
            return Err(fields.refuse("devices", "at least two for a redundancy scheme with parity"));
        }
        let copies = self.number_of_copies as usize;
        if self.redundancy_scheme == RedundancyScheme::Shadowed && (copies < 2 || count % copies != 0) {
            return Err(fields.refuse("Number of copies", format!("at least 2, and a divisor of the {count} devices")));
        }
        let (unit, parity_unit) = (self.stripe_unit, self.parity_stripe_unit);
        let rotated = self.redundancy_scheme == RedundancyScheme::ParityRotated;
        if rotated && parity_unit % unit != 0 {
            return Err(fields.refuse("Parity stripe unit", format!("a multiple of the stripe unit, {unit}")));
        }
        Ok(())
    }
}

choices! {
    /// The kind of a syncset's devices.
    SyncsetType {
        /// Disks.
        Disk = "disk", "";
    }
}

module! {
    /// Disks that rotate in step.
    Syncset = "disksim_syncset" {
        /// The kind of its devices.
        kind: SyncsetType = "type", choice, or SyncsetType::Disk;
        /// The disks, by name.
        devices: Vec<String> = "devices", names;
    }
}

impl ModuleCheck for Syncset {}
