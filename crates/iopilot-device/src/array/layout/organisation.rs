//! [`Organisation`]: the description of an array.

use super::BlockDesign;
use iopilot_block::InputError;

/// How an array's address space is distributed over its members, and with which redundancy (Ganger A.1.2.1).
#[derive(Clone, Debug, PartialEq)]
pub struct Organisation {
    /// Number of members.
    pub members: u32,
    /// Sectors of each member, or of the smallest.
    pub member_sectors: u64,
    /// Sectors of a stripe unit; `None` concatenates the members.
    pub stripe_unit: Option<u32>,
    /// The redundancy.
    pub redundancy: Redundancy,
    /// Whether the rest of the members after whole stripe units is used as an additional stripe of smaller units (as
    /// in DiskSim). Not with declustered parity.
    pub use_remainder: bool,
}

/// The redundancy that protects the data.
#[derive(Clone, Debug, PartialEq)]
pub enum Redundancy {
    /// Nothing: RAID 0, or a concatenation.
    None,
    /// Copies on other members: RAID 1, 1+0.
    Mirrored {
        /// Copies of each unit, from 2; divides the number of members.
        copies: u32,
        /// Which members are copies of each other.
        order: MirrorOrder,
    },
    /// The last members hold only parity: RAID 4; with two checks P and Q.
    CheckDisks {
        /// 1 or 2.
        checks: u32,
    },
    /// The parity rotates over the members: RAID 5 and 6.
    Rotated {
        /// 1 (P) or 2 (P and Q).
        checks: u32,
        /// How it moves.
        rotation: Rotation,
        /// The sectors between two moves, a multiple of the stripe unit; `None` for the stripe unit.
        parity_unit: Option<u32>,
    },
    /// Stripes are narrower than the array; a block design places them.
    Declustered {
        /// 1 (P) or 2 (P and Q).
        checks: u32,
        /// The design.
        design: BlockDesign,
    },
}

/// Which members hold the same data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MirrorOrder {
    /// Neighbours: 0 and 1, 2 and 3.
    #[default]
    Adjacent,
    /// With `n` columns, members `d` and `d + n` (DiskSim).
    Halves,
}

/// Where the parity of successive stripes lies, and how data are placed around it. Q is on the member after P.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rotation {
    /// Parity moves from the last member down; data begin behind it. The most common rotation, and DiskSim's type 1.
    #[default]
    LeftSymmetric,
    /// Parity moves from the last member down; data fill the members in ascending order.
    LeftAsymmetric,
    /// Parity moves from the first member up; data begin behind it.
    RightSymmetric,
    /// Parity moves from the first member up; data fill the members in ascending order.
    RightAsymmetric,
}

impl Rotation {
    /// Whether the parity moves from the last member down.
    pub fn is_left(self) -> bool {
        matches!(self, Self::LeftSymmetric | Self::LeftAsymmetric)
    }

    /// Whether the data begin behind the parity.
    pub(crate) fn is_symmetric(self) -> bool {
        matches!(self, Self::LeftSymmetric | Self::RightSymmetric)
    }
}

impl Organisation {
    /// The most members an array may have.
    pub const MAX_MEMBERS: u32 = 1024;

    /// Checks that the values are consistent.
    ///
    /// # Errors
    /// Names the first inconsistent value.
    pub fn check(&self) -> Result<(), InputError> {
        let n = self.members;
        let wrong = |field: &str, got: String, expected: String| Err(InputError::new(field, got, expected));
        if n == 0 || n > Self::MAX_MEMBERS {
            return wrong("members", n.to_string(), format!("1 to {}", Self::MAX_MEMBERS));
        }
        if self.stripe_unit == Some(0) {
            return wrong("stripe_unit", "0".into(), "at least one sector".into());
        }
        if self.stripe_unit.is_none() && self.member_sectors > u64::from(u32::MAX) {
            return wrong(
                "members",
                format!("{} sectors each", self.member_sectors),
                format!("at most {} to concatenate them", u32::MAX),
            );
        }
        match &self.redundancy {
            Redundancy::None => Ok(()),
            Redundancy::Mirrored { copies, .. } => {
                if *copies < 2 || n % copies != 0 {
                    return wrong("copies", copies.to_string(), format!("2 or more, a divisor of the {n} members"));
                }
                Ok(())
            }
            Redundancy::CheckDisks { checks } => self.check_parity(*checks, n),
            Redundancy::Rotated { checks, parity_unit, .. } => {
                self.check_parity(*checks, n)?;
                match (parity_unit, self.stripe_unit) {
                    (Some(q), Some(u)) if *q == 0 || q % u != 0 => {
                        wrong("parity_unit", q.to_string(), format!("a multiple of the stripe unit of {u} sectors"))
                    }
                    _ => Ok(()),
                }
            }
            Redundancy::Declustered { checks, design } => {
                self.check_parity(*checks, design.group())?;
                if design.members() != n {
                    return wrong("members", n.to_string(), format!("the {} of the block design", design.members()));
                }
                Ok(())
            }
        }
    }

    fn check_parity(&self, checks: u32, width: u32) -> Result<(), InputError> {
        if self.stripe_unit.is_none() {
            return Err(InputError::new("stripe_unit", "", "a stripe unit for an array with parity"));
        }
        if !(1..=2).contains(&checks) {
            return Err(InputError::new("checks", checks.to_string(), "1 (P) or 2 (P and Q)"));
        }
        if width <= checks {
            let least = checks + 1;
            return Err(InputError::new("members", width.to_string(), format!("at least {least} in each stripe")));
        }
        Ok(())
    }
}
