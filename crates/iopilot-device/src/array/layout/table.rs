//! One period of a placement, in both directions: from a unit to its place, and back.

use super::organisation::{MirrorOrder, Redundancy, Rotation};
use super::{BlockDesign, UnitIndex};

/// The units of one period. Rows count the units of a member within the period.
#[derive(Clone, Debug)]
pub(super) struct LayoutTable {
    /// Units of a stripe.
    width: u32,
    /// Stripes of the period.
    stripes: u64,
    /// Rows of the period.
    rows: u64,
    /// Member and row of each unit, by stripe and position.
    places: Vec<(u32, u32)>,
    /// Stripe and position in each row, by member and row.
    units: Vec<(u32, UnitIndex)>,
}

impl LayoutTable {
    pub(super) fn new(members: u32, redundancy: &Redundancy) -> Self {
        match redundancy {
            Redundancy::None | Redundancy::CheckDisks { .. } => Self::of_rows(members, 1, |_, position| position),
            Redundancy::Mirrored { copies, order } => {
                let columns = members / copies;
                Self::of_rows(members, 1, |_, position| match order {
                    MirrorOrder::Adjacent => position % columns * copies + position / columns,
                    MirrorOrder::Halves => position,
                })
            }
            Redundancy::Rotated { checks, rotation, .. } => Self::of_rows(members, members, |stripe, position| {
                rotated(members, *checks, *rotation, stripe, position)
            }),
            Redundancy::Declustered { checks, design } => Self::declustered(design, *checks),
        }
    }

    /// A period whose stripes are rows of all members.
    fn of_rows(members: u32, stripes: u32, member: impl Fn(u32, UnitIndex) -> u32) -> Self {
        let mut places = Vec::with_capacity((members * stripes) as usize);
        for stripe in 0..stripes {
            places.extend((0..members).map(|position| (member(stripe, position), stripe)));
        }
        Self::from_places(members, members, places)
    }

    /// As many copies of the design as a stripe has units, so that all members hold equally much parity (Holland and
    /// Gibson's full block design table). Members are filled in order.
    fn declustered(design: &BlockDesign, checks: u32) -> Self {
        let group = design.group();
        let mut next = vec![0; design.members() as usize];
        let mut places = Vec::new();
        for copy in 0..group {
            for tuple in design.tuples() {
                let parity = group - 1 - copy;
                let is_check = |i: u32| (i + group - parity) % group < checks;
                let data = (0..group).filter(|&i| !is_check(i));
                for i in data.chain((0..checks).map(|check| (parity + check) % group)) {
                    let member = tuple[i as usize];
                    places.push((member, next[member as usize]));
                }
                for &member in tuple {
                    next[member as usize] += 1;
                }
            }
        }
        Self::from_places(design.members(), group, places)
    }

    fn from_places(members: u32, width: u32, places: Vec<(u32, u32)>) -> Self {
        let rows = places.len() as u64 / u64::from(members);
        let mut units = vec![(0, 0); places.len()];
        for (at, &(member, row)) in (0u32..).zip(&places) {
            units[(u64::from(member) * rows + u64::from(row)) as usize] = (at / width, at % width);
        }
        Self { width, stripes: places.len() as u64 / u64::from(width), rows, places, units }
    }

    pub(super) fn width(&self) -> u32 {
        self.width
    }

    pub(super) fn stripes(&self) -> u64 {
        self.stripes
    }

    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    /// Member and row of a unit.
    pub(super) fn get(&self, stripe: u64, position: UnitIndex) -> (u32, u64) {
        let (member, row) = self.places[(stripe * u64::from(self.width) + u64::from(position)) as usize];
        (member, u64::from(row))
    }

    /// Stripe and position in a row of a member.
    pub(super) fn find(&self, member: u32, row: u64) -> (u64, UnitIndex) {
        let (stripe, position) = self.units[(u64::from(member) * self.rows + row) as usize];
        (u64::from(stripe), position)
    }
}

/// The member that holds a unit of a stripe.
fn rotated(members: u32, checks: u32, rotation: Rotation, stripe: u32, position: UnitIndex) -> u32 {
    let data = members - checks;
    let step = stripe % members;
    let parity = if rotation.is_left() { members - 1 - step } else { step };
    if position >= data {
        return (parity + position - data) % members;
    }
    if rotation.is_symmetric() {
        return (parity + checks + position) % members;
    }
    let is_check = |member: u32| (member + members - parity) % members < checks;
    (0..members).filter(|&m| !is_check(m)).nth(position as usize).unwrap_or_default()
}
