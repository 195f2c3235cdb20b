//! [`ArrayLayout`]: where the units of an array's address space and their redundancy lie.

mod design;
mod organisation;
mod table;

pub use design::BlockDesign;
pub use organisation::{MirrorOrder, Organisation, Redundancy, Rotation};

use iopilot_block::{InputError, Lba};
use table::LayoutTable;

/// A position within a stripe: one of its data units, or (from [`ArrayLayout::data_units`] on) one of its check units
/// or further copies.
pub type UnitIndex = u32;

/// Where a unit lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitPlace {
    /// The member, counted from 0.
    pub member: u32,
    /// Its stripe unit on that member: the unit begins at this many stripe units.
    pub row: u64,
}

/// The unit and stripe of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitAddress {
    /// The stripe (parity group), counted from 0.
    pub stripe: u64,
    /// The data unit within the stripe.
    pub unit: u32,
    /// Sectors from the start of the unit.
    pub offset: u32,
}

/// The map of an array: pure arithmetic, O(1), no time.
///
/// The address space is cut into stripe units. [`ArrayLayout::data_units`] of them form a stripe, together with its
/// check units (parity) or copies. The placement of the units repeats with a period, and a table of one period stores
/// it for every organisation. A rotated parity has a period of as many stripes as there are members, a declustered
/// one that of its block design (Ganger A.1.2.1).
#[derive(Clone, Debug)]
pub struct ArrayLayout {
    table: LayoutTable,
    members: u32,
    data: u32,
    checks: u32,
    copies: u32,
    /// Sectors of a stripe unit.
    unit: u64,
    /// Consecutive stripes with the same placement (parity stripe unit over stripe unit).
    repeat: u64,
    /// Stripes of full units.
    stripes: u64,
    /// Sectors of each unit in an additional stripe at the end of the members; 0 if there is none.
    tail: u64,
}

impl ArrayLayout {
    /// The map of `organisation`.
    ///
    /// # Errors
    /// Names the values that do not fit together.
    pub fn new(organisation: &Organisation) -> Result<Self, InputError> {
        organisation.check()?;
        let (members, size) = (organisation.members, organisation.member_sectors);
        let unit = match organisation.stripe_unit {
            // One unit a member: the members follow one another.
            None => size.min(u64::from(u32::MAX)),
            Some(unit) => u64::from(unit),
        };
        let (checks, copies, repeat) = match &organisation.redundancy {
            Redundancy::None => (0, 1, 1),
            Redundancy::Mirrored { copies, .. } => (0, *copies, 1),
            Redundancy::CheckDisks { checks } | Redundancy::Declustered { checks, .. } => (*checks, 1, 1),
            Redundancy::Rotated { checks, parity_unit, .. } => {
                (*checks, 1, parity_unit.map_or(1, |q| u64::from(q) / unit))
            }
        };
        let table = LayoutTable::new(members, &organisation.redundancy);
        let data = table.width() / copies - checks;
        let rows = size / unit;
        let declustered = matches!(organisation.redundancy, Redundancy::Declustered { .. });
        let stripes = if declustered { rows / table.rows() * table.stripes() } else { rows };
        let tail = if declustered || !organisation.use_remainder { 0 } else { size % unit };
        if stripes == 0 && tail == 0 {
            let least = table.rows() * unit;
            return Err(InputError::new("members", format!("{size} sectors each"), format!("at least {least}")));
        }
        Ok(Self { table, members, data, checks, copies, unit, repeat, stripes, tail })
    }

    /// Number of members.
    pub fn members(&self) -> u32 {
        self.members
    }

    /// Data units of a stripe.
    pub fn data_units(&self) -> u32 {
        self.data
    }

    /// Check units of a stripe: 1 with parity, 2 with P and Q.
    pub fn check_units(&self) -> u32 {
        self.checks
    }

    /// Copies of each unit: 1 unless mirrored.
    pub fn copies(&self) -> u32 {
        self.copies
    }

    /// All units of a stripe, redundancy included.
    pub fn width(&self) -> u32 {
        self.table.width()
    }

    /// Sectors of a full stripe unit.
    pub fn stripe_unit(&self) -> u64 {
        self.unit
    }

    /// Number of stripes, including the shorter one at the end.
    pub fn stripes(&self) -> u64 {
        self.stripes + u64::from(self.tail > 0)
    }

    /// Stripe units of each member, including the shorter one at the end.
    pub fn rows(&self) -> u64 {
        self.stripes / self.table.stripes() * self.table.rows()
            + self.stripes % self.table.stripes()
            + u64::from(self.tail > 0)
    }

    /// Usable sectors.
    pub fn capacity(&self) -> u64 {
        (self.stripes * self.unit + self.tail) * u64::from(self.data)
    }

    /// Sectors of each unit of `stripe`.
    pub fn unit_sectors(&self, stripe: u64) -> u32 {
        // Units fit 32 bits: the organisation was checked.
        (if stripe < self.stripes { self.unit } else { self.tail }) as u32
    }

    /// Where the sector `lba` lies.
    pub fn address(&self, lba: Lba) -> UnitAddress {
        let data = u64::from(self.data);
        let full = self.stripes * self.unit * data;
        if lba.0 < full {
            let unit = lba.0 / self.unit;
            return UnitAddress {
                stripe: unit / data,
                unit: (unit % data) as u32,
                offset: (lba.0 - unit * self.unit) as u32,
            };
        }
        let (rest, tail) = (lba.0 - full, self.tail.max(1));
        UnitAddress { stripe: self.stripes, unit: (rest / tail) as u32, offset: (rest % tail) as u32 }
    }

    /// The address of the first sector of a stripe.
    pub fn first_lba(&self, stripe: u64) -> Lba {
        Lba(stripe.min(self.stripes) * self.unit * u64::from(self.data))
    }

    /// Where a unit of `stripe` lies.
    pub fn place(&self, stripe: u64, position: UnitIndex) -> UnitPlace {
        let (group, inner) = self.split(stripe);
        let (period, entry) = (group / self.table.stripes(), group % self.table.stripes());
        let (member, row) = self.table.get(entry, position);
        UnitPlace { member, row: (period * self.table.rows() + row) * self.repeat + inner }
    }

    /// Where a copy of a data unit lies.
    pub fn copy(&self, stripe: u64, unit: u32, copy: u32) -> UnitPlace {
        self.place(stripe, unit + copy * self.data)
    }

    /// The stripe and position in `row` of `member`; `None` past the last stripe.
    pub fn at(&self, member: u32, row: u64) -> Option<(u64, UnitIndex)> {
        let (group, inner) = self.split(row);
        let (period, entry) = (group / self.table.rows(), group % self.table.rows());
        let (stripe, position) = self.table.find(member, entry);
        let stripe = (period * self.table.stripes() + stripe) * self.repeat + inner;
        (stripe < self.stripes()).then_some((stripe, position))
    }

    /// The first sector of a row on its member.
    pub fn row_lba(&self, row: u64) -> Lba {
        Lba(row * self.unit)
    }

    fn split(&self, stripe: u64) -> (u64, u64) {
        if self.repeat == 1 { (stripe, 0) } else { (stripe / self.repeat, stripe % self.repeat) }
    }

    /// Whether every byte can still be read with these members lost.
    pub fn survives(&self, lost: &[u32]) -> bool {
        (0..self.table.stripes()).all(|entry| {
            let is_lost = |position| lost.contains(&self.table.get(entry, position).0);
            if self.checks > 0 {
                (0..self.width()).filter(|&p| is_lost(p)).count() <= self.checks as usize
            } else {
                (0..self.data).all(|unit| (0..self.copies).any(|copy| !is_lost(unit + copy * self.data)))
            }
        })
    }

    /// The first `rows` rows of all members as a text table: data units by their number, then `P` and `Q`; copies
    /// show the number of their unit.
    pub fn draw(&self, rows: u64) -> String {
        let mut text = String::from("row ");
        for member in 0..self.members {
            text.push_str(&format!(" {:>5}", format!("m{member}")));
        }
        for row in 0..rows.min(self.rows()) {
            text.push_str(&format!("\n{row:>3} "));
            for member in 0..self.members {
                let cell = self.at(member, row).map_or_else(String::new, |(stripe, position)| {
                    if position < self.data * self.copies {
                        (stripe * u64::from(self.data) + u64::from(position % self.data)).to_string()
                    } else {
                        format!("{}{stripe}", if position == self.data { 'P' } else { 'Q' })
                    }
                });
                text.push_str(&format!(" {cell:>5}"));
            }
        }
        text.push('\n');
        text
    }
}

#[cfg(test)]
mod tests;
