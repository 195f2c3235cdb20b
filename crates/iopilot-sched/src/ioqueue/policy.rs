//! [`IoQueuePolicy`]: the scheduling policies by number and name.

use iopilot_block::{InputError, suggest};
use std::fmt;

/// A policy of an [`IoQueue`](crate::IoQueue), numbered as in DiskSim 4.0. In the names, LBN is the block number, and
/// CYL is the cylinder under the queue's [`CylinderMapping`](crate::CylinderMapping).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum IoQueuePolicy {
    /// First come, first served.
    Fcfs = 1,
    /// LOOK by block: the nearest in the present direction. The arm reverses when none is left there.
    ElevatorLbn = 2,
    /// C-LOOK by block: the lowest at or above the arm, or else the lowest of all.
    CycleLbn = 3,
    /// The nearest block. At equal distances up and down, the directions alternate.
    SstfLbn = 4,
    /// LOOK by cylinder, ascending within it.
    ElevatorCyl = 5,
    /// C-LOOK by cylinder and block.
    CycleCyl = 6,
    /// The nearest cylinder, ascending within it.
    SstfCyl = 7,
    /// Shortest positioning time first: seek and rotation.
    Sptf = 8,
    /// Shortest positioning (with cache) time first: a request that the device's cache serves needs no positioning.
    Spctf = 9,
    /// Shortest access time first: positioning and transfer.
    Satf = 10,
    /// Weighted SPTF: the positioning time shrinks linearly with age, to zero at the weight.
    Wptf = 11,
    /// Weighted SPCTF.
    Wpctf = 12,
    /// Weighted SATF.
    Watf = 13,
    /// Aged SPTF: the positioning time less a share of the age.
    Asptf = 14,
    /// Aged SPCTF.
    Aspctf = 15,
    /// Aged SATF.
    Asatf = 16,
    /// V(R) by block: the nearest first, where a reversal costs a share of the disk.
    VscanLbn = 17,
    /// V(R) by cylinder.
    VscanCyl = 18,
    /// The largest weighted sum of nearness, urgency and age.
    PriVscanLbn = 19,
    /// Aged SPTF in which only critical and limited requests age.
    PriAsptf = 20,
    /// Aged SPCTF in which only critical and limited requests age.
    PriAspctf = 21,
    /// The shortest distance in cylinders from the last request.
    SdfApprox = 22,
    /// The shortest distance in cylinders from the arm.
    SdfExact = 23,
    /// SPTF, under its name in a family with the next two.
    SptfRotOpt = 24,
    /// Of the requests with nearly the shortest positioning time, the one with the longest rotational latency.
    SptfRotWeight = 25,
    /// Of the requests with nearly the shortest positioning time, the one with the shortest seek (SPTF-SW).
    SptfSeekWeight = 26,
    /// Batches of the oldest requests, each in the order of least total time: the travelling salesman's tour.
    Tsps = 27,
    /// First come, first served. A request is served only after its whole batch has arrived.
    BatchFcfs = 28,
}

/// The policies in order of their numbers, with their names.
const ALL: [(IoQueuePolicy, &str); 28] = [
    (IoQueuePolicy::Fcfs, "FCFS"),
    (IoQueuePolicy::ElevatorLbn, "ELEVATOR_LBN"),
    (IoQueuePolicy::CycleLbn, "CYCLE_LBN"),
    (IoQueuePolicy::SstfLbn, "SSTF_LBN"),
    (IoQueuePolicy::ElevatorCyl, "ELEVATOR_CYL"),
    (IoQueuePolicy::CycleCyl, "CYCLE_CYL"),
    (IoQueuePolicy::SstfCyl, "SSTF_CYL"),
    (IoQueuePolicy::Sptf, "SPTF_OPT"),
    (IoQueuePolicy::Spctf, "SPCTF_OPT"),
    (IoQueuePolicy::Satf, "SATF_OPT"),
    (IoQueuePolicy::Wptf, "WPTF_OPT"),
    (IoQueuePolicy::Wpctf, "WPCTF_OPT"),
    (IoQueuePolicy::Watf, "WATF_OPT"),
    (IoQueuePolicy::Asptf, "ASPTF_OPT"),
    (IoQueuePolicy::Aspctf, "ASPCTF_OPT"),
    (IoQueuePolicy::Asatf, "ASATF_OPT"),
    (IoQueuePolicy::VscanLbn, "VSCAN_LBN"),
    (IoQueuePolicy::VscanCyl, "VSCAN_CYL"),
    (IoQueuePolicy::PriVscanLbn, "PRI_VSCAN_LBN"),
    (IoQueuePolicy::PriAsptf, "PRI_ASPTF_OPT"),
    (IoQueuePolicy::PriAspctf, "PRI_ASPCTF_OPT"),
    (IoQueuePolicy::SdfApprox, "SDF_APPROX"),
    (IoQueuePolicy::SdfExact, "SDF_EXACT"),
    (IoQueuePolicy::SptfRotOpt, "SPTF_ROT_OPT"),
    (IoQueuePolicy::SptfRotWeight, "SPTF_ROT_WEIGHT"),
    (IoQueuePolicy::SptfSeekWeight, "SPTF_SEEK_WEIGHT"),
    (IoQueuePolicy::Tsps, "TSPS"),
    (IoQueuePolicy::BatchFcfs, "BATCH_FCFS"),
];

/// The sort key of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PolicyOrder {
    Arrival,
    Block,
    /// The cylinder under the queue's mapping, then the block.
    Mapped,
    /// The true cylinder, then the block.
    Exact,
}

impl IoQueuePolicy {
    /// All policies in order of their numbers.
    pub fn all() -> impl Iterator<Item = Self> {
        ALL.iter().map(|&(policy, _)| policy)
    }

    /// The policy numbered `number`, 1 to 28.
    pub fn from_number(number: u32) -> Option<Self> {
        let index = usize::try_from(number.checked_sub(1)?).ok()?;
        ALL.get(index).map(|&(policy, _)| policy)
    }

    /// Its number.
    pub fn number(self) -> u32 {
        u32::from(self as u8)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        ALL[usize::from(self as u8) - 1].1
    }

    /// Parses a number or a name, in upper or lower case. The `_OPT` at the end of a name is optional.
    ///
    /// # Errors
    /// For an unknown policy. The error names the nearest known one.
    pub fn parse(text: &str) -> Result<Self, InputError> {
        let unknown = |expected: String| InputError::new("policy", text, expected);
        if let Ok(number) = text.parse() {
            return Self::from_number(number).ok_or_else(|| unknown("a policy: 1 to 28, or its name".to_owned()));
        }
        let bare = |name: &str| name.trim_end_matches("_OPT").to_owned();
        let wanted = text.to_ascii_uppercase().replace('-', "_");
        if let Some(&(policy, _)) = ALL.iter().find(|(_, name)| bare(name) == bare(&wanted)) {
            return Ok(policy);
        }
        Err(unknown(match suggest(&wanted, ALL.iter().map(|&(_, name)| name)) {
            Some(near) => format!("a policy; did you mean `{near}`?"),
            None => "a policy: 1 to 28, or its name".to_owned(),
        }))
    }

    pub(super) fn order(self) -> PolicyOrder {
        match self {
            Self::Fcfs | Self::PriVscanLbn | Self::BatchFcfs => PolicyOrder::Arrival,
            Self::ElevatorLbn | Self::CycleLbn | Self::SstfLbn | Self::VscanLbn => PolicyOrder::Block,
            Self::ElevatorCyl | Self::CycleCyl | Self::SstfCyl | Self::VscanCyl => PolicyOrder::Mapped,
            _ => PolicyOrder::Exact,
        }
    }

    /// Whether it may hold a request back behind its predecessor in a sequential stream.
    pub(super) fn follows_streams(self) -> bool {
        !matches!(
            self,
            Self::Fcfs | Self::CycleLbn | Self::ElevatorCyl | Self::CycleCyl | Self::SstfCyl | Self::BatchFcfs
        )
    }
}

impl fmt::Display for IoQueuePolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_is_found_by_number_and_name() {
        for (policy, number) in IoQueuePolicy::all().zip(1..) {
            assert_eq!(policy.number(), number);
            assert_eq!(IoQueuePolicy::from_number(number), Some(policy));
            assert_eq!(IoQueuePolicy::parse(&number.to_string()).ok(), Some(policy));
            assert_eq!(IoQueuePolicy::parse(policy.name()).ok(), Some(policy));
            assert_eq!(IoQueuePolicy::parse(&policy.name().to_lowercase()).ok(), Some(policy));
        }
        assert_eq!(IoQueuePolicy::parse("sptf").ok(), Some(IoQueuePolicy::Sptf));
        assert_eq!(IoQueuePolicy::all().count(), 28);
    }

    #[test]
    fn unknown_policies_are_refused() {
        assert_eq!(IoQueuePolicy::from_number(0), None);
        assert!(IoQueuePolicy::parse("29").unwrap_err().to_string().contains("1 to 28"));
        assert!(IoQueuePolicy::parse("VSCAN_LBM").unwrap_err().to_string().contains("did you mean `VSCAN_LBN`?"));
    }
}
