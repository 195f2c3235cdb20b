//! `dm_mech_g1`: rotation, head switches and seeks.

use super::choice::{choice, choices};
use super::fields::{BlockFields, Given, ModuleCheck, list, ms, real, signed_ms, some};
use super::module::module;
use super::seek_file::SeekFile;
use iopilot_block::InputError;

choices! {
    /// The parts of an access. DiskSim 4.0 treats every value as the last one.
    AccessTimeType {
        /// A constant time.
        Constant = "constant", "";
        /// The seek and half a revolution.
        AverageRotation = "averageRotation", "";
        /// The seek and the rotation.
        TrackSwitchPlusRotation = "trackSwitchPlusRotation", "";
    }
}

choices! {
    /// The formula of the seek time.
    SeekType {
        /// A constant time.
        Constant = "constant", "";
        /// Two straight lines through three numbers.
        Linear = "linear", "";
        /// Lee's curve through three numbers.
        Curve = "curve", "";
        /// A square root and a line (Ruemmler and Wilkes).
        Hpl = "hpl", "";
        /// The same, with a list for the first ten distances.
        HplPlus10 = "hplplus10", "";
        /// A file with a table.
        Extracted = "extracted", "";
    }
}

module! {
    /// Rotation and arm.
    MechG1 = "dm_mech_g1" {
        /// The parts of an access.
        access_time_type: AccessTimeType = "Access time type", choice;
        /// The time of an access, ms; access time type `constant`.
        constant_access_time: Option<f64> = "Constant access time", some(ms), or None;
        /// The formula of the seek time.
        seek_type: SeekType = "Seek type", choice;
        /// The time of a random seek, ms; seek types `linear` and `curve`.
        average_seek_time: Option<f64> = "Average seek time", some(ms), or None;
        /// The time of any seek, ms; seek type `constant`.
        constant_seek_time: Option<f64> = "Constant seek time", some(ms), or None;
        /// The time over one cylinder, ms; seek types `linear` and `curve`.
        single_cylinder_seek_time: Option<f64> = "Single cylinder seek time", some(ms), or None;
        /// The time from the first cylinder to the last, ms; seek types `linear` and `curve`.
        full_strobe_seek_time: Option<f64> = "Full strobe seek time", some(ms), or None;
        /// The table; seek type `extracted`.
        full_seek_curve: Option<SeekFile> = "Full seek curve", some(SeekFile::read), or None;
        /// Additional time of a write if positioning takes any time, ms.
        add_write_settling_delay: f64 = "Add. write settling delay", signed_ms;
        /// The time to change the head, ms.
        head_switch_time: f64 = "Head switch time", ms;
        /// Revolutions per minute.
        rotation_speed: f64 = "Rotation speed (in rpms)", real(1.0..=1e6);
        /// Unused.
        percent_error_in_rpms: f64 = "Percent error in rpms", real(0.0..=100.0);
        /// The times over 1 to 10 cylinders, ms; seek type `hplplus10`.
        first_ten_seek_times: Option<Vec<f64>> = "First ten seek times", some(numbers(10)), or None;
        /// V1 to V6: below V1 cylinders V2 + V3 sqrt(d), from there V4 + V5 d, over one cylinder V6 unless that is -1;
        /// seek types `hpl` and `hplplus10`.
        hpl_seek_equation_values: Option<Vec<f64>> = "HPL seek equation values", some(numbers(6)), or None;
    }
}

fn numbers(count: usize) -> impl Fn(&Given<'_>) -> Result<Vec<f64>, InputError> {
    move |given| {
        let values = list(signed_ms)(given)?;
        if values.len() == count { Ok(values) } else { Err(given.refuse(format!("a list of {count} numbers"))) }
    }
}

impl ModuleCheck for MechG1 {
    fn check(&self, fields: &BlockFields<'_>) -> Result<(), InputError> {
        let three = || {
            vec![
                ("Single cylinder seek time", self.single_cylinder_seek_time.is_some()),
                ("Average seek time", self.average_seek_time.is_some()),
                ("Full strobe seek time", self.full_strobe_seek_time.is_some()),
            ]
        };
        let hpl = ("HPL seek equation values", self.hpl_seek_equation_values.is_some());
        let needed = match self.seek_type {
            SeekType::Constant => vec![("Constant seek time", self.constant_seek_time.is_some())],
            SeekType::Linear | SeekType::Curve => three(),
            SeekType::Hpl => vec![hpl],
            SeekType::HplPlus10 => vec![hpl, ("First ten seek times", self.first_ten_seek_times.is_some())],
            SeekType::Extracted => vec![("Full seek curve", self.full_seek_curve.is_some())],
        };
        if let Some((name, _)) = needed.into_iter().find(|(_, given)| !given) {
            return Err(fields.missing(name, "a value for the seek type that is chosen"));
        }
        if self.full_seek_curve.is_some() && self.seek_type != SeekType::Extracted {
            return Err(fields.refuse("Seek type", "extracted, as there is a Full seek curve"));
        }
        if self.access_time_type == AccessTimeType::Constant && self.constant_access_time.is_none() {
            return Err(fields.missing("Constant access time", "milliseconds for access time type constant"));
        }
        Ok(())
    }
}
